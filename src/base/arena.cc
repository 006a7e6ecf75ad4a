// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

namespace quire {

char* Arena::Allocate(size_t size) {
  size = (size + 7) & ~size_t{7};
  if (size > left_) {
    if (size > kBlock / 4 && !blocks_.empty()) {  // a large piece gets its own block
      memory_ += size;
      auto block = std::make_unique_for_overwrite<char[]>(size);
      char* p = block.get();
      blocks_.push_back(std::move(block));
      return p;
    }
    size_t block_size = size > kBlock ? size : kBlock;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size));
    at_ = blocks_.back().get();
    left_ = block_size;
    memory_ += block_size;
  }
  char* p = at_;
  at_ += size;
  left_ -= size;
  return p;
}

std::string_view Arena::Adopt(std::string&& bytes) {
  memory_ += bytes.capacity();
  return adopted_.emplace_back(std::move(bytes));
}

void Arena::Reset() {
  adopted_.clear();
  if (blocks_.empty()) {
    return;
  }
  if (blocks_.size() > 1 || memory_ > kBlock) {
    blocks_.clear();
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlock));
  }
  at_ = blocks_.front().get();
  left_ = kBlock;
  memory_ = kBlock;
}

}  // namespace quire
