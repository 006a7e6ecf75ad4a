// SPDX-License-Identifier: Apache-2.0
#include "kv/write_set.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>

#include "kv/counter.h"

namespace quire::kv {

std::string_view WriteSet::Keep(std::string_view bytes) {
  if (bytes.empty()) {
    return {};
  }
  char* p = static_cast<char*>(memory_.allocate(bytes.size(), 1));
  memcpy(p, bytes.data(), bytes.size());
  return {p, bytes.size()};
}

WriteSet::Write& WriteSet::Append(std::string_view key) {
  constexpr size_t kMostWrites = 8;  // of a transaction
  if (writes_.capacity() == 0) {
    writes_.reserve(kMostWrites);
  }
  Write& write = writes_.emplace_back();
  write.key = Keep(key);
  bytes_ += key.size();
  charge_.Set(bytes_);
  return write;
}

void WriteSet::Put(std::string_view key, std::string_view value, const PutHints& hints) {
  Write& write = Append(key);
  write.reads = hints.reads;
  write.is_new = hints.is_new;
  write.value = hints.outlives ? value : Keep(value);
  bytes_ += value.size();
  charge_.Set(bytes_);
}

void WriteSet::Delete(std::string_view key, Reads reads) {
  Write& write = Append(key);
  write.kind = Kind::kDelete;
  write.reads = reads;
}

int64_t WriteSet::Added(std::string_view counter) const {
  int64_t sum = 0;
  for (const Addition& addition : additions_) {
    if (addition.counter == counter) {
      sum = AddCounters(sum, addition.delta);
    }
  }
  return sum;
}

const WriteSet::Write* WriteSet::Find(std::string_view key) {
  constexpr size_t kFew = 16;
  if (index_.empty() && writes_.size() <= kFew) {
    auto last = std::find_if(writes_.rbegin(), writes_.rend(),
                             [key](const Write& write) { return write.key == key; });
    return last == writes_.rend() ? nullptr : &*last;
  }
  Index();
  auto it = LowerBound(key);
  return it == index_.end() || it->first != key ? nullptr : At(*it);
}

const WriteSet::Map& WriteSet::Ordered() {
  Index();
  return index_;
}

const WriteSet::Write* WriteSet::At(const Map::value_type& entry) const {
  return entry.second.count == 0 ? nullptr : &writes_[entry.second.count - 1];
}

void WriteSet::Index() {
  for (; indexed_ < writes_.size(); ++indexed_) {
    Write& write = writes_[indexed_];
    write.index_entry_ = &EntryOf(write.key).second;
    write.before_ = write.index_entry_->count;
    write.index_entry_->count = indexed_ + 1;
  }
}

WriteSet::Map::iterator WriteSet::LowerBound(std::string_view key) {
  for (size_t run = 0; run < runs_; ++run) {
    if (run_ends_[run]->first < key) {
      auto next = std::next(run_ends_[run]);
      if (next == index_.end() || key <= next->first) {
        this_run_ = run;
        return next;
      }
    }
  }
  this_run_ = runs_ < run_ends_.size() ? runs_ : (this_run_ + 1) % run_ends_.size();
  return index_.lower_bound(key);
}

WriteSet::Map::value_type& WriteSet::EntryOf(std::string_view key) {
  auto it = LowerBound(key);
  if (it == index_.end() || it->first != key) {
    it = index_.emplace_hint(it, key, Last());
    run_ends_[this_run_] = it;
    runs_ = std::max(runs_, this_run_ + 1);
  }
  return *it;
}

void WriteSet::RollbackToSavepoint() {
  assert(!savepoints_.empty());
  const Savepoint mark = savepoints_.back();
  savepoints_.pop_back();
  for (; indexed_ > mark.writes; --indexed_) {
    const Write& undone = writes_[indexed_ - 1];
    undone.index_entry_->count = undone.before_;
  }
  writes_.resize(mark.writes);
  additions_.resize(mark.additions);
}

}  // namespace quire::kv
