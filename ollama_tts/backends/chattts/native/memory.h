// Aligned memory that knows its size. Throws std::bad_alloc where there is none.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ott {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    constexpr size_t kHuge = size_t{2} << 20;
    const bool huge = bytes >= kHuge;
    if (huge) bytes = (bytes + kHuge - 1) / kHuge * kHuge;   // so that its end is a large page too
    // Room to read (and never use) a little past the end: kernels fetch ahead.
    if (posix_memalign(&data_, huge ? kHuge : 64, bytes + 4096)) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (huge) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { free(data_); }

  template <class T = unsigned char>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }

  // At least `bytes`, contents lost when it grows.
  void reserve(size_t bytes) {
    if (bytes > bytes_) *this = Buffer(bytes);
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Memory for everything that lives as long as a model, handed out from a few large pieces: the
// system can back these with large pages, which weights that are read through at every step need.
class Arena {
 public:
  // `piece`: bytes of a large piece; 0 gives everything a piece of its own size.
  explicit Arena(size_t piece = size_t{64} << 20) : piece_(piece) {}

  unsigned char* take(size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    if (bytes > left_) {
      pieces_.emplace_back(bytes > piece_ ? bytes : piece_);
      next_ = pieces_.back().as();
      left_ = pieces_.back().bytes();
    }
    unsigned char* taken = next_;
    next_ += bytes;
    left_ -= bytes;
    taken_ += bytes;
    return taken;
  }
  size_t bytes() const { return taken_; }

 private:
  size_t piece_;
  std::vector<Buffer> pieces_;
  unsigned char* next_ = nullptr;
  size_t left_ = 0, taken_ = 0;
};

}  // namespace ott
