// SPDX-License-Identifier: Apache-2.0
//
// Commands on the database config: run on the router's own engine, which shows what the store says.
#include "router/config/config.h"

#include <memory>
#include <utility>

#include "base/error_codes.h"
#include "bson/number.h"
#include "command/data/aggregate.h"
#include "engine/read/aggregate.h"
#include "request/map_reduce.h"
#include "request/route.h"
#include "router/config/mirror.h"
#include "router/core.h"
#include "router/data/sink.h"
#include "router/pipeline/aggregation.h"
#include "run/batch.h"

namespace quire::router {

namespace {

Status NotOf(const Result<bson::Document>& result) {
  return result.ok() ? Status::Ok() : result.status();
}

// What the command names; empty: perhaps several.
std::string CollectionOf(Routed& request) {
  const bool pipeline = request.call().command.Is(request::kRunsPipeline);
  const bson::Value target = request.body.view().front().value();
  return target.is_string() && !pipeline ? std::string(target.AsString()) : "";
}

// What the pipeline is to write into, when that lies on shards; empty: it writes nothing, or fails.
std::string SinkOnShards(Routed& request) {
  if (request.call().command.name != "aggregate") {
    return "";
  }
  Aggregation aggregation = Aggregation::Of(request.database, request.body);
  if (request.body.view().front().value().is_number()) {
    aggregation.ns = request.database + ".$cmd.aggregate";
  }
  ParsedPipeline pipeline;
  const bool readable = pipeline.Parse(request.invocation.operation, aggregation).ok();
  return readable && !pipeline.request().explain ? pipeline.sink() : "";
}

// A pipeline on config, whose rows the router has, into a collection that shards have.
Task<Status> WriteToShards(Routed& request, std::string target) {
  CO_ASSIGN_OR_RETURN(request::AggregateRequest aggregate,
                      request::AggregateRequest::Parse(request.body));
  CO_RETURN_IF_ERROR(command::CheckAggregate(request.invocation, aggregate));
  bson::Builder kept;
  bson::Document sink;
  const size_t stages = aggregate.pipeline.view.Count();
  size_t at = 0;
  for (const bson::Element& stage : aggregate.pipeline.view) {
    if (++at < stages) {
      kept.Push(stage.value());
    } else {
      sink = bson::Document(stage.value().AsDocument());
    }
  }
  const bson::Document reading = kept.Finish();
  aggregate.pipeline.view = reading;
  CO_ASSIGN_OR_RETURN(std::shared_ptr<run::Cursor> cursor,
                      engine::Aggregate(request.invocation.operation, request.database, aggregate));
  Result<RoutePtr> found = co_await request.Find(std::move(target), true);
  CO_RETURN_IF_ERROR(found.status());
  request.writes = true;
  Status written = co_await WriteSink(request, *cursor, *found, sink);
  CO_RETURN_IF_ERROR(written);
  cursor->exhausted = true;
  run::FirstBatch first;
  first.size = aggregate.batch_size;
  co_return run::AppendFirstBatch(request.core.engine().cursors(), std::move(cursor), first,
                                  request.call());
}

bool ReducesToShards(Routed& request) {
  if (request.call().command.name != "mapReduce") {
    return false;
  }
  const auto reduce = request::MapReduceRequest::Parse(request.body);
  return reduce.ok() && reduce->out.kind != request::MapReduceOutput::Kind::kInline;
}

}  // namespace

Task<Status> RouteConfig(Routed& request) {
  Core& core = request.core;
  const std::string name = CollectionOf(request);
  std::shared_ptr<Lookup<bson::Document>> refreshed =
      core.catalog->Run([&core, name](coord::Store& store) -> Result<bson::Document> {
        if (Status status = core.mirror->Refresh(store, name); !status.ok()) {
          return status;
        }
        return bson::Document();
      });
  Status waited = co_await request.Until(refreshed);
  CO_RETURN_IF_ERROR(waited);
  CO_RETURN_IF_ERROR(NotOf(refreshed->Get()));
  if (ReducesToShards(request)) {
    co_return Status(kCommandNotSupported,
                     "a router runs mapReduce on the database config with inline results only");
  }
  if (std::string sink = SinkOnShards(request); !sink.empty()) {
    Status written = co_await WriteToShards(request, std::move(sink));
    co_return written;
  }
  CO_RETURN_IF_ERROR(request.RunHere());
  if (!request.call().command.Is(request::kWrite) || !request.call().write_concern_error.empty()) {
    co_return Status::Ok();
  }
  const bson::Value target = request.body.view().front().value();
  const std::string written(target.is_string() ? target.AsString() : "");
  std::shared_ptr<Lookup<bson::Document>> stored =
      core.catalog->Run([&core, written](coord::Store& store) -> Result<bson::Document> {
        if (Status status = core.mirror->Store(store, written); !status.ok()) {
          return status;
        }
        return bson::Document();
      });
  Status done = co_await request.Until(stored);
  CO_RETURN_IF_ERROR(done);
  co_return NotOf(stored->Get());
}

}  // namespace quire::router
