// SPDX-License-Identifier: Apache-2.0
//
// explain over shards: the plan of each, below a stage that says how they are put together.
#include <algorithm>
#include <iterator>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "engine/read/read.h"
#include "quire/doc.h"
#include "request/crud.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/data/aggregate.h"
#include "router/data/forward.h"
#include "router/data/merged.h"
#include "router/data/target.h"
#include "router/pipeline/view_read.h"
#include "router/rows.h"

namespace quire::router {

namespace {

std::string AddressOf(Routed& request, const placement::ShardName& name) {
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    if (shard.name == name) {
      return shard.host;
    }
  }
  return "";
}

bson::View DocumentIn(bson::View fields, std::string_view name) {
  const bson::Value value = fields[name];
  return value.is_document() ? value.AsDocument() : bson::View();
}

// The sum of a number that every shard tells.
int64_t Sum(const std::vector<Heard>& heard, std::string_view name) {
  int64_t sum = 0;
  for (const Heard& one : heard) {
    sum += request::CountIn(DocumentIn(*one.reply, "executionStats")[name]);
  }
  return sum;
}

void AppendPlanner(Routed& request, const std::vector<Heard>& heard, std::string_view stage,
                   bson::Builder* reply) {
  reply->BeginDocument("queryPlanner")
      .Append("mongosPlannerVersion", 1)
      .BeginDocument("winningPlan")
      .Append("stage", stage)
      .BeginArray("shards");
  for (const Heard& one : heard) {
    const bson::View planner = DocumentIn(*one.reply, "queryPlanner");
    reply->PushDocument()
        .Append("explainVersion", (*one.reply)["explainVersion"])
        .Append("shardName", one.shard)
        .Append("connectionString", AddressOf(request, one.shard))
        .Append("serverInfo", (*one.reply)["serverInfo"])
        .AppendFields(planner)
        .End();
  }
  reply->End().End().End();
}

void AppendExecution(const std::vector<Heard>& heard, std::string_view stage,
                     bson::Builder* reply) {
  auto numbers = [&] {
    reply->Append("nReturned", static_cast<int32_t>(Sum(heard, "nReturned")));
    int64_t longest = 0;
    for (const Heard& one : heard) {
      longest = std::max(longest, request::CountIn(DocumentIn(
                                      *one.reply, "executionStats")["executionTimeMillis"]));
    }
    reply->Append("executionTimeMillis", static_cast<int32_t>(longest))
        .Append("totalKeysExamined", static_cast<int32_t>(Sum(heard, "totalKeysExamined")))
        .Append("totalDocsExamined", static_cast<int32_t>(Sum(heard, "totalDocsExamined")));
    return longest;
  };
  reply->BeginDocument("executionStats");
  numbers();
  reply->BeginDocument("executionStages").Append("stage", stage);
  const int64_t longest = numbers();
  reply->Append("totalChildMillis", longest).BeginArray("shards");
  for (const Heard& one : heard) {
    const bson::View stats = DocumentIn(*one.reply, "executionStats");
    reply->PushDocument().Append("shardName", one.shard).AppendFields(stats).End();
  }
  reply->End().End();
  reply->BeginArray("allPlansExecution").End().End();
}

// ------------------------------------------------------------------ the commands
Result<engine::ViewRead> FindOnView(const std::string& ns, bson::View command) {
  ASSIGN_OR_RETURN(const auto find, request::FindRequest::Parse(command));
  return engine::FindOnView(ns, find);
}

Result<engine::ViewRead> CountOnView(const std::string&, bson::View command) {
  ASSIGN_OR_RETURN(const auto count, request::CountRequest::Parse(command));
  return engine::ExplainedCountOnView(count);
}

Result<engine::ViewRead> DistinctOnView(const std::string&, bson::View command) {
  ASSIGN_OR_RETURN(const auto distinct, request::DistinctRequest::Parse(command));
  return engine::ExplainedDistinctOnView(distinct);
}

// A command that is explained as each of its shards does. Others go to every shard, and aggregate
// is split into parts (ExplainAggregation).
struct Explained {
  std::string_view name;
  std::string_view alias;
  std::string_view filter;      // the field with the filter
  std::string_view statements;  // the field with the statements of which one has it; "": none
  bool sorts = false;
  // The same command on a view; null: it is not run there.
  Result<engine::ViewRead> (*on_view)(const std::string& ns, bson::View command) = nullptr;
};
constexpr Explained kExplained[] = {
    {"find", "", "filter", "", true, FindOnView},
    {"count", "", "query", "", false, CountOnView},
    {"distinct", "", "query", "", false, DistinctOnView},
    {"findAndModify", "findandmodify", "query", ""},
    {"update", "", "q", "updates"},
    {"delete", "", "q", "deletes"},
};

const Explained* RowOf(bson::View command) {
  const std::string_view name = command.front().name();
  const auto* found =
      std::find_if(std::begin(kExplained), std::end(kExplained), [&](const Explained& row) {
        return row.name == name || (!row.alias.empty() && row.alias == name);
      });
  return found == std::end(kExplained) ? nullptr : found;
}

bool IsNatural(bson::View find) { return DocumentIn(find, "sort").Has("$natural"); }

struct Targeted {
  std::set<placement::ShardName> shards;
  bool sorted = false;
  bool writes = false;
};

// Which shards the explained command would go to.
Result<Targeted> TargetsOf(Routed& request, const Route& route, bson::View command) {
  Targeted targeted;
  const Explained* row = RowOf(command);
  Query query;
  query.collation = DocumentIn(command, "collation");
  query.let = DocumentIn(command, "let");
  if (row != nullptr && row->statements.empty()) {
    query.filter = DocumentIn(command, row->filter);
    targeted.sorted = row->sorts && !DocumentIn(command, "sort").empty() && !IsNatural(command);
  } else if (row != nullptr) {
    const bson::Value list = command[row->statements];
    if (list.is_array() && !list.AsArray().empty() &&
        list.AsArray().front().type() == bson::Type::kDocument) {
      const bson::View statement = list.AsArray().front().value().AsDocument();
      query.filter = DocumentIn(statement, row->filter);
      query.collation = DocumentIn(statement, "collation");
    }
    targeted.writes = true;
  }
  if (!route.sharded()) {
    targeted.shards = {route.database.primary};
    return targeted;
  }
  ASSIGN_OR_RETURN(placement::Targets targets, TargetRead(request, route, query));
  targeted.shards = std::move(targets.shards);
  return targeted;
}

// Inside explain the cursor option of an aggregate may be left out.
bson::Document WithCursor(bson::View command) {
  bson::Builder whole;
  whole.AppendFields(command);
  if (!command.Has("cursor") && !command.Has("explain")) {
    whole.BeginDocument("cursor").End();
  }
  return whole.Finish();
}

// Of a view on a sharded collection the aggregation that it stands for is explained.
Task<Status> ExplainOnView(Routed& request, const std::string& ns, const bson::Document& command,
                           const std::string& verbosity, const Status& refusal) {
  const Explained* row = RowOf(command);
  if (row == nullptr || row->on_view == nullptr) {
    co_return Status(kCommandNotSupportedOnView,
                     "Namespace " + ns + " is a view, not a collection");
  }
  CO_ASSIGN_OR_RETURN(const engine::ViewRead read, row->on_view(ns, command));
  Aggregation aggregation = OnView(ns, read, command);
  CO_RETURN_IF_ERROR(aggregation.Resolve(refusal));
  Status status = co_await ExplainAggregation(request, std::move(aggregation), verbosity);
  co_return status;
}

void AppendExplained(Routed& request, const std::vector<Heard>& heard, const Targeted& targets,
                     bson::View command) {
  const bson::View first = *heard.front().reply;
  if (!first.Has("queryPlanner")) {  // the pipeline that a view is
    request.AppendReply(*heard.front().reply);
    return;
  }
  const std::string_view stage = targets.writes               ? "SHARD_WRITE"
                                 : targets.shards.size() == 1 ? "SINGLE_SHARD"
                                 : targets.sorted             ? "SHARD_MERGE_SORT"
                                                              : "SHARD_MERGE";
  bson::Builder& reply = request.call().reply;
  AppendPlanner(request, heard, stage, &reply);
  if (first.Has("executionStats")) {
    AppendExecution(heard, stage, &reply);
  }
  reply.Append("serverInfo", first["serverInfo"])
      .Append("serverParameters", first["serverParameters"])
      .Append("command", command);
}

Task<Status> RouteExplain(Routed& request) {
  const bson::Value explained = request.body.view().front().value();
  if (!explained.is_document() || explained.AsDocument().empty() ||
      !explained.AsDocument().front().value().is_string()) {
    co_return request.RunHere();
  }
  const bson::Document command(explained.AsDocument());
  const std::string_view name = command.view().front().name();
  CO_ASSIGN_OR_RETURN(
      std::string ns,
      request::Namespace(request.database, command.view().front().value().AsString()));
  Result<RoutePtr> found = co_await request.Find(ns, false);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  const bson::Value verbosity = request.body["verbosity"];
  // Made before: GCC 12 destroys conditional temporaries of a co_await twice.
  const std::string asked(verbosity.is_string() ? verbosity.AsString() : "allPlansExecution");
  if (name == "aggregate") {
    const Aggregation aggregation = Aggregation::Of(request.database, WithCursor(command));
    Status explained_as = co_await ExplainAggregation(request, aggregation, asked);
    co_return explained_as;
  }
  Targeted targets;
  const PartsOf parts = [&](const Route& known) -> Result<std::vector<Part>> {
    ASSIGN_OR_RETURN(targets, TargetsOf(request, known, command));
    return ToEach(targets.shards, request.body);
  };
  Result<std::vector<Heard>> heard = co_await AskRefreshed(request, &route, parts);
  CO_RETURN_IF_ERROR(heard.status());
  const Status failed = FirstErrorOf(*heard);
  if (Aggregation::IsRefusal(failed)) {
    Status viewed = co_await ExplainOnView(request, ns, command, asked, failed);
    co_return viewed;
  }
  CO_RETURN_IF_ERROR(failed);
  AppendExplained(request, *heard, targets, command);
  co_return Status::Ok();
}

void AppendStages(std::string_view name, const std::vector<bson::Document>& stages,
                  bson::Builder* out) {
  out->BeginArray(name);
  for (const bson::Document& stage : stages) {
    out->Push(stage);
  }
  out->End();
}

}  // namespace

namespace {

// {host, queryPlanner...} of each shard, as aggregate's explain has it.
void AppendShards(const std::vector<Heard>& heard, bson::Builder* reply) {
  reply->BeginDocument("shards");
  for (const Heard& one : heard) {
    reply->BeginDocument(one.shard).Append("host", one.host);
    for (const bson::Element& field : one.reply->view()) {
      const std::string_view name = field.name();
      if (name == "queryPlanner" || name == "executionStats" || name == "stages" ||
          name == "explainVersion") {
        reply->Append(field);
      }
    }
    reply->End();
  }
  reply->End();
}

// One round with what is known of views.
Task<Status> ExplainResolved(Routed& request, const Aggregation& aggregation,
                             const std::string& verbosity) {
  ParsedPipeline pipeline;
  CO_RETURN_IF_ERROR(pipeline.Parse(request.invocation.operation, aggregation));
  Result<Places> found = co_await FindPlaces(request, aggregation, pipeline);
  CO_RETURN_IF_ERROR(found.status());
  Places& places = *found;
  if (places.main == nullptr) {
    co_return request.RunHere();
  }
  for (int i = 0; i <= kMostRefreshes; ++i) {
    CO_ASSIGN_OR_RETURN(const Division division, Divide(request, aggregation, pipeline, places));
    if (division.whole && !places.main->sharded()) {
      bool replan = false;
      ForwardOptions options;
      options.others = &places.others;
      options.replan = &replan;
      Status forwarded = co_await Forward(request, aggregation.ns, options);
      if (!replan) {
        co_return forwarded;
      }
      found = co_await FindPlaces(request, aggregation, pipeline);
      CO_RETURN_IF_ERROR(found.status());
      if (places.main == nullptr) {
        co_return request.RunHere();
      }
      continue;
    }
    const bson::Document part =
        division.whole ? aggregation.command
                       : ShardsCommand(aggregation.command, division.split.shards, bson::View());
    const bson::Document asked =
        bson::Builder().Append("explain", part).Append("verbosity", verbosity).Finish();
    std::vector<Part> parts = ToEach(division.shards, asked);
    bool stale = false;
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, &places.main, std::move(parts), &stale, &places.others);
    CO_RETURN_IF_ERROR(heard.status());
    if (stale) {
      continue;
    }
    CO_RETURN_IF_ERROR(FirstErrorOf(*heard));
    bson::Builder& reply = request.call().reply;
    if (division.whole) {
      reply.AppendNull("splitPipeline");
    } else {
      reply.Append("mergeType", "mongos").BeginDocument("splitPipeline");
      AppendStages("shardsPart", division.split.shards_shown, &reply);
      AppendStages("mergerPart", division.split.merger_shown, &reply);
      reply.End();
    }
    AppendShards(*heard, &reply);
    const bson::View first = *heard->front().reply;
    reply.Append("serverInfo", first["serverInfo"])
        .Append("serverParameters", first["serverParameters"])
        .Append("command", aggregation.command);
    co_return Status::Ok();
  }
  co_return AlwaysStale(aggregation.ns);
}

}  // namespace

Task<Status> ExplainAggregation(Routed& request, Aggregation aggregation, std::string verbosity) {
  Status status = co_await ExplainResolved(request, aggregation, verbosity);
  if (!Aggregation::IsRefusal(status)) {
    co_return status;
  }
  CO_RETURN_IF_ERROR(aggregation.Resolve(status));
  Status resolved = co_await ExplainResolved(request, aggregation, verbosity);
  co_return resolved;
}

std::span<const RoutineRow> ExplainRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"explain", RouteExplain},
  };
  return kRows;
}

}  // namespace quire::router
