// SPDX-License-Identifier: Apache-2.0
#include "engine/replica/rollback.h"

#include <chrono>
#include <set>
#include <thread>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/replica/log_slots.h"
#include "store/collection.h"
#include "store/log/undo_buffer.h"

namespace quire::engine {

namespace {

using store::ChangeLog;
using store::UndoOperation;

Status DeleteAll(kv::Txn& txn, const kv::Range& range) {
  ASSIGN_OR_RETURN(auto cursor, txn.Scan(range, kv::Direction::kForward));
  std::vector<std::string> keys;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, cursor->Next());
    if (!more) {
      break;
    }
    keys.emplace_back(cursor->key());
  }
  for (const std::string& key : keys) {
    RETURN_IF_ERROR(txn.Delete(key));
  }
  return Status::Ok();
}

store::CollectionPtr FindByUuid(store::Catalog& catalog, std::string_view uuid) {
  for (const store::CollectionPtr& info : catalog.snapshot()->All()) {
    if (!info->is_view() &&
        uuid ==
            std::string_view(reinterpret_cast<const char*>(info->uuid.data()), info->uuid.size())) {
      return info;
    }
  }
  return nullptr;
}

// Whether the key is the catalog's.
bool OfSchema(std::string_view key) {
  const size_t kind = store::TablePrefix(store::kMetaTable).size();
  return key.size() > kind && (key[kind] == 'C' || key[kind] == 'D');
}

}  // namespace

Status Rollback::Cut(uint64_t after) {
  while (engine_.log().last().time > after) {
    Last last;
    {
      ASSIGN_OR_RETURN(auto txn, engine_.store().Begin({.read_only = true}));
      ASSIGN_OR_RETURN(last, FindLast(*txn));
    }
    const bool begun = mark_->operations > 0 && last.before.time <= mark_->applied;
    if (last.time > mark_->applied && !begun) {
      RETURN_IF_ERROR(RemoveUnapplied(last));
    } else {
      RETURN_IF_ERROR(UndoPatiently(last));
    }
    engine_.log().SetLast(last.before);
  }
  return Status::Ok();
}

Result<Rollback::Last> Rollback::FindLast(kv::Txn& txn) {
  Last last;
  ASSIGN_OR_RETURN(const auto group, GroupBefore(txn, UINT64_MAX));
  if (!group) {
    return Status(kUnrecoverableRollbackError, "The log has no entry to take back");
  }
  last.time = group->last;
  const bool linked = group->link.epoch != 0;
  const uint64_t first = linked ? group->link.previous + 1 : group->first;
  last.keys = {ChangeLog::KeyOf(first, 0), ChangeLog::KeyOf(group->last + 1, 0)};
  ASSIGN_OR_RETURN(const auto before, GroupBefore(txn, first - 1));
  if (before) {
    last.before = {before->link.epoch, before->last};
  } else if (linked) {
    ASSIGN_OR_RETURN(const auto ends, store::ReadEpochEnds(txn));
    last.before = {group->link.epoch, group->link.previous};
    for (const store::LogEnd& end : ends) {
      if (end.time == last.before.time) {
        last.before.epoch = end.epoch;
      }
    }
  }
  return last;
}

Status Rollback::RemoveFromLog(kv::Txn& txn, const Last& last) {
  RETURN_IF_ERROR(DeleteAll(txn, last.keys));
  ASSIGN_OR_RETURN(const auto ends, store::ReadEpochEnds(txn));
  for (const store::LogEnd& end : ends) {
    if (end.epoch >= last.before.epoch) {
      RETURN_IF_ERROR(store::DeleteEpochEnd(txn, end.epoch));
    }
  }
  return Status::Ok();
}

Status Rollback::RemoveUnapplied(const Last& last) {
  ASSIGN_OR_RETURN(auto txn, engine_.store().Begin({}));
  RETURN_IF_ERROR(RemoveFromLog(*txn, last));
  return txn->Commit(kv::Durability::kProcess);
}

Status Rollback::UndoPatiently(const Last& last) {
  constexpr int kMostAttempts = 1000;
  for (int attempt = 0;; ++attempt) {
    Status undone = Undo(last);
    const bool passing = undone.code() == kWriteConflict || undone.code() == kLockTimeout;
    if (!passing || attempt >= kMostAttempts) {
      return undone;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status Rollback::Undo(const Last& last) {
  if (last.before.time < mark_->undo_begin) {
    return {kUnrecoverableRollbackError, "What undoes the changes is no longer there"};
  }
  store::AppliedMark next = *mark_;
  next.applied = last.before.time;
  next.operations = 0;
  auto prepare = [&](kv::Txn& txn, store::ChangeBuffer& /*buffer*/) -> Result<uint64_t> {
    RETURN_IF_ERROR(RemoveFromLog(txn, last));
    RETURN_IF_ERROR(DeleteAll(txn, store::UndoRange(last.time, last.time + 1)));
    RETURN_IF_ERROR(store::WriteApplied(txn, next));
    RETURN_IF_ERROR(files_.Sync());
    return next.applied;
  };
  bool schema = false;
  {
    store::ReplayScope scope(engine_.log(), prepare);
    ASSIGN_OR_RETURN(auto txn, store::Transaction::Begin(engine_.store(), false));
    (void)txn->changes(engine_.log());  // so that it commits through the log
    RETURN_IF_ERROR(UndoAll(*txn, last.time, &schema));
    RETURN_IF_ERROR(txn->Commit(kv::Durability::kProcess));
  }
  *mark_ = next;
  return schema ? engine_.catalog().Reload() : Status::Ok();
}

Status Rollback::UndoAll(store::Transaction& txn, uint64_t time, bool* schema) {
  std::vector<std::string> records;
  {
    ASSIGN_OR_RETURN(auto cursor,
                     txn.kv().Scan(store::UndoRange(time, time + 1), kv::Direction::kBackward));
    while (true) {
      ASSIGN_OR_RETURN(const bool more, cursor->Next());
      if (!more) {
        break;
      }
      records.emplace_back(cursor->value());
    }
  }
  for (const std::string& record : records) {
    ASSIGN_OR_RETURN(const std::vector<UndoOperation> operations, store::ReadUndo(record));
    for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation) {
      if (!operation->of_key) {
        RETURN_IF_ERROR(UndoRecord(txn, *operation));
        continue;
      }
      *schema = *schema || OfSchema(operation->key);
      RETURN_IF_ERROR(operation->before ? txn.kv().Put(operation->key, *operation->before)
                                        : txn.kv().Delete(operation->key));
    }
  }
  return Status::Ok();
}

Status Rollback::UndoRecord(store::Transaction& txn, const UndoOperation& operation) {
  const store::CollectionPtr info = FindByUuid(engine_.catalog(), operation.uuid);
  if (info == nullptr) {
    return {kUnrecoverableRollbackError, "The collection of a change to undo is not there"};
  }
  RETURN_IF_ERROR(txn.Hold(info->state));
  if (engine_.on_replicated) {
    txn.OnCommit([this, ns = info->ns()] { engine_.on_replicated(ns); });
  }
  kv::ReadValue value;
  ASSIGN_OR_RETURN(const bool there, store::Fetch(txn, *info, operation.id, &value));
  if (!there) {
    return operation.before
               ? store::Restore(txn, *info, operation.id, bson::View(operation.before->data()))
               : Status::Ok();
  }
  const bson::Document present{bson::View(value.view().data())};
  RETURN_IF_ERROR(files_.Add(info->ns(), operation.uuid, operation.id, present));
  RETURN_IF_ERROR(store::ClaimRecord(txn, *info, operation.id));
  if (!operation.before) {
    return store::Remove(txn, *info, operation.id, present);
  }
  return store::Replace(txn, *info, operation.id, present, bson::View(operation.before->data()),
                        {});
}

}  // namespace quire::engine
