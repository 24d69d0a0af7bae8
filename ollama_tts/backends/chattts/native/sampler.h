// Drawing the next id of one row and codebook: upstream's order of operations, our random numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.h"

namespace ott {

constexpr int kWindow = 16;   // tokens that the repetition penalty looks back on

// How one job draws. `top_k` 0 is no limit. `noise`, where given, is float [codebooks][ids] used instead of -ln(uniform)
// at every step: what upstream does under a manual seed, for comparing with it.
struct Sampling {
  float temperature = 1.f, top_p = 1.f;
  int top_k = 1;
  float penalty = 1.f;
  int min_tokens = 0;
  uint64_t seed = 0;
  std::vector<float> noise;
};

// What a draw looks at. `recent` holds the last up to kWindow ids of this codebook.
struct Draw {
  const float* logits = nullptr;
  int ids = 0;        // size of the vocabulary
  int end_id = 0;
  int codebook = 0;
  int step = 0;       // tokens drawn before
  const int32_t* recent = nullptr;
  int recent_count = 0;
};

// Memory of one thread for drawing.
struct DrawScratch {
  std::vector<float> scores;
  std::vector<int32_t> order;
};

constexpr int32_t kNotFinite = -1;

// The drawn id, or kNotFinite.
int32_t draw(const Sampling& sampling, const Draw& from, const Kernels& kernels,
             DrawScratch& scratch);

// The random number in (0, 1) of a candidate; engine/step_model.py `uniform` is the definition.
float uniform(uint64_t seed, int step, int codebook, int index);

}  // namespace ott
