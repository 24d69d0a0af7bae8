// The kernels for any processor: what the compiler makes of plain vectors of four.
#include <cstring>

#include "kernels.h"

namespace ott {
namespace {

#define OTT_LANES 4
constexpr int kMaxRows = 2;
#include "kernels_body.h"

#include "kernels_attention.h"

#include "kernels_int16.h"

struct Int8 {
  static constexpr int kRows = 1;
  template <int R>
  static void run(const Matrix& m, const Input& in, const Tile& tile, float (*y)[kPanel]) {
    const uint8_t* w = tile.weights;
    const float* scales = tile.scales;
    const int row = tile.row;
    const int16_t* x = (const int16_t*)(in.values + (size_t)row * in.stride);
    memset(y[0], 0, sizeof y[0]);
    for (int g = 0; g < m.groups; g++, scales += kPanel) {
      int32_t sum[kPanel];
      for (int j = 0; j < kPanel; j++) sum[j] = in.sums[((size_t)row * in.groups + g) * 2];
      for (int k = 0; k < m.group; k += 4, x += 4, w += 4 * kPanel)
        for (int j = 0; j < kPanel; j++)
          sum[j] += w[4 * j] * x[0] + w[4 * j + 1] * x[1] + w[4 * j + 2] * x[2] +
                    w[4 * j + 3] * x[3];
      const float scale = in.scales[(size_t)row * in.groups + g];
      for (int j = 0; j < kPanel; j++) y[0][j] += (float)sum[j] * (scales[j] * scale);
    }
  }
};
using Int8Wide = Int8;

#include "kernels_table.h"

}  // namespace

const Kernels& portable_kernels() {
  static const Kernels kernels = table("portable");
  return kernels;
}

}  // namespace ott
