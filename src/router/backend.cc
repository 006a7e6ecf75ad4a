// SPDX-License-Identifier: Apache-2.0
#include "router/backend.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "command/node_running.h"
#include "request/route.h"
#include "router/accounts.h"
#include "router/config/config.h"
#include "router/data/snapshot.h"
#include "router/remote/errors.h"
#include "router/rows.h"
#include "run/labels.h"

namespace quire::router {

namespace {

// What only a router says to shards: from anybody else it would be believed there.
Status RefuseInternalFields(const request::Call& call) {
  for (std::string_view field : {"shardVersion", "databaseVersion", "shardVersions", "shardRows",
                                 "partialGroup", "legacyRuntimeConstants"}) {
    if (call.body.Has(field)) {
      return {40415, "BSON field '" + std::string(call.command.name) + "." + std::string(field) +
                         "' is an unknown field."};
    }
  }
  return Status::Ok();
}

// Arguments of a coroutine live in its caller: what is awaited here keeps the request alone.
Task<Status> RunRoutine(Routed& request, Routine routine) {
  Status status = co_await routine(request);
  if (request.database_gone && status.code() == kNamespaceNotFound) {
    status = co_await routine(request);
  }
  if (HostsTargeted::IsCounted(request.call().command.name)) {
    request.CountTargets();
  }
  co_return status;
}

Task<Status> RunAtOneTime(Routed& request, Routine routine) {
  Status fixed = co_await FixSnapshotTime(request);
  CO_RETURN_IF_ERROR(fixed);
  Status status = co_await RunRoutine(request, routine);
  co_return status;
}

}  // namespace

RouterBackend::RouterBackend(command::Commands* commands, Core* core)
    : NodeBackend(commands), core_(*core) {
  for (const command::Row* row : Rows()) {
    routines_.push_back(FindRoutine(row->info));
  }
}

Routine RouterBackend::RoutineOf(const run::Running& running) const {
  const request::CommandInfo& command = running.call.command;
  if (running.call.database == "config" && command.Is(request::kRoutes)) {
    return RouteConfig;
  }
  return routines_[running.row];
}

bson::Timestamp RouterBackend::Visible() { return core_.seen(); }

Status RouterBackend::Authorise(run::Running& running) {
  RETURN_IF_ERROR(NodeBackend::Authorise(running));
  const command::Access::Scope scope = core_.RowOf(running.call).access.scope;
  if (scope != command::Access::Scope::kAnyone && !core_.accounts->known()) {
    return {kHostUnreachable, "The users of the cluster are not known yet"};
  }
  if (running.call.command.Is(request::kLogsIn) && !core_.accounts->fresh()) {
    return {kHostUnreachable, "The users of the cluster cannot be read at present"};
  }
  return Status::Ok();
}

Status RouterBackend::AllowWrite(run::Running& running) {
  return RoutineOf(running) != nullptr ? Status::Ok() : NodeBackend::AllowWrite(running);
}

Status RouterBackend::Prepare(run::Running& running) {
  if (RoutineOf(running) == nullptr) {
    return NodeBackend::Prepare(running);
  }
  running.op.memory_limit = static_cast<size_t>(engine().stage_memory_bytes.load());
  return Status::Ok();
}

Status RouterBackend::EnterTransaction(run::Running& running) {
  const request::Generic& generic = running.call.generic;
  if (generic.in_transaction() && generic.start_transaction) {
    core_.transactions.Begin(
        generic.lsid, *generic.txn_number, generic.read_concern,
        [this](std::string_view session) { return sessions().Find(session) != nullptr; });
  }
  return Status::Ok();
}

Status RouterBackend::Run(run::Running& running) {
  if (RoutineOf(running) == nullptr) {
    return NodeBackend::Run(running);
  }
  RETURN_IF_ERROR(RefuseInternalFields(running.call));
  if (running.call.database == "local") {
    return {kIllegalOperation, "The database 'local' is each member's own: a router has none"};
  }
  auto& own = static_cast<command::NodeRunning&>(running);
  auto request = std::make_shared<Routed>(&core_, &own.invocation);
  const Routine routine = RoutineOf(running);
  if (routine != RouteConfig && ReadsSnapshot(*request)) {
    return request->Start(RunAtOneTime(*request, routine));
  }
  return request->Start(RunRoutine(*request, routine));
}

// Shards abort what fails there.
bool RouterBackend::AbortTransaction(run::Running& running) {
  return running.call.generic.in_transaction();
}

void RouterBackend::Written(run::Running& running) {
  if (RoutineOf(running) == nullptr) {
    NodeBackend::Written(running);
  }
}

// Shards wait for what was written there.
Status RouterBackend::AwaitWriteConcern(run::Running& running) {
  return RoutineOf(running) == nullptr ? NodeBackend::AwaitWriteConcern(running) : Status::Ok();
}

// A router has sent it again itself where that could help.
bool RouterBackend::MayBeRepeated(int code) const { return run::IsShutdown(code); }

Status RouterBackend::ForClients(const Status& status) const { return router::ForClients(status); }

std::chrono::seconds RouterBackend::most_ahead() const { return std::chrono::seconds(60); }

}  // namespace quire::router
