// SPDX-License-Identifier: Apache-2.0
#include "store/log/note.h"

#include "base/try.h"

namespace quire::store {

bool BeginsLog(const Change& change) {
  const bson::Value o = change.kind == 'n' ? change.document["o"] : bson::Value();
  const bson::Value message = o.is_document() ? o.AsDocument()["msg"] : bson::Value();
  return message.is_string() && message.AsString() == kFirstMessage;
}

Result<ChangeBuffer::Place> WriteNote(kv::Store& store, ChangeLog& log, bson::View o,
                                      kv::Durability durability) {
  ChangeBuffer buffer = log.NewBuffer();
  buffer.Noop(o);
  ASSIGN_OR_RETURN(auto txn, store.Begin({}));
  RETURN_IF_ERROR(log.Commit(*txn, buffer, durability));
  return buffer.slot();
}

}  // namespace quire::store
