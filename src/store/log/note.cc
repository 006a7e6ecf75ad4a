// SPDX-License-Identifier: Apache-2.0
#include "store/log/note.h"

#include <algorithm>

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

bool KeepsSnapshot(const Change& change) { return Says(change, kSnapshotKept); }

Result<uint64_t> LastChange(kv::Txn& txn, uint64_t time) {
  constexpr int kMostEntries = 16;
  ASSIGN_OR_RETURN(auto cursor, txn.Scan({ChangeLog::KeyOf(0, 0), ChangeLog::KeyOf(time + 1, 0)},
                                         kv::Direction::kBackward));
  for (int i = 0; i < kMostEntries; ++i) {
    ASSIGN_OR_RETURN(const bool any, cursor->Next());
    if (!any) {
      break;
    }
    GroupReader group;
    RETURN_IF_ERROR(group.Open(cursor->key(), cursor->value(), &txn));
    Change change;
    RETURN_IF_ERROR(group.Next(&change));
    if (group.header().count > 1 || (change.kind != 'n' && change.kind != 'v')) {
      return std::min(time, group.header().last);
    }
    time = group.header().first - 1;
  }
  return time;
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
