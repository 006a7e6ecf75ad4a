// SPDX-License-Identifier: Apache-2.0
//
// What a node, a member of a replica set above all, remembers of its log across a restart.
// PERSISTED: the keys <0> 'a' <name>, each a list of little-endian numbers but for `local`, a
// document.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kv/kv.h"
#include "quire/bson.h"
#include "store/log/change_log.h"

namespace quire::store {

// How far the store is: everything up to `applied`, and of the slot after it so many operations.
struct AppliedMark {
  // The member leads, or died while it did: everything the log holds is applied.
  static constexpr uint64_t kAll = UINT64_MAX;

  uint64_t applied = 0;
  uint64_t operations = 0;
  uint64_t undo_begin = 0;  // what was applied after this time can be undone
};

// Nothing while the folder was never in a set.
Result<std::optional<AppliedMark>> ReadApplied(kv::Txn& txn);
Status WriteApplied(kv::Txn& txn, const AppliedMark& mark);

// A commit point the member has known, and up to where undo was dropped; 0: none.
Result<uint64_t> ReadCommit(kv::Txn& txn);
Status WriteCommit(kv::Txn& txn, uint64_t commit);

Result<bson::Document> ReadLocal(kv::Txn& txn);
Status WriteLocal(kv::Txn& txn, bson::View local);

// The last slots of epochs that have ended, oldest first.
Result<std::vector<LogEnd>> ReadEpochEnds(kv::Txn& txn);
Status WriteEpochEnd(kv::Txn& txn, LogEnd end);
Status DeleteEpochEnd(kv::Txn& txn, uint64_t epoch);

// How large the log may get, as replSetResizeOplog last said; 0: never.
Result<uint64_t> ReadLogSize(kv::Txn& txn);
Status WriteLogSize(kv::Txn& txn, uint64_t bytes);

// Whether the folder is one of a member.
Result<bool> WasInSet(kv::Txn& txn);

}  // namespace quire::store
