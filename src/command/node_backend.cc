// SPDX-License-Identifier: Apache-2.0
#include "command/node_backend.h"

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "command/auth/auditor.h"
#include "command/authorise.h"
#include "command/repl/concerns.h"
#include "command/repl/member_gate.h"
#include "command/repl/set_view.h"
#include "engine/write/write.h"
#include "run/condition.h"
#include "run/gates.h"
#include "run/labels.h"
#include "run/write_concern.h"

namespace quire::command {

namespace {

NodeRunning& Own(run::Running& running) { return static_cast<NodeRunning&>(running); }

engine::Durability DurabilityOf(bool waits_for_disk) {
  return waits_for_disk ? engine::Durability::kDisk : engine::Durability::kProcess;
}

// The numbers of a retryable write's statements: stmtIds, or counted from stmtId.
void ReadStatementIds(const request::Generic& generic, int32_t* first, std::vector<int32_t>* ids) {
  if (generic.statement_id.type() == bson::Type::kInt32) {
    *first = generic.statement_id.AsInt32();
  }
  if (!generic.statement_ids.is_array()) {
    return;
  }
  for (const bson::Element& e : generic.statement_ids.AsArray()) {
    if (e.type() == bson::Type::kInt32) {
      ids->push_back(e.value().AsInt32());
    }
  }
}

// A transaction begins with the present: it can begin at an earlier time as long as nothing was
// written since.
Status CheckSnapshotTime(engine::Engine& engine, const request::Generic& generic,
                         engine::Session* session) {
  const bson::Value at = generic.read_concern["atClusterTime"];
  if (!generic.start_transaction || at.missing()) {
    return Status::Ok();
  }
  if (engine.log().Visible() <= at.AsTimestamp()) {
    return Status::Ok();
  }
  session->AbortQuietly();
  return {kSnapshotTooOld, "A transaction cannot begin before the last write"};
}

// Whether setUserWriteBlockMode, which is on, stops this client's writes.
bool WritesBlocked(Invocation& i) {
  return i.database() != "admin" && i.database() != "config" && i.database() != "local" &&
         !(i.commands.info().access_control &&
           May(i, Action::bypassWriteBlockingMode, auth::Cluster()));
}

}  // namespace

std::unique_ptr<run::Running> NodeBackend::Begin(const run::Arrival& arrival) {
  return std::make_unique<NodeRunning>(arrival, commands_);
}

bson::Timestamp NodeBackend::Now() { return engine().clock().Now(); }

void NodeBackend::AdvanceClock(bson::Timestamp time) { engine().clock().Advance(time); }

// In a set, the last slot: what a read saw may reach so far, whatever is visible.
bson::Timestamp NodeBackend::Visible() {
  if (replication() == nullptr) {
    return engine().log().Visible();
  }
  engine::ReplicaData& data = replication()->data();
  return replication()->status()->writable ? TimeOf(data.LastSlot())
                                           : TimeOf({.time = data.Applied()});
}

run::SessionTable& NodeBackend::sessions() { return engine().sessions(); }

Status NodeBackend::AuditBegins(const request::Call& call) {
  Auditor* auditor = commands_.info().auditor.get();
  return auditor == nullptr ? Status::Ok() : auditor->Begin(call);
}

Status NodeBackend::Parse(run::Running& running) {
  NodeRunning& own = Own(running);
  own.operation.caller = running.call.identity.get();
  const Row& row = *commands_.rows()[running.row];
  if (row.parse != nullptr) {
    ASSIGN_OR_RETURN(own.parsed, row.parse(own.invocation));
    own.invocation.parsed = own.parsed.get();
  }
  return Status::Ok();
}

Status NodeBackend::Authorise(run::Running& running) {
  request::Call& call = running.call;
  const std::shared_ptr<const request::Identity> before = call.client.identity;
  RETURN_IF_ERROR(
      command::Authorise(Own(running).invocation, commands_.rows()[running.row]->access));
  if (call.identity == before) {  // who logs in may have other roles by now
    call.identity = call.client.identity;
    Own(running).operation.caller = call.identity.get();
  }
  return Status::Ok();
}

Status NodeBackend::AllowHere(run::Running& running) {
  return replication() == nullptr ? Status::Ok() : AllowOnMember(Own(running), *replication());
}

Status NodeBackend::AllowWrite(run::Running& running) {
  WriteGate& gate = commands_.write_gate();
  if (gate.locked()) {
    run::AwaitBell(
        gate.opened(), [&gate] { return gate.locked(); }, running, run::AllowWrite);
    return Status::Ok();
  }
  if (commands_.cluster().writes_blocked() && WritesBlocked(Own(running).invocation)) {
    return {kUserWritesBlocked, "User writes blocked"};
  }
  return Status::Ok();
}

std::chrono::milliseconds NodeBackend::default_read_time() const {
  return std::chrono::milliseconds(commands_.cluster().read_millis());
}

Status NodeBackend::Prepare(run::Running& running) {
  const request::Generic& generic = running.call.generic;
  engine::Operation& operation = Own(running).operation;
  operation.session = static_cast<engine::Session*>(running.session.get());
  running.op.memory_limit = static_cast<size_t>(engine().stage_memory_bytes.load());
  if (replication() != nullptr) {
    if (running.call.command.Is(request::kWrite | request::kWriteConcern)) {
      const EffectiveConcern effective =
          ConcernOf(commands_, *replication(), generic.write_concern);
      operation.durability = DurabilityOf(WaitsForOwnDisk(effective.concern));
    }
    return PrepareRead(Own(running), *replication());
  }
  operation.durability =
      DurabilityOf(generic.write_concern.given ? run::WaitsForDisk(generic.write_concern)
                                               : commands_.default_concerns().waits_for_disk());
  if (generic.read_concern_level == "snapshot" && !generic.in_transaction() &&
      running.call.command.Is(request::kReadConcern)) {
    const bson::Value at = generic.read_concern["atClusterTime"];
    ASSIGN_OR_RETURN(operation.snapshot, at.missing() ? engine().snapshots().Now()
                                                      : engine().snapshots().At(at.AsTimestamp()));
  }
  return Status::Ok();
}

Status NodeBackend::EnterTransaction(run::Running& running) {
  NodeRunning& own = Own(running);
  engine::Operation& operation = own.operation;
  request::Call& call = running.call;
  const request::Generic& generic = call.generic;
  engine::Session* session = operation.session;
  if (generic.in_transaction()) {
    RETURN_IF_ERROR(session->EnterTransaction(
        call, engine().catalog(),
        std::chrono::seconds(engine().transaction_lifetime_seconds.load())));
    operation.in_transaction = session->state() == engine::Session::State::kInProgress;
    return CheckSnapshotTime(engine(), generic, session);
  }
  RETURN_IF_ERROR(session->EnterRetryable(*generic.txn_number));
  operation.retryable = true;
  if (commands_.fail_points().armed()) {
    operation.before_commit = [this, &call] { return commands_.fail_points().MeetCommit(call); };
  }
  ReadStatementIds(generic, &operation.first_statement, &own.statement_ids);
  operation.statement_ids = own.statement_ids;
  return Status::Ok();
}

Status NodeBackend::Run(run::Running& running) {
  NodeRunning& own = Own(running);
  Auditor::Attribution attribution(commands_.info().auditor == nullptr ? nullptr : &running.call);
  return commands_.rows()[running.row]->run(own.invocation);
}

Status NodeBackend::ConfirmRead(run::Running& running) {
  return replication() == nullptr ? Status::Ok()
                                  : ConfirmLinearizable(Own(running), *replication());
}

bool NodeBackend::AbortTransaction(run::Running& running) {
  const engine::Operation& operation = Own(running).operation;
  if (operation.in_transaction) {
    operation.session->AbortQuietly();
  }
  return operation.in_transaction;
}

void NodeBackend::Written(run::Running& running) {
  request::Call& call = running.call;
  call.operation_time = engine().clock().Now();
  if (call.database == "admin") {
    commands_.accounts_version.fetch_add(1);  // the write may have been to users or roles
  }
  AppendConcernOfOne(Own(running).invocation);
}

Status NodeBackend::AwaitWriteConcern(run::Running& running) {
  if (replication() != nullptr) {
    return AwaitReplicated(Own(running), *replication());
  }
  request::Call& call = running.call;
  const bool waits = !call.generic.in_transaction() || call.command.Is(request::kEndsTransaction);
  if (!running.status.ok() && running.ran && waits && running.op.CheckInterruptNow().ok()) {
    call.write_concern_error = run::ConcernErrorOfOne(call.generic.write_concern);
  }
  return Status::Ok();
}

const auth::TimeSigner* NodeBackend::time_signer() const {
  return access_control() ? commands_.members.time_signer() : nullptr;
}

bool NodeBackend::MaySetClock(run::Running& running) {
  return May(Own(running).invocation, Action::internal, auth::Cluster());
}

bool NodeBackend::MayBeRepeated(int code) const { return run::IsRetryable(code); }

std::chrono::seconds NodeBackend::most_ahead() const {
  return std::chrono::seconds(replication() == nullptr ? 0 : 60);
}

bool NodeBackend::dates_replies_at_end() const { return replication() != nullptr; }

void NodeBackend::AppendTopology(bson::Builder* reply) {
  if (replication() != nullptr) {
    AppendTopologyVersion(*reply, replication()->status()->topology_counter);
  }
}

void NodeBackend::AuditEnds(const request::Call& call, const Status& status) {
  if (Auditor* auditor = commands_.info().auditor.get(); auditor != nullptr) {
    auditor->End(call, status, access_control());
  }
}

void NodeBackend::KeepProfile(std::string_view database, const bson::Document& entry) {
  OpContext op;
  engine::Operation operation{engine(), op};
  request::InsertRequest insert;
  insert.documents.push_back(entry.view());
  auto written = engine::Insert(operation, run::ProfileNamespace(database), insert);
  if (!written.ok()) {
    log::Debug(1, "COMMAND", "Profiling failed", {{"error", written.status().message()}});
  }
}

run::Namespaces NodeBackend::namespaces() {
  auto snapshot = engine().catalog().snapshot();
  return {snapshot->version,
          [snapshot](std::string_view ns) { return snapshot->Find(ns) != nullptr; }};
}

// With the commit of the one member every concern holds that can hold at all.
void AppendConcernOfOne(Invocation& i) {
  if (i.engine.replication == nullptr) {
    run::AppendWriteConcernError(i.call.generic.write_concern, &i.reply());
  }
}

}  // namespace quire::command
