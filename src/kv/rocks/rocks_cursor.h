// SPDX-License-Identifier: Apache-2.0
//
// Walks the database at a snapshot, section by section.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "kv/kv.h"
#include "kv/rocks/rocks_database.h"
#include "kv/rocks/sections.h"

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

}  // namespace quire::kv
