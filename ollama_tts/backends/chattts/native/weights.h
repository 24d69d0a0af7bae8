// Matrices packed for the kernels, from rows of float32, float16 or bfloat16.
#pragma once

#include <vector>

#include "kernels.h"
#include "memory.h"

namespace ott {

enum class Dtype { kFloat32 = 0, kFloat16 = 1, kBfloat16 = 2 };

// Element `index` of `data` as float.
float read_element(const void* data, Dtype dtype, size_t index);

class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `inputs` must be a multiple of 16. int8: groups of at most 128 inputs share a scale.
  PackedMatrix(Arena& arena, int outputs, int inputs, Format format);

  // Fill output row `output` from `inputs` values.
  void set_row(int output, const float* values);

  const Matrix& view() const { return view_; }

 private:
  void quantise_row(uint8_t* panel, int lane, float* scales, const float* values);

  Matrix view_;
  uint8_t* values_ = nullptr;
  float* scales_ = nullptr;
};

// A table of embeddings, float32 or bfloat16.
class Table {
 public:
  Table() = default;
  Table(Arena& arena, int rows, int width, bool wide);
  void set_row(int row, const float* values);
  // to [width] += row
  void add_to(int row, float* to) const;

 private:
  int width_ = 0;
  bool wide_ = true;
  uint8_t* values_ = nullptr;
};

// The largest group of at most 128 inputs that divides `inputs`, a multiple of 16.
int group_of(int inputs);

}  // namespace ott
