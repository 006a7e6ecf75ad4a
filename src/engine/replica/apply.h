// SPDX-License-Identifier: Apache-2.0
//
// Making the store what the log says.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/op_context.h"
#include "engine/engine.h"
#include "engine/replica/replica_data.h"
#include "store/log/change_reader.h"
#include "store/log/set_marks.h"
#include "store/transaction.h"

namespace quire::engine {

// One batch: slots behind the mark, in as few storage transactions as can be, each with the mark of
// what is applied after it. Whatever happens, the store and its mark go together. Not safe for
// concurrent use.
class ApplyBatch {
 public:
  // Slots beyond `commit` get what undoes them. `mark` is raised with every commit.
  ApplyBatch(Engine& engine, uint64_t commit, store::AppliedMark* mark);

  // Applies slots up to `up_to` until enough has been done. WriteConflict and LockTimeout: to be
  // tried again; the mark tells how far it came. Any other error: the store is not what the log was
  // made for.
  Status Run(uint64_t up_to);

 private:
  Status ApplySlot(const LogSlot& slot);
  // `one_of_many`: the leader made it together with many others.
  Status ApplyData(const store::Change& change, bool one_of_many);
  // A change of the catalog, in storage transactions of its own.
  Status ApplySchema(const store::Change& change);
  Status ApplyCommand(const store::Change& change);
  Status ApplyView(const store::Change& change);
  Result<store::CollectionPtr> CollectionOf(const store::Change& change);
  Status BeginTransaction();
  // Of the part of the current slot that is in the transaction.
  Status WriteUndo(kv::Txn& txn, store::ChangeBuffer& buffer);
  Status Commit();
  Result<uint64_t> WriteMark(kv::Txn& txn, store::ChangeBuffer& buffer);
  bool full() const;

  Engine& engine_;
  const uint64_t commit_;
  store::AppliedMark* const mark_;
  store::ReplayScope scope_;
  OpContext op_;
  std::unique_ptr<store::Transaction> txn_;
  std::set<std::string, std::less<>> touched_;  // namespaces since the last commit
  store::AppliedMark next_;                     // once the transaction has committed
  uint64_t slot_time_ = 0;                      // of the slot being applied
  uint64_t part_begin_ = 0;                     // its first operation in the transaction
  size_t operations_ = 0;
  size_t bytes_ = 0;
  bool keeps_snapshot_ = false;  // the slot says so
};

}  // namespace quire::engine
