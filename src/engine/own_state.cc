// SPDX-License-Identifier: Apache-2.0
#include "engine/own_state.h"

#include "base/try.h"
#include "store/log/set_marks.h"

namespace quire::engine {

namespace {

Status Write(kv::Store& store, uint64_t bytes) {
  ASSIGN_OR_RETURN(auto txn, store.Begin({}));
  RETURN_IF_ERROR(store::WriteLogSize(*txn, bytes));
  return txn->Commit(kv::Durability::kDisk);
}

}  // namespace

Status KeepLogSize(Engine& engine, uint64_t bytes) {
  RETURN_IF_ERROR(Write(engine.store(), bytes));
  engine.log_bytes = bytes;
  engine.catalog().SetLogSize(bytes);
  return Status::Ok();
}

Status ForgetSource(Engine& engine) {
  for (const store::CollectionPtr& collection : engine.catalog().snapshot()->InDatabase("local")) {
    if (!collection->is_oplog) {
      RETURN_IF_ERROR(engine.catalog().Drop(collection->ns(), kv::Durability::kDisk));
    }
  }
  return Write(engine.store(), 0);
}

}  // namespace quire::engine
