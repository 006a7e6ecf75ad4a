// SPDX-License-Identifier: Apache-2.0
//
// Commands that every shard answers: databases, operations under way, and others whose answers are
// put together.
#include <map>

#include "base/error_codes.h"
#include "bson/number.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "quire/doc.h"
#include "request/fields.h"
#include "request/reply.h"
#include "request/reply_part.h"
#include "router/core.h"
#include "router/remote/errors.h"
#include "router/rows.h"

namespace quire::router {

namespace {

// What each shard answers to the command as it is.
Task<Result<std::vector<Heard>>> AskAll(Routed& request, const bson::Document& command) {
  std::vector<Asked> asked;
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    asked.push_back({shard.name, {}, request.Outgoing(command, request.database, nullptr)});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  co_return heard;
}

void NoteTimes(Routed& request, const std::vector<Heard>& heard) {
  for (const Heard& one : heard) {
    if (one.reply.ok()) {
      const bson::Value time = (*one.reply)["operationTime"];
      if (time.type() == bson::Type::kTimestamp) {
        request.call().operation_time = std::max(request.call().operation_time, time.AsTimestamp());
      }
    }
  }
}

// The first error as clients see it; Ok when all have answered.
Status FirstError(const std::vector<Heard>& heard) {
  for (const Heard& one : heard) {
    if (!one.reply.ok()) {
      return ForClients(one.reply.status());
    }
  }
  return Status::Ok();
}

// --- listDatabases ---

struct Listed {
  int64_t size = 0;
  bool sized = false;
  bool empty = true;
  std::vector<std::pair<std::string, int64_t>> shards;
};

Task<Status> ListDatabases(Routed& request) {
  const bson::Value wanted = request.body["authorizedDatabases"];
  CO_ASSIGN_OR_RETURN(
      const bool every,
      command::SeesAllDatabases(request.invocation, wanted.type() == bson::Type::kBool
                                                        ? std::optional<bool>(wanted.AsBool())
                                                        : std::nullopt));
  Result<std::vector<Heard>> heard = co_await AskAll(request, request.body);
  CO_RETURN_IF_ERROR(heard.status());
  CO_RETURN_IF_ERROR(FirstError(*heard));
  NoteTimes(request, *heard);
  std::map<std::string, Listed> databases;
  for (const Heard& one : *heard) {
    const bson::Value list = (*one.reply)["databases"];
    if (!list.is_array()) {
      continue;
    }
    for (const bson::Element& element : list.AsArray()) {
      const bson::View database = element.value().AsDocument();
      const std::string name(database["name"].AsString());
      // Those are each shard's own: the cluster's are those of the shard that has the accounts.
      const auto cluster = request.core.catalog->Cluster();
      const bool of_cluster = name == "admin" || name == "config";
      const bool own =
          name == "local" || (of_cluster && cluster && cluster->admin_shard != one.shard);
      if (own || !(every || command::MayUse(request.invocation, name))) {
        continue;
      }
      Listed& listed = databases[name];
      if (const bson::Value size = database["sizeOnDisk"]; size.is_number()) {
        listed.sized = true;
        listed.size += bson::ClampedInt64(size);
        listed.shards.emplace_back(one.shard, bson::ClampedInt64(size));
      }
      const bson::Value empty = database["empty"];
      listed.empty = listed.empty && empty.type() == bson::Type::kBool && empty.AsBool();
    }
  }
  bson::Builder& reply = request.call().reply;
  int64_t total = 0;
  bool sized = false;
  reply.BeginArray("databases");
  for (const auto& [name, listed] : databases) {
    reply.PushDocument().Append("name", name);
    if (listed.sized) {
      sized = true;
      total += listed.size;
      reply.Append("sizeOnDisk", listed.size).Append("empty", listed.empty).BeginDocument("shards");
      for (const auto& [shard, size] : listed.shards) {
        reply.Append(shard, size);
      }
      reply.End();
    }
    reply.End();
  }
  reply.End();
  if (sized) {
    reply.Append("totalSize", total).Append("totalSizeMb", total / (1 << 20));
  }
  co_return Status::Ok();
}

// --- operations under way ---

// {..., opid: "shard:id"}
void PushOperation(const std::string& shard, bson::View operation, bson::Builder* out) {
  out->PushDocument().Append("shard", shard);
  for (const bson::Element& field : operation) {
    if (field.name() == "opid" && field.value().is_number()) {
      out->Append("opid", shard + ":" + std::to_string(bson::ClampedInt64(field.value())));
    } else if (field.name() != "shard") {
      out->Append(field);
    }
  }
  out->End();
}

Task<Status> CurrentOp(Routed& request) {
  Result<std::vector<Heard>> heard = co_await AskAll(request, request.body);
  CO_RETURN_IF_ERROR(heard.status());
  CO_RETURN_IF_ERROR(FirstError(*heard));
  NoteTimes(request, *heard);
  bson::Builder& reply = request.call().reply;
  reply.BeginArray("inprog");
  for (const Heard& one : *heard) {
    const bson::Value list = (*one.reply)["inprog"];
    if (!list.is_array()) {
      continue;
    }
    for (const bson::Element& operation : list.AsArray()) {
      PushOperation(one.shard, operation.value().AsDocument(), &reply);
    }
  }
  reply.End();
  co_return Status::Ok();
}

// "shard:id" goes to the shard; a number is an operation of the router.
Task<Status> KillOp(Routed& request) {
  const bson::Value op = request.body["op"];
  if (!op.is_string()) {
    co_return request.RunHere();
  }
  const std::string text(op.AsString());
  const size_t colon = text.rfind(':');
  const std::string digits = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos ||
      digits.size() > 18) {
    co_return Status(kFailedToParse,
                     "The op argument to killOp must be of the format shardid:opid"
                     " but found \"" +
                         text + "\"");
  }
  const std::string shard = text.substr(0, colon);
  const bson::Document command = Doc("killOp", 1, "op", static_cast<int64_t>(std::stoll(digits)));
  std::vector<Asked> asked;
  asked.push_back({shard, {}, request.Outgoing(command, "admin", nullptr)});
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  co_return request.Deliver(std::move(heard->front()));
}

// --- locks and the profiler ---

// What the first shard says, with the files of all, and {all: {shard: reply}}.
Task<Status> OnEachShard(Routed& request) {
  Result<std::vector<Heard>> heard = co_await AskAll(request, request.body);
  CO_RETURN_IF_ERROR(heard.status());
  CO_RETURN_IF_ERROR(FirstError(*heard));
  NoteTimes(request, *heard);
  bson::Builder& reply = request.call().reply;
  if (!heard->empty()) {
    int64_t files = 0;
    for (const Heard& one : *heard) {
      files += request::CountIn((*one.reply)["numFiles"]);
    }
    const bson::View first = *heard->front().reply;
    for (const bson::Element& field : first) {
      if (field.name() == "numFiles") {
        request::AppendCount(&reply, "numFiles", files);
      } else if (field.name() == "info" || field.name() == "lockCount") {
        reply.Append(field);
      }
    }
  }
  reply.BeginDocument("all");
  for (const Heard& one : *heard) {
    reply.Append(one.shard, request::AsPart(*one.reply));
  }
  reply.End();
  co_return Status::Ok();
}

// A router has no collections to keep a profile in; what it logs can be set.
Task<Status> Profile(Routed& request) {
  const bson::Value level = request.body.view().front().value();
  if (level.is_number() && (bson::ClampedInt64(level) > 0 || bson::ClampedInt64(level) < -1)) {
    co_return Status(kBadValue, "The profile level of a router is 0");
  }
  co_return request.RunHere();
}

// --- the router itself ---

bool IsWanted(const Routed& request, std::string_view section) {
  const bson::Value wanted = request.body[section];
  return wanted.missing() || request::Truthy(wanted);
}

// What every process tells, and where commands went.
Task<Status> ServerStatus(Routed& request) {
  CO_RETURN_IF_ERROR(request.RunHere());
  bson::Builder& reply = request.call().reply;
  const auto cluster = request.core.catalog->Cluster();
  if (cluster && IsWanted(request, "sharding")) {
    reply.BeginDocument("sharding");
    for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
      if (shard.name == cluster->admin_shard) {  // as getShardMap says
        reply.Append("configsvrConnectionString", shard.host);
      }
    }
    reply.End();
  }
  if (IsWanted(request, "shardingStatistics")) {
    const bson::Document targeted = request.core.targeted.Report();
    reply.BeginDocument("shardingStatistics").Append("numHostsTargeted", targeted).End();
  }
  co_return Status::Ok();
}

}  // namespace

std::span<const RoutineRow> ClusterRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"listDatabases", ListDatabases}, {"currentOp", CurrentOp},     {"killOp", KillOp},
      {"fsync", OnEachShard},           {"fsyncUnlock", OnEachShard}, {"profile", Profile},
      {"serverStatus", ServerStatus},
  };
  return kRows;
}

}  // namespace quire::router
