// SPDX-License-Identifier: Apache-2.0
//
// The two cursors of the backend: over the database alone, and over the database with a
// transaction's pending writes laid over it.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "kv/kv.h"
#include "kv/rocks/rocks_database.h"
#include "kv/rocks/sections.h"
#include "kv/write_set.h"

namespace quire::kv {

class RocksCursor final : public Cursor {
 public:
  // Reads as `read` says (its snapshot), within `range`.
  RocksCursor(RocksDatabase& database, const rocksdb::ReadOptions& read, Range range,
              Direction direction);

  Result<bool> Next() override;
  Result<bool> Seek(std::string_view target) override;

 private:
  enum class Place { kBefore, kAt, kEnd };
  // Enters a section of the range.
  void Enter(size_t section);
  // The section of the range that is nearest to the target.
  size_t SectionOf(std::string_view target) const;
  // Shows the entry the iterator stands at, or the first one of the sections that follow.
  Result<bool> Show();

  RocksDatabase& database_;
  Range range_;
  rocksdb::Slice lower_;
  rocksdb::Slice upper_;
  const bool forward_;
  rocksdb::ReadOptions read_;
  std::span<const Sections::Handle> sections_;  // that the range touches
  size_t section_ = 0;                          // where iterator_ is
  Place place_ = Place::kBefore;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

class MergedCursor final : public Cursor {
 public:
  // REQUIRES: `writes` outlives the cursor.
  MergedCursor(RocksDatabase& database, const rocksdb::ReadOptions& read, Range range,
               Direction direction, WriteSet& writes);

  Result<bool> Next() override;
  Result<bool> Seek(std::string_view target) override;

 private:
  using Entry = WriteSet::Map::value_type;

  // Puts pending_ on the first pending write at or past `target` in the cursor's direction.
  void SeekPending(std::string_view target);
  void NextPending();
  // Drops pending_ when it lies outside the range.
  void BoundPending();
  // Shows the nearer of the two sides; both stand at or past the wanted place.
  Result<bool> Merge();
  // Shows the pending write, alone or over the base entry of the same key; false when it hides it.
  bool ShowPending(bool over_base);

  const Range range_;
  const bool forward_;
  const WriteSet& set_;
  const WriteSet::Map& writes_;
  RocksCursor base_;
  bool base_valid_ = false;
  WriteSet::Map::const_iterator at_;
  const Entry* pending_ = nullptr;  // *at_, or null when that side is at its end
  bool started_ = false;
  bool move_base_ = false;
  bool move_pending_ = false;
};

}  // namespace quire::kv
