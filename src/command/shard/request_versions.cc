// SPDX-License-Identifier: Apache-2.0
#include "command/shard/request_versions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "placement/version_fields.h"

namespace quire::command {

namespace {

// Reads shardVersion and databaseVersion beside a namespace.
Status ReadPair(bson::View fields, engine::NamespaceVersion* out, bool* given) {
  if (const bson::Value shard = fields["shardVersion"]; !shard.missing()) {
    out->shard = placement::ReadShardVersion(shard);
    if (!out->shard) {
      return {kBadValue, "shardVersion is no version"};
    }
    *given = true;
  }
  if (const bson::Value database = fields["databaseVersion"]; !database.missing()) {
    out->database = placement::ReadDatabaseVersion(database);
    if (!out->database) {
      return {kBadValue, "databaseVersion is no version"};
    }
    *given = true;
  }
  return Status::Ok();
}

Status ReadNamed(const bson::Value& list, RequestVersions* out) {
  if (!list.is_array()) {
    return {kBadValue, "shardVersions is a list of namespaces with their versions"};
  }
  for (const bson::Element& e : list.AsArray()) {
    if (!e.value().is_document() || !e.value().AsDocument()["ns"].is_string()) {
      return {kBadValue, "shardVersions is a list of namespaces with their versions"};
    }
    const bson::View fields = e.value().AsDocument();
    engine::NamespaceVersion name{.ns = std::string(fields["ns"].AsString())};
    RETURN_IF_ERROR(ReadPair(fields, &name, &out->given));
    out->names.push_back(std::move(name));
  }
  return Status::Ok();
}

// The namespaces of a bulkWrite, each with its versions.
Status ReadBulk(const request::Call& call, RequestVersions* out) {
  auto add = [&](bson::View fields) -> Status {
    if (!fields["ns"].is_string()) {
      return Status::Ok();  // refused when it is read
    }
    engine::NamespaceVersion name{.ns = std::string(fields["ns"].AsString())};
    RETURN_IF_ERROR(ReadPair(fields, &name, &out->given));
    out->names.push_back(std::move(name));
    return Status::Ok();
  };
  if (const bson::Value list = call.body["nsInfo"]; list.is_array()) {
    for (const bson::Element& e : list.AsArray()) {
      if (e.value().is_document()) {
        RETURN_IF_ERROR(add(e.value().AsDocument()));
      }
    }
  }
  for (const request::Sequence& sequence : call.request->sequences) {
    for (const bson::View& fields : sequence.documents) {
      if (sequence.name == "nsInfo") {
        RETURN_IF_ERROR(add(fields));
      }
    }
  }
  return Status::Ok();
}

// The collection that the first field names, of the command that explain explains; empty: none.
std::string_view FirstCollection(const request::Call& call) {
  bson::Value first = call.body.front().value();
  if (call.command.name == "explain" && first.is_document() && !first.AsDocument().empty()) {
    first = first.AsDocument().front().value();
  }
  return first.is_string() ? first.AsString() : std::string_view();
}

// What the pipeline of an aggregate or a mapReduce writes; empty: nothing.
std::string SinkOf(const request::Call& call) {
  std::string_view collection_field = "coll";
  bson::Value sink;
  if (call.command.name == "aggregate") {
    const bson::Value stages = call.body["pipeline"];
    const bson::Value explains = call.body["explain"];
    if (!stages.is_array() || (explains.type() == bson::Type::kBool && explains.AsBool())) {
      return {};
    }
    for (const bson::Element& stage : stages.AsArray()) {
      const bson::View one =
          stage.value().is_document() ? stage.value().AsDocument() : bson::View();
      sink = one.Has("$out") ? one["$out"] : one["$merge"];
      if (const bson::Value into = sink.is_document() ? sink.AsDocument()["into"] : bson::Value();
          !into.missing()) {
        sink = into;
      }
    }
  } else if (call.command.name == "mapReduce") {
    sink = call.body["out"];
    if (sink.is_document() && !sink.AsDocument().empty()) {
      collection_field = sink.AsDocument().front().name();
    }
  }
  if (sink.is_string()) {
    return std::string(call.database) + "." + std::string(sink.AsString());
  }
  if (!sink.is_document() || !sink.AsDocument()[collection_field].is_string()) {
    return {};
  }
  const bson::Value database = sink.AsDocument()["db"];
  return std::string(database.is_string() ? database.AsString() : call.database) + "." +
         std::string(sink.AsDocument()[collection_field].AsString());
}

// Marks what is written beside the collection that the command names.
void NoteWritten(const std::string& ns, RequestVersions* out) {
  const auto named = std::find_if(out->names.begin(), out->names.end(),
                                  [&](const auto& name) { return name.ns == ns; });
  if (named != out->names.end()) {
    named->writes = true;
  } else {
    out->names.push_back({.ns = ns, .writes = true});
  }
}

void NoteSink(const request::Call& call, RequestVersions* out) {
  if (const std::string ns = SinkOf(call); !ns.empty()) {
    NoteWritten(ns, out);
  }
}

// Marks what the operations of an applyOps write. Their commands are requests of their own.
void NoteOperations(const bson::Value& list, RequestVersions* out) {
  if (!list.is_array()) {
    return;
  }
  for (const bson::Element& e : list.AsArray()) {
    const bson::View fields = e.value().is_document() ? e.value().AsDocument() : bson::View();
    const bson::Value op = fields["op"];
    const bson::Value ns = fields["ns"];
    if (!op.is_string() || !ns.is_string()) {
      continue;  // refused when it is read
    }
    if (op.AsString() == "c" && fields["o"].is_document()) {
      NoteOperations(fields["o"].AsDocument()["applyOps"], out);
    } else if (op.AsString() != "n") {
      NoteWritten(std::string(ns.AsString()), out);
    }
  }
}

// What every member keeps for itself, or a shard does.
bool IsOwn(std::string_view database) { return database == "local" || database == "config"; }

}  // namespace

Result<RequestVersions> ReadVersions(const request::Call& call) {
  RequestVersions out;
  const bson::Value named = call.body["shardVersions"];
  if (call.command.name.starts_with("_shardsvr")) {
    RETURN_IF_ERROR(named.missing() ? Status::Ok() : ReadNamed(named, &out));
    for (engine::NamespaceVersion& name : out.names) {
      name.writes = true;
    }
    return out;
  }
  for (std::string_view field : {"shardRows", "partialGroup", "legacyRuntimeConstants"}) {
    out.given = out.given || call.body.Has(field);
  }
  if (IsOwn(call.database)) {
    NoteSink(call, &out);
    return out;
  }
  if (call.command.name == "dropDatabase") {
    out.names.push_back({.ns = std::string(call.database), .writes = true, .whole_database = true});
    return out;
  }
  if (call.command.name == "applyOps") {
    NoteOperations(call.body["applyOps"], &out);
    return out;
  }
  if (call.command.name == "bulkWrite") {
    RETURN_IF_ERROR(ReadBulk(call, &out));
    return out;
  }
  engine::NamespaceVersion name;
  RETURN_IF_ERROR(ReadPair(call.body, &name, &out.given));
  const std::string_view collection = FirstCollection(call);
  const bool whole = call.command.Is(request::kWholeNamespace);
  name.ns =
      whole ? std::string(collection) : std::string(call.database) + "." + std::string(collection);
  const bool writes = call.command.Is(request::kWrite);
  if (out.given || (writes && !collection.empty())) {
    out.names.push_back(std::move(name));
  }
  if (const bson::Value to = call.body["to"]; whole && to.is_string()) {
    out.names.push_back({.ns = std::string(to.AsString())});
  }
  if (!named.missing()) {
    RETURN_IF_ERROR(ReadNamed(named, &out));
  }
  NoteSink(call, &out);
  return out;
}

}  // namespace quire::command
