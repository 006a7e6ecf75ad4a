// SPDX-License-Identifier: Apache-2.0
#include "engine/read/aggregate.h"

#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/data/aggregate.h"
#include "command/data/far_sink.h"
#include "command/data/router_wish.h"
#include "command/parsed_row.h"
#include "request/crud.h"

namespace quire::command {

namespace {

bool Writes(bson::View pipeline) {
  for (const bson::Element& stage : pipeline) {
    bson::View spec = stage.value().AsDocument();
    if (spec.Has("$out") || spec.Has("$merge")) {
      return true;
    }
  }
  return false;
}

// These tell about the node as it is: a read concern has nothing to say about that.
Status CheckLocalOnly(bson::View pipeline, std::string_view level) {
  constexpr std::string_view kLocal[] = {"$currentOp", "$listClusterCatalog", "$listLocalSessions",
                                         "$listSearchIndexes", "$planCacheStats"};
  if (level.empty() || level == "local" || pipeline.empty()) {
    return Status::Ok();
  }
  bson::View first = pipeline.front().value().AsDocument();
  for (std::string_view stage : kLocal) {
    if (first.Has(stage)) {
      return {kInvalidOptions, "Aggregation stage " + std::string(stage) +
                                   " cannot run with a readConcern other than 'local'. Current "
                                   "readConcern: " +
                                   std::string(level)};
    }
  }
  return Status::Ok();
}

// Stages that read or change more than the documents of a snapshot.
Status CheckStagesInTransaction(bson::View pipeline) {
  constexpr std::string_view kRefused[] = {
      "$changeStream",       "$collStats",         "$currentOp",    "$indexStats", "$listCatalog",
      "$listClusterCatalog", "$listLocalSessions", "$listSessions", "$merge",      "$out",
      "$planCacheStats",     "$unionWith",
  };
  for (const bson::Element& stage : pipeline) {
    bson::View spec = stage.value().AsDocument();
    std::string_view name = spec.empty() ? "" : spec.front().name();
    if (std::find(std::begin(kRefused), std::end(kRefused), name) != std::end(kRefused)) {
      return {kOperationNotSupportedInTransaction,
              "Operation not permitted in transaction :: caused by :: Aggregation stage " +
                  std::string(name) + " cannot run within a multi-document transaction."};
    }
  }
  return Status::Ok();
}

// What a change stream asks of the command around it.
Status CheckStream(const Invocation& i, bson::View pipeline) {
  if (pipeline.empty() || pipeline.front().type() != bson::Type::kDocument) {
    return Status::Ok();
  }
  bson::Element stage = pipeline.front().value().AsDocument().Find("$changeStream");
  if (!stage.present()) {
    return Status::Ok();
  }
  std::string_view level = i.call.generic.read_concern_level;
  if (!level.empty() && level != "majority") {
    return {kInvalidOptions,
            "$changeStream cannot be used with a readConcern level other than 'majority', found: " +
                std::string(level)};
  }
  bson::Value strict = i.call.body["apiStrict"];
  if (strict.type() == bson::Type::kBool && strict.AsBool() && stage.value().is_document() &&
      stage.value().AsDocument().Has("showExpandedEvents")) {
    return {kAPIStrictError,
            "BSON field 'showExpandedEvents' of $changeStream is not part of API Version 1"};
  }
  return Status::Ok();
}

// Version 1 of the stable API has no stages about the server itself.
Status CheckStrict(bson::View pipeline, bool explain) {
  constexpr std::string_view kOutside[] = {
      "$currentOp",          "$indexStats",   "$listCatalog",    "$listLocalSessions",
      "$listSampledQueries", "$listSessions", "$planCacheStats", "$querySettings",
      "$queryStats",         "$search",       "$searchMeta",     "$vectorSearch",
  };
  if (explain) {
    return {kAPIStrictError, "BSON field 'aggregate.explain' is not part of API Version 1"};
  }
  for (const bson::Element& stage : pipeline) {
    bson::View spec = stage.value().is_document() ? stage.value().AsDocument() : bson::View();
    if (spec.empty()) {
      continue;
    }
    bson::Element first = spec.front();
    bool more_than_count =
        first.name() == "$collStats" && first.value().is_document() &&
        (first.value().AsDocument().Count() != 1 || !first.value().AsDocument().Has("count"));
    if (more_than_count ||
        std::find(std::begin(kOutside), std::end(kOutside), first.name()) != std::end(kOutside)) {
      return {kAPIStrictError,
              "stage " + std::string(first.name()) + " is not allowed with 'apiStrict: true'"};
    }
  }
  return Status::Ok();
}

Result<request::AggregateRequest> ParseAggregate(Invocation& i) {
  return request::AggregateRequest::Parse(i.body());
}

Status StateAggregate(Invocation& i, const request::AggregateRequest& request, auth::Needs* needs) {
  return StatePipeline(i.database(), request.collection, request.pipeline.view,
                       request.bypass_validation, needs);
}

Status RunAggregate(Invocation& i, const request::AggregateRequest& request) {
  RETURN_IF_ERROR(request::CheckDatabaseName(i.database()));
  if (!request.collection.empty()) {
    ASSIGN_OR_RETURN(i.call.summary.ns, request::ReadNamespace(i.database(), request.collection));
  }
  RETURN_IF_ERROR(CheckAggregate(i, request));
  RETURN_IF_ERROR(ApplyQuerySettings(i, i.body(), request.explain));
  if (request.explain) {
    return ExplainPipeline(i, i.body(), "queryPlanner");
  }
  if (WritesElsewhere(i, request)) {
    return RunFarSink(i, request);
  }
  ASSIGN_OR_RETURN(const engine::ShardRowsWish rows, RouterWish(i));
  ASSIGN_OR_RETURN(auto cursor, engine::Aggregate(i.operation, i.database(), request, rows));
  i.writes = Writes(request.pipeline.view);
  if (i.writes) {
    i.call.operation_time = i.engine.clock().Now();
  }
  cursor->most_bytes = rows.most_bytes > 0 ? rows.most_bytes : cursor->most_bytes;
  RETURN_IF_ERROR(AppendFirstBatch(i, std::move(cursor), request.batch_size, false));
  if (i.writes) {
    AppendConcernOfOne(i);
  }
  return Status::Ok();
}

}  // namespace

Status CheckAggregate(const Invocation& i, const request::AggregateRequest& request) {
  const bson::View pipeline = request.pipeline.view;
  const request::Generic& generic = i.call.generic;
  if (generic.api.strict) {
    RETURN_IF_ERROR(CheckStrict(pipeline, request.explain));
  }
  if (Writes(pipeline) && generic.read_concern_level == "linearizable") {
    return {kInvalidOptions,
            "$out and $merge cannot be used with a 'linearizable' read concern level"};
  }
  if (generic.in_transaction()) {
    RETURN_IF_ERROR(CheckStagesInTransaction(pipeline));
  }
  RETURN_IF_ERROR(CheckLocalOnly(pipeline, generic.read_concern_level));
  return CheckStream(i, pipeline);
}

std::span<const Row> AggregateRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      ParsedRow<ParseAggregate, StateAggregate, RunAggregate>(
          {"aggregate", "",
           kRead | kInTransaction | kReadConcern | kSnapshotRead | kWriteConcern | kStableApi |
               kRunsPipeline | kByKey,
           "runs a pipeline of stages"}),
  };
  return kRows;
}

}  // namespace quire::command
