// A loaded model: weights, cache, live jobs, and one step over any mix of their rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "abi.h"
#include "cache.h"
#include "crew.h"
#include "kernels.h"
#include "memory.h"
#include "sampler.h"
#include "weights.h"

namespace ott {

struct Layer {
  PackedMatrix qkv, output, gate_up, down;
  std::vector<float> norm_attention, norm_feed;
};

// One live job. `read` counts the positions in the cache, `drawn` the tokens generated.
struct Job {
  bool live = false;
  bool text = false;
  int prompt = 0, read = 0, drawn = 0;
  std::vector<int32_t> ids;        // [prompt][codebooks]
  std::vector<uint8_t> is_text;    // [prompt]
  std::vector<float> rows;         // [injected][hidden]
  std::vector<int32_t> rows_at;    // [injected]
  Sampling sampling;
  std::vector<int32_t> history;    // [drawn][codebooks] (speech) or [drawn] (text)
};

// One position of one job that a step runs through the layers.
struct Row {
  int slot, position;
};

class Model {
 public:
  explicit Model(const ott_shape& shape);

  const char* path() const { return kernels_.name; }
  int fill(int part, int layer, int first, int rows, Dtype dtype, const void* data);
  bool ready() const;
  int start(const ott_job& job);
  int stop(int slot);
  int step(int chunks, const ott_chunk* chunk, int decodes, const int32_t* decode, int32_t* drawn,
           ott_outcome* outcomes, float* hidden, int32_t* codes);
  int read(int slot, int start, int stop, float* hidden, float* logits);
  size_t weight_bytes() const { return arena_.bytes(); }
  size_t cache_bytes(bool used) const { return used ? cache_.used_bytes() : cache_.bytes(); }

 private:
  // Scratch memory of one thread.
  struct Scratch {
    std::vector<float> scores;
    DrawScratch draw;
  };

  bool live(int slot) const { return slot >= 0 && slot < shape_.slots && jobs_[slot].live; }
  bool fits(int slot, int start, int stop) const;
  bool reserve();                 // cache and work space for rows_ and draws_
  void fill_row(int part, int layer, int n, const std::vector<float>& row);
  void fill_rope(const std::vector<float>& inverse);
  void embed(const Row& row, float* to) const;
  void plan_layers(Plan& plan);
  void plan_layer(Plan& plan, int index);
  void plan_attention(Plan& plan, int index);
  void plan_product(Plan& plan, const PackedMatrix& matrix, int first_row, int rows, Output out);
  void plan_prepare(Plan& plan, const PackedMatrix& matrix, const float* from, int first_row,
                    int rows);
  void plan_heads(Plan& plan, float* hidden, int speech);
  void plan_draws(Plan& plan, int speech);
  void draw_one(int index, int codebook, int worker);
  ott_outcome commit(int index, int32_t* codes);
  Input input(const PackedMatrix& matrix, int first_row) const;

  const ott_shape shape_;
  const Kernels& kernels_;
  const Format plain_, wide_;     // of most matrices; of those whose inputs have heavy tails
  const int head_;                // dimension of a head
  Arena arena_;                   // holds every matrix and table
  std::vector<Layer> layers_;
  std::vector<float> norm_last_, cosine_, sine_;
  PackedMatrix head_code_, head_text_;
  Table embed_code_, embed_text_;
  std::vector<int64_t> filled_;   // rows filled of each part
  Cache cache_;
  std::vector<Job> jobs_;
  Crew crew_;
  std::vector<Scratch> scratch_;

  // The step under way.
  std::vector<Row> rows_;
  std::vector<int> draws_;        // indices of rows_ that draw: speech first, then text
  std::vector<int32_t> picks_;    // [draws][codebooks]
  int logits_width_ = 0;
  Buffer x_, normed_, qkv_, attended_, gated_, values_, scales_, sums_, logits_;
};

}  // namespace ott
