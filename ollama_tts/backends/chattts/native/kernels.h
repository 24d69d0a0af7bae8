// The arithmetic of one step, as a table of functions per instruction set.
//
// Three translation units (kernels_portable, kernels_avx2, kernels_avx512) fill the table from the
// same source, kernels_body.h; the best one that the processor runs is chosen when a model is made.
//
// What every path keeps: a row's result is computed from that row alone, with the same operations
// in the same order however many rows are multiplied together. Rows never touch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ott {

constexpr int kPanel = 32;      // outputs that lie side by side in a packed matrix
constexpr int kLane = 16;       // cache positions that lie side by side in packed keys
constexpr int kMaxHead = 128;   // largest head dimension

// How a matrix is stored and how its input rows are prepared.
//   kFloat32   float weights, float inputs
//   kBfloat16  bfloat16 weights, inputs rounded to bfloat16, float sums
//   kInt8      8-bit weights and inputs, a scale for every group of inputs on both sides
//   kInt8Wide  the same with 16-bit inputs, for inputs with heavy tails
enum class Format { kFloat32, kBfloat16, kInt8, kInt8Wide };

// A packed matrix of `outputs` x `inputs`. Weights of panel p begin at p * panel_bytes.
//   kFloat32   float [inputs][32]
//   kBfloat16  uint16 [inputs/2][32][2]
//   kInt8*     uint8 (weight + 128) [inputs/4][32][4], scales float [groups][32] a panel
struct Matrix {
  Format format = Format::kFloat32;
  int outputs = 0;
  int inputs = 0;
  int panels = 0;
  int group = 0;   // inputs that share a scale
  int groups = 0;
  size_t panel_bytes = 0;
  const uint8_t* values = nullptr;
  const float* scales = nullptr;
};

// Rows prepared as the input of a matrix; how `values` looks is the path's own business.
// `scales` float [rows][groups]; `sums` int32 [rows][groups][2], -128 times the sum of a group.
struct Input {
  uint8_t* values = nullptr;
  float* scales = nullptr;
  int32_t* sums = nullptr;
  size_t stride = 0;   // bytes from row to row in values
  int groups = 0;
};

// Where a product goes: row r, column c at data[r * stride + c], columns below `columns` only.
// `bias`, where given, has a value for every output of every panel and is added first.
//   kSet   data = product
//   kAdd   data += product
//   kGelu  data = gelu(product)
//   kGate  a panel holds 16 gate and 16 up outputs; data [.][panel * 16 + j] = silu(gate) * up
enum class Store { kSet, kAdd, kGelu, kGate };
struct Output {
  float* data = nullptr;
  size_t stride = 0;
  int columns = 0;
  Store store = Store::kSet;
  const float* bias = nullptr;
};

// Keys and values of one head of one slot: `blocks` points to `block_positions` positions each,
// `offset` elements into a block the keys begin, the values right after them.
//   keys    [block_positions/16][head/2][16][2]      values  [block_positions][head]
// Elements are bfloat16, or float where `wide`.
struct HeadCache {
  uint8_t* const* blocks = nullptr;
  size_t offset = 0;
  int block_positions = 0;
  int head = 0;
  bool wide = false;
};

struct Kernels {
  const char* name;
  // y = x / rms(x) * gain, n values.
  void (*normalise)(const float* x, const float* gain, int n, float epsilon, float* y);
  // Prepare row `row` of `in` from x [matrix.inputs].
  void (*prepare)(const float* x, const Matrix& matrix, int row, const Input& in);
  // Panels [first, last) of the product for all rows.
  void (*multiply)(const Matrix& matrix, int first, int last, const Input& in, int rows,
                   const Output& out);
  // Rotate q and k [head] in place and write k and v to `position` of the cache.
  void (*remember)(float* q, float* k, const float* v, const float* cosine, const float* sine,
                   int position, const HeadCache& cache);
  // out [head] = attention of q over the first `count` positions; scores has room for count + 16.
  void (*attend)(const float* q, const HeadCache& cache, int count, float* scores, float* out);
  // Sum of exp(x - top) over n values; `scratch` is not needed. Also false if any is not finite.
  bool (*sum_exp)(const float* x, int n, float* top, float* sum);
  // y = (x - mean) / deviation * scale + shift, n values; y may be x.
  void (*layer_norm)(const float* x, const float* scale, const float* shift, int n, float epsilon,
                     float* y);
  // y [width] = bias + sum over t of rows [t * dilation] * weights [t], each channel alone.
  void (*depthwise)(const float* rows, int width, int dilation, int taps, const float* weights,
                    const float* bias, float* y);
};

const Kernels& portable_kernels();
// nullptr where this build or this processor does not have them.
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();
// The kernels of an OTT_PATH_* of abi.h. Throws std::invalid_argument where there are none.
const Kernels& kernels_of(int path);
// The format of an OTT_MODE_*, for inputs with heavy tails where `wide`. Throws likewise.
Format format_of(int mode, bool wide);

}  // namespace ott
