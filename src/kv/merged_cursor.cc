// SPDX-License-Identifier: Apache-2.0
#include "kv/merged_cursor.h"

#include <iterator>
#include <utility>

#include "base/try.h"

namespace quire::kv {

MergedCursor::MergedCursor(std::unique_ptr<Cursor> base, Range range, Direction direction,
                           WriteSet& writes)
    : range_(std::move(range)),
      forward_(direction == Direction::kForward),
      set_(writes),
      writes_(writes.Ordered()),
      base_(std::move(base)) {}

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
  ASSIGN_OR_RETURN(base_valid_, base_->Seek(target));
  move_base_ = false;
  return Merge();
}

Result<bool> MergedCursor::Merge() {
  while (true) {
    if (std::exchange(move_base_, false)) {
      ASSIGN_OR_RETURN(base_valid_, base_->Next());
    }
    if (std::exchange(move_pending_, false)) {
      NextPending();
    }
    if (pending_ == nullptr && !base_valid_) {
      return false;
    }
    int order = pending_ == nullptr ? -1 : !base_valid_ ? 1 : base_->key().compare(pending_->first);
    if (!forward_ && pending_ != nullptr && base_valid_) {
      order = -order;
    }
    move_base_ = order <= 0;
    move_pending_ = order >= 0;
    if (order < 0) {
      ShowBase();
      return true;
    }
    if (ShowPending(order == 0)) {
      return true;
    }
  }
}

void MergedCursor::ShowBase() {
  key_ = base_->key();
  value_ = base_->value();
}

bool MergedCursor::ShowPending(bool over_base) {
  const WriteSet::Write* write = set_.At(*pending_);
  if (write == nullptr) {  // undone
    if (over_base) {
      ShowBase();
    }
    return over_base;
  }
  key_ = write->key;
  value_ = write->value;
  return write->kind == WriteSet::Kind::kPut;
}

}  // namespace quire::kv
