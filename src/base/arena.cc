// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

namespace quire {

char* Arena::Allocate(size_t size) {
  size = (size + 7) & ~size_t{7};
  if (size > left_ && size > kBlock / 4 && !blocks_.empty()) {
    // A large piece gets its own block.
    memory_ += size;
    charge_.Set(memory_);
    return blocks_.emplace_back(std::make_unique_for_overwrite<char[]>(size)).get();
  }
  if (size > left_ || at_ == nullptr) {
    memory_ += kBlock;
    charge_.Set(memory_);
    at_ = blocks_.emplace_back(std::make_unique_for_overwrite<char[]>(kBlock)).get();
    left_ = kBlock;
    if (size > kBlock) {
      return Allocate(size);
    }
  }
  char* p = at_;
  at_ += size;
  left_ -= size;
  return p;
}

std::string_view Arena::Adopt(std::string&& bytes) {
  if (bytes.size() <= kBlock / 8) {
    return Copy(bytes);  // cheaper than to keep the string
  }
  memory_ += bytes.capacity();
  charge_.Set(memory_);
  return adopted_.emplace_back(std::move(bytes));
}

void Arena::Reset() {
  adopted_.clear();
  if (blocks_.empty()) {
    memory_ = 0;
    charge_.Set(0);
    return;
  }
  blocks_.resize(1);
  at_ = blocks_.front().get();
  left_ = kBlock;
  memory_ = kBlock;
  charge_.Set(memory_);
}

}  // namespace quire
