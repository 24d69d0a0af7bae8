#include "weights.h"

#include <cmath>
#include <cstring>

namespace ott {
namespace {

uint16_t to_bfloat16(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

float from_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

float from_float16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  if (exponent == 31) return from_bits(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) {
    const float small = (float)fraction * 5.9604644775390625e-8f;   // 2^-24
    return sign ? -small : small;
  }
  return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

size_t panel_bytes(Format format, int inputs) {
  const size_t width = format == Format::kFloat32 ? 4 : format == Format::kBfloat16 ? 2 : 1;
  return (size_t)inputs * kPanel * width;
}

}  // namespace

float read_element(const void* data, Dtype dtype, size_t index) {
  if (dtype == Dtype::kFloat32) return static_cast<const float*>(data)[index];
  const uint16_t half = static_cast<const uint16_t*>(data)[index];
  return dtype == Dtype::kFloat16 ? from_float16(half) : from_bits((uint32_t)half << 16);
}

int group_of(int inputs) {
  int group = 128;
  while (inputs % group) group -= 16;
  return group;
}

PackedMatrix::PackedMatrix(Arena& arena, int outputs, int inputs, Format format) {
  view_.format = format;
  view_.outputs = outputs;
  view_.inputs = inputs;
  view_.panels = (outputs + kPanel - 1) / kPanel;
  view_.panel_bytes = panel_bytes(format, inputs);
  const size_t bytes = view_.panel_bytes * view_.panels;
  const bool int8 = format == Format::kInt8 || format == Format::kInt8Wide;
  values_ = arena.take(bytes);
  memset(values_, int8 ? 128 : 0, bytes);
  view_.group = int8 ? group_of(inputs) : inputs;
  view_.groups = inputs / view_.group;
  if (int8) {
    const size_t scale_bytes = (size_t)view_.panels * view_.groups * kPanel * sizeof(float);
    scales_ = reinterpret_cast<float*>(arena.take(scale_bytes));
    memset(scales_, 0, scale_bytes);
  }
  view_.values = values_;
  view_.scales = scales_;
}

void PackedMatrix::set_row(int output, const float* values) {
  uint8_t* panel = values_ + (size_t)(output / kPanel) * view_.panel_bytes;
  const int lane = output % kPanel;
  if (view_.format == Format::kFloat32) {
    float* to = reinterpret_cast<float*>(panel) + lane;
    for (int k = 0; k < view_.inputs; k++) to[k * kPanel] = values[k];
  } else if (view_.format == Format::kBfloat16) {
    uint16_t* to = reinterpret_cast<uint16_t*>(panel) + lane * 2;
    for (int k = 0; k < view_.inputs; k++) to[k / 2 * 2 * kPanel + k % 2] = to_bfloat16(values[k]);
  } else {
    float* scales = scales_ + (size_t)(output / kPanel) * view_.groups * kPanel + lane;
    quantise_row(panel, lane, scales, values);
  }
}

void PackedMatrix::quantise_row(uint8_t* panel, int lane, float* scales, const float* values) {
  for (int first = 0; first < view_.inputs; first += view_.group, scales += kPanel) {
    float top = 1e-12f;
    for (int k = first; k < first + view_.group; k++) {
      const float size = std::fabs(values[k]);
      top = size > top ? size : top;
    }
    *scales = top / 127.f;
    const float inverse = 127.f / top;
    for (int k = first; k < first + view_.group; k++)
      panel[(k / 4 * kPanel + lane) * 4 + k % 4] = (uint8_t)(std::lrint(values[k] * inverse) + 128);
  }
}

Table::Table(Arena& arena, int rows, int width, bool wide) : width_(width), wide_(wide) {
  values_ = arena.take((size_t)rows * width * (wide ? 4 : 2));
}

void Table::set_row(int row, const float* values) {
  const size_t at = (size_t)row * width_;
  if (wide_) {
    memcpy(reinterpret_cast<float*>(values_) + at, values, width_ * sizeof(float));
    return;
  }
  for (int k = 0; k < width_; k++)
    reinterpret_cast<uint16_t*>(values_)[at + k] = to_bfloat16(values[k]);
}

void Table::add_to(int row, float* to) const {
  const size_t at = (size_t)row * width_;
  if (wide_) {
    for (int k = 0; k < width_; k++) to[k] += reinterpret_cast<const float*>(values_)[at + k];
    return;
  }
  for (int k = 0; k < width_; k++)
    to[k] += from_bits((uint32_t)reinterpret_cast<const uint16_t*>(values_)[at + k] << 16);
}

}  // namespace ott
