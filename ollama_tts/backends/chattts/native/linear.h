// Single matrices for models that are mostly something else: y = x W' + bias on a pool of threads.
#pragma once

#include <vector>

#include "crew.h"
#include "kernels.h"
#include "memory.h"
#include "weights.h"

namespace ott {

// Threads and work space for matrices that are used one after the other.
struct Pool {
  Pool(int threads, int path) : kernels(kernels_of(path)), crew(threads) {}
  const Kernels& kernels;
  Crew crew;
  Buffer values, scales, sums;
};

class Linear {
 public:
  Linear(int outputs, int inputs, Format format);
  int fill(int first, int rows, Dtype dtype, const void* data);
  void set_bias(const float* bias);
  // x [rows][inputs] to y [rows][outputs]; a row's result depends on that row alone.
  void apply(Pool& pool, int rows, const float* x, float* y) const;
  size_t bytes() const { return arena_.bytes(); }

 private:
  Arena arena_;
  PackedMatrix matrix_;
  std::vector<float> bias_;
};

}  // namespace ott
