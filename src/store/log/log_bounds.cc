// SPDX-License-Identifier: Apache-2.0
//
// Where the change log begins and ends.
#include <algorithm>
#include <optional>

#include "base/try.h"
#include "store/layout.h"
#include "store/log/change_log.h"
#include "store/log/change_reader.h"
#include "store/log/note.h"

namespace quire::store {

namespace {

// The first group with a change at `time` or later; nothing: there is none.
Result<std::optional<GroupHeader>> FirstGroupFrom(kv::Store& store, uint64_t time) {
  ASSIGN_OR_RETURN(auto txn, store.Begin({.read_only = true}));
  ASSIGN_OR_RETURN(auto before, txn->Scan({ChangeLog::KeyOf(0, 0), ChangeLog::KeyOf(time, 0)},
                                          kv::Direction::kBackward));
  ASSIGN_OR_RETURN(bool any, before->Next());
  if (any) {
    ASSIGN_OR_RETURN(const GroupHeader group, ReadGroupHeader(before->key(), before->value()));
    if (group.last >= time) {
      return std::optional<GroupHeader>(group);
    }
  }
  ASSIGN_OR_RETURN(auto behind, txn->Scan(ChangeLog::RangeFrom(time), kv::Direction::kForward));
  ASSIGN_OR_RETURN(any, behind->Next());
  if (!any) {
    return std::optional<GroupHeader>();
  }
  ASSIGN_OR_RETURN(const GroupHeader group, ReadGroupHeader(behind->key(), behind->value()));
  return std::optional<GroupHeader>(group);
}

}  // namespace

Status ChangeLog::Open() {
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  ASSIGN_OR_RETURN(auto newest, txn->Scan(RangeFrom(0), kv::Direction::kBackward));
  ASSIGN_OR_RETURN(const bool any, newest->Next());
  if (!any) {
    return WriteFirstEntry();
  }
  ASSIGN_OR_RETURN(const GroupHeader end, ReadGroupHeader(newest->key(), newest->value()));
  visible_ = end.last;
  SetLast({0, end.last});
  clock_.Advance(Visible());
  ASSIGN_OR_RETURN(auto oldest, txn->Scan(RangeFrom(0), kv::Direction::kForward));
  RETURN_IF_ERROR(oldest->Next().status());
  ASSIGN_OR_RETURN(const GroupHeader begin, ReadGroupHeader(oldest->key(), oldest->value()));
  first_ = begin.first;
  // The entry that a log begins with refers to nothing.
  GroupReader group;
  Change change;
  const bool is_whole = group.Open(oldest->key(), oldest->value()).ok() &&
                        group.Next(&change).ok() && BeginsLog(change);
  oldest_ = is_whole ? 0 : first_.load();
  kv::ReadValue mark;
  ASSIGN_OR_RETURN(refers_, txn->Get(MetaKey(kReferredKind, ""), &mark));
  return Status::Ok();
}

Status ChangeLog::WriteFirstEntry() {
  const bson::Document first = bson::Builder().Append("msg", kFirstMessage).Finish();
  RETURN_IF_ERROR(WriteNote(*store_, *this, first, kv::Durability::kProcess).status());
  first_ = visible_.load();
  return Status::Ok();
}

Status ChangeLog::Trim(uint64_t max_bytes, bson::Timestamp before) {
  MutexLock cutting(cut_mutex_);
  written_.store(0, std::memory_order_relaxed);
  ASSIGN_OR_RETURN(const auto begin, FirstGroupFrom(*store_, 0));
  if (!begin) {
    return Status::Ok();
  }
  const uint64_t first = begin->first;
  uint64_t newest = visible_.load();
  uint64_t cut = std::min(PackTime(before), newest);
  if (max_bytes > 0 && ApproximateSize() > max_bytes) {
    // The earliest time from which on the log is small enough.
    uint64_t low = first;
    uint64_t high = newest;
    while (low < high) {
      uint64_t middle = low + (high - low) / 2;
      if (store_->ApproximateSize(RangeFrom(middle)) > max_bytes - max_bytes / 10) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    cut = std::max(cut, low);
  }
  if (cut <= first) {
    return Status::Ok();
  }
  cut = std::min(cut, TrimLimit());
  if (cut <= first) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(const auto kept, FirstGroupFrom(*store_, cut));
  if (kept) {
    cut = std::min(cut, kept->first);  // a group goes whole or not at all
  }
  if (kept && kept->link.epoch != 0) {
    cut = std::min(cut, kept->link.previous + 1);  // and so does a slot
  }
  if (cut <= first) {
    return Status::Ok();
  }
  // Before: whoever has opened a reader and looks again then knows what it may lack.
  const uint64_t oldest = oldest_.exchange(cut, std::memory_order_acq_rel);
  Status deleted = store_->DeleteRange({MetaKey(kLogKind, ""), KeyOf(cut, 0)});
  if (!deleted.ok()) {
    oldest_.store(oldest, std::memory_order_release);
    return deleted;
  }
  // After: what is there may refer to documents, which then have to stay.
  first_.store(cut, std::memory_order_release);
  return deleted;
}

}  // namespace quire::store
