#include "sampler.h"

#include <algorithm>
#include <cmath>

namespace ott {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;
constexpr int kFewest = 3;                // candidates that top-p and top-k always keep
constexpr float kLowestTemperature = 1e-5f;

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

void penalise(const Sampling& s, const Draw& from, float* scores) {
  for (int i = 0; i < from.recent_count; i++) {
    const int32_t id = from.recent[i];
    if (std::find(from.recent, from.recent + i, id) != from.recent + i) continue;
    const auto times = std::count(from.recent + i, from.recent + from.recent_count, id);
    const float factor = std::pow(s.penalty, (float)times);
    scores[id] = scores[id] < 0.f ? scores[id] * factor : scores[id] / factor;
  }
}

float exponential_noise(const Sampling& s, const Draw& from, int32_t id) {
  if (!s.noise.empty()) return s.noise[(size_t)from.codebook * from.ids + id];
  return -std::log(uniform(s.seed, from.step, from.codebook, id));
}

}  // namespace

float uniform(uint64_t seed, int step, int codebook, int index) {
  const uint64_t row = mix(seed + kGolden * ((uint64_t)step + 1));
  const uint64_t book = mix(row + kGolden * ((uint64_t)codebook + 1));
  const uint64_t bits = mix(book + kGolden * ((uint64_t)index + 1));
  return ((float)(bits >> 41) + 0.5f) * 1.1920928955078125e-7f;   // 2^-23
}

int32_t draw(const Sampling& s, const Draw& from, const Kernels& kernels, DrawScratch& scratch) {
  const int n = from.ids;
  scratch.scores.resize(n);
  scratch.order.resize(n);
  float* scores = scratch.scores.data();
  const float temperature = std::max(s.temperature, kLowestTemperature);
  for (int i = 0; i < n; i++) scores[i] = from.logits[i] / temperature;
  penalise(s, from, scores);
  float top, sum;
  if (!kernels.sum_exp(scores, n, &top, &sum)) return kNotFinite;

  const int most = std::min(n, std::max(s.top_k > 0 ? s.top_k : n, kFewest));
  for (int i = 0; i < n; i++) scratch.order[i] = i;
  const auto order = scratch.order.begin();
  std::partial_sort(order, order + most, order + n, [scores](int32_t a, int32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });

  // The softmax after the cuts only rescales, and so does not change which candidate wins.
  float before = 0.f, best = -1.f;
  int32_t chosen = kNotFinite;
  const bool too_early = from.step < s.min_tokens;
  for (int rank = 0; rank < most; rank++) {
    const int32_t id = order[rank];
    if (rank >= kFewest && !(before < s.top_p)) break;
    const float weight = std::exp(scores[id] - top);
    before += weight / sum;
    if (too_early && id == from.end_id) continue;
    const float chance = weight / exponential_noise(s, from, id);
    if (chance > best) best = chance, chosen = id;
  }
  return chosen;
}

}  // namespace ott
