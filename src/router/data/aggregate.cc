// SPDX-License-Identifier: Apache-2.0
#include "router/data/aggregate.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/data/aggregate.h"
#include "quire/doc.h"
#include "request/crud.h"
#include "router/core.h"
#include "router/cursor/remote_rows.h"
#include "router/data/distribution.h"
#include "router/data/forward.h"
#include "router/data/merged.h"
#include "router/data/sink.h"
#include "router/pipeline/merge_run.h"
#include "router/rows.h"
#include "router/stream/stream.h"
#include "run/batch.h"

namespace quire::router {

namespace {

// Whether the shard has everything but the main collection.
bool OthersLieOn(const Places& places, const placement::ShardName& shard) {
  return std::all_of(places.others.begin(), places.others.end(),
                     [&](const auto& other) { return LiesOn(*other.second, shard); });
}

// Rows of a batch that is merged: as many as its bytes allow.
constexpr int32_t kMergedBatch = 1'000'000;

bool Mentions(const std::vector<bson::Document>& stages, std::string_view word) {
  return std::any_of(stages.begin(), stages.end(), [&](const bson::Document& stage) {
    return std::string_view(stage.bytes()).find(word) != std::string_view::npos;
  });
}

// Which rows the merger wants of the shards.
bson::Document RowsFor(const pipeline::SplitPipeline& split) {
  const bool keys = split.joined == pipeline::Joined::kBySortKey;
  const bool meta = Mentions(split.merger, "$meta");
  return Doc("keys", keys, "meta", meta, "bytes", kMergedBytes);
}

}  // namespace

Task<Result<Places>> FindPlaces(Routed& request, const Aggregation& aggregation,
                                const ParsedPipeline& pipeline) {
  Places places;
  Result<RoutePtr> main = co_await request.Find(aggregation.ns, !pipeline.sink().empty());
  if (main.ok()) {
    places.main = *main;
  } else if (main.status().code() != kNamespaceNotFound) {
    co_return main.status();
  }
  for (const std::string& other : pipeline.others()) {
    Result<RoutePtr> found = co_await request.Find(other, false);
    if (found.ok()) {
      places.others[other] = *found;
    } else if (found.status().code() != kNamespaceNotFound) {
      co_return found.status();
    }
  }
  if (!pipeline.sink().empty()) {
    Result<RoutePtr> sink = co_await request.Find(pipeline.sink(), true);
    CO_RETURN_IF_ERROR(sink.status());
    places.others[pipeline.sink()] = *sink;
    places.sink = *sink;
  }
  co_return places;
}

Result<Division> Divide(Routed& request, const Aggregation& aggregation,
                        const ParsedPipeline& pipeline, const Places& places) {
  Division division;
  division.shards = {places.main->database.primary};
  if (places.main->sharded()) {
    const request::AggregateRequest& aggregate = pipeline.request();
    const Query query{pipeline.leading_filter(), aggregate.collation, aggregate.let};
    ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, *places.main, query));
    division.shards = targets.shards;
  }
  const bool one = division.shards.size() == 1;
  const bool reads_there = one && !aggregation.reads_through_router;
  const placement::ShardName& first = *division.shards.begin();
  division.whole = one && (pipeline.others().empty() || reads_there) && OthersLieOn(places, first);
  if (!division.whole) {
    division.split = pipeline::Split(pipeline.stages(), [&](const pipeline::Namespace& ns) {
      const auto other = places.others.find(ns.database + "." + ns.collection);
      return reads_there && (other == places.others.end() || LiesOn(*other->second, first));
    });
  }
  return division;
}

bson::Document ShardsCommand(bson::View command, const std::vector<bson::Document>& stages,
                             const bson::Argument& rows) {
  bson::Builder out;
  for (const bson::Element& field : command) {
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
  if (!rows.view().empty()) {
    out.Append("shardRows", rows.view());
  }
  return out.Finish();
}

namespace {

// The command with a batch size of the router's own: what the merger takes in at once.
bson::Document WithWholeBatches(bson::View command) {
  bson::Builder out;
  for (const bson::Element& field : command) {
    if (field.name() != "cursor") {
      out.Append(field);
    }
  }
  out.BeginDocument("cursor").Append("batchSize", kMergedBatch).End();
  return out.Finish();
}

// What is sent to the shards.
bson::Document CommandFor(const Aggregation& aggregation, const pipeline::SplitPipeline& split) {
  bson::Document command = ShardsCommand(aggregation.command, split.shards, RowsFor(split));
  if (!split.merger.empty()) {
    command = WithWholeBatches(command);
  }
  if (split.joined != pipeline::Joined::kPartials) {
    return command;
  }
  return bson::Builder().AppendFields(command).Append("partialGroup", true).Finish();
}

// The rows of the shards, through the merging part.
Result<std::shared_ptr<run::Cursor>> OpenMerger(Routed& request, const Aggregation& aggregation,
                                                const ParsedPipeline& pipeline, const Route* route,
                                                const pipeline::SplitPipeline& split,
                                                std::vector<Heard> heard) {
  const request::AggregateRequest& aggregate = pipeline.request();
  const bool merges = !split.merger.empty();
  RemoteRowsOptions options;
  options.database = std::string(DatabaseOf(aggregation.ns));
  options.collection = aggregation.ns.substr(options.database.size() + 1);
  options.session = request.SessionFields();
  options.sorted = split.joined == pipeline::Joined::kBySortKey;
  options.wrapped = options.sorted || Mentions(split.merger, "$meta");
  options.live = &request.core.cursors;
  options.reads_ahead = !request.call().generic.in_transaction();
  options.batch_size = merges ? std::optional<int64_t>(kMergedBatch) : aggregate.batch_size;
  std::unique_ptr<RemoteRows> rows;
  if (!heard.empty() || !pipeline.has_source()) {
    rows = std::make_unique<RemoteRows>(&request.core.lanes(), std::move(options),
                                        TakeOpened(request, std::move(heard)));
  }
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = aggregation.shown;
  cursor->lsid = request.call().generic.lsid;
  if (!merges) {
    cursor->source = std::move(rows);
    return cursor;
  }
  MergeRunOptions merge;
  merge.ns = {std::string(DatabaseOf(aggregation.ns)), std::string(aggregate.collection)};
  merge.pipeline = ArrayOf(split.merger);
  merge.partials = split.joined == pipeline::Joined::kPartials;
  merge.collation = bson::Document(aggregate.collation);
  if (aggregate.collation.empty() && route != nullptr && route->collection &&
      route->collection->default_collation) {
    merge.collation = *route->collection->default_collation;
  }
  merge.let = bson::Document(aggregate.let);
  merge.scripts = pipeline.scripts();
  merge.allow_disk_use = aggregate.allow_disk_use;
  merge.memory_limit = request.op().memory_limit;
  merge.began = request.invocation.operation.began;
  merge.cluster_time = request.invocation.operation.cluster_time;
  merge.snapshot_time = request.snapshot_time;
  ASSIGN_OR_RETURN(cursor->source, OpenMergeRun(&request.core, std::move(merge), std::move(rows)));
  return cursor;
}

}  // namespace

Task<Result<std::shared_ptr<run::Cursor>>> OpenDivided(Routed& request,
                                                       const Aggregation& aggregation,
                                                       const ParsedPipeline& pipeline,
                                                       Places places) {
  for (int i = 0; i <= kMostRefreshes; ++i) {
    CO_ASSIGN_OR_RETURN(Division division, Divide(request, aggregation, pipeline, places));
    pipeline::SplitPipeline& split = division.split;
    if (division.whole) {  // its rows are wanted here
      split = pipeline::Split(pipeline.stages());
    }
    bson::Document sink;
    if (!pipeline.sink().empty()) {
      sink = std::move(split.merger.back());
      split.merger.pop_back();
    }
    const bson::Document command = CommandFor(aggregation, split);
    std::vector<Part> parts = ToEach(division.shards, command);
    bool stale = false;
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, &places.main, std::move(parts), &stale, &places.others);
    CO_RETURN_IF_ERROR(heard.status());
    Status failed = stale ? Status::Ok() : FirstErrorOf(*heard);
    if (stale || !failed.ok()) {
      KillOpened(request, *heard);
      CO_RETURN_IF_ERROR(failed);
      continue;
    }
    CO_ASSIGN_OR_RETURN(
        std::shared_ptr<run::Cursor> cursor,
        OpenMerger(request, aggregation, pipeline, places.main.get(), split, *std::move(heard)));
    if (places.sink != nullptr) {
      RoutePtr target = places.others.at(pipeline.sink());
      Status written = co_await WriteSink(request, *cursor, std::move(target), sink);
      CO_RETURN_IF_ERROR(written);
      cursor->exhausted = true;
    }
    co_return cursor;
  }
  co_return AlwaysStale(aggregation.ns);
}

namespace {

Status Reply(Routed& request, std::shared_ptr<run::Cursor> cursor,
             std::optional<int64_t> batch_size) {
  run::FirstBatch first;
  first.size = batch_size;
  first.needs = request.invocation.needs;
  first.at_cluster_time = request.snapshot_time;
  return run::AppendFirstBatch(request.core.engine().cursors(), std::move(cursor), first,
                               request.call());
}

// What is given as `heard` through all that is not done by the shards: replies with a cursor.
Task<Status> Finish(Routed& request, const Aggregation& aggregation, const ParsedPipeline& pipeline,
                    pipeline::SplitPipeline split, std::vector<Heard> heard, RoutePtr target) {
  bson::Document sink;
  if (!pipeline.sink().empty()) {
    sink = std::move(split.merger.back());
    split.merger.pop_back();
  }
  CO_ASSIGN_OR_RETURN(std::shared_ptr<run::Cursor> cursor,
                      OpenMerger(request, aggregation, pipeline, nullptr, split, std::move(heard)));
  if (!sink.empty()) {
    Status written = co_await WriteSink(request, *cursor, target, sink);
    CO_RETURN_IF_ERROR(written);
    cursor->exhausted = true;
  }
  co_return Reply(request, std::move(cursor), pipeline.request().batch_size);
}

// Without rows of shards: it has a source of its own, or there is nothing to read.
Task<Status> RunInRouter(Routed& request, const Aggregation& aggregation,
                         const ParsedPipeline& pipeline, RoutePtr target) {
  pipeline::SplitPipeline all;
  for (const pipeline::StagePtr& stage : pipeline.stages()) {
    all.merger.push_back(Doc(stage->name(), stage->spec()));
  }
  std::vector<Heard> nothing;
  Status status = co_await Finish(request, aggregation, pipeline, std::move(all),
                                  std::move(nothing), std::move(target));
  co_return status;
}

// Whole on one shard. *stale: not run, what was known has been refreshed.
Task<Status> RunOnShard(Routed& request, const Aggregation& aggregation, Places* places,
                        const placement::ShardName& shard, bool* stale) {
  std::vector<Part> parts;
  parts.push_back({shard, aggregation.command});
  Result<std::vector<Heard>> heard =
      co_await AskVersioned(request, &places->main, std::move(parts), stale, &places->others);
  CO_RETURN_IF_ERROR(heard.status());
  if (*stale) {
    co_return Status::Ok();
  }
  co_return request.Deliver(std::move(heard->front()));
}

// One round with what is known of views.
Task<Status> RunResolved(Routed& request, const Aggregation& aggregation) {
  ParsedPipeline pipeline;
  CO_RETURN_IF_ERROR(pipeline.Parse(request.invocation.operation, aggregation));
  Result<Places> found = co_await FindPlaces(request, aggregation, pipeline);
  CO_RETURN_IF_ERROR(found.status());
  Places& places = *found;
  if (places.main == nullptr && places.others.empty()) {
    co_return request.RunHere();
  }
  if (places.main == nullptr) {  // there is nothing on the way to what else it reads
    Status status = co_await RunInRouter(request, aggregation, pipeline, places.sink);
    co_return status;
  }
  for (int i = 0; i <= kMostRefreshes; ++i) {
    CO_ASSIGN_OR_RETURN(const Division division, Divide(request, aggregation, pipeline, places));
    if (!division.whole) {
      Result<std::shared_ptr<run::Cursor>> cursor =
          co_await OpenDivided(request, aggregation, pipeline, places);
      CO_RETURN_IF_ERROR(cursor.status());
      co_return Reply(request, *std::move(cursor), pipeline.request().batch_size);
    }
    bool stale = false;
    request.writes = places.sink != nullptr;
    const placement::ShardName& shard = *division.shards.begin();
    Status status = co_await RunOnShard(request, aggregation, &places, shard, &stale);
    if (!stale) {
      co_return status;
    }
  }
  co_return AlwaysStale(aggregation.ns);
}

// Of every shard: what they tell of themselves ($currentOp).
Task<Status> OnEveryShard(Routed& request, const Aggregation& aggregation,
                          const ParsedPipeline& pipeline) {
  pipeline::SplitPipeline split =
      pipeline::Split(pipeline.stages(), [](const auto&) { return false; });
  const bson::Document command = CommandFor(aggregation, split);
  std::vector<Asked> asked;
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    asked.push_back({shard.name, {}, request.Outgoing(command, request.database, nullptr)});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  if (Status failed = FirstErrorOf(*heard); !failed.ok()) {
    KillOpened(request, *heard);
    co_return failed;
  }
  RoutePtr nowhere;
  Status status = co_await Finish(request, aggregation, pipeline, std::move(split),
                                  *std::move(heard), std::move(nowhere));
  co_return status;
}

// MongoDB's router has a code of its own for $merge by fields that no unique index has.
Status InRouter(const Status& status) {
  constexpr int kOfServer = 51183;
  constexpr int kOfRouter = 51190;
  return status.code() == kOfServer ? Status(kOfRouter, status.message()) : status;
}

bool IsOwn(const bson::Value& current_op) {
  const bson::Value local =
      current_op.is_document() ? current_op.AsDocument()["localOps"] : bson::Value();
  return local.type() == bson::Type::kBool && local.AsBool();
}

// On the database itself.
Task<Status> OnDatabase(Routed& request, const request::AggregateRequest& aggregate) {
  const bson::View stages = aggregate.pipeline.view;
  const bson::View leading = stages.empty() ? bson::View() : stages.front().value().AsDocument();
  const bson::Element first = leading.empty() ? bson::Element() : leading.front();
  const bool everywhere = first.present() && first.name() == "$currentOp";
  const bool distribution = first.present() && first.name() == "$shardedDataDistribution";
  if (aggregate.explain || (everywhere && IsOwn(first.value()))) {
    co_return request.RunHere();
  }
  if (!everywhere && !distribution && !(first.present() && first.name() == "$documents")) {
    ForwardOptions options{.only_database = true};
    Status status = co_await Forward(request, request.database, options);
    co_return status;
  }
  Aggregation aggregation;
  aggregation.ns = request.database + ".$cmd.aggregate";
  aggregation.shown = aggregation.ns;
  aggregation.command = request.body;
  if (distribution) {
    ParsedPipeline asked;
    CO_RETURN_IF_ERROR(asked.Parse(request.invocation.operation, aggregation));
    Result<bson::Document> filled = co_await WithDistribution(request);
    CO_RETURN_IF_ERROR(filled.status());
    aggregation.command = *std::move(filled);
  }
  ParsedPipeline pipeline;
  CO_RETURN_IF_ERROR(pipeline.Parse(request.invocation.operation, aggregation));
  if (everywhere) {
    Status status = co_await OnEveryShard(request, aggregation, pipeline);
    co_return status;
  }
  RoutePtr target;
  if (!pipeline.sink().empty()) {
    Result<RoutePtr> found = co_await request.Find(pipeline.sink(), true);
    CO_RETURN_IF_ERROR(found.status());
    target = *found;
  }
  Status status = co_await RunInRouter(request, aggregation, pipeline, target);
  co_return status;
}

}  // namespace

Task<Status> RunAggregation(Routed& request, Aggregation aggregation) {
  Status status = co_await RunResolved(request, aggregation);
  if (!Aggregation::IsRefusal(status)) {
    co_return InRouter(status);
  }
  CO_RETURN_IF_ERROR(aggregation.Resolve(status));
  Status resolved = co_await RunResolved(request, aggregation);
  co_return InRouter(resolved);
}

namespace {

Task<Status> RouteAggregate(Routed& request) {
  CO_ASSIGN_OR_RETURN(const auto aggregate, request::AggregateRequest::Parse(request.body));
  CO_RETURN_IF_ERROR(command::CheckAggregate(request.invocation, aggregate));
  if (IsStream(aggregate) && !aggregate.explain) {
    Status status = co_await RouteStream(request, aggregate);
    co_return status;
  }
  if (aggregate.collection.empty()) {
    Status status = co_await OnDatabase(request, aggregate);
    co_return status;
  }
  Aggregation aggregation = Aggregation::Of(request.database, request.body);
  request.call().summary.ns = aggregation.ns;
  if (aggregate.explain) {
    const std::string verbosity = "queryPlanner";
    Status status = co_await ExplainAggregation(request, std::move(aggregation), verbosity);
    co_return status;
  }
  Status status = co_await RunAggregation(request, std::move(aggregation));
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
