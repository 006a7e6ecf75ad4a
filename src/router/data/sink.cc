// SPDX-License-Identifier: Apache-2.0
#include "router/data/sink.h"

#include <atomic>
#include <map>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/path.h"
#include "placement/target/target.h"
#include "quire/doc.h"
#include "router/core.h"
#include "router/data/merged.h"
#include "router/data/target.h"

namespace quire::router {

namespace {

constexpr size_t kMostBytes = size_t{8} << 20;
constexpr size_t kMostDocuments = 10'000;

using Documents = std::vector<bson::Document>;

// {aggregate: 1, pipeline: [{$documents: ...}, sink]} with what else the client's command says of
// its writes.
bson::Document Command(const Documents& documents, bson::View sink, bson::View client) {
  bson::Builder out;
  out.Append("aggregate", 1).BeginArray("pipeline").PushDocument();
  if (documents.empty()) {
    out.BeginArray("$documents").End();
  } else {
    out.BeginDocument("$documents").BeginArray("$literal");
    for (const bson::Document& document : documents) {
      out.Push(document);
    }
    out.End().End();
  }
  out.End().Push(sink).End();
  out.BeginDocument("cursor").End();
  for (const char* name : {"writeConcern", "bypassDocumentValidation"}) {
    out.Append(name, client[name]);
  }
  return out.Finish();
}

// What comes behind the first documents of an $out.
bson::Document AddTo(const std::string& ns) {
  const std::string database(DatabaseOf(ns));
  return Doc("$merge", Doc("into", Doc("db", database, "coll", ns.substr(database.size() + 1)),
                           "whenMatched", "fail", "whenNotMatched", "insert"));
}

bool NamesOn(bson::View sink) {
  const bson::Value merge = sink["$merge"];
  return merge.is_document() && merge.AsDocument().Has("on");
}

// Without `on` $merge looks for documents by _id and the target's shard key, which they have to
// have.
Status CheckKey(const placement::ShardKeyPattern& pattern, bson::View document) {
  for (const auto& part : pattern.parts()) {
    const bson::Value value = bson::GetPath(document, part.path);
    if (value.missing() || value.nullish()) {
      return {51132, "$merge write error: 'on' field '" + part.name() +
                         "' cannot be missing, null or undefined"};
    }
    if (value.is_array()) {
      return {51185, "$merge write error: 'on' field '" + part.name() + "' cannot be an array"};
    }
  }
  return Status::Ok();
}

// Sends the documents to the shards that own them.
Task<Status> Send(Routed& request, const Route& target, const Documents& documents,
                  bson::View sink) {
  std::map<placement::ShardName, Documents> by_shard;
  for (const bson::Document& document : documents) {
    placement::ShardName shard = target.database.primary;
    if (target.sharded()) {
      if (!NamesOn(sink)) {
        CO_RETURN_IF_ERROR(CheckKey(target.chunks->pattern(), document));
      }
      CO_ASSIGN_OR_RETURN(shard, placement::TargetInsert(*target.chunks, document));
    }
    by_shard[shard].push_back(document);
  }
  if (documents.empty()) {
    by_shard[target.database.primary] = {};
  }
  std::vector<Asked> asked;
  for (const auto& [shard, part] : by_shard) {
    asked.push_back(
        {shard,
         {},
         request.Outgoing(Command(part, sink, request.body), DatabaseOf(target.ns), nullptr)});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), AskOptions());
  CO_RETURN_IF_ERROR(heard.status());
  co_return FirstErrorOf(*heard);
}

}  // namespace

Task<Status> WriteSink(Routed& request, run::Cursor& cursor, RoutePtr target, bson::View sink) {
  const bool replaces = sink.Has("$out");
  if (replaces && target->sharded()) {
    co_return Status(28769,
                     "namespace '" + target->ns + "' is sharded so it can't be used for $out");
  }
  const bson::Document first(sink);
  const bson::Document later = replaces ? AddTo(target->ns) : first;
  bool written = false;
  Documents documents;
  size_t bytes = 0;
  bool more = true;
  while (more) {
    exec::Row row;
    Result<bool> found = co_await NextRow(request, cursor, &row);
    CO_RETURN_IF_ERROR(found.status());
    more = *found;
    if (more) {
      bytes += row.document.size();
      documents.emplace_back(row.document);
    }
    const bool full = bytes >= kMostBytes || documents.size() >= kMostDocuments;
    const bool last = !more && (!documents.empty() || (replaces && !written));
    if (full || last) {
      const bson::Document& stage = written ? later : first;
      Status sent = co_await Send(request, *target, documents, stage);
      CO_RETURN_IF_ERROR(sent);
      written = true;
      documents.clear();
      bytes = 0;
    }
  }
  co_return Status::Ok();
}

}  // namespace quire::router
