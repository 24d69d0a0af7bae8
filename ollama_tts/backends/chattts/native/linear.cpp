#include "linear.h"

#include <algorithm>
#include <stdexcept>

#include "abi.h"

namespace ott {
namespace {

constexpr int kItems = 4;    // items of a product for each thread
constexpr int kRows = 64;    // rows that one item multiplies, so that its inputs stay near

int checked(int inputs, int outputs) {
  if (outputs < 1 || inputs < 16 || inputs % 16) throw std::invalid_argument("shape");
  return inputs;
}

}  // namespace

Linear::Linear(int outputs, int inputs, Format format)
    : arena_(0), matrix_(arena_, outputs, checked(inputs, outputs), format) {}

int Linear::fill(int first, int rows, Dtype dtype, const void* data) {
  const Matrix& m = matrix_.view();
  if (first < 0 || rows < 1 || first + rows > m.outputs) return OTT_MISUSE;
  std::vector<float> row(m.inputs);
  for (int i = 0; i < rows; i++) {
    for (int k = 0; k < m.inputs; k++) row[k] = read_element(data, dtype, (size_t)i * m.inputs + k);
    matrix_.set_row(first + i, row.data());
  }
  return OTT_OK;
}

void Linear::set_bias(const float* bias) {
  bias_.assign((size_t)matrix_.view().panels * kPanel, 0.f);
  std::copy(bias, bias + matrix_.view().outputs, bias_.begin());
}

void Linear::apply(Pool& pool, int rows, const float* x, float* y) const {
  const Matrix& m = matrix_.view();
  pool.values.reserve((size_t)rows * m.inputs * 4);
  pool.scales.reserve((size_t)rows * m.groups * 4);
  pool.sums.reserve((size_t)rows * m.groups * 8);
  const Input in{pool.values.as(), pool.scales.as<float>(), pool.sums.as<int32_t>(),
                 (size_t)m.inputs * 4, m.groups};
  const Kernels& kernels = pool.kernels;
  const int each = std::max(1, m.panels / (pool.crew.threads() * kItems));
  const int parts = (m.panels + each - 1) / each;
  const float* bias = bias_.empty() ? nullptr : bias_.data();

  auto plan = std::make_shared<Plan>();
  plan->add(rows, [&](int i, int) { kernels.prepare(x + (size_t)i * m.inputs, m, i, in); });
  plan->add(parts * ((rows + kRows - 1) / kRows), [&](int i, int) {
    const int row = i / parts * kRows, first = i % parts * each;
    Input some = in;
    some.values += (size_t)row * in.stride;
    some.scales += (size_t)row * in.groups;
    some.sums += (size_t)row * in.groups * 2;
    const Output out{y + (size_t)row * m.outputs, (size_t)m.outputs, m.outputs, Store::kSet, bias};
    kernels.multiply(m, first, std::min(m.panels, first + each), some, std::min(kRows, rows - row),
                     out);
  });
  pool.crew.run(plan);
}

}  // namespace ott
