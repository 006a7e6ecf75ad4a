// SPDX-License-Identifier: Apache-2.0
#include "store/records/record_cursor.h"

#include <algorithm>

#include "store/records/record_keys.h"
#include "store/records/records.h"

namespace quire::store {

Result<std::unique_ptr<RecordCursor>> RecordCursor::Open(kv::Txn& txn, CollectionState& state,
                                                         kv::Direction direction, RecordId from) {
  std::unique_ptr<RecordCursor> cursor(new RecordCursor(state, direction, from));
  if (state.has_groups.load(std::memory_order_relaxed)) {
    ASSIGN_OR_RETURN(cursor->groups_, txn.Scan(GroupRange(state.table, GroupOf(from)), direction));
  }
  ASSIGN_OR_RETURN(cursor->own_, txn.Scan(RecordRange(state.table, from), direction));
  return cursor;
}

Status RecordCursor::Damaged() const { return DamagedGroup(state_.table, GroupOf(first_id_)); }

Status RecordCursor::NextOwn() {
  own_shown_ = false;
  ASSIGN_OR_RETURN(bool more, own_->Next());
  if (more) {
    own_id_ = ReadRecordId(own_->key().substr(4));
    return Status::Ok();
  }
  own_id_.reset();
  if (auto number = run_of_own_.End()) {
    state_.fold_notes.Add(*number);
  }
  return Status::Ok();
}

Status RecordCursor::NextGroup() {
  ASSIGN_OR_RETURN(bool more, groups_->Next());
  if (!more) {
    groups_.reset();
    return Status::Ok();
  }
  first_id_ = FirstIdOf(ReadGroupNumber(groups_->key()));
  if (!group_.Read(groups_->value())) {
    return Damaged();
  }
  left_ = group_.slots();
  if (first_id_ < from_) {
    left_ &= ~uint64_t{0} << SlotOf(from_);
  }
  rank_ = forward_ ? group_.count() - std::popcount(left_) : group_.count() - 1;
  lines_ = std::min(group_.cache_lines(), kMostLines);
  for (int i = 0; i < kAhead; ++i) {
    group_.Prefetch(forward_ ? rank_ + i : rank_ - i, lines_);
  }
  return Status::Ok();
}

uint64_t RecordCursor::LeftBeforeOwn() const {
  if (!own_id_) {
    return left_;
  }
  const RecordId distance = *own_id_ - first_id_;
  if (distance < 0 || distance >= kGroupSlots) {
    return (distance < 0) == forward_ ? 0 : left_;
  }
  const uint64_t below = (uint64_t{1} << distance) - 1;
  return left_ & (forward_ ? below : ~below & ~(uint64_t{1} << distance));
}

Result<bool> RecordCursor::NextRun() {
  while (true) {
    if (own_shown_ && own_id_) {
      RETURN_IF_ERROR(NextOwn());
    }
    while (left_ == 0 && groups_ != nullptr) {
      RETURN_IF_ERROR(NextGroup());
    }
    run_ = std::popcount(LeftBeforeOwn());
    if (run_ > 0) {
      return Take();
    }
    if (!own_id_) {
      return false;
    }
    if (PassOwn()) {
      id_ = *own_id_;
      document_ = own_->value();
      return true;
    }
  }
}

bool RecordCursor::PassOwn() {
  own_shown_ = true;
  const RecordId distance = *own_id_ - first_id_;
  const bool grouped = group_.count() > 0 && distance >= 0 && distance < kGroupSlots;
  if (grouped && ((left_ >> distance) & 1) != 0) {
    TakeSlot();  // it is the next one: nothing is left before it
    rank_ += forward_ ? 1 : -1;
  }
  if (auto number = run_of_own_.Pass(*own_id_, own_->value().size(), grouped)) {
    state_.fold_notes.Add(*number);
  }
  return !own_->value().empty();  // else it was deleted
}

}  // namespace quire::store
