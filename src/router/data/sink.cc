// SPDX-License-Identifier: Apache-2.0
#include "router/data/sink.h"

#include <atomic>
#include <map>

#include "base/error_codes.h"
#include "base/try.h"
#include "placement/target/target.h"
#include "quire/doc.h"
#include "router/core.h"
#include "router/data/read.h"
#include "router/data/target.h"

namespace quire::router {

namespace {

constexpr size_t kMostBytes = size_t{8} << 20;
constexpr size_t kMostDocuments = 10'000;

// Until the source has a row, or none any more.
class RowsArrived final : public Wait {
 public:
  explicit RowsArrived(run::RowSource* source)
      : source_(*source), listener_(source->News()->Listen([this] { rung.Ring(); })) {}
  bool ready() override { return source_.HasNews(); }

 private:
  run::RowSource& source_;
  std::unique_ptr<Bell::Listener> listener_;
};

using Documents = std::vector<bson::Document>;

// {aggregate: 1, pipeline: [{$documents: ...}, sink]}
bson::Document Command(const Documents& documents, bson::View sink, const bson::Value& concern) {
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
  out.BeginDocument("cursor").End().Append("writeConcern", concern);
  return out.Finish();
}

// What comes behind the first documents of an $out.
bson::Document AddTo(const std::string& ns) {
  const std::string database(DatabaseOf(ns));
  return Doc("$merge", Doc("into", Doc("db", database, "coll", ns.substr(database.size() + 1)),
                           "whenMatched", "fail", "whenNotMatched", "insert"));
}

// Sends the documents to the shards that own them.
Task<Status> Send(Routed& request, const Route& target, const Documents& documents,
                  bson::View sink) {
  std::map<placement::ShardName, Documents> by_shard;
  for (const bson::Document& document : documents) {
    placement::ShardName shard = target.database.primary;
    if (target.sharded()) {
      CO_ASSIGN_OR_RETURN(shard, placement::TargetInsert(*target.chunks, document));
    }
    by_shard[shard].push_back(document);
  }
  if (documents.empty()) {
    by_shard[target.database.primary] = {};
  }
  std::vector<Asked> asked;
  for (const auto& [shard, part] : by_shard) {
    asked.push_back({shard,
                     {},
                     request.Outgoing(Command(part, sink, request.body["writeConcern"]),
                                      DatabaseOf(target.ns), nullptr)});
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
    CO_ASSIGN_OR_RETURN(const bool found, cursor.source->Next(request.op(), &row));
    if (found) {
      bytes += row.document.size();
      documents.emplace_back(row.document);
    } else if (cursor.source->Pending()) {
      auto arrived = std::make_shared<RowsArrived>(cursor.source.get());
      Status waited = co_await request.Until(arrived);
      CO_RETURN_IF_ERROR(waited);
      continue;
    } else {
      more = false;
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
