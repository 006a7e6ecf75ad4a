// SPDX-License-Identifier: Apache-2.0
#include "store/records/pending_groups.h"

#include "base/try.h"
#include "store/records/record_keys.h"

namespace quire::store {

namespace {

// A number none of whose ids is given to any other document.
int64_t TakeNumber(CollectionState& state) {
  RecordId next = state.next_record_id.load(std::memory_order_relaxed);
  int64_t number = FirstGroupFrom(next);
  while (!state.next_record_id.compare_exchange_weak(next, FirstIdOf(number + 1),
                                                     std::memory_order_relaxed)) {
    number = FirstGroupFrom(next);
  }
  state.has_groups.store(true, std::memory_order_relaxed);
  state.beside.AddGroup(number);
  return number;
}

}  // namespace

RecordId PendingGroups::Append(CollectionState& state, std::string_view document) {
  if (!open_ || groups_.back().place.table != state.table ||
      groups_.back().builder.count() == kGroupSlots ||
      !groups_.back().builder.Takes(document.size())) {
    const bool spare = spare_ && spare_->table == state.table;
    groups_.push_back({{state.table, spare ? spare_->number : TakeNumber(state)}, GroupBuilder()});
    spare_.reset();
    open_ = true;
  }
  Group& group = groups_.back();
  const int slot = group.builder.count();
  group.builder.Append(slot, document);
  bytes_ += document.size();
  charge_.Set(bytes_);
  return FirstIdOf(group.place.number) + slot;
}

Status PendingGroups::Write(kv::Txn& txn) {
  for (; written_ < groups_.size(); ++written_) {
    Group& group = groups_[written_];
    RETURN_IF_ERROR(txn.Put(GroupKey(group.place.table, group.place.number), group.builder.Finish(),
                            {.reads = kv::Reads::kByKey, .is_new = true, .outlives = true}));
  }
  open_ = false;
  return Status::Ok();
}

void PendingGroups::RollBack(const Mark& mark) {
  while (groups_.size() > mark.groups) {
    bytes_ -= groups_.back().builder.document_bytes();
    spare_ = groups_.back().place;
    groups_.pop_back();
    open_ = false;
  }
  written_ = mark.written;
  if (groups_.size() > written_) {
    GroupBuilder& last = groups_.back().builder;
    bytes_ -= last.document_bytes();
    last.CutTo(mark.documents);
    bytes_ += last.document_bytes();
  }
}

}  // namespace quire::store
