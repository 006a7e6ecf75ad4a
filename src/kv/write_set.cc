// SPDX-License-Identifier: Apache-2.0
#include "kv/write_set.h"

#include <cassert>
#include <cstring>

namespace quire::kv {

std::string_view WriteSet::Keep(std::string_view bytes) {
  if (bytes.empty()) {
    return {};
  }
  char* p = static_cast<char*>(memory_.allocate(bytes.size(), 1));
  memcpy(p, bytes.data(), bytes.size());
  bytes_ += bytes.size();
  return {p, bytes.size()};
}

WriteSet::Write& WriteSet::Slot(std::string_view key) {
  auto it = writes_.lower_bound(key);
  if (it == writes_.end() || it->first != key) {
    it = writes_.emplace_hint(it, Keep(key), Write{});
  }
  if (!savepoints_.empty()) {
    undo_.push_back({&it->second, it->second});
  }
  return it->second;
}

const WriteSet::Write* WriteSet::Find(std::string_view key) const {
  if (writes_.empty()) {
    return nullptr;
  }
  auto it = writes_.find(key);
  return it == writes_.end() || it->second.kind == Kind::kNone ? nullptr : &it->second;
}

void WriteSet::Put(std::string_view key, std::string_view value, Reads reads) {
  Write& write = Slot(key);
  write.reads = reads;
  write.value = Keep(value);
  write.kind = Kind::kPut;
}

void WriteSet::Delete(std::string_view key, Reads reads) {
  Write& write = Slot(key);
  write.reads = reads;
  write.kind = Kind::kDelete;
}

void WriteSet::RollbackToSavepoint() {
  assert(!savepoints_.empty());
  for (size_t mark = savepoints_.back(); undo_.size() > mark; undo_.pop_back()) {
    *undo_.back().where = undo_.back().before;
  }
  savepoints_.pop_back();
}

void WriteSet::ReleaseSavepoint() {
  assert(!savepoints_.empty());
  savepoints_.pop_back();
  if (savepoints_.empty()) {
    undo_.clear();
  }
}

}  // namespace quire::kv
