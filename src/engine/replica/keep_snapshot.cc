// SPDX-License-Identifier: Apache-2.0
#include "engine/replica/keep_snapshot.h"

#include "base/try.h"
#include "engine/engine.h"
#include "store/log/note.h"

namespace quire::engine {

Result<bool> KeepSnapshot(Engine& engine, bson::Timestamp time) {
  engine.clock().Advance(time);
  RETURN_IF_ERROR(engine.snapshots().At(time).status());
  const bson::Document note = bson::Builder().Append("msg", store::kSnapshotKept).Finish();
  ASSIGN_OR_RETURN(const auto slot,
                   store::WriteNote(engine.store(), engine.log(), note, kv::Durability::kProcess));
  // With the commits whose slots lie before that.
  std::unique_ptr<kv::Txn> txn;
  RETURN_IF_ERROR(engine.log().WhileStill([&]() -> Status {
    ASSIGN_OR_RETURN(txn, engine.store().Begin({.read_only = true}));
    return Status::Ok();
  }));
  ASSIGN_OR_RETURN(const uint64_t before, store::LastChange(*txn, slot.time));
  return before <= store::PackTime(time);
}

}  // namespace quire::engine
