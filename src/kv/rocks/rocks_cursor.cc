// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_cursor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error_codes.h"
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

MergedCursor::MergedCursor(RocksDatabase& database, const rocksdb::ReadOptions& read, Range range,
                           Direction direction, WriteSet& writes)
    : range_(range),
      forward_(direction == Direction::kForward),
      set_(writes),
      writes_(writes.Ordered()),
      base_(database, read, std::move(range), direction) {}

void MergedCursor::SeekPending(std::string_view target) {
  if (forward_) {
    at_ = writes_.lower_bound(target < range_.begin ? std::string_view(range_.begin) : target);
    pending_ = at_ == writes_.end() ? nullptr : &*at_;
  } else {
    const bool bounded = !range_.end.empty() && target >= range_.end;
    at_ = bounded ? writes_.lower_bound(range_.end) : writes_.upper_bound(target);
    pending_ = at_ == writes_.begin() ? nullptr : &*--at_;
  }
  BoundPending();
}

void MergedCursor::NextPending() {
  if (forward_) {
    pending_ = ++at_ == writes_.end() ? nullptr : &*at_;
  } else {
    pending_ = at_ == writes_.begin() ? nullptr : &*--at_;
  }
  BoundPending();
}

void MergedCursor::BoundPending() {
  if (pending_ != nullptr && (forward_ ? !range_.end.empty() && pending_->first >= range_.end
                                       : pending_->first < range_.begin)) {
    pending_ = nullptr;
  }
}

Result<bool> MergedCursor::Next() {
  if (!started_) {
    started_ = true;
    if (forward_) {
      SeekPending(range_.begin);
    } else {  // the last one before the end
      at_ = range_.end.empty() ? writes_.end() : writes_.lower_bound(range_.end);
      pending_ = at_ == writes_.begin() ? nullptr : &*--at_;
      BoundPending();
    }
    move_base_ = true;
    move_pending_ = false;
  }
  return Merge();
}

Result<bool> MergedCursor::Seek(std::string_view target) {
  started_ = true;
  SeekPending(target);
  move_pending_ = false;
  ASSIGN_OR_RETURN(base_valid_, base_.Seek(target));
  move_base_ = false;
  return Merge();
}

Result<bool> MergedCursor::Merge() {
  while (true) {
    if (std::exchange(move_base_, false)) {
      ASSIGN_OR_RETURN(base_valid_, base_.Next());
    }
    if (std::exchange(move_pending_, false)) {
      NextPending();
    }
    if (pending_ == nullptr && !base_valid_) {
      return false;
    }
    int order = pending_ == nullptr ? -1 : !base_valid_ ? 1 : base_.key().compare(pending_->first);
    if (!forward_ && pending_ != nullptr && base_valid_) {
      order = -order;
    }
    move_base_ = order <= 0;
    move_pending_ = order >= 0;
    if (order < 0) {
      key_ = base_.key();
      value_ = base_.value();
      return true;
    }
    if (ShowPending(order == 0)) {
      return true;
    }
  }
}

bool MergedCursor::ShowPending(bool over_base) {
  const WriteSet::Write* write = set_.At(*pending_);
  if (write == nullptr) {  // undone
    if (over_base) {
      key_ = base_.key();
      value_ = base_.value();
    }
    return over_base;
  }
  key_ = write->key;
  value_ = write->value;
  return write->kind == WriteSet::Kind::kPut;
}

}  // namespace quire::kv
