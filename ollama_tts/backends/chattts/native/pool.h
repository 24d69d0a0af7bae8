// Threads and room for prepared inputs.
#pragma once

#include "crew.h"
#include "kernels.h"
#include "memory.h"

namespace ott {

struct Pool {
  Pool(int threads, int path) : kernels(kernels_of(path)), crew(threads) {}
  const Kernels& kernels;
  Crew crew;
};

// Rows prepared as inputs of `m`; the buffers are large enough already.
inline Input input_of(const Matrix& m, const Buffer& values, const Buffer& scales,
                      const Buffer& sums) {
  return Input{values.as(), scales.as<float>(), sums.as<int32_t>(), (size_t)m.inputs * 4,
               m.groups};
}

}  // namespace ott
