// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/sections.h"

#include <cassert>
#include <utility>

namespace quire::kv {

Sections::Sections(rocksdb::DB* db, std::vector<std::string> begins, std::vector<Handle> handles)
    : db_(db), begins_(std::move(begins)), handles_(std::move(handles)) {
  assert(begins_.size() == handles_.size() && begins_.front().empty());
  for (Handle handle : handles_) {
    ids_.push_back(handle->GetID());
  }
}

Sections::~Sections() {
  for (Handle handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
}

Sections& Sections::operator=(Sections&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(begins_, other.begins_);
  std::swap(handles_, other.handles_);
  std::swap(ids_, other.ids_);
  return *this;
}

std::span<const Sections::Handle> Sections::Touching(const Range& range) const {
  const size_t first = IndexOf(range.begin);
  size_t end = first + 1;
  while (end < begins_.size() && (range.end.empty() || begins_[end] < range.end)) {
    ++end;
  }
  return std::span(handles_).subspan(first, end - first);
}

}  // namespace quire::kv
