// SPDX-License-Identifier: Apache-2.0
#include "engine/read/aggregate.h"

#include "base/try.h"
#include "engine/read/pipeline_run.h"
#include "pipeline/explain.h"

namespace quire::engine {

namespace {

void Own(const Operation& operation, run::Cursor* cursor) {
  if (operation.session != nullptr) {
    cursor->lsid = operation.session->lsid;
  }
  if (operation.in_transaction) {
    cursor->txn_number = operation.session->txn_number();
  }
}

// $out and $merge do their work before the first batch.
Status DrainWrites(const Operation& operation, PipelineRun* run) {
  exec::Row row;
  while (true) {
    RETURN_IF_ERROR(operation.op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, run->Next(operation.op, &row));
    if (!more) {
      return Status::Ok();
    }
  }
}

pipeline::Namespace NamespaceOf(const std::string& ns) {
  size_t dot = ns.find('.');
  return {ns.substr(0, dot), ns.substr(dot + 1)};
}

}  // namespace

Result<std::shared_ptr<run::Cursor>> Aggregate(const Operation& operation,
                                               std::string_view database,
                                               const request::AggregateRequest& request,
                                               const ShardRowsWish& rows) {
  pipeline::Namespace ns{std::string(database), std::string(request.collection)};
  auto run = std::make_unique<PipelineRun>(operation, ns, request.pipeline.view,
                                           request.allow_disk_use, request.bypass_validation);
  run->MakeRowsFor(rows);
  RETURN_IF_ERROR(run->Open(operation, request.collation, request.let, request.hint));
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = ns.database + "." + (ns.collection.empty() ? "$cmd.aggregate" : ns.collection);
  Own(operation, cursor.get());
  if (run->writes()) {
    RETURN_IF_ERROR(DrainWrites(operation, run.get()));
    cursor->exhausted = true;
  }
  cursor->tailable = run->is_stream();
  cursor->await_data = run->is_stream();
  cursor->source = std::move(run);
  if (rows.rows) {
    cursor->source = MakeShardRows(std::move(cursor->source), rows.metadata);
  }
  return cursor;
}

Result<std::shared_ptr<run::Cursor>> ReadView(const Operation& operation, const std::string& ns,
                                              const ViewRead& read) {
  bson::Document pipeline = PipelineOf(read.stages);
  auto run = std::make_unique<PipelineRun>(operation, NamespaceOf(ns), pipeline, true);
  RETURN_IF_ERROR(run->Open(operation, read.collation, read.let, read.hint));
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = ns;
  Own(operation, cursor.get());
  cursor->source = std::move(run);
  return cursor;
}

Status ExplainView(const Operation& operation, const std::string& ns, const ViewRead& read,
                   std::string_view verbosity, bson::Builder* reply) {
  bson::Document pipeline = PipelineOf(read.stages);
  PipelineRun run(operation, NamespaceOf(ns), pipeline, true);
  run.Explain(verbosity != "queryPlanner");
  RETURN_IF_ERROR(run.Open(operation, read.collation, read.let, read.hint));
  return ExplainRun(operation, run, verbosity, reply);
}

Status ExplainAggregate(const Operation& operation, std::string_view database,
                        const request::AggregateRequest& request, std::string_view verbosity,
                        bson::Builder* reply) {
  pipeline::Namespace ns{std::string(database), std::string(request.collection)};
  PipelineRun run(operation, ns, request.pipeline.view, request.allow_disk_use);
  run.Explain(verbosity != "queryPlanner");
  RETURN_IF_ERROR(run.Open(operation, request.collation, request.let, request.hint));
  return ExplainRun(operation, run, verbosity, reply);
}

Status ExplainRun(const Operation& operation, PipelineRun& run, std::string_view verbosity,
                  bson::Builder* reply) {
  bool execute = verbosity != "queryPlanner";
  if (execute) {
    RETURN_IF_ERROR(DrainWrites(operation, &run));
  }
  std::string full = run.ns().database + "." + run.ns().collection;
  auto planner = [&] {
    reply->BeginDocument("queryPlanner").Append("namespace", full);
    run.query()->plan().ExplainPlanner(reply);
    reply->End();
    if (execute) {
      reply->BeginDocument("executionStats");
      run.query()->plan().ExplainExecution(verbosity, reply);
      reply->End();
    }
  };
  if (run.stages().empty() && run.query() != nullptr) {
    planner();
    return Status::Ok();
  }
  reply->BeginArray("stages");
  if (run.query() != nullptr) {
    reply->PushDocument().BeginDocument("$cursor");
    planner();
    reply->End();
    if (execute) {
      pipeline::ExplainRun(run.query()->plan().Totals(), reply);
    }
    reply->End();
  }
  pipeline::ExplainStages(run.stages(), run.operators(), reply);
  reply->End();
  return Status::Ok();
}

}  // namespace quire::engine
