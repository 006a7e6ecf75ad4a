// SPDX-License-Identifier: Apache-2.0
//
// aggregate over shards: whole on one shard where all that it reads and writes lies there, else
// divided.
#include "router/data/aggregate.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/collation/collator.h"
#include "pipeline/parse.h"
#include "pipeline/stages/sink.h"
#include "quire/doc.h"
#include "request/crud.h"
#include "router/core.h"
#include "router/cursor/remote_rows.h"
#include "router/data/forward.h"
#include "router/data/read.h"
#include "router/data/sink.h"
#include "router/data/target.h"
#include "router/pipeline/merge_run.h"
#include "router/pipeline/split_command.h"
#include "router/rows.h"
#include "router/stream/stream.h"
#include "run/batch.h"

namespace quire::router {

Status ParsedPipeline::Parse(Routed& request, const request::AggregateRequest& aggregate) {
  if (!aggregate.collation.empty()) {
    ASSIGN_OR_RETURN(collator_, expr::Collator::Parse(aggregate.collation));
    context_.collator = collator_.get();
  }
  engine::Operation operation{request.core.engine(), request.op()};
  RETURN_IF_ERROR(engine::FillContext(operation, aggregate.let, &context_));
  pipeline::PipelineOptions options;
  options.ns = {request.database, std::string(aggregate.collection)};
  ASSIGN_OR_RETURN(stages, pipeline::ParsePipeline(aggregate.pipeline.view, options, &context_));
  std::vector<pipeline::Namespace> read;
  pipeline::AddNamespaces(stages, &read);
  for (const pipeline::Namespace& ns : read) {
    if (!ns.collection.empty()) {
      others.insert(ns.database + "." + ns.collection);
    }
  }
  if (!stages.empty()) {
    if (const auto* last = pipeline::As<pipeline::SinkStage>(stages.back().get())) {
      sink = last->options().target.database + "." + last->options().target.collection;
    }
  }
  return Status::Ok();
}

bson::View LeadingFilter(bson::View pipeline) {
  if (pipeline.empty()) {
    return bson::View();
  }
  const bson::Value match = pipeline.front().value().AsDocument()["$match"];
  return match.is_document() ? match.AsDocument() : bson::View();
}

bson::Document ShardsCommand(bson::View body, const std::vector<bson::Document>& stages) {
  bson::Builder out;
  for (const bson::Element& field : body) {
    const std::string_view name = field.name();
    if (name == "pipeline") {
      out.BeginArray("pipeline");
      for (const bson::Document& stage : stages) {
        out.Push(stage);
      }
      out.End();
    } else if (name != "explain" && name != "writeConcern" && name != "bypassDocumentValidation") {
      out.Append(field);
    }
  }
  return out.Finish();
}

namespace {

bson::Document ArrayOf(const std::vector<bson::Document>& stages) {
  bson::Builder out;
  for (const bson::Document& stage : stages) {
    out.Push(stage);
  }
  return out.Finish();
}

// Where everything that the pipeline names lies.
struct Places {
  RoutePtr main;                           // null: its database does not exist
  std::map<std::string, RoutePtr> others;  // those that exist
  RoutePtr sink;                           // null: there is none
};

Task<Result<Places>> FindPlaces(Routed& request, const std::string& ns,
                                const ParsedPipeline& pipeline) {
  Places places;
  Result<RoutePtr> main = co_await request.Find(ns, !pipeline.sink.empty());
  if (main.ok()) {
    places.main = *main;
  } else if (main.status().code() != kNamespaceNotFound) {
    co_return main.status();
  }
  for (const std::string& other : pipeline.others) {
    Result<RoutePtr> found = co_await request.Find(other, false);
    if (found.ok()) {
      places.others[other] = *found;
    } else if (found.status().code() != kNamespaceNotFound) {
      co_return found.status();
    }
  }
  if (!pipeline.sink.empty()) {
    Result<RoutePtr> sink = co_await request.Find(pipeline.sink, true);
    CO_RETURN_IF_ERROR(sink.status());
    places.sink = *sink;
  }
  co_return places;
}

bool LiesOn(const Route& route, const placement::ShardName& shard) {
  return !route.sharded() && route.database.primary == shard;
}

// Whether the shard has everything but the main collection.
bool OthersLieOn(const Places& places, const placement::ShardName& shard) {
  return std::all_of(places.others.begin(), places.others.end(),
                     [&](const auto& other) { return LiesOn(*other.second, shard); }) &&
         (places.sink == nullptr || LiesOn(*places.sink, shard));
}

// The rows of the shards, through the merging part.
Result<std::shared_ptr<run::Cursor>> OpenDivided(Routed& request, const std::string& ns,
                                                 const request::AggregateRequest& aggregate,
                                                 const Route& route,
                                                 std::vector<bson::Document> merger,
                                                 std::vector<Heard> heard) {
  constexpr int64_t kBatch = 1000;
  RemoteRowsOptions options;
  options.database = std::string(DatabaseOf(ns));
  options.collection = ns.substr(options.database.size() + 1);
  options.session = request.SessionFields();
  options.batch_size = kBatch;
  std::vector<OpenedCursor> opened;
  for (Heard& one : heard) {
    const bson::Value time = (*one.reply)["operationTime"];
    if (time.type() == bson::Type::kTimestamp) {
      request.call().operation_time = std::max(request.call().operation_time, time.AsTimestamp());
    }
    opened.push_back({one.shard, one.host, *std::move(one.reply)});
  }
  auto rows =
      std::make_unique<RemoteRows>(&request.core.lanes(), std::move(options), std::move(opened));
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = ns;
  cursor->lsid = request.call().generic.lsid;
  if (merger.empty()) {
    cursor->source = std::move(rows);
    return cursor;
  }
  MergeRunOptions merge;
  merge.ns = {request.database, std::string(aggregate.collection)};
  merge.pipeline = ArrayOf(merger);
  merge.collation = bson::Document(aggregate.collation);
  if (aggregate.collation.empty() && route.collection && route.collection->default_collation) {
    merge.collation = *route.collection->default_collation;
  }
  merge.let = bson::Document(aggregate.let);
  merge.allow_disk_use = aggregate.allow_disk_use;
  merge.memory_limit = request.op().memory_limit;
  ASSIGN_OR_RETURN(cursor->source, OpenMergeRun(&request.core, std::move(merge), std::move(rows)));
  return cursor;
}

Task<Status> RunDivided(Routed& request, const std::string& ns,
                        const request::AggregateRequest& aggregate, const ParsedPipeline& pipeline,
                        Places places) {
  RoutePtr route = places.main;
  for (int i = 0; i <= kMostRefreshes; ++i) {
    DividedPipeline divided = Divide(pipeline.stages);
    bson::Document sink;
    if (!pipeline.sink.empty()) {
      sink = std::move(divided.merger.back());
      divided.merger.pop_back();
    }
    std::set<placement::ShardName> shards = {route->database.primary};
    if (route->sharded()) {
      const Query query{LeadingFilter(aggregate.pipeline.view), aggregate.collation, aggregate.let};
      CO_ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, *route, query));
      shards = targets.shards;
    }
    const bson::Document command = ShardsCommand(request.body, divided.shards);
    std::vector<Part> parts;
    for (const placement::ShardName& shard : shards) {
      parts.push_back({shard, command});
    }
    bool stale = false;
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, &route, std::move(parts), &stale);
    CO_RETURN_IF_ERROR(heard.status());
    Status failed = stale ? Status::Ok() : FirstErrorOf(*heard);
    if (stale || !failed.ok()) {
      KillOpened(request, *heard);
      CO_RETURN_IF_ERROR(failed);
      continue;
    }
    CO_ASSIGN_OR_RETURN(
        std::shared_ptr<run::Cursor> cursor,
        OpenDivided(request, ns, aggregate, *route, std::move(divided.merger), *std::move(heard)));
    if (places.sink != nullptr) {
      Status written = co_await WriteSink(request, *cursor, places.sink, sink);
      CO_RETURN_IF_ERROR(written);
      cursor->exhausted = true;
    }
    run::FirstBatch first;
    first.size = aggregate.batch_size;
    first.needs = request.invocation.needs;
    co_return run::AppendFirstBatch(request.core.engine().cursors(), std::move(cursor), first,
                                    request.call());
  }
  co_return Status(kStaleConfig, "The placement of " + ns + " changes all the time");
}

bool BeginsWith(bson::View pipeline, std::string_view stage) {
  return !pipeline.empty() && pipeline.front().type() == bson::Type::kDocument &&
         pipeline.front().value().AsDocument().Has(stage);
}

// On the database itself: what the primary shard answers, or every shard.
Task<Status> OnDatabase(Routed& request, const request::AggregateRequest& aggregate) {
  const bool everywhere = BeginsWith(aggregate.pipeline.view, "$currentOp");
  if (!everywhere) {
    ForwardOptions options{.only_database = true};
    Status status = co_await Forward(request, request.database, options);
    co_return status;
  }
  std::vector<Asked> asked;
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    asked.push_back({shard.name, {}, request.Outgoing(request.body, request.database, nullptr)});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  if (Status failed = FirstErrorOf(*heard); !failed.ok()) {
    KillOpened(request, *heard);
    co_return failed;
  }
  MergeOptions merge;
  merge.ns = request.database + ".$cmd.aggregate";
  merge.batch_size = aggregate.batch_size;
  co_return OpenMerged(request, *std::move(heard), merge);
}

Task<Status> RouteAggregate(Routed& request) {
  CO_ASSIGN_OR_RETURN(const auto aggregate, request::AggregateRequest::Parse(request.body));
  if (IsStream(aggregate) && !aggregate.explain) {
    Status status = co_await RouteStream(request, aggregate);
    co_return status;
  }
  if (aggregate.collection.empty()) {
    Status status = co_await OnDatabase(request, aggregate);
    co_return status;
  }
  const std::string ns = request.database + "." + std::string(aggregate.collection);
  request.call().summary.ns = ns;
  ParsedPipeline pipeline;
  CO_RETURN_IF_ERROR(pipeline.Parse(request, aggregate));
  Result<Places> found = co_await FindPlaces(request, ns, pipeline);
  CO_RETURN_IF_ERROR(found.status());
  const Places& places = *found;
  if (places.main == nullptr) {
    co_return request.RunHere();
  }
  const placement::ShardName& primary = places.main->database.primary;
  if (LiesOn(*places.main, primary) && OthersLieOn(places, primary)) {
    ForwardOptions options;
    options.others = &places.others;
    Status status = co_await Forward(request, ns, options);
    co_return status;
  }
  if (aggregate.explain) {
    const std::string verbosity = "queryPlanner";
    Status status = co_await ExplainDivided(request, request.body, verbosity);
    co_return status;
  }
  if (places.main->sharded() && pipeline.others.empty() && pipeline.sink.empty()) {
    const Query query{LeadingFilter(aggregate.pipeline.view), aggregate.collation, aggregate.let};
    CO_ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, *places.main, query));
    if (targets.single()) {
      RoutePtr route = places.main;
      std::vector<Part> parts;
      parts.push_back({*targets.shards.begin(), request.body});
      bool stale = false;
      Result<std::vector<Heard>> heard =
          co_await AskVersioned(request, &route, std::move(parts), &stale);
      CO_RETURN_IF_ERROR(heard.status());
      if (!stale) {
        co_return request.Deliver(std::move(heard->front()));
      }
    }
  }
  Status status = co_await RunDivided(request, ns, aggregate, pipeline, places);
  co_return status;
}

}  // namespace

std::span<const RoutineRow> AggregateRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"aggregate", RouteAggregate},
  };
  return kRows;
}

}  // namespace quire::router
