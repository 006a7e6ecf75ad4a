// SPDX-License-Identifier: Apache-2.0
//
// The documents of a collection in the order of their record ids: those of groups, and over them
// those with keys of their own.
#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <string_view>

#include "base/try.h"
#include "kv/kv.h"
#include "store/collection_state.h"
#include "store/records/group.h"
#include "store/records/own_run.h"

namespace quire::store {

// Not safe for concurrent use; must not outlive its transaction.
class RecordCursor {
 public:
  // Begins at `from`, or ends there when it walks backward. REQUIRES: the transaction's groups are
  // written.
  static Result<std::unique_ptr<RecordCursor>> Open(kv::Txn& txn, CollectionState& state,
                                                    kv::Direction direction, RecordId from = 0);

  // Moves to the next document (the first one after opening). False at the end.
  Result<bool> Next() {
    if (run_ == 0) [[unlikely]] {
      return NextRun();
    }
    return Take();
  }

  // The current document; valid until the next call. REQUIRES: the last move was true.
  RecordId id() const { return id_; }
  std::string_view document() const { return document_; }

 private:
  RecordCursor(CollectionState& state, kv::Direction direction, RecordId from)
      : state_(state), forward_(direction == kv::Direction::kForward), from_(from) {}

  // The next document, and how many follow it in the group without a look beside.
  Result<bool> NextRun();
  Status NextOwn();
  Status NextGroup();
  // Passes what own_ stands on; whether it is a document.
  bool PassOwn();
  // The slots of left_ that come before what own_ stands on.
  uint64_t LeftBeforeOwn() const;
  // Takes the next slot out of left_.
  int TakeSlot() {
    const int slot = forward_ ? std::countr_zero(left_) : 63 - std::countl_zero(left_);
    left_ &= ~(uint64_t{1} << slot);
    return slot;
  }
  // Shows the next document of the group.
  Result<bool> Take() {
    --run_;
    id_ = first_id_ + TakeSlot();
    document_ = group_.At(rank_);
    group_.Prefetch(forward_ ? rank_ + kAhead : rank_ - kAhead, lines_);
    rank_ += forward_ ? 1 : -1;
    return document_.empty() ? Damaged() : Result<bool>(true);
  }
  Status Damaged() const;

  // A group that is not in the processor's caches is as far away as a document takes to be looked
  // at: as many documents ahead, the beginnings of them are asked for.
  static constexpr int kAhead = 8;
  static constexpr int kMostLines = 5;

  CollectionState& state_;
  const bool forward_;
  const RecordId from_;
  int run_ = 0;        // of left_, so many come before what own_ stands on
  int rank_ = 0;       // of the next slot of left_
  int lines_ = 0;      // of each document of group_ asked for ahead
  uint64_t left_ = 0;  // slots of group_ that were not passed yet
  RecordId first_id_ = 0;
  GroupView group_;
  RecordId id_ = 0;
  std::string_view document_;
  std::unique_ptr<kv::Cursor> groups_;  // null when there is none left
  std::unique_ptr<kv::Cursor> own_;
  bool own_shown_ = true;               // what own_ stands on was shown, or it stands on nothing
  std::optional<RecordId> own_id_ = 0;  // nothing: own_ is at its end
  OwnRun run_of_own_;
};

}  // namespace quire::store
