// SPDX-License-Identifier: Apache-2.0
//
// mapReduce over shards: they give the documents, the scripts run in the router.
#include "engine/read/map_reduce.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "request/map_reduce.h"
#include "router/core.h"
#include "router/data/aggregate.h"
#include "router/data/forward.h"
#include "router/data/merged.h"
#include "router/rows.h"

namespace quire::router {

namespace {

using request::MapReduceRequest;
using Kind = request::MapReduceOutput::Kind;

std::string TargetDatabase(const Routed& request, const MapReduceRequest& reduce) {
  return reduce.out.database.empty() ? request.database : std::string(reduce.out.database);
}

// The aggregation that it stands for.
Aggregation AggregationOf(const Routed& request, const MapReduceRequest& reduce) {
  const bson::Document whole = engine::MapReducePipeline(TargetDatabase(request, reduce), reduce);
  bson::Builder out;
  out.Append("aggregate", reduce.collection).AppendFields(whole);
  out.BeginDocument("cursor").End();
  if (!reduce.collation.empty()) {
    out.Append("collation", reduce.collation);
  }
  for (std::string_view name : {"readConcern", "writeConcern", "$readPreference"}) {
    if (const bson::Value value = request.body[name]; !value.missing()) {
      out.Append(name, value);
    }
  }
  return Aggregation::Of(request.database, out.Finish());
}

Task<Status> AppendResults(Routed& request, run::Cursor& cursor) {
  constexpr size_t kMaxReply = size_t{16} << 20;
  bson::Builder& reply = request.call().reply;
  reply.BeginArray("results");
  while (true) {
    exec::Row row;
    Result<bool> found = co_await NextRow(request, cursor, &row);
    CO_RETURN_IF_ERROR(found.status());
    if (!*found) {
      break;
    }
    reply.Push(row.document);
    if (reply.size() > kMaxReply) {
      co_return Status(kBSONObjectTooLarge,
                       "the results of mapReduce are too large to be returned inline");
    }
  }
  reply.End();
  co_return Status::Ok();
}

Task<Status> RouteMapReduce(Routed& request) {
  CO_ASSIGN_OR_RETURN(const MapReduceRequest reduce, MapReduceRequest::Parse(request.body));
  CO_ASSIGN_OR_RETURN(const std::string ns, request.Namespace());
  const Aggregation aggregation = AggregationOf(request, reduce);
  ParsedPipeline pipeline;
  pipeline.UseScripts(engine::MapReduceScope(reduce));
  CO_RETURN_IF_ERROR(pipeline.Parse(request.invocation.operation, aggregation));
  Result<Places> places = co_await FindPlaces(request, aggregation, pipeline);
  CO_RETURN_IF_ERROR(places.status());
  if (places->main == nullptr) {
    co_return request.RunHere();
  }
  const bool here =
      !places->main->sharded() &&
      (places->sink == nullptr || (!places->sink->sharded() && places->sink->database.primary ==
                                                                   places->main->database.primary));
  if (here) {
    bool replan = false;
    request.writes = places->sink != nullptr;
    ForwardOptions options;
    options.others = &places->others;
    options.replan = &replan;
    Status forwarded = co_await Forward(request, ns, options);
    if (!replan) {
      co_return forwarded;
    }
    request.writes = false;
    places = co_await FindPlaces(request, aggregation, pipeline);
    CO_RETURN_IF_ERROR(places.status());
    if (places->main == nullptr) {
      co_return request.RunHere();
    }
  }
  Result<std::shared_ptr<run::Cursor>> cursor =
      co_await OpenDivided(request, aggregation, pipeline, *places);
  CO_RETURN_IF_ERROR(cursor.status());
  if (reduce.out.kind != Kind::kInline) {
    engine::AppendMapReduceTarget(reduce, &request.call().reply);
    co_return Status::Ok();
  }
  Status appended = co_await AppendResults(request, **cursor);
  co_return appended;
}

}  // namespace

std::span<const RoutineRow> MapReduceRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"mapReduce", RouteMapReduce},
  };
  return kRows;
}

}  // namespace quire::router
