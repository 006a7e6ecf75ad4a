// SPDX-License-Identifier: Apache-2.0
#include "router/data/snapshot.h"

#include <algorithm>

#include "base/error_codes.h"
#include "quire/doc.h"
#include "router/core.h"

namespace quire::router {

namespace {

constexpr int kMostAttempts = 10;
// So often it is tried to have secondaries keep it, too.
constexpr int kAttemptsForAll = 5;
// How far ahead a time is chosen, in what shards may write until it reaches them: twice as far each
// time.
constexpr uint64_t kAhead = 1000;
// Of a shard that may not be among those that are read.
constexpr std::chrono::seconds kTimeout{2};

bson::Document KeepCommand(Core& core, bson::Timestamp time) {
  bson::Builder out;
  out.Append("_shardsvrKeepSnapshot", time);
  core.AppendClusterTime(&out);
  out.Append("$db", "admin");
  return out.Finish();
}

bool Denies(const Heard& one, std::string_view field) {
  if (!one.reply.ok()) {
    return false;  // it cannot be reached, or has no primary: reading it will say so
  }
  const bson::Value said = (*one.reply)[field];
  return said.type() == bson::Type::kBool && !said.AsBool();
}

// Since when all chunks have been where they are.
bson::Timestamp Settled(const Route& route) {
  bson::Timestamp since = route.collection->generation.timestamp;
  for (const placement::ChunkPtr& chunk : route.chunks->chunks()) {
    if (!chunk->history.empty()) {
      since = std::max(since, chunk->history.front().since);
    }
  }
  return since;
}

}  // namespace

bool ReadsSnapshot(const Routed& request) {
  const request::Generic& generic = request.invocation.call.generic;
  return generic.read_concern_level == "snapshot" && !generic.in_transaction() &&
         request.invocation.call.command.Is(request::kSnapshotRead);
}

Task<Status> FixSnapshotTime(Routed& request) {
  const bson::Value named = request.body["readConcern"].AsDocument()["atClusterTime"];
  if (!named.missing()) {
    request.snapshot_time = named.AsTimestamp();
    co_return Status::Ok();
  }
  store::LogicalClock& clock = request.core.engine().clock();
  AskOptions options;
  options.repeatable = true;
  options.timeout = std::chrono::milliseconds(0);
  options.limit = kTimeout;
  for (int i = 0; i < kMostAttempts; ++i) {
    clock.Tick(kAhead << i);
    const bson::Timestamp time = clock.Now();
    std::vector<Asked> asked;
    for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
      asked.push_back({shard.name, {}, KeepCommand(request.core, time)});
    }
    Result<std::vector<Heard>> heard =
        co_await AskShards(request, *request.core.remote, std::move(asked), options);
    CO_RETURN_IF_ERROR(heard.status());
    const std::string_view wanted = i < kAttemptsForAll ? "everywhere" : "kept";
    if (std::none_of(heard->begin(), heard->end(),
                     [&](const Heard& one) { return Denies(one, wanted); })) {
      request.snapshot_time = time;
      co_return Status::Ok();
    }
  }
  co_return Status(kSnapshotUnavailable, "The shards write too fast to be read at one time");
}

Status CheckPlacedThen(const Routed& request, const Route& route) {
  if (!request.snapshot_time || !route.sharded()) {
    return Status::Ok();
  }
  if (Settled(route) <= *request.snapshot_time) {
    return Status::Ok();
  }
  return {kSnapshotUnavailable,
          "The placement of " + route.ns + " has changed since the snapshot's time"};
}

}  // namespace quire::router
