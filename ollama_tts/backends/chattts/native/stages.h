// Frames of several streams through the stages of decoder and vocoder: convolutions over all
// channels and ConvNeXt blocks.
//
// A stage looks `reach` frames to both sides. As a stream it keeps up to 2 reach of its inputs and
// gives a frame as soon as its right neighbours are there; where the stream ends, zeros stand in
// for frames that will never come. So each frame is computed once, from itself and its neighbours
// alone: neither the cutting into pieces nor the company of other streams changes a bit.
#pragma once

#include <memory>
#include <vector>

#include "abi.h"
#include "pool.h"
#include "weights.h"

namespace ott {

class Stages {
 public:
  Stages(const ott_stage* stages, int count, float epsilon);

  // Values of one part of one stage, float32, all of them.
  int fill(int stage, int part, const float* data);
  size_t bytes() const { return arena_.bytes() + small_bytes_; }
  size_t state_bytes() const { return state_bytes_; }
  void begin(void* state) const;
  // Frames that come out at the end of every stream, by `counts`; rows in the streams' order.
  void push(Pool& pool, int streams, const ott_stream* stream, const float* rows, float* made,
            int32_t* counts);

 private:
  struct Stage {
    ott_stage is;
    int reach = 0;                // frames looked at on each side
    size_t state_at = 0;          // bytes into a state: this stage's rows
    PackedMatrix first, second;   // of a convolution: only `first`
    std::vector<float> first_bias, second_bias, scale;
    std::vector<float> taps, taps_bias, norm_scale, norm_shift, after_scale, after_shift;
  };
  // One stage of the push under way. Of each stream: where its rows begin in the context, and how
  // many come in and out; of each row that comes out: the context row its window begins at.
  struct Turn {
    std::vector<int> begins, in, context, out, out_begins, in_begins, window;
    int tile = 8;
  };
  struct Scratch {
    Buffer rows, inner, values, scales, sums;
  };

  void plan_turn(Turn& turn, int index, const std::vector<int>& in, int streams,
                 const ott_stream* stream, int threads) const;
  int kept(const void* state, int index) const;
  void assemble(int index, const Turn& turn, int item, const ott_stream* stream,
                const float* rows) const;
  void convolve(const Kernels& kernels, int index, const Turn& turn, int first, int last,
                Scratch& scratch, float* made) const;
  void transform(const Kernels& kernels, int index, const Turn& turn, int first, int last,
                 Scratch& scratch, float* made) const;
  void finish(const Kernels& kernels, const Stage& stage, float* row) const;
  void reserve(int threads, const std::vector<Turn>& turns);
  std::vector<float>* part_of(Stage& stage, int part, size_t* size);

  Arena arena_;
  std::vector<Stage> stages_;
  float epsilon_;
  size_t state_bytes_ = 0, small_bytes_ = 0;
  Buffer context_, rows_;
  std::vector<Scratch> scratch_;
};

}  // namespace ott
