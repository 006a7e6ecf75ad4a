// SPDX-License-Identifier: Apache-2.0
#include "store/records/fold.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "store/records/own_run.h"
#include "store/records/record_keys.h"
#include "store/records/records.h"
#include "store/transaction.h"

namespace quire::store {

namespace {

// What has one number, as a transaction sees it.
struct Numbered {
  std::array<std::optional<std::string>, kGroupSlots> own;  // by slot; "": deleted
  kv::ReadValue value;
  bool has_group = false;
  GroupView group;

  bool any_own() const {
    return std::any_of(own.begin(), own.end(), [](const auto& one) { return one.has_value(); });
  }
  // "" when the slot has no document.
  std::string_view Document(int slot) const {
    if (const auto& key = own[static_cast<size_t>(slot)]; key.has_value()) {
      return *key;
    }
    return has_group && group.Has(slot) ? group.At(group.RankOf(slot)) : std::string_view();
  }
};

Status Read(kv::Txn& txn, TableId table, int64_t number, Numbered* out) {
  ASSIGN_OR_RETURN(out->has_group, txn.Get(GroupKey(table, number), &out->value));
  if (out->has_group && !out->group.Read(out->value.view())) {
    return DamagedGroup(table, number);
  }
  for (int rank = 0; out->has_group && rank < out->group.count(); ++rank) {
    if (out->group.At(rank).empty()) {
      return DamagedGroup(table, number);
    }
  }
  const RecordId first = FirstIdOf(number);
  ASSIGN_OR_RETURN(auto own,
                   txn.Scan({RecordKey(table, first), RecordKey(table, first + kGroupSlots)},
                            kv::Direction::kForward));
  while (true) {
    ASSIGN_OR_RETURN(bool more, own->Next());
    if (!more) {
      return Status::Ok();
    }
    const int slot = SlotOf(ReadRecordId(own->key().substr(4)));
    out->own[static_cast<size_t>(slot)] = own->value();
  }
}

// Writes what `now` is as one group, and what does not fit as keys; false when it is so already.
Result<bool> WriteFolded(kv::Txn& txn, ChangeLog& log, CollectionState& state, int64_t number,
                         const Numbered& now) {
  GroupBuilder folded;
  bool changes = false;
  for (int slot = 0; slot < kGroupSlots; ++slot) {
    const std::string_view document = now.Document(slot);
    const auto& own = now.own[static_cast<size_t>(slot)];
    const bool fits = !document.empty() && folded.Folds(document.size());
    if (fits) {
      folded.Append(slot, document);
    }
    const bool keeps_key = !document.empty() && !fits;
    if (!keeps_key && !own.has_value()) {
      continue;
    }
    const RecordId id = FirstIdOf(number) + slot;
    const std::string key = RecordKey(state.table, id);
    RETURN_IF_ERROR(txn.Claim(key));
    if (keeps_key == own.has_value()) {
      continue;
    }
    changes = true;
    state.beside.Mark(id);
    RETURN_IF_ERROR(keeps_key ? txn.Put(key, document, {.reads = kv::Reads::kByKey})
                              : txn.Delete(key, kv::Reads::kByKey));
  }
  if (!changes) {
    return false;
  }
  const std::string key = GroupKey(state.table, number);
  RETURN_IF_ERROR(txn.Claim(key));
  state.has_groups = true;
  auto write = [&]() -> Status {
    if (now.has_group) {
      RETURN_IF_ERROR(log.WriteOut(txn, state.table, number));
    }
    RETURN_IF_ERROR(folded.count() == 0
                        ? txn.Delete(key, kv::Reads::kByKey)
                        : txn.Put(key, folded.Finish(), {.reads = kv::Reads::kByKey}));
    return txn.Commit(kv::Durability::kProcess);
  };
  const Status written = log.Uncut(write);
  if (written.code() == kOutOfDiskSpace && folded.count() == 0) {
    // All of it was deleted to make room: that is worth more than a longer log.
    ASSIGN_OR_RETURN(const bool cut, log.CutReferring(state.table, number));
    if (cut) {
      state.fold_notes.Add(number);
      return false;
    }
  }
  RETURN_IF_ERROR(written);
  return true;
}

bool IsFoldable(const CollectionInfo& info) {
  return !info.is_view() && !info.capped && !info.clustered;
}

}  // namespace

Result<bool> FoldGroup(kv::Store& store, ChangeLog& log, const CollectionInfo& info,
                       int64_t number) {
  if (!IsFoldable(info)) {
    return false;
  }
  ASSIGN_OR_RETURN(auto txn, Transaction::Begin(store, false));
  if (!txn->Hold(info.state).ok()) {  // its schema is being changed
    return false;
  }
  // New documents may still be given ids of the last number.
  if (info.state->published_version == 0 || number >= GroupOf(info.state->next_record_id)) {
    return false;
  }
  Numbered now;
  RETURN_IF_ERROR(Read(txn->kv(), info.state->table, number, &now));
  if (!now.any_own()) {
    return false;
  }
  Result<bool> folded = WriteFolded(txn->kv(), log, *info.state, number, now);
  return folded.status().code() == kWriteConflict ? Result<bool>(false) : folded;
}

Status FoldNoted(kv::Store& store, ChangeLog& log, const CollectionInfo& info,
                 const std::function<bool()>& stop) {
  constexpr size_t kSome = 16;
  while (true) {
    const std::vector<int64_t> numbers = info.state->fold_notes.Take(kSome);
    if (numbers.empty()) {
      return Status::Ok();
    }
    for (int64_t number : numbers) {
      if (stop()) {
        info.state->fold_notes.Add(number);
        continue;
      }
      RETURN_IF_ERROR(FoldGroup(store, log, info, number).status());
    }
    if (stop()) {
      return Status::Ok();
    }
  }
}

Result<bool> FoldAll(kv::Store& store, ChangeLog& log, const CollectionInfo& info, RecordId from,
                     const std::function<bool(RecordId done)>& moved) {
  if (!IsFoldable(info)) {
    return true;
  }
  // A snapshot of its own for each stretch: a long one would keep what is folded from being freed.
  constexpr int kStretch = 64;
  while (true) {
    std::vector<int64_t> numbers;
    bool more = true;
    {
      ASSIGN_OR_RETURN(auto txn, store.Begin({.read_only = true}));
      ASSIGN_OR_RETURN(auto own,
                       txn->Scan(RecordRange(info.state->table, from), kv::Direction::kForward));
      OwnRun run;
      while (numbers.size() < kStretch) {
        ASSIGN_OR_RETURN(more, own->Next());
        const std::optional<int64_t> done =
            more ? run.Pass(ReadRecordId(own->key().substr(4)), own->value().size(), false)
                 : run.End();
        if (done) {
          numbers.push_back(*done);
        }
        if (!more) {
          break;
        }
        from = ReadRecordId(own->key().substr(4));
      }
    }
    for (int64_t number : numbers) {
      RETURN_IF_ERROR(FoldGroup(store, log, info, number).status());
      if (!moved(FirstIdOf(number + 1))) {
        return false;
      }
    }
    if (!more) {
      return true;
    }
  }
}

}  // namespace quire::store
