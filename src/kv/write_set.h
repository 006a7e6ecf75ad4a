// SPDX-License-Identifier: Apache-2.0
//
// The pending writes of one transaction in the order they were made, and what it adds to counters,
// with savepoints; the last write of a key counts. Most transactions are never asked what they
// wrote, so the keys are brought into order only when somebody does. Its bytes never move while it
// lives, so views into it stay valid while more is written. For backends that collect a
// transaction's writes in memory. Not safe for concurrent use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_charge.h"
#include "kv/kv.h"

namespace quire::kv {

class WriteSet {
 private:
  struct Last {
    size_t count = 0;  // writes up to and with the key's last one; 0: none
  };

 public:
  enum class Kind : uint8_t { kPut, kDelete };
  struct Write {
    std::string_view key;
    std::string_view value;  // kPut
    Kind kind = Kind::kPut;
    Reads reads = Reads::kByRange;
    bool is_new = false;  // kPut: see PutHints

   private:
    friend class WriteSet;
    Last* index_entry_ = nullptr;
    size_t before_ = 0;  // what index_entry_ was
  };
  struct Addition {
    std::string counter;
    int64_t delta;
  };
  using Map = std::pmr::map<std::string_view, Last>;

  WriteSet() : memory_(first_, sizeof(first_)), index_(&memory_) {}
  WriteSet(const WriteSet&) = delete;
  WriteSet& operator=(const WriteSet&) = delete;

  // No writes: there may be additions.
  bool empty() const { return writes_.empty(); }
  const std::vector<Addition>& additions() const { return additions_; }
  // What the transaction adds to the counter.
  int64_t Added(std::string_view counter) const;
  // In the order they were made; a key may come several times.
  std::span<const Write> writes() const { return writes_; }
  // Whether no later write of the key is known: one of a key that was never looked for may be.
  bool IsLast(const Write& write) const {
    return write.index_entry_ == nullptr ||
           write.index_entry_->count == static_cast<size_t>(&write - writes_.data()) + 1;
  }
  // Upper estimate of the bytes of keys and values.
  size_t bytes() const { return bytes_; }
  // The pending write of `key`, or null; valid until the next write.
  const Write* Find(std::string_view key);

  void Put(std::string_view key, std::string_view value, const PutHints& hints);
  void Delete(std::string_view key, Reads reads);
  void Add(std::string_view counter, int64_t delta) {
    additions_.push_back({std::string(counter), delta});
  }

  void SetSavepoint() { savepoints_.push_back({writes_.size(), additions_.size()}); }
  // REQUIRES of both: a savepoint is set.
  void RollbackToSavepoint();
  void ReleaseSavepoint() { savepoints_.pop_back(); }

  // The keys in order, as written so far; what is written later may be missing.
  const Map& Ordered();
  // The last write of the entry's key, null when all were undone. Valid until the next write.
  const Write* At(const Map::value_type& entry) const;

 private:
  struct Savepoint {
    size_t writes;
    size_t additions;
  };

  std::string_view Keep(std::string_view bytes);
  Write& Append(std::string_view key);
  void Index();
  // The first entry not before `key`. A batch of documents writes a few ascending runs of keys side
  // by side: where the last of each run went in is looked at before the whole map is searched.
  Map::iterator LowerBound(std::string_view key);
  Map::value_type& EntryOf(std::string_view key);

  std::byte first_[1536];
  std::pmr::monotonic_buffer_resource memory_;
  std::vector<Write> writes_;
  std::vector<Addition> additions_;
  std::vector<Savepoint> savepoints_;
  size_t bytes_ = 0;
  MemoryCharge charge_;
  Map index_;
  size_t indexed_ = 0;  // of writes_, the first so many are in index_
  std::array<Map::iterator, 4> run_ends_;
  size_t runs_ = 0;      // of run_ends_, those set
  size_t this_run_ = 0;  // the one of the last LowerBound
};

}  // namespace quire::kv
