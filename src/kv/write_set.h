// SPDX-License-Identifier: Apache-2.0
//
// The pending writes of one transaction, ordered by key, with savepoints. Its bytes never move
// while it lives, so views into it stay valid while more is written. For backends that collect a
// transaction's writes in memory. Not safe for concurrent use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "kv/kv.h"

namespace quire::kv {

class WriteSet {
 public:
  enum class Kind : uint8_t {
    kNone,  // undone by a savepoint: as if the key were not there
    kPut,
    kDelete,
  };
  struct Write {
    Kind kind = Kind::kNone;
    Reads reads = Reads::kByRange;
    bool is_new = false;     // kPut: the store has no value of the key
    std::string_view value;  // kPut
  };
  using Map = std::pmr::map<std::string_view, Write>;

  WriteSet() : memory_(first_, sizeof(first_)), writes_(&memory_) {}
  WriteSet(const WriteSet&) = delete;
  WriteSet& operator=(const WriteSet&) = delete;

  bool empty() const { return writes_.empty(); }
  // Every key written, in order; includes undone ones (Kind::kNone).
  const Map& writes() const { return writes_; }
  // Upper estimate of the bytes of keys and values.
  size_t bytes() const { return bytes_; }
  // The pending write of `key`, or null.
  const Write* Find(std::string_view key);

  void Put(std::string_view key, std::string_view value, Reads reads);
  // As Put of a key that has no value, neither in the store nor, if it was deleted, in this set.
  void PutNew(std::string_view key, std::string_view value, Reads reads);
  void Delete(std::string_view key, Reads reads);

  void SetSavepoint() { savepoints_.push_back(undo_.size()); }
  // REQUIRES of both: a savepoint is set.
  void RollbackToSavepoint();
  void ReleaseSavepoint();

 private:
  struct Undo {
    Write* where;
    Write before;
  };

  std::string_view Keep(std::string_view bytes);
  // The first write not before `key`. A batch of documents writes a few ascending runs of keys side
  // by side: where the last of each run went in is looked at before the whole map is searched.
  Map::iterator LowerBound(std::string_view key);
  // The slot of `key`, its present state remembered for the savepoints.
  Write& Slot(std::string_view key);

  std::byte first_[1536];
  std::pmr::monotonic_buffer_resource memory_;
  Map writes_;
  std::array<Map::iterator, 4> run_ends_;
  size_t runs_ = 0;      // of run_ends_, those set
  size_t this_run_ = 0;  // the one of the last LowerBound
  std::vector<Undo> undo_;
  std::vector<size_t> savepoints_;
  size_t bytes_ = 0;
};

}  // namespace quire::kv
