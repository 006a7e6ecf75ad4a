// SPDX-License-Identifier: Apache-2.0
#include "kv/write_set.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>

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

WriteSet::Map::iterator WriteSet::LowerBound(std::string_view key) {
  for (size_t run = 0; run < runs_; ++run) {
    if (run_ends_[run]->first < key) {
      auto next = std::next(run_ends_[run]);
      if (next == writes_.end() || key <= next->first) {
        this_run_ = run;
        return next;
      }
    }
  }
  this_run_ = runs_ < run_ends_.size() ? runs_ : (this_run_ + 1) % run_ends_.size();
  return writes_.lower_bound(key);
}

WriteSet::Write& WriteSet::Slot(std::string_view key) {
  auto it = LowerBound(key);
  if (it == writes_.end() || it->first != key) {
    it = writes_.emplace_hint(it, Keep(key), Write{});
    run_ends_[this_run_] = it;
    runs_ = std::max(runs_, this_run_ + 1);
  }
  if (!savepoints_.empty()) {
    undo_.push_back({&it->second, it->second});
  }
  return it->second;
}

const WriteSet::Write* WriteSet::Find(std::string_view key) {
  auto it = LowerBound(key);
  const bool found = it != writes_.end() && it->first == key && it->second.kind != Kind::kNone;
  return found ? &it->second : nullptr;
}

void WriteSet::Put(std::string_view key, std::string_view value, Reads reads) {
  Write& write = Slot(key);
  write.reads = reads;
  write.is_new = write.is_new && write.kind == Kind::kPut;
  write.value = Keep(value);
  write.kind = Kind::kPut;
}

void WriteSet::PutNew(std::string_view key, std::string_view value, Reads reads) {
  Write& write = Slot(key);
  write.reads = reads;
  write.is_new = write.kind == Kind::kNone;  // what was deleted here is in the store
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
