// Integer inputs kept as 16-bit numbers, for paths that multiply 16-bit pairs.
// Included inside a path's namespace, after kernels_body.h.

// Quantise a row: each group has its own scale; 8-bit inputs reach 127, 16-bit inputs 32512.
inline void prepare_int8(const float* x, const Matrix& m, int row, const Input& in) {
  const float most = m.format == Format::kInt8Wide ? 32512.f : 127.f;
  int16_t* to = (int16_t*)(in.values + (size_t)row * in.stride);
  for (int g = 0; g < m.groups; g++, x += m.group, to += m.group) {
    const float top = reach(x, m.group);
    const float inverse = most / top;
    int32_t sum = 0;
    for (int k = 0; k < m.group; k += kLanes) {
      const Int q = rounded(load<Vec>(x + k) * inverse);
      for (int i = 0; i < kLanes; i++) {
        to[k + i] = (int16_t)q[i];
        sum += q[i];
      }
    }
    in.scales[(size_t)row * in.groups + g] = top / most;
    in.sums[((size_t)row * in.groups + g) * 2] = -128 * sum;
  }
}
