// SPDX-License-Identifier: Apache-2.0
#include "engine/stream/oplog.h"

#include <algorithm>

#include "base/try.h"

namespace quire::engine {

namespace {

using store::Change;

// Whether it is an operation, and not what a member keeps beside them.
bool IsShown(const Change& change) { return change.kind != 'S' && change.kind != 'v'; }

// Appends op, ns, ui, o and o2: what an operation has alone and inside applyOps.
void AppendOperation(const Change& change, bson::Builder* out) {
  char kind = change.kind == 'r' ? 'u' : change.kind;
  out->Append("op", std::string_view(&kind, 1));
  size_t dot = change.ns.find('.');
  std::string ns(kind == 'c' ? std::string(change.ns.substr(0, dot)) + ".$cmd"
                             : std::string(change.ns));
  out->Append("ns", ns);
  if (!change.uuid.empty() &&
      change.uuid != std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16)) {
    out->Append("ui", bson::Value::Binary(change.uuid, 4));
  }
  switch (change.kind) {
    case 'i':
    case 'r':
      out->Append("o", change.document);
      out->Append("o2", store::KeyOf(change));
      break;
    case 'u':
      out->BeginDocument("o").Append("$v", 2).Append("diff", change.document).End();
      out->Append("o2", change.key);
      break;
    case 'd':
      out->Append("o", change.key);
      break;
    default:
      out->AppendFields(change.document);
      break;
  }
}

void AppendTimes(const Change& change, bson::Builder* out) {
  out->Append("ts", change.time)
      .Append("t", std::max<int64_t>(1, static_cast<int64_t>(change.epoch)))
      .Append("v", int64_t{2})
      .Append("wall", bson::Date{change.wall_millis});
}

// The entry that begins with *change: of a transaction, all that follows in its group.
Result<bson::Document> ReadEntry(store::ChangeReader& reader, Change* change) {
  bson::Builder out;
  if (!change->in_transaction) {
    AppendOperation(*change, &out);
    AppendTimes(*change, &out);
    return out.Finish();
  }
  out.BeginDocument("lsid").Append("id", bson::Value::Binary(change->lsid, 4)).End();
  out.Append("txnNumber", change->txn_number).Append("op", "c").Append("ns", "admin.$cmd");
  out.BeginDocument("o").BeginArray("applyOps");
  while (true) {
    if (IsShown(*change)) {
      out.PushDocument();
      AppendOperation(*change, &out);
      out.End();
    }
    if (change->later == 0) {
      break;
    }
    ASSIGN_OR_RETURN(bool more, reader.Next(change));
    if (!more) {
      break;
    }
  }
  out.End().End();
  AppendTimes(*change, &out);
  return out.Finish();
}

}  // namespace

bson::Timestamp OplogStart(bson::View filter) {
  bson::Timestamp start;
  bson::Value ts = filter["ts"];
  if (ts.type() == bson::Type::kTimestamp) {
    return ts.AsTimestamp();
  }
  if (ts.is_document()) {
    for (std::string_view name : {"$gt", "$gte", "$eq"}) {
      if (bson::Value bound = ts.AsDocument()[name]; bound.type() == bson::Type::kTimestamp) {
        start = std::max(start, bound.AsTimestamp());
      }
    }
  }
  return start;
}

OplogRows::OplogRows(Engine& engine, bson::Timestamp from, bool backwards)
    : engine_(engine), from_(store::PackTime(from)), backwards_(backwards) {
  before_ = store::ChangeLog::KeyOf(store::PackTime(engine.log().Readable()) + 1, 0);
}

Result<bool> OplogRows::Next(OpContext& op, exec::Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  ASSIGN_OR_RETURN(bool more, backwards_ ? NextBackwards() : NextForwards());
  *row = exec::Row();
  row->document = entry_;
  return more;
}

Result<bool> OplogRows::NextForwards() {
  if (reader_ == nullptr) {
    uint64_t oldest = store::PackTime(engine_.log().Oldest());
    from_ = std::max(from_, oldest);
    ASSIGN_OR_RETURN(reader_, store::ChangeReader::Open(engine_.store(), engine_.log(),
                                                        store::UnpackTime(from_)));
  }
  Change change;
  bool more = true;
  do {
    ASSIGN_OR_RETURN(more, reader_->Next(&change));
  } while (more && !IsShown(change));
  if (!more) {
    from_ = std::max(from_, store::PackTime(reader_->upto()) + 1);
    reader_.reset();
    return false;
  }
  ASSIGN_OR_RETURN(entry_, ReadEntry(*reader_, &change));
  return true;
}

Result<bool> OplogRows::NextBackwards() {
  while (group_.empty()) {
    ASSIGN_OR_RETURN(auto reader, store::ChangeReader::OpenGroupBefore(engine_.store(), before_));
    Change change;
    ASSIGN_OR_RETURN(bool more, reader->Next(&change));
    if (!more) {
      return false;
    }
    before_ = reader->group_key();
    while (true) {
      if (IsShown(change)) {
        ASSIGN_OR_RETURN(bson::Document entry, ReadEntry(*reader, &change));
        if (store::PackTime(change.time) >= from_) {
          group_.push_back(std::move(entry));
        }
      }
      if (change.later == 0) {
        break;
      }
      ASSIGN_OR_RETURN(more, reader->Next(&change));
    }
    if (store::PackTime(change.time) < from_) {
      return false;
    }
  }
  entry_ = std::move(group_.back());
  group_.pop_back();
  return true;
}

bool OplogRows::HasNews() const { return store::PackTime(engine_.log().Readable()) >= from_; }

}  // namespace quire::engine
