// SPDX-License-Identifier: Apache-2.0
#include "store/log/note.h"

#include "base/try.h"

namespace quire::store {

namespace {

// {o: {msg: <message>, ...}}
bool Says(const Change& change, std::string_view message) {
  const bson::Value o = change.kind == 'n' ? change.document["o"] : bson::Value();
  const bson::Value said = o.is_document() ? o.AsDocument()["msg"] : bson::Value();
  return said.is_string() && said.AsString() == message;
}

}  // namespace

bool BeginsLog(const Change& change) { return Says(change, kFirstMessage); }

std::string_view JoiningShard(const Change& change) {
  if (!Says(change, kShardJoins)) {
    return {};
  }
  const bson::Value shard = change.document["o"].AsDocument()["shard"];
  return shard.is_string() ? shard.AsString() : std::string_view();
}

Result<ChangeBuffer::Place> WriteNote(kv::Store& store, ChangeLog& log, bson::View o,
                                      kv::Durability durability) {
  ChangeBuffer buffer = log.NewBuffer();
  buffer.Noop(o);
  ASSIGN_OR_RETURN(auto txn, store.Begin({}));
  RETURN_IF_ERROR(log.Commit(*txn, buffer, durability));
  return buffer.slot();
}

Status WriteNoteOn(kv::Store& store, ChangeLog& log, const CollectionInfo& info, bson::View o,
                   bson::View o2, kv::Durability durability) {
  ChangeBuffer buffer = log.NewBuffer();
  buffer.NoopOn(info.ns(), {reinterpret_cast<const char*>(info.uuid.data()), info.uuid.size()}, o,
                o2);
  ASSIGN_OR_RETURN(auto txn, store.Begin({}));
  return log.Commit(*txn, buffer, durability);
}

}  // namespace quire::store
