// SPDX-License-Identifier: Apache-2.0
//
// Sessions and transactions over shards.
#include "base/error_codes.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/remote/errors.h"
#include "router/rows.h"

namespace quire::router {

namespace {

// The end of a transaction of which nothing is known here.
Status UnknownTransaction(const request::CommandInfo& command) {
  constexpr int kNoToken = 50940;
  constexpr int kNotStarted = 8027900;
  return command.Is(request::kCommits)
             ? Status(kNoToken, "Cannot recover the transaction decision without a recoveryToken")
             : Status(kNotStarted, "attempting to continue transaction that was not started");
}

// The shard of the transaction: as it is known here, or as the client's recoveryToken says.
std::optional<placement::ShardName> ShardOfEnd(Routed& request, bool* recovers) {
  const request::Generic& generic = request.call().generic;
  *recovers = false;
  if (auto known = request.core.transactions.Find(generic.lsid, *generic.txn_number)) {
    return known->shard;
  }
  *recovers = true;
  const bson::Value token = request.body["recoveryToken"];
  const bson::Value shard =
      token.is_document() ? token.AsDocument()["recoveryShardId"] : bson::Value();
  if (!shard.is_string()) {
    return std::nullopt;
  }
  return std::string(shard.AsString());
}

// The commit of a transaction that another router ran asks what has come of it: what has not been
// committed there never will be.
Task<Status> AbortUndecided(Routed& request, placement::ShardName shard) {
  const bson::Document session = request.SessionFields();
  bson::Builder abort;
  abort.Append("abortTransaction", 1).AppendFields(session);
  AskOptions options;
  options.repeatable = true;
  std::vector<Asked> asked;
  asked.push_back({std::move(shard), {}, request.Outgoing(abort.Finish(), "admin", nullptr)});
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), options);
  CO_RETURN_IF_ERROR(heard.status());
  const Status status = heard->front().reply.ok() ? Status::Ok() : heard->front().reply.status();
  const bool decided =
      status.ok() || status.code() == kTransactionCommitted || status.code() == kNoSuchTransaction;
  co_return decided ? Status::Ok() : ForClients(status);
}

Task<Status> RouteEndOfTransaction(Routed& request) {
  const request::Generic& generic = request.call().generic;
  if (generic.lsid.empty()) {
    co_return Status(kInvalidOptions, std::string(request.call().command.name) +
                                          " can only be run within a session");
  }
  if (!generic.txn_number) {
    co_return request.RunHere();
  }
  bool recovers = false;
  const std::optional<placement::ShardName> shard = ShardOfEnd(request, &recovers);
  if (!shard) {
    co_return UnknownTransaction(request.call().command);
  }
  if (shard->empty()) {  // nothing was ever sent
    co_return Status::Ok();
  }
  if (recovers && request.call().command.Is(request::kCommits)) {
    Status decided = co_await AbortUndecided(request, *shard);
    CO_RETURN_IF_ERROR(decided);
  }
  AskOptions options;
  options.repeatable = true;  // what was committed is committed once
  std::vector<Asked> asked;
  bson::Builder own;
  for (const bson::Element& field : request.body.view()) {
    if (field.name() != "recoveryToken") {
      own.Append(field);
    }
  }
  asked.push_back({*shard, {}, request.Outgoing(own.Finish(), "admin", nullptr)});
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), options);
  CO_RETURN_IF_ERROR(heard.status());
  co_return request.Deliver(std::move(heard->front()));
}

// Ends them here and on every shard.
Task<Status> RouteSessions(Routed& request) {
  CO_RETURN_IF_ERROR(request.RunHere());
  std::vector<Asked> asked;
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    asked.push_back({shard.name, {}, request.Outgoing(request.body, request.database, nullptr)});
  }
  AskOptions options;
  options.repeatable = true;
  options.timeout = std::chrono::milliseconds(0);  // one that cannot be reached has its time-outs
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), options);
  co_return heard.status();
}

}  // namespace

std::span<const RoutineRow> SessionRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"commitTransaction", RouteEndOfTransaction},
      {"abortTransaction", RouteEndOfTransaction},
      {"endSessions", RouteSessions},
      {"refreshSessions", RouteSessions},
      {"killSessions", RouteSessions},
      {"killAllSessions", RouteSessions},
      {"killAllSessionsByPattern", RouteSessions},
  };
  return kRows;
}

}  // namespace quire::router
