// SPDX-License-Identifier: Apache-2.0
//
// From a change of the log to the event a stream shows.
#include <optional>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/stream/change_stream.h"
#include "expr/update/diff.h"
#include "store/collection.h"

namespace quire::engine {

namespace {

using Scope = StreamSpec::Scope;

struct SplitName {
  std::string_view database;
  std::string_view collection;
};
SplitName Split(std::string_view ns) {
  size_t dot = ns.find('.');
  return {ns.substr(0, dot), ns.substr(dot + 1)};
}

void AppendName(std::string_view field, std::string_view ns, bson::Builder* out) {
  auto [database, collection] = Split(ns);
  out->BeginDocument(field).Append("db", database);
  if (!collection.empty()) {
    out->Append("coll", collection);
  }
  out->End();
}

// The value of operationDescription: what the command did, from its entry in the log {o, o2}.
using Describe = void (*)(bson::View entry, bson::Builder* out);

void DescribeOptions(bson::View entry, bson::Builder* out) {
  const bson::View o = entry["o"].AsDocument();
  for (const bson::Element& e : o) {
    if (e.name() != o.front().name()) {
      out->Append(e);
    }
  }
}

void DescribeRename(bson::View entry, bson::Builder* out) {
  const bson::View o = entry["o"].AsDocument();
  AppendName("to", o["to"].AsString(), out);
  out->Append("dropTarget", o["dropTarget"]);
}

void DescribeIndexes(bson::View entry, bson::Builder* out) {
  const bson::Value built = entry["o"].AsDocument()["indexes"];  // elsewhere: a no-op tells of it
  out->Append("indexes", built.missing() ? entry["o2"].AsDocument()["indexes"] : built);
}

void DescribeDroppedIndex(bson::View entry, bson::Builder* out) {
  out->BeginArray("indexes").Push(entry["o2"]).End();
}

void DescribeSharding(bson::View entry, bson::Builder* out) {
  for (const bson::Element& e : entry["o2"].AsDocument()) {
    if (e.name() != "shardCollection") {
      out->Append(e);
    }
  }
}

// The commands of the log and the events they become.
struct CommandRow {
  std::string_view command;
  std::string_view event;
  bool expanded = false;           // shown only with showExpandedEvents
  Describe describe = nullptr;     // null: the event has no operationDescription
  std::optional<Scope> ends = {};  // streams of that scope are invalidated by it
  bool of_database = false;        // it has no collection
  bool renames = false;            // `to` names the collection, too
  bool tells_before = false;       // the event has what was before
};
constexpr CommandRow kCommands[] = {
    {"create", "create", true, DescribeOptions},
    {.command = "drop", .event = "drop", .ends = Scope::kCollection},
    {.command = "renameCollection",
     .event = "rename",
     .describe = DescribeRename,
     .ends = Scope::kCollection,
     .renames = true},
    {.command = "dropDatabase",
     .event = "dropDatabase",
     .ends = Scope::kDatabase,
     .of_database = true},
    {"commitIndexBuild", "createIndexes", true, DescribeIndexes},
    {"dropIndexes", "dropIndexes", true, DescribeDroppedIndex},
    {.command = "collMod",
     .event = "modify",
     .expanded = true,
     .describe = DescribeOptions,
     .tells_before = true},
    {"shardCollection", "shardCollection", true, DescribeSharding},
};

const CommandRow* RowOf(bson::View o) {
  for (const CommandRow& row : kCommands) {
    if (row.command == o.front().name()) {
      return &row;
    }
  }
  return nullptr;
}

// The events that changes of view definitions become.
constexpr CommandRow kViewCreated{"", "create", true};
constexpr CommandRow kViewModified{"", "modify", true};
constexpr CommandRow kViewDropped{"", "drop", true};

// Null unless the change is of a document of system.views.
const CommandRow* ViewRowOf(const store::Change& change) {
  if (Split(change.ns).collection != "system.views") {
    return nullptr;
  }
  switch (change.kind) {
    case 'i':
      return &kViewCreated;
    case 'r':
      return &kViewModified;
    case 'd':
      return &kViewDropped;
    default:
      return nullptr;
  }
}

// Null for the change of a document.
const CommandRow* EventRowOf(const store::Change& change) {
  if (const CommandRow* view = ViewRowOf(change)) {
    return view;
  }
  if (change.kind == 'n') {  // a no-op may tell of what is done elsewhere
    const bson::Value told = change.document["o2"];
    return told.is_document() && !told.AsDocument().empty() ? RowOf(told.AsDocument()) : nullptr;
  }
  return change.kind == 'c' ? RowOf(change.document["o"].AsDocument()) : nullptr;
}

std::string_view ViewName(const store::Change& change) {
  return (change.kind == 'd' ? change.key : change.document)["_id"].AsString();
}

bool Covers(const StreamSpec& spec, std::string_view ns) {
  auto [database, collection] = Split(ns);
  bool system = collection.starts_with("system.") && !spec.system_events;
  switch (spec.scope) {
    case Scope::kCollection:
      return database == spec.database && collection == spec.collection;
    case Scope::kDatabase:
      return database == spec.database && !system;
    case Scope::kCluster:
      return !system && database != "admin" && database != "config" && database != "local";
  }
  return false;
}

std::string_view TypeOf(const store::Change& change, const CommandRow* row) {
  switch (change.kind) {
    case 'i':
      return "insert";
    case 'u':
      return "update";
    case 'r':
      return "replace";
    case 'd':
      return "delete";
    default:
      return row->event;
  }
}

// Whether the stream shows the change at all.
bool IsShown(const StreamSpec& spec, const store::Change& change, const CommandRow** row) {
  if (change.kind == 'S' || change.kind == 'v' || change.no_event) {
    return false;
  }
  if (*row = ViewRowOf(change); *row != nullptr) {
    return spec.expanded_events && spec.scope != Scope::kCollection &&
           Covers(spec, ViewName(change));
  }
  if (change.kind != 'c' && change.kind != 'n') {
    return Covers(spec, change.ns);
  }
  bson::View o = change.document["o"].AsDocument();
  *row = EventRowOf(change);
  if (*row == nullptr || ((*row)->expanded && !spec.expanded_events)) {
    return false;
  }
  if ((*row)->of_database && spec.scope == Scope::kCollection) {
    return false;  // the drop of the collection comes first
  }
  return Covers(spec, change.ns) || ((*row)->renames && Covers(spec, o["to"].AsString()));
}

bool Invalidates(const StreamSpec& spec, const CommandRow* row) {
  return row != nullptr && row->ends == spec.scope;
}

// The document as it is now, null when it is gone.
Status AppendLookup(const Operation& operation, const store::Change& change, bson::Builder* out) {
  store::CollectionPtr collection = operation.engine.catalog().Find(change.ns);
  bool same =
      collection != nullptr && !collection->is_view() &&
      std::string_view(reinterpret_cast<const char*>(collection->uuid.data()), 16) == change.uuid;
  if (same) {
    ASSIGN_OR_RETURN(auto txn, store::Transaction::Begin(operation.engine.store(), true));
    ASSIGN_OR_RETURN(auto id, store::FindById(*txn, *collection, change.key["_id"]));
    kv::ReadValue value;
    if (id) {
      ASSIGN_OR_RETURN(bool found, store::Fetch(*txn, *collection, *id, &value));
      if (found) {
        out->Append("fullDocument", bson::View(value.view().data()));
        return Status::Ok();
      }
    }
  }
  out->AppendNull("fullDocument");
  return Status::Ok();
}

Status ImageMissing(std::string_view which, bson::View key) {
  return {kNoMatchingDocument, "Change stream was configured to require a " + std::string(which) +
                                   " for all events, but the " + std::string(which) +
                                   " was not found for the document with key " + bson::ToJson(key)};
}

Status AppendFullDocument(const Operation& operation, const StreamSpec& spec,
                          const store::Change& change, bson::Builder* out) {
  using Mode = StreamSpec::FullDocument;
  if (change.kind == 'i' || change.kind == 'r') {
    out->Append("fullDocument", change.document);
    return Status::Ok();
  }
  if (change.kind != 'u' || spec.full_document == Mode::kDefault) {
    return Status::Ok();
  }
  if (spec.full_document == Mode::kUpdateLookup) {
    return AppendLookup(operation, change, out);
  }
  if (change.after) {
    out->Append("fullDocument", *change.after);
    return Status::Ok();
  }
  if (spec.full_document == Mode::kRequired) {
    return ImageMissing("post-image", change.key);
  }
  out->AppendNull("fullDocument");
  return Status::Ok();
}

Status AppendBeforeChange(const StreamSpec& spec, const store::Change& change, bson::Builder* out) {
  using Mode = StreamSpec::BeforeChange;
  bool has_before = change.kind == 'u' || change.kind == 'r' || change.kind == 'd';
  if (!has_before || spec.before_change == Mode::kOff) {
    return Status::Ok();
  }
  if (change.before) {
    out->Append("fullDocumentBeforeChange", *change.before);
    return Status::Ok();
  }
  if (spec.before_change == Mode::kRequired) {
    bson::Document key = store::KeyOf(change);
    return ImageMissing("pre-image", key);
  }
  out->AppendNull("fullDocumentBeforeChange");
  return Status::Ok();
}

// What a command did, for showExpandedEvents.
void AppendDescription(const CommandRow& row, bson::View entry, bson::Builder* out) {
  if (row.describe != nullptr) {
    out->BeginDocument("operationDescription");
    row.describe(entry, out);
    out->End();
  }
  if (row.tells_before) {
    bson::View old = entry["o2"].AsDocument();
    out->BeginDocument("stateBeforeChange")
        .Append("collectionOptions", old["collectionOptions_old"])
        .Append("indexOptions", old["indexOptions_old"])
        .End();
  }
}

// A document's change: what follows ns.
void AppendPayload(const StreamSpec& spec, const store::Change& change, bson::Builder* out) {
  out->Append("documentKey", store::KeyOf(change));
  if (change.kind == 'u') {
    out->BeginDocument("updateDescription");
    expr::update::AppendUpdateDescription(change.document, spec.expanded_events, out);
    out->End();
  }
}

void AppendSession(const store::Change& change, bson::Builder* out) {
  out->Append("txnNumber", change.txn_number);
  request::AppendSession("lsid", change.lsid, out);
}

bson::Document MakeViewEvent(const store::Change& change, const CommandRow& row) {
  bson::Builder out;
  out.Append("_id", EventToken(change, false))
      .Append("operationType", row.event)
      .Append("clusterTime", change.time)
      .Append("wallTime", bson::Date{change.wall_millis});
  AppendName("ns", ViewName(change), &out);
  if (change.kind != 'd') {
    out.BeginDocument("operationDescription");
    for (const bson::Element& e : change.document) {
      if (e.name() != "_id") {
        out.Append(e);
      }
    }
    out.End();
  }
  return out.Finish();
}

}  // namespace

bson::Document EventToken(const store::Change& change, bool invalidate) {
  const CommandRow* row = EventRowOf(change);
  bson::Builder operation;
  if (invalidate || row != nullptr) {
    operation.Append("operationType", invalidate ? "invalidate" : row->event);
  }
  const bson::Document identifier =
      invalidate || row != nullptr ? operation.Finish() : store::KeyOf(change);
  return MakeResumeToken({change.time, true, change.index, invalidate}, change.uuid, identifier);
}

bool ShowsChange(const StreamSpec& spec, const store::Change& change, bool* invalidates) {
  const CommandRow* row = nullptr;
  bool shown = IsShown(spec, change, &row);
  *invalidates = shown && Invalidates(spec, row);
  return shown;
}

Result<bson::Document> MakeEvent(const Operation& operation, const StreamSpec& spec,
                                 const store::Change& change) {
  if (const CommandRow* view = ViewRowOf(change)) {
    return MakeViewEvent(change, *view);
  }
  const CommandRow* row = EventRowOf(change);
  bson::Builder out;
  out.Append("_id", EventToken(change, false));
  if (change.in_transaction) {
    AppendSession(change, &out);
  }
  std::string_view type = TypeOf(change, row);
  out.Append("operationType", type).Append("clusterTime", change.time);
  if (spec.expanded_events && (row == nullptr || !row->of_database)) {
    out.Append("collectionUUID", bson::Value::Binary(change.uuid, 4));
  }
  out.Append("wallTime", bson::Date{change.wall_millis});
  RETURN_IF_ERROR(AppendFullDocument(operation, spec, change, &out));
  AppendName("ns", change.ns, &out);
  if (row == nullptr) {
    AppendPayload(spec, change, &out);
  } else {
    if (row->renames) {
      AppendName("to", change.document["o"].AsDocument()["to"].AsString(), &out);
    }
    if (spec.expanded_events) {
      AppendDescription(*row, change.document, &out);
    }
  }
  RETURN_IF_ERROR(AppendBeforeChange(spec, change, &out));
  return out.Finish();
}

bson::Document MakeInvalidateEvent(const store::Change& change) {
  bson::Builder out;
  out.Append("_id", EventToken(change, true))
      .Append("operationType", "invalidate")
      .Append("clusterTime", change.time)
      .Append("wallTime", bson::Date{change.wall_millis});
  return out.Finish();
}

}  // namespace quire::engine
