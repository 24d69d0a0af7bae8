// The key/value cache: each slot owns a table of blocks, taken from one pool with a limit.
//
// A block holds the keys and values of kBlock positions for all layers and heads, so a slot grows
// with what it really holds, and freed blocks serve the next job without touching the system.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.h"
#include "memory.h"

namespace ott {

class Cache {
 public:
  static constexpr int kBlock = 64;

  // `limit` is the most bytes of blocks; at least one block is always allowed.
  Cache(int slots, int layers, int heads, int head, bool wide, size_t limit)
      : heads_(heads), head_(head), wide_(wide), tables_(slots) {
    block_bytes_ = (size_t)layers * heads * head * kBlock * 2 * (wide ? 4 : 2);
    most_ = limit / block_bytes_ > 0 ? limit / block_bytes_ : 1;
  }

  // Make room for `positions` positions in `slot`; false where the limit or the memory ends.
  bool reserve(int slot, int positions) {
    auto& table = tables_[slot];
    while ((int)table.size() * kBlock < positions) {
      if (free_.empty() && !grow()) return false;
      table.push_back(free_.back());
      free_.pop_back();
    }
    return true;
  }

  void release(int slot) {
    auto& table = tables_[slot];
    free_.insert(free_.end(), table.rbegin(), table.rend());
    table.clear();
  }

  HeadCache at(int slot, int layer, int head) const {
    const size_t index = (size_t)layer * heads_ + head;
    return HeadCache{tables_[slot].data(), index * kBlock * head_ * 2, kBlock, head_, wide_};
  }

  size_t bytes() const { return blocks_.size() * block_bytes_; }
  size_t used_bytes() const { return (blocks_.size() - free_.size()) * block_bytes_; }

 private:
  bool grow() {
    if (blocks_.size() >= most_) return false;
    try {
      blocks_.reserve(blocks_.size() + 1);
      free_.reserve(blocks_.size() + 1);
      blocks_.emplace_back(block_bytes_);
    } catch (const std::bad_alloc&) {
      return false;
    }
    free_.push_back(blocks_.back().as<uint8_t>());
    return true;
  }

  int heads_, head_;
  bool wide_;
  size_t block_bytes_ = 0, most_ = 0;
  std::vector<Buffer> blocks_;
  std::vector<uint8_t*> free_;
  std::vector<std::vector<uint8_t*>> tables_;
};

}  // namespace ott
