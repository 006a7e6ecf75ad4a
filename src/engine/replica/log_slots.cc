// SPDX-License-Identifier: Apache-2.0
#include "engine/replica/log_slots.h"

#include "base/try.h"
#include "store/log/note.h"
#include "store/log/set_marks.h"

namespace quire::engine {

namespace {

using store::ChangeLog;
using store::GroupHeader;

// Whether both are groups of one slot, the second right behind the first.
bool SameSlot(const GroupHeader& first, const GroupHeader& second) {
  if (first.link.epoch != 0) {
    return first.link.epoch == second.link.epoch && first.link.previous == second.link.previous;
  }
  return second.link.epoch == 0 && second.in_transaction && first.first == second.first;
}

}  // namespace

Result<std::unique_ptr<SlotCursor>> SlotCursor::Open(kv::Store& store, uint64_t after) {
  std::unique_ptr<SlotCursor> slots(new SlotCursor());
  ASSIGN_OR_RETURN(slots->txn_, store.Begin({.read_only = true}));
  ASSIGN_OR_RETURN(slots->cursor_,
                   slots->txn_->Scan(ChangeLog::RangeFrom(after + 1), kv::Direction::kForward));
  slots->previous_ = after;
  RETURN_IF_ERROR(slots->Advance());
  return slots;
}

Status SlotCursor::Advance() {
  ASSIGN_OR_RETURN(more_, cursor_->Next());
  if (more_) {
    ASSIGN_OR_RETURN(header_, store::ReadGroupHeader(cursor_->key(), cursor_->value()));
  }
  return Status::Ok();
}

Result<bool> SlotCursor::Next(LogSlot* slot) {
  *slot = LogSlot();
  if (!more_) {
    return false;
  }
  const size_t prefix = store::MetaKey(store::kLogKind, "").size();
  const GroupHeader first = header_;
  slot->previous = first.link.epoch != 0 ? first.link.previous : previous_;
  do {
    slot->at = {header_.link.epoch, header_.last};
    slot->groups.push_back(
        {std::string(cursor_->key().substr(prefix)), std::string(cursor_->value())});
    RETURN_IF_ERROR(Advance());
  } while (more_ && SameSlot(first, header_));
  previous_ = slot->at.time;
  return true;
}

Result<std::optional<GroupHeader>> GroupBefore(kv::Txn& txn, uint64_t time) {
  std::string end =
      time == UINT64_MAX ? ChangeLog::RangeFrom(0).end : ChangeLog::KeyOf(time + 1, 0);
  ASSIGN_OR_RETURN(auto cursor,
                   txn.Scan({ChangeLog::KeyOf(0, 0), std::move(end)}, kv::Direction::kBackward));
  ASSIGN_OR_RETURN(const bool any, cursor->Next());
  if (!any) {
    return std::optional<GroupHeader>();
  }
  ASSIGN_OR_RETURN(GroupHeader header, store::ReadGroupHeader(cursor->key(), cursor->value()));
  return std::optional<GroupHeader>(header);
}

Result<store::LogEnd> LinkedEnd(kv::Store& store, uint64_t from) {
  ASSIGN_OR_RETURN(auto txn, store.Begin({.read_only = true}));
  ASSIGN_OR_RETURN(const auto before, GroupBefore(*txn, from));
  store::LogEnd end{0, from};
  if (before) {
    end = {before->link.epoch, before->last};
  }
  bool known = before.has_value();
  ASSIGN_OR_RETURN(auto slots, SlotCursor::Open(store, end.time));
  LogSlot slot;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, slots->Next(&slot));
    if (!more || (known && slot.previous != end.time)) {
      return end;
    }
    end = {slot.at.epoch, slot.at.time};
    known = true;
  }
}

Result<LogEnds> ReadLogEnds(kv::Txn& txn, store::LogEnd last) {
  LogEnds log;
  ASSIGN_OR_RETURN(const std::vector<store::LogEnd> ends, store::ReadEpochEnds(txn));
  ASSIGN_OR_RETURN(auto cursor, txn.Scan(ChangeLog::RangeFrom(0), kv::Direction::kForward));
  ASSIGN_OR_RETURN(const bool any, cursor->Next());
  if (any) {
    store::GroupReader group;
    store::Change change;
    RETURN_IF_ERROR(group.Open(cursor->key(), cursor->value()));
    RETURN_IF_ERROR(group.Next(&change));
    if (group.header().link.epoch != 0) {
      log.begin = {group.header().link.epoch, group.header().link.previous};
    } else if (!store::BeginsLog(change)) {
      log.begin = {0, group.header().first - 1};
    }
  }
  for (const store::LogEnd& end : ends) {
    if (end.time > log.begin.time && end.epoch < last.epoch) {
      log.ends.push_back({end.epoch, end.time});
    } else if (end.time == log.begin.time) {
      log.begin.epoch = end.epoch;
    }
  }
  if (log.begin.time == 0) {
    log.begin.epoch = 0;
  }
  if (last.time > log.begin.time) {
    log.ends.push_back({last.epoch, last.time});
  }
  return log;
}

}  // namespace quire::engine
