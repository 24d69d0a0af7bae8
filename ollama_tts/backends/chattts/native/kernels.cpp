#include "kernels.h"

#include <stdexcept>

#include "abi.h"

namespace ott {

const Kernels& kernels_of(int path) {
  const Kernels* const avx512 = avx512_kernels();
  const Kernels* const avx2 = avx2_kernels();
  const Kernels* const best = avx512 ? avx512 : avx2 ? avx2 : &portable_kernels();
  const Kernels* const known[] = {best, &portable_kernels(), avx2, avx512};
  if (path < OTT_PATH_BEST || path > OTT_PATH_AVX512 || !known[path])
    throw std::invalid_argument("path");
  return *known[path];
}

Format format_of(int mode, bool wide) {
  switch (mode) {
    case OTT_MODE_FLOAT32: return Format::kFloat32;
    case OTT_MODE_BFLOAT16: return Format::kBfloat16;
    case OTT_MODE_INT8: return wide ? Format::kInt8Wide : Format::kInt8;
    default: throw std::invalid_argument("mode");
  }
}

}  // namespace ott
