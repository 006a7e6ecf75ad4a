// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "base/version.h"
#include "bson/repeated.h"
#include "command/authorise.h"
#include "command/command.h"
#include "engine/read/aggregate.h"
#include "engine/read/map_reduce.h"
#include "engine/read/read.h"
#include "engine/read/without_table.h"
#include "engine/sharding.h"
#include "engine/write/modify.h"
#include "request/crud.h"

namespace quire::command {

namespace {

using Query = Result<plan::QuerySpec>;
using OnView = Result<engine::ViewRead>;

// A command that can be explained.
struct Explained {
  std::string_view name;
  std::string_view alias = "";
  // What it needs of the login.
  Status (*state)(Invocation& i, bson::View command, auth::Needs* needs);
  // The whole reply; null: that of its query.
  Status (*whole)(Invocation& i, bson::View command, std::string_view verbosity) = nullptr;
  // The query inside. *one: it stops at its first document.
  Query (*query)(bson::View command, store::CollectionPtr collection, bool* one) = nullptr;
  // What else is wrong with it before it runs.
  Status (*check)(Invocation& i, bson::View command,
                  const store::CollectionInfo* collection) = nullptr;
  // The same command on a view; null: it is not run there.
  OnView (*on_view)(bson::View command, const std::string& ns) = nullptr;
  // It has a query shape, which the reply shows and query settings are for.
  bool shaped = false;
};

// ------------------------------------------------------------------ the reply
// What bounds a query here, under MongoDB's names.
constexpr std::pair<std::string_view, int32_t> kLimits[] = {
    {"internalQueryFacetBufferSizeBytes", 100 << 20},
    {"internalQueryFacetMaxOutputDocSizeBytes", 100 << 20},
    {"internalLookupStageIntermediateDocumentMaxSizeBytes", 100 << 20},
    {"internalDocumentSourceGroupMaxMemoryBytes", 100 << 20},
    {"internalQueryMaxBlockingSortMemoryUsageBytes", 100 << 20},
    {"internalDocumentSourceSetWindowFieldsMaxMemoryBytes", 100 << 20},
};

// `explained` is what was asked for, `command` what ran for it.
void AppendServer(Invocation& i, bool shaped, bson::View explained, bson::View command) {
  if (shaped) {
    i.reply().Append("queryShapeHash", QueryShapeHash(explained, i.database()));
  }
  i.reply().Append("command", command);
  const std::string& host = i.commands.info().host;
  i.reply()
      .BeginDocument("serverInfo")
      .Append("host", host.substr(0, host.rfind(':')))
      .Append("port", i.commands.info().port)
      .Append("version", kMongoVersion)
      .Append("gitVersion", "quire-" + std::string(kVersion))
      .End();
  i.reply().BeginDocument("serverParameters");
  for (const auto& [name, value] : kLimits) {
    i.reply().Append(name, value);
  }
  i.reply().End();
}

// Inside explain the cursor option of an aggregate may be left out.
bson::Document WithCursorOption(bson::View command) {
  bson::Builder whole;
  whole.AppendFields(command);
  if (!command.Has("cursor") && !command.Has("explain")) {
    whole.BeginDocument("cursor").End();
  }
  return whole.Finish();
}

// {aggregate: ..., pipeline: ..., cursor: {}} of a read of a view.
bson::Document AggregateOf(std::string_view view, const engine::ViewRead& read) {
  bson::Document pipeline = engine::PipelineOf(read.stages);
  bson::Builder command;
  command.Append("aggregate", view);
  command.AppendArray("pipeline", pipeline);
  command.BeginDocument("cursor").End();
  if (!read.collation.empty()) {
    command.Append("collation", read.collation);
  }
  if (!read.let.empty()) {
    command.Append("let", read.let);
  }
  if (!read.hint.missing()) {
    command.Append("hint", read.hint);
  }
  return command.Finish();
}

Status ExplainOnView(Invocation& i, const Explained& row, bson::View command, const std::string& ns,
                     std::string_view verbosity) {
  if (row.on_view == nullptr) {
    bool one = false;
    RETURN_IF_ERROR(row.query(command, nullptr, &one).status());
    return {kCommandNotSupportedOnView, "Namespace " + ns + " is a view, not a collection"};
  }
  ASSIGN_OR_RETURN(engine::ViewRead read, row.on_view(command, ns));
  if (row.shaped) {
    RETURN_IF_ERROR(ApplyQuerySettings(i, command, true));
  }
  i.reply().Append("explainVersion", "1");
  RETURN_IF_ERROR(engine::ExplainView(i.operation, ns, read, verbosity, &i.reply()));
  bson::Document aggregate = AggregateOf(command.front().value().AsString(), read);
  AppendServer(i, row.shaped, command, aggregate);
  return Status::Ok();
}

Status ExplainQuery(Invocation& i, const Explained& row, bson::View command, const std::string& ns,
                    std::string_view verbosity) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, i.operation.Find(ns));
  bool is_oplog = collection != nullptr && collection->is_oplog;
  bool lists_views = collection == nullptr && engine::ReadsAsView(nullptr, ns);
  if (collection != nullptr && collection->is_view() && !is_oplog) {
    return ExplainOnView(i, row, command, ns, verbosity);
  }
  bool one = false;
  ASSIGN_OR_RETURN(auto spec, row.query(command, std::move(collection), &one));
  if (row.check != nullptr) {
    RETURN_IF_ERROR(row.check(i, command, spec.collection.get()));
  }
  spec.explain = true;
  if (spec.write_stage.empty()) {
    spec.ownership = engine::CurrentOwnership(ns);
  }
  if (is_oplog || lists_views) {
    engine::ScanWithoutTable(i.operation, std::string(i.database()), &spec);
  }
  if (row.shaped) {
    RETURN_IF_ERROR(ApplyQuerySettings(i, command, true));
  }
  ASSIGN_OR_RETURN(auto query, engine::PlannedQuery::Make(i.operation, std::move(spec), nullptr));
  if (verbosity != "queryPlanner") {
    exec::Row found;
    while (true) {
      RETURN_IF_ERROR(i.op().CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, query->Next(i.op(), &found));
      if (!more || one) {
        break;
      }
    }
  }
  i.reply().Append("explainVersion", "1").BeginDocument("queryPlanner");
  i.reply().Append("namespace", ns);
  query->plan().ExplainPlanner(&i.reply());
  i.reply().End();
  if (verbosity != "queryPlanner") {
    i.reply().BeginDocument("executionStats");
    query->plan().ExplainExecution(verbosity, &i.reply());
    i.reply().End();
  }
  AppendServer(i, row.shaped, command, command);
  return Status::Ok();
}

// ------------------------------------------------------------------ the commands
Status StateRead(Invocation& i, bson::View command, auth::Needs* needs) {
  ASSIGN_OR_RETURN(std::string_view collection,
                   request::CollectionName(command.front().name(), command));
  needs->Add(Action::find, auth::Collection(i.database(), collection));
  return Status::Ok();
}

Query FindQuery(bson::View command, store::CollectionPtr collection, bool* /*one*/) {
  ASSIGN_OR_RETURN(auto r, request::FindRequest::Parse(command));
  return engine::FindQuery(r, std::move(collection));
}

OnView FindOnView(bson::View command, const std::string& ns) {
  ASSIGN_OR_RETURN(auto r, request::FindRequest::Parse(command));
  return engine::FindOnView(ns, r);
}

Query CountQuery(bson::View command, store::CollectionPtr collection, bool* /*one*/) {
  ASSIGN_OR_RETURN(auto r, request::CountRequest::Parse(command));
  return engine::CountQuery(r, std::move(collection));
}

OnView CountOnView(bson::View command, const std::string& /*ns*/) {
  ASSIGN_OR_RETURN(auto r, request::CountRequest::Parse(command));
  return engine::ExplainedCountOnView(r);
}

Query DistinctQuery(bson::View command, store::CollectionPtr collection, bool* /*one*/) {
  ASSIGN_OR_RETURN(auto r, request::DistinctRequest::Parse(command));
  return engine::DistinctQuery(r, std::move(collection));
}

OnView DistinctOnView(bson::View command, const std::string& /*ns*/) {
  ASSIGN_OR_RETURN(auto r, request::DistinctRequest::Parse(command));
  return engine::ExplainedDistinctOnView(r);
}

Status CheckOneStatement(size_t statements) {
  if (statements != 1) {
    return {kInvalidLength, "explained write batches must be of size 1"};
  }
  return Status::Ok();
}

Status StateUpdateOf(Invocation& i, bson::View command, auth::Needs* needs) {
  ASSIGN_OR_RETURN(auto request, request::UpdateRequest::Parse(command, {}));
  return StateUpdate(i, request, needs);
}

Query UpdateQuery(bson::View command, store::CollectionPtr collection, bool* one) {
  ASSIGN_OR_RETURN(auto r, request::UpdateRequest::Parse(command, {}));
  RETURN_IF_ERROR(CheckOneStatement(r.updates.size()));
  plan::QuerySpec spec = engine::QueryOf(r.updates.front());
  spec.let = r.let;
  spec.write_stage = "UPDATE";
  spec.collection = std::move(collection);
  *one = !r.updates.front().multi;
  return spec;
}

Status CheckUpdateOf(Invocation& i, bson::View command, const store::CollectionInfo* collection) {
  ASSIGN_OR_RETURN(auto r, request::UpdateRequest::Parse(command, {}));
  return engine::CheckUpdate(i.operation, engine::SpecOf(r, r.updates.front()), collection);
}

Status StateDeleteOf(Invocation& i, bson::View command, auth::Needs* needs) {
  ASSIGN_OR_RETURN(auto request, request::DeleteRequest::Parse(command, {}));
  return StateDelete(i, request, needs);
}

Query DeleteQuery(bson::View command, store::CollectionPtr collection, bool* one) {
  ASSIGN_OR_RETURN(auto r, request::DeleteRequest::Parse(command, {}));
  RETURN_IF_ERROR(CheckOneStatement(r.deletes.size()));
  plan::QuerySpec spec = engine::QueryOf(r.deletes.front());
  spec.let = r.let;
  spec.write_stage = "DELETE";
  spec.collection = std::move(collection);
  *one = r.deletes.front().limit == 1;
  return spec;
}

Status StateFindAndModifyOf(Invocation& i, bson::View command, auth::Needs* needs) {
  ASSIGN_OR_RETURN(auto request, request::FindAndModifyRequest::Parse(command));
  return StateFindAndModify(i, request, needs);
}

Status CheckFindAndModify(Invocation& i, bson::View command,
                          const store::CollectionInfo* collection) {
  ASSIGN_OR_RETURN(auto r, request::FindAndModifyRequest::Parse(command));
  return engine::CheckUpdate(i.operation, engine::SpecOf(r), collection);
}

Query FindAndModifyQuery(bson::View command, store::CollectionPtr collection, bool* one) {
  ASSIGN_OR_RETURN(auto r, request::FindAndModifyRequest::Parse(command));
  plan::QuerySpec spec = engine::QueryOf(r);
  spec.let = r.let;
  spec.write_stage = r.remove ? "DELETE" : "UPDATE";
  spec.collection = std::move(collection);
  *one = true;
  return spec;
}

Status StateAggregate(Invocation& i, bson::View command, auth::Needs* needs) {
  bson::Document complete = WithCursorOption(command);
  ASSIGN_OR_RETURN(auto request, request::AggregateRequest::Parse(complete));
  return StatePipeline(i.database(), request.collection, request.pipeline.view,
                       request.bypass_validation, needs);
}

Status StateMapReduceOf(Invocation& i, bson::View command, auth::Needs* needs) {
  ASSIGN_OR_RETURN(auto request, request::MapReduceRequest::Parse(command));
  return StateMapReduce(i, request, needs);
}

Status ExplainMapReduce(Invocation& i, bson::View command, std::string_view verbosity) {
  ASSIGN_OR_RETURN(auto request, request::MapReduceRequest::Parse(command));
  RETURN_IF_ERROR(request::Namespace(i.database(), request.collection).status());
  i.reply().Append("explainVersion", "1");
  RETURN_IF_ERROR(
      engine::ExplainMapReduce(i.operation, i.database(), request, verbosity, &i.reply()));
  AppendServer(i, false, command, command);
  return Status::Ok();
}

constexpr Explained kExplained[] = {
    {.name = "aggregate", .state = StateAggregate, .whole = ExplainPipeline},
    {.name = "count", .state = StateRead, .query = CountQuery, .on_view = CountOnView},
    {.name = "delete", .state = StateDeleteOf, .query = DeleteQuery},
    {.name = "distinct",
     .state = StateRead,
     .query = DistinctQuery,
     .on_view = DistinctOnView,
     .shaped = true},
    {.name = "find", .state = StateRead, .query = FindQuery, .on_view = FindOnView, .shaped = true},
    {.name = "findAndModify",
     .alias = "findandmodify",
     .state = StateFindAndModifyOf,
     .query = FindAndModifyQuery,
     .check = CheckFindAndModify},
    {.name = "mapReduce",
     .alias = "mapreduce",
     .state = StateMapReduceOf,
     .whole = ExplainMapReduce},
    {.name = "update", .state = StateUpdateOf, .query = UpdateQuery, .check = CheckUpdateOf},
};

// Null when the command cannot be explained.
const Explained* FindExplained(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kExplained), std::end(kExplained), [&](const Explained& row) {
        return row.name == name || (!row.alias.empty() && row.alias == name);
      });
  return found == std::end(kExplained) ? nullptr : found;
}

// ------------------------------------------------------------------ explain
bool IsCommand(Invocation& i, std::string_view name) {
  const auto& all = i.commands.commands();
  return !name.empty() && std::any_of(all.begin(), all.end(), [&](const auto* command) {
    return command->name == name || command->alias == name;
  });
}

Result<std::string> ReadVerbosity(const bson::Element& given) {
  if (!given.present() || given.value().nullish()) {
    return std::string("allPlansExecution");
  }
  if (given.type() != bson::Type::kString) {
    return request::WrongType("explain", given, "string");
  }
  std::string verbosity(given.value().AsString());
  if (verbosity != "queryPlanner" && verbosity != "executionStats" &&
      verbosity != "allPlansExecution") {
    return Status(kBadValue, "Enumeration value '" + verbosity +
                                 "' for field 'explain.verbosity' is not a valid value.");
  }
  return verbosity;
}

// The explained command may name its database, which is that of explain.
Status CheckDatabase(Invocation& i, bson::View command) {
  const bson::Value named = command["$db"];
  if (named.missing() || (named.is_string() && named.AsString() == i.database())) {
    return Status::Ok();
  }
  return {kInvalidNamespace, "Mismatched $db in explain command. Expected " +
                                 std::string(i.database()) + " but got " + bson::ToJson(named)};
}

Status RunExplain(Invocation& i) {
  bson::Element target = i.body().front();
  if (target.value().nullish()) {
    return request::MissingField("explain", "explain");
  }
  if (target.type() != bson::Type::kDocument) {
    return request::WrongType("explain", target, "object");
  }
  bson::View command = target.value().AsDocument();
  std::string_view name = command.empty() ? "" : command.front().name();
  if (!IsCommand(i, name)) {
    return {kCommandNotFound, "Explain failed due to unknown command: " + std::string(name)};
  }
  RETURN_IF_ERROR(CheckDatabase(i, command));
  ASSIGN_OR_RETURN(std::string verbosity, ReadVerbosity(i.body().Find("verbosity")));
  const Explained* row = FindExplained(name);
  if (row != nullptr && row->whole != nullptr) {
    return row->whole(i, command, verbosity);
  }
  ASSIGN_OR_RETURN(auto collection, request::CollectionName(name, command));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), collection));
  if (row == nullptr) {
    return {kIllegalOperation, "Explain is not supported for the command " + std::string(name)};
  }
  return ExplainQuery(i, *row, command, ns, verbosity);
}

// What the explained command needs, read as RunExplain reads it.
Status StateExplain(Invocation& i, auth::Needs* needs) {
  bson::Value inner = i.body().front().value();
  if (!inner.is_document() || inner.AsDocument().empty()) {
    return Status::Ok();
  }
  bson::View command = inner.AsDocument();
  if (auto name = bson::RepeatedName(command)) {
    return request::DuplicateField("explain", *name);
  }
  const Explained* row = FindExplained(command.front().name());
  return row == nullptr ? StateRead(i, command, needs) : row->state(i, command, needs);
}

}  // namespace

Status ExplainPipeline(Invocation& i, bson::View command, std::string_view verbosity) {
  if (command.Has("writeConcern")) {
    return {kFailedToParse, "Aggregation explain does not support the 'writeConcern' option"};
  }
  bson::Document complete = WithCursorOption(command);
  ASSIGN_OR_RETURN(auto request, request::AggregateRequest::Parse(complete));
  RETURN_IF_ERROR(ApplyQuerySettings(i, command, true));
  i.reply().Append("explainVersion", "1");
  RETURN_IF_ERROR(
      engine::ExplainAggregate(i.operation, i.database(), request, verbosity, &i.reply()));
  AppendServer(i, true, command, command);
  return Status::Ok();
}

std::span<const Row> ExplainRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"explain", "", kRead | kReadConcern | kStableApi | kByKey, "shows the plan of a command"},
       RunExplain,
       Stated(StateExplain)},
  };
  return kRows;
}

}  // namespace quire::command
