// SPDX-License-Identifier: Apache-2.0
#include "command/shard/shard_backend.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/authorise.h"
#include "command/shard/request_versions.h"
#include "run/condition.h"
#include "run/gates.h"

namespace quire::command {

namespace {

thread_local int own_depth = 0;

// How long a request without a limit of its own waits for a name.
constexpr std::chrono::seconds kTimeout{30};

// Databases are made by routers, which agree where they lie.
Status CheckMakesNoDatabase(const store::Catalog& catalog, const RequestVersions& versions,
                            bool writes) {
  for (const engine::NamespaceVersion& name : versions.names) {
    const std::string_view database = std::string_view(name.ns).substr(0, name.ns.find('.'));
    if (!name.shard && !name.whole_database && (writes || name.writes) && database != "admin" &&
        catalog.snapshot()->InDatabase(database).empty()) {
      return {kUnauthorized, "Making the database " + std::string(database) +
                                 " needs the role directShardOperations: the client is connected "
                                 "to a shard itself"};
    }
  }
  return Status::Ok();
}

}  // namespace

struct ShardBackend::ShardRunning final : NodeRunning {
  using NodeRunning::NodeRunning;

  std::unique_ptr<engine::Sharding::Pass> pass;
  std::optional<std::chrono::steady_clock::time_point> waits_until;
  const engine::Sharding* for_router = nullptr;  // set when a router has sent it
};

ShardBackend::OwnScope::OwnScope() { ++own_depth; }
ShardBackend::OwnScope::~OwnScope() { --own_depth; }

std::unique_ptr<run::Running> ShardBackend::Begin(const run::Arrival& arrival) {
  return std::make_unique<ShardRunning>(arrival, commands_);
}

Status ShardBackend::AllowHere(run::Running& running) {
  RETURN_IF_ERROR(NodeBackend::AllowHere(running));
  engine::Sharding* sharding = sharding_.load(std::memory_order_acquire);
  if (running.suspended() || own_depth > 0 || sharding == nullptr || !sharding->joined()) {
    return Status::Ok();
  }
  return CheckVersions(static_cast<ShardRunning&>(running), *sharding);
}

Status ShardBackend::CheckVersions(ShardRunning& running, engine::Sharding& sharding) {
  ASSIGN_OR_RETURN(const RequestVersions versions, ReadVersions(running.call));
  if (versions.given && access_control()) {
    RETURN_IF_ERROR(RequireAction(running.invocation, Action::internal, auth::Cluster()));
  }
  if (versions.names.empty()) {
    return Status::Ok();
  }
  const bool direct = !access_control() ||
                      May(running.invocation, Action::issueDirectShardOperations, auth::Cluster());
  const bool writes =
      running.call.command.Is(request::kWrite) || running.call.generic.in_transaction();
  if (!direct && !versions.given) {
    RETURN_IF_ERROR(CheckMakesNoDatabase(commands_.engine().catalog(), versions,
                                         running.call.command.Is(request::kWrite)));
  }
  engine::Sharding::Admission admission = sharding.Admit(versions.names, writes, direct);
  RETURN_IF_ERROR(admission.refused);
  if (!admission.waits) {
    running.pass = std::move(admission.pass);
    if (versions.given) {
      running.for_router = &sharding;
      TakeTime(running);
    }
    return Status::Ok();
  }
  const auto now = std::chrono::steady_clock::now();
  if (!running.waits_until) {
    running.waits_until = now + kTimeout;
  }
  if (now >= *running.waits_until) {
    return {kConflictingOperationInProgress,
            "a change of the collection or of its placement does not end"};
  }
  run::AwaitBell(
      sharding.changed,
      [&sharding, names = versions.names, writes, direct] {
        const auto again = sharding.Admit(names, writes, direct);
        return again.refused.ok() && again.waits;
      },
      running, run::AllowHere);
  running.call.suspension->until = *running.waits_until;
  return Status::Ok();
}

// The time that all shards tell.
void ShardBackend::TakeTime(ShardRunning& running) {
  const bson::Value fixed = running.call.body["legacyRuntimeConstants"];
  if (!fixed.is_document()) {
    return;
  }
  const bson::Value now = fixed.AsDocument()["localNow"];
  const bson::Value cluster_time = fixed.AsDocument()["clusterTime"];
  if (now.type() == bson::Type::kDate) {
    running.operation.began = now.AsDate();
  }
  if (cluster_time.type() == bson::Type::kTimestamp) {
    running.operation.cluster_time = cluster_time.AsTimestamp();
  }
}

Status ShardBackend::Run(run::Running& running) {
  auto& own = static_cast<ShardRunning&>(running);
  const engine::RouterScope scope(own.for_router);
  Status status = NodeBackend::Run(running);
  own.pass.reset();
  return status;
}

}  // namespace quire::command
