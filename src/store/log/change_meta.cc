// SPDX-License-Identifier: Apache-2.0
#include "store/log/change_meta.h"

#include "base/try.h"

namespace quire::store {

namespace {

Status NoteUndo(kv::Txn& txn, std::string_view key, ChangeBuffer* changes) {
  if (!changes->notes_undo()) {
    return Status::Ok();
  }
  kv::ReadValue before;
  ASSIGN_OR_RETURN(const bool there, txn.Get(key, &before));
  const std::string_view value = there ? before.view() : std::string_view();
  changes->undo().Key(key, there ? &value : nullptr);
  return Status::Ok();
}

}  // namespace

Status PutMeta(kv::Txn& txn, std::string_view key, std::string_view value, ChangeBuffer* changes) {
  RETURN_IF_ERROR(NoteUndo(txn, key, changes));
  return txn.Put(key, value);
}

Status DeleteMeta(kv::Txn& txn, std::string_view key, ChangeBuffer* changes) {
  RETURN_IF_ERROR(NoteUndo(txn, key, changes));
  return txn.Delete(key);
}

}  // namespace quire::store
