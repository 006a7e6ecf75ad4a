// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_cursor.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "kv/rocks/rocks_status.h"

namespace quire::kv {

RocksCursor::RocksCursor(RocksDatabase& database, const rocksdb::ReadOptions& read, Range range,
                         Direction direction)
    : database_(database),
      range_(std::move(range)),
      forward_(direction == Direction::kForward),
      read_(read),
      sections_(database.sections().Touching(range_)) {
  if (!range_.begin.empty()) {
    lower_ = range_.begin;
    read_.iterate_lower_bound = &lower_;
  }
  if (!range_.end.empty()) {
    upper_ = range_.end;
    read_.iterate_upper_bound = &upper_;
  }
  Enter(forward_ ? 0 : sections_.size() - 1);
}

void RocksCursor::Enter(size_t section) {
  section_ = section;
  iterator_.reset(database_.db()->NewIterator(read_, sections_[section]));
}

Result<bool> RocksCursor::Next() {
  switch (place_) {
    case Place::kBefore:
      forward_ ? iterator_->SeekToFirst() : iterator_->SeekToLast();
      break;
    case Place::kAt:
      forward_ ? iterator_->Next() : iterator_->Prev();
      break;
    case Place::kEnd:
      return false;
  }
  return Show();
}

Result<bool> RocksCursor::Seek(std::string_view target) {
  const rocksdb::Slice to(target.data(), target.size());
  if (const size_t section = SectionOf(target); section != section_) {
    Enter(section);
  }
  forward_ ? iterator_->Seek(to) : iterator_->SeekForPrev(to);
  return Show();
}

size_t RocksCursor::SectionOf(std::string_view target) const {
  if (sections_.size() == 1) {
    return 0;
  }
  const Sections::Handle section = database_.sections().Of(target);
  const auto at = std::find(sections_.begin(), sections_.end(), section);
  if (at != sections_.end()) {
    return static_cast<size_t>(at - sections_.begin());
  }
  return target < range_.begin ? 0 : sections_.size() - 1;  // outside of the range
}

Result<bool> RocksCursor::Show() {
  while (!iterator_->Valid()) {
    RETURN_IF_ERROR(FromRocks(iterator_->status()));
    if (section_ == (forward_ ? sections_.size() - 1 : 0)) {
      place_ = Place::kEnd;
      return false;
    }
    Enter(forward_ ? section_ + 1 : section_ - 1);
    forward_ ? iterator_->SeekToFirst() : iterator_->SeekToLast();
  }
  place_ = Place::kAt;
  key_ = iterator_->key().ToStringView();
  value_ = iterator_->value().ToStringView();
  return true;
}

}  // namespace quire::kv
