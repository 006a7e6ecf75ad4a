// SPDX-License-Identifier: Apache-2.0
//
// The cursor of a transaction that has written: what is stored, with the pending writes laid over
// it. For backends that collect a transaction's writes in a WriteSet.
#pragma once

#include <memory>
#include <string_view>

#include "kv/kv.h"
#include "kv/write_set.h"

namespace quire::kv {

class MergedCursor final : public Cursor {
 public:
  // `base` walks what is stored, in the same range and direction. REQUIRES: `writes` outlives the
  // cursor.
  MergedCursor(std::unique_ptr<Cursor> base, Range range, Direction direction, WriteSet& writes);

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
  void ShowBase();
  // Shows the pending write, alone or over the base entry of the same key; false when it hides it.
  bool ShowPending(bool over_base);

  const Range range_;
  const bool forward_;
  const WriteSet& set_;
  const WriteSet::Map& writes_;
  const std::unique_ptr<Cursor> base_;
  bool base_valid_ = false;
  WriteSet::Map::const_iterator at_;
  const Entry* pending_ = nullptr;  // *at_, or null when that side is at its end
  bool started_ = false;
  bool move_base_ = false;
  bool move_pending_ = false;
};

}  // namespace quire::kv
