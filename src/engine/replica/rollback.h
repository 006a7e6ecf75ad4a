// SPDX-License-Identifier: Apache-2.0
//
// Taking back the end of the log.
#pragma once

#include <string>

#include "engine/engine.h"
#include "engine/replica/rollback_files.h"
#include "store/log/set_marks.h"

namespace quire::engine {

// Each slot goes in one storage transaction with what it changed: it can be interrupted anywhere
// and begun again. Not safe for concurrent use.
class Rollback {
 public:
  // `mark` follows every step.
  Rollback(Engine& engine, const std::string& folder, store::AppliedMark* mark)
      : engine_(engine), files_(folder), mark_(mark) {}

  // Undoes what was applied after `after` and removes it from the log. REQUIRES: the log is closed,
  // `after` is a slot of it or where it begins, and not before the mark's undo_begin unless nothing
  // was applied behind it.
  Status Cut(uint64_t after);

 private:
  // The last slot of the log, by its groups' keys.
  struct Last {
    uint64_t time = 0;
    kv::Range keys;
    store::LogEnd before;  // the slot that is the last one without it
  };
  Result<Last> FindLast(kv::Txn& txn);
  Status RemoveUnapplied(const Last& last);
  Status Undo(const Last& last);
  // Again when documents are just being folded (store/records/fold.h).
  Status UndoPatiently(const Last& last);
  Status UndoAll(store::Transaction& txn, uint64_t time, bool* schema);
  Status UndoRecord(store::Transaction& txn, const store::UndoOperation& operation);
  // Deletes the slot's groups and what it leaves of the ends of epochs.
  static Status RemoveFromLog(kv::Txn& txn, const Last& last);

  Engine& engine_;
  RollbackFiles files_;
  store::AppliedMark* const mark_;
};

}  // namespace quire::engine
