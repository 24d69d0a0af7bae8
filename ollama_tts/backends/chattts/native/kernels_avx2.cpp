// The kernels for x86 processors with AVX2 and FMA.
#include "kernels.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")

namespace ott {
namespace {

#define OTT_LANES 8
constexpr int kMaxRows = 2;
#include "kernels_body.h"

#include "kernels_attention.h"

#include "kernels_int16.h"

// Half a panel (16 outputs) at a time. Weights widen to 16 bits; a multiply-add gives two partial
// sums of an output, which are added at the end of a group. Integer sums are exact in any order.
struct Int8 {
  static constexpr int kRows = 2;
  template <int R>
  static void run(const Matrix& m, const Input& in, const Tile& tile, float (*y)[kPanel]) {
    for (int half = 0; half < 2; half++) run_half<R>(m, half, in, tile, y);
  }

  template <int R>
  static void run_half(const Matrix& m, int half, const Input& in, Tile tile,
                       float (*y)[kPanel]) {
    const uint8_t* w = tile.weights + half * 64;
    const float* scales = tile.scales + half * 16;
    const int row = tile.row;
    Vec result[R][2] = {};
    for (int g = 0; g < m.groups; g++, scales += kPanel) {
      __m256i sum[R][4] = {};
      for (int k = 0; k < m.group; k += 4, w += 4 * kPanel, tile.ahead += tile.ahead_step) {
        fetch(w, tile.ahead);
        __m256i weight[4];
        for (int j = 0; j < 4; j++)
          weight[j] = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)(w + 16 * j)));
        for (int r = 0; r < R; r++) {
          const int16_t* x = (const int16_t*)(in.values + (size_t)(row + r) * in.stride);
          const __m256i four = _mm256_set1_epi64x(*(const int64_t*)(x + g * m.group + k));
          for (int j = 0; j < 4; j++)
            sum[r][j] = _mm256_add_epi32(sum[r][j], _mm256_madd_epi16(weight[j], four));
        }
      }
      for (int r = 0; r < R; r++) {
        const size_t at = (size_t)(row + r) * in.groups + g;
        for (int j = 0; j < 2; j++) {
          const __m256i pairs = _mm256_hadd_epi32(sum[r][2 * j], sum[r][2 * j + 1]);
          const __m256i eight = _mm256_permute4x64_epi64(pairs, 0xD8);
          const __m256i whole = _mm256_add_epi32(eight, _mm256_set1_epi32(in.sums[at * 2]));
          const Vec factor = load<Vec>(scales + 8 * j) * in.scales[at];
          result[r][j] += (Vec)_mm256_cvtepi32_ps(whole) * factor;
        }
      }
    }
    for (int r = 0; r < R; r++)
      for (int j = 0; j < 2; j++) save(y[r] + half * 16 + 8 * j, result[r][j]);
  }
};
using Int8Wide = Int8;

#include "kernels_table.h"

}  // namespace
}  // namespace ott

#pragma GCC pop_options

namespace ott {
const Kernels* avx2_kernels() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return nullptr;
  static const Kernels kernels = table("avx2");
  return &kernels;
}
}  // namespace ott

#else

namespace ott {
const Kernels* avx2_kernels() { return nullptr; }
}  // namespace ott

#endif
