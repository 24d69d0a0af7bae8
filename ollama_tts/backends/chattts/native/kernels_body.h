// The kernels, written once with the compiler's own vectors of OTT_LANES floats.
//
// Included by each kernels_*.cpp inside its own namespace, after it has defined OTT_LANES,
// kMaxRows (rows multiplied together) and before it defines the integer products.
// kernels_attention.h follows it.
// No header may be included here: the includer has switched the compiler's target.

typedef float Vec __attribute__((vector_size(OTT_LANES * 4)));
typedef int32_t Int __attribute__((vector_size(OTT_LANES * 4)));
typedef uint32_t Bits __attribute__((vector_size(OTT_LANES * 4)));

constexpr int kLanes = OTT_LANES;
constexpr int kPanelVecs = kPanel / kLanes;
constexpr int kLaneVecs = kLane / kLanes;

template <class V, class T>
inline V load(const T* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class T>
inline void save(T* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}
inline Vec splat(float x) { return x - Vec{}; }
inline Vec largest(Vec a, Vec b) { return a > b ? a : b; }
inline Vec absolute(Vec x) { return (Vec)((Bits)x & 0x7fffffffu); }
inline float total(Vec v) {
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; i++) v[i] += v[i + width];
  return v[0];
}
inline float top_of(Vec v) {
  float top = v[0];
  for (int i = 1; i < kLanes; i++) top = v[i] > top ? v[i] : top;
  return top;
}

// Nearest integers of |x| < 2^22, ties to even.
inline Int rounded(Vec x) {
  const Vec magic = splat(12582912.f);
  return (Int)(x + magic) - (Int)magic;
}

// exp, relative error about 2e-7, for x from -87 to 88; below that 1e-38.
inline Vec exponential(Vec x) {
  x = x < -87.f ? splat(-87.f) : x;   // NaN stays NaN
  const Vec magic = splat(12582912.f);
  const Vec shifted = x * 1.44269504f + magic;
  const Vec n = shifted - magic;
  Vec r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Vec p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r;
  const Int exponent = ((Int)shifted - (Int)magic + 127) << 23;
  return (p + 1.f) * (Vec)exponent;
}

inline uint16_t to_bfloat16(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, 4);
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
inline float from_bfloat16(uint16_t x) {
  const uint32_t u = (uint32_t)x << 16;
  float f;
  __builtin_memcpy(&f, &u, 4);
  return f;
}
inline Vec even_half(Bits pair) { return (Vec)(pair << 16); }
inline Vec odd_half(Bits pair) { return (Vec)(pair & 0xffff0000u); }

// Each channel's values against its own weights, over rows `dilation` apart.
void depthwise(const float* rows, int width, int dilation, int taps, const float* weights,
               const float* bias, float* y) {
  for (int k = 0; k < width; k += kLanes) {
    Vec sum = load<Vec>(bias + k);
    for (int t = 0; t < taps; t++)
      sum += load<Vec>(rows + (size_t)t * dilation * width + k) *
             load<Vec>(weights + (size_t)t * width + k);
    save(y + k, sum);
  }
}

void layer_norm(const float* x, const float* scale, const float* shift, int n, float epsilon,
                float* y) {
  Vec sum{}, squares{};
  for (int k = 0; k < n; k += kLanes) sum += load<Vec>(x + k);
  const float mean = total(sum) / (float)n;
  for (int k = 0; k < n; k += kLanes) {
    const Vec v = load<Vec>(x + k) - mean;
    squares += v * v;
  }
  const float inverse = 1.f / __builtin_sqrtf(total(squares) / (float)n + epsilon);
  for (int k = 0; k < n; k += kLanes)
    save(y + k, (load<Vec>(x + k) - mean) * inverse * load<Vec>(scale + k) + load<Vec>(shift + k));
}

void normalise(const float* x, const float* gain, int n, float epsilon, float* y) {
  Vec squares{};
  for (int k = 0; k < n; k += kLanes) {
    const Vec v = load<Vec>(x + k);
    squares += v * v;
  }
  const float scale = 1.f / __builtin_sqrtf(total(squares) / (float)n + epsilon);
  for (int k = 0; k < n; k += kLanes) save(y + k, load<Vec>(x + k) * scale * load<Vec>(gain + k));
}

// The largest absolute value of a group, at least 1e-12. A value that is not finite makes it NaN,
// and so the whole row: the caller then sees that this row failed.
inline float reach(const float* x, int n) {
  Vec top{}, poison{};
  for (int k = 0; k < n; k += kLanes) {
    const Vec v = load<Vec>(x + k);
    top = largest(top, absolute(v));
    poison += v - v;
  }
  const float most = top_of(top);
  return (most > 1e-12f ? most : 1e-12f) + total(poison);
}

inline Vec silu(Vec x) {
  const Vec e = exponential(-absolute(x));
  const Vec numerator = x >= 0.f ? splat(1.f) : e;
  return x * numerator / (1.f + e);
}

// x times the normal distribution's share below x, within 1.2e-7 |x| (Abramowitz and Stegun,
// 7.1.26, for the tail, so that nothing cancels).
inline Vec gelu(Vec x) {
  const Vec size = absolute(x);
  const Vec t = 1.f / (1.f + size * 0.23164190f);
  Vec tail = splat(0.5307027145f);
  tail = tail * t - 0.7265760135f;
  tail = tail * t + 0.7107068705f;
  tail = tail * t - 0.142248368f;
  tail = tail * t + 0.127414796f;
  return (x > 0.f ? x : Vec{}) - size * (tail * t * exponential(size * size * -0.5f));
}

// Write a finished tile y [rows][32] of a panel.
inline void emit(float (*y)[kPanel], int rows, int row, int panel, const Output& out) {
  for (int r = 0; r < rows; r++) {
    if (out.bias)
      for (int j = 0; j < kPanel; j += kLanes)
        save(y[r] + j, load<Vec>(y[r] + j) + load<Vec>(out.bias + panel * kPanel + j));
    float* to = out.data + (size_t)(row + r) * out.stride;
    if (out.store == Store::kGate) {
      to += panel * (kPanel / 2);
      for (int j = 0; j < kPanel / 2; j += kLanes)
        save(to + j, silu(load<Vec>(y[r] + j)) * load<Vec>(y[r] + kPanel / 2 + j));
      continue;
    }
    if (out.store == Store::kGelu)
      for (int j = 0; j < kPanel; j += kLanes) save(y[r] + j, gelu(load<Vec>(y[r] + j)));
    const int left = out.columns - panel * kPanel;
    to += panel * kPanel;
    if (left < kPanel) {
      for (int j = 0; j < left; j++) to[j] = out.store == Store::kAdd ? to[j] + y[r][j] : y[r][j];
    } else if (out.store == Store::kAdd) {
      for (int j = 0; j < kPanel; j += kLanes)
        save(to + j, load<Vec>(to + j) + load<Vec>(y[r] + j));
    } else {
      __builtin_memcpy(to, y[r], kPanel * sizeof(float));
    }
  }
}

// One tile of a product: rows [row, row + R) of a panel. While it is computed, a share of the next
// panel is fetched into the cache, so that memory and arithmetic are busy at the same time:
// `ahead` moves by `ahead_step` bytes for every 128 bytes of weights.
struct Tile {
  const uint8_t* weights;
  const float* scales;
  int row;
  const uint8_t* ahead;
  int ahead_step;
};

inline void fetch(const uint8_t* near, const uint8_t* ahead) {
  __builtin_prefetch(near + 1024);
  __builtin_prefetch(near + 1088);
  __builtin_prefetch(ahead, 0, 2);
  __builtin_prefetch(ahead + 64, 0, 2);
}

// A product computes a tile y [R][32]; kRows is how many rows it takes at once.
struct Float32 {
  static constexpr int kRows = kMaxRows;
  template <int R>
  static void run(const Matrix& m, const Input& in, Tile tile, float (*y)[kPanel]) {
    Vec sum[R][kPanelVecs] = {};
    const float* w = (const float*)tile.weights;
    for (int k = 0; k < m.inputs; k++, w += kPanel, tile.ahead += tile.ahead_step) {
      fetch((const uint8_t*)w, tile.ahead);
      for (int r = 0; r < R; r++) {
        const Vec x = splat(((const float*)(in.values + (size_t)(tile.row + r) * in.stride))[k]);
        for (int j = 0; j < kPanelVecs; j++) sum[r][j] += x * load<Vec>(w + j * kLanes);
      }
    }
    for (int r = 0; r < R; r++)
      for (int j = 0; j < kPanelVecs; j++) save(y[r] + j * kLanes, sum[r][j]);
  }
};

struct Bfloat16 {
  static constexpr int kRows = kMaxRows;
  template <int R>
  static void run(const Matrix& m, const Input& in, Tile tile, float (*y)[kPanel]) {
    Vec sum[R][kPanelVecs] = {};
    const uint32_t* w = (const uint32_t*)tile.weights;
    for (int k = 0; k < m.inputs; k += 2, w += kPanel, tile.ahead += tile.ahead_step) {
      fetch((const uint8_t*)w, tile.ahead);
      for (int j = 0; j < kPanelVecs; j++) {
        const Bits pair = load<Bits>(w + j * kLanes);
        const Vec even = even_half(pair), odd = odd_half(pair);
        for (int r = 0; r < R; r++) {
          const float* x = (const float*)(in.values + (size_t)(tile.row + r) * in.stride) + k;
          sum[r][j] += even * x[0];
          sum[r][j] += odd * x[1];
        }
      }
    }
    for (int r = 0; r < R; r++)
      for (int j = 0; j < kPanelVecs; j++) save(y[r] + j * kLanes, sum[r][j]);
  }
};

inline void prepare_float32(const float* x, const Matrix& m, int row, const Input& in) {
  __builtin_memcpy(in.values + (size_t)row * in.stride, x, (size_t)m.inputs * sizeof(float));
}
inline void prepare_bfloat16(const float* x, const Matrix& m, int row, const Input& in) {
  float* to = (float*)(in.values + (size_t)row * in.stride);
  for (int k = 0; k < m.inputs; k++) to[k] = from_bfloat16(to_bfloat16(x[k]));
}

// How many rows the next tile takes: 8, 4, 2 or 1, as many as the product can.
template <class Product>
inline int tile_rows(int left) {
  for (int rows = 8; rows > 1; rows /= 2)
    if (rows <= Product::kRows && rows <= left) return rows;
  return 1;
}

template <class Product>
inline void run_tile(const Matrix& m, const Input& in, const Tile& tile, int rows,
                     float (*y)[kPanel]) {
  constexpr int kMost = Product::kRows;
  switch (rows) {
    case 8: return Product::template run<kMost >= 8 ? 8 : 1>(m, in, tile, y);
    case 4: return Product::template run<kMost >= 4 ? 4 : 1>(m, in, tile, y);
    case 2: return Product::template run<kMost >= 2 ? 2 : 1>(m, in, tile, y);
    default: return Product::template run<1>(m, in, tile, y);
  }
}

template <class Product>
inline void panels(const Matrix& m, int first, int last, const Input& in, int rows,
                   const Output& out) {
  alignas(64) float y[8][kPanel];
  int tiles = 0;
  for (int row = 0; row < rows; row += tile_rows<Product>(rows - row)) tiles++;
  const size_t share = m.panel_bytes / tiles / 64 * 64;
  for (int panel = first; panel < last; panel++) {
    const uint8_t* weights = m.values + (size_t)panel * m.panel_bytes;
    const bool more = panel + 1 < last;
    Tile tile{weights, m.scales + (size_t)panel * m.groups * kPanel, 0,
              more ? weights + m.panel_bytes : weights, more ? 128 / tiles : 0};
    for (int taken; tile.row < rows; tile.row += taken) {
      taken = tile_rows<Product>(rows - tile.row);
      run_tile<Product>(m, in, tile, taken, y);
      emit(y, taken, tile.row, panel, out);
      if (more) tile.ahead += share;
    }
  }
}

bool sum_exp(const float* x, int n, float* top, float* sum) {
  float most = x[0], poison = 0.f;
  for (int i = 0; i < n; i++) {
    most = x[i] > most ? x[i] : most;
    poison += x[i] - x[i];
  }
  if (poison != 0.f || most != most) return false;
  Vec sums{};
  float rest = 0.f;
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) sums += exponential(load<Vec>(x + i) - most);
  if (i < n) {
    float tail[kLanes];
    for (int j = 0; j < kLanes; j++) tail[j] = i + j < n ? x[i + j] - most : -100.f;
    const Vec e = exponential(load<Vec>(tail));
    for (int j = 0; i + j < n; j++) rest += e[j];
  }
  *top = most;
  *sum = total(sums) + rest;
  return true;
}
