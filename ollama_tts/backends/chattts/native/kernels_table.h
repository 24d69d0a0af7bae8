// The path's table. Included inside a path's namespace, after its products.

void prepare(const float* x, const Matrix& m, int row, const Input& in) {
  switch (m.format) {
    case Format::kFloat32: return prepare_float32(x, m, row, in);
    case Format::kBfloat16: return prepare_bfloat16(x, m, row, in);
    case Format::kInt8:
    case Format::kInt8Wide: return prepare_int8(x, m, row, in);
  }
}

void multiply(const Matrix& m, int first, int last, const Input& in, int rows,
              const Output& out) {
  switch (m.format) {
    case Format::kFloat32: return panels<Float32>(m, first, last, in, rows, out);
    case Format::kBfloat16: return panels<Bfloat16>(m, first, last, in, rows, out);
    case Format::kInt8: return panels<Int8>(m, first, last, in, rows, out);
    case Format::kInt8Wide: return panels<Int8Wide>(m, first, last, in, rows, out);
  }
}

Kernels table(const char* name) {
  return Kernels{name, normalise, prepare, multiply, remember, attend, sum_exp,
                 layer_norm, depthwise};
}
