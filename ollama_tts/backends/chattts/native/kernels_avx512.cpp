// The kernels for x86 processors with AVX-512 and its 8-bit dot product (VNNI).
#include "kernels.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

namespace ott {
namespace {

#define OTT_LANES 16
constexpr int kMaxRows = 8;
#include "kernels_body.h"

#include "kernels_attention.h"

// Quantise a row into `planes` rows of signed bytes: 8-bit inputs q, or 16-bit inputs as
// q = 256 * high + low. The planes follow each other.
inline void prepare_int8(const float* x, const Matrix& m, int row, const Input& in) {
  const bool wide = m.format == Format::kInt8Wide;
  const float most = wide ? 32512.f : 127.f;
  int8_t* to = (int8_t*)(in.values + (size_t)row * in.stride);
  for (int g = 0; g < m.groups; g++) {
    const float top = reach(x + g * m.group, m.group);
    const Vec inverse = splat(most / top);
    __m512i sum = _mm512_setzero_si512(), low_sum = _mm512_setzero_si512();
    for (int k = g * m.group; k < (g + 1) * m.group; k += 16) {
      const __m512i q = (__m512i)rounded(load<Vec>(x + k) * inverse);
      const __m512i high =
          wide ? _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(128)), 8) : q;
      _mm_storeu_si128((__m128i*)(to + k), _mm512_cvtepi32_epi8(high));
      sum = _mm512_add_epi32(sum, high);
      if (wide) {
        const __m512i low = _mm512_sub_epi32(q, _mm512_slli_epi32(high, 8));
        _mm_storeu_si128((__m128i*)(to + m.inputs + k), _mm512_cvtepi32_epi8(low));
        low_sum = _mm512_add_epi32(low_sum, low);
      }
    }
    const size_t at = (size_t)row * in.groups + g;
    in.scales[at] = top / most;
    in.sums[at * 2] = -128 * _mm512_reduce_add_epi32(sum);
    in.sums[at * 2 + 1] = -128 * _mm512_reduce_add_epi32(low_sum);
  }
}

// sum += w . x, in place: the intrinsic makes GCC copy every accumulator around the loop.
inline void dot(__m512i& sum, __m512i w, __m512i x) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
}

// Weights are the unsigned side, inputs the signed side of the dot product. Few rows unroll over
// inputs instead, so that enough products are under way; integer sums are exact in any order.
template <int kPlanes>
struct IntProduct {
  static constexpr int kRows = 8 / kPlanes;
  template <int R>
  static void run(const Matrix& m, const Input& in, Tile tile, float (*y)[kPanel]) {
    constexpr int kUnroll = R * kPlanes >= 8 ? 1 : R * kPlanes > 1 ? 2 : 4;
    const uint8_t* w = tile.weights;
    const uint8_t* x = in.values + (size_t)tile.row * in.stride;
    Vec result[R][2] = {};
    for (int g = 0; g < m.groups; g++, tile.scales += kPanel) {
      __m512i sum[kUnroll][R][kPlanes][2];
      for (int r = 0; r < R; r++)
        for (int p = 0; p < kPlanes; p++) {
          const size_t at = (size_t)(tile.row + r) * in.groups + g;
          sum[0][r][p][0] = sum[0][r][p][1] = _mm512_set1_epi32(in.sums[at * 2 + p]);
          for (int u = 1; u < kUnroll; u++) sum[u][r][p][0] = sum[u][r][p][1] = __m512i{};
        }
      for (int k = 0; k < m.group; k += 4 * kUnroll, x += 4 * kUnroll)
        for (int u = 0; u < kUnroll; u++, w += 4 * kPanel, tile.ahead += tile.ahead_step) {
          fetch(w, tile.ahead);
          const __m512i w0 = _mm512_load_si512(w), w1 = _mm512_load_si512(w + 64);
          for (int r = 0; r < R; r++)
            for (int p = 0; p < kPlanes; p++) {
              int four;
              __builtin_memcpy(&four, x + r * in.stride + p * m.inputs + 4 * u, 4);
              const __m512i v = _mm512_set1_epi32(four);
              dot(sum[u][r][p][0], w0, v);
              dot(sum[u][r][p][1], w1, v);
            }
        }
      for (int r = 0; r < R; r++)
        for (int j = 0; j < 2; j++) {
          for (int u = 1; u < kUnroll; u++)
            for (int p = 0; p < kPlanes; p++)
              sum[0][r][p][j] = _mm512_add_epi32(sum[0][r][p][j], sum[u][r][p][j]);
          __m512i whole = sum[0][r][0][j];
          if (kPlanes == 2)
            whole = _mm512_add_epi32(_mm512_slli_epi32(whole, 8), sum[0][r][kPlanes - 1][j]);
          const float scale = in.scales[(size_t)(tile.row + r) * in.groups + g];
          result[r][j] += (Vec)_mm512_cvtepi32_ps(whole) * (load<Vec>(tile.scales + 16 * j) * scale);
        }
    }
    for (int r = 0; r < R; r++)
      for (int j = 0; j < 2; j++) save(y[r] + 16 * j, result[r][j]);
  }
};
using Int8 = IntProduct<1>;
using Int8Wide = IntProduct<2>;

#include "kernels_table.h"

}  // namespace
}  // namespace ott

#pragma GCC pop_options

namespace ott {
const Kernels* avx512_kernels() {
  const bool runs = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512vnni");
  if (!runs) return nullptr;
  static const Kernels kernels = table("avx512");
  return &kernels;
}
}  // namespace ott

#else

namespace ott {
const Kernels* avx512_kernels() { return nullptr; }
}  // namespace ott

#endif
