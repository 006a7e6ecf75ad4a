// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <mutex>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/auth/auditor.h"
#include "command/authorise.h"
#include "command/cluster_time.h"
#include "command/command.h"
#include "command/diagnostic.h"
#include "command/parsed_row.h"
#include "command/redact.h"
#include "command/write_concern.h"

namespace quire::command {

namespace {

std::vector<const Row*> AllRows() {
  std::vector<const Row*> all;
  for (std::span<const Row> family :
       {ReadRows(),           WriteRows(),        CreateRows(),      CollectionRows(),
        IndexRows(),          TransactionRows(),  StatisticsRows(),  ExplainRows(),
        PlanCacheRows(),      AggregateRows(),    HandshakeRows(),   ServerInfoRows(),
        ServerStatusRows(),   ParameterRows(),    ReplicaSetRows(),  OperationRows(),
        ControlRows(),        ProfileRows(),      TopRows(),         AuthenticationRows(),
        DefaultConcernRows(), UserRows(),         RoleRows(),        ClusterRows(),
        DataHashRows(),       StableApiRows(),    ValidateRows(),    MapReduceRows(),
        QuerySettingsRows(),  ApplyOpsRows(),     AutoCompactRows(), FailPointRows(),
        CertificateRows(),    MergeAccountsRows()}) {
    for (const Row& row : family) {
      all.push_back(&row);
    }
  }
  return all;
}

std::vector<const request::CommandInfo*> InfosOf(const std::vector<const Row*>& rows) {
  std::vector<const request::CommandInfo*> infos;
  for (const Row* row : rows) {
    infos.push_back(&row->info);
  }
  return infos;
}

// Errors after which a client may run the whole transaction again.
bool IsTransient(int code) {
  return code == kWriteConflict || code == kLockTimeout || code == kSnapshotUnavailable ||
         code == kNoSuchTransaction || code == kPreparedTransactionInProgress;
}

// The numbers of a retryable write's statements: stmtIds, or counted from stmtId.
void ReadStatementIds(bson::View body, int32_t* first, std::vector<int32_t>* ids) {
  if (bson::Value statement = body["stmtId"]; statement.type() == bson::Type::kInt32) {
    *first = statement.AsInt32();
  }
  bson::Value list = body["stmtIds"];
  if (!list.is_array()) {
    return;
  }
  for (const bson::Element& e : list.AsArray()) {
    if (e.type() == bson::Type::kInt32) {
      ids->push_back(e.value().AsInt32());
    }
  }
}

// Errors after which a client may send the same write again: the node is going away, or was not
// reached.
bool IsRetryable(int code) {
  constexpr int kCodes[] = {kHostUnreachable,
                            kHostNotFound,
                            kNetworkTimeout,
                            kShutdownInProgress,
                            kPrimarySteppedDown,
                            kExceededTimeLimit,
                            kSocketException,
                            kNotWritablePrimary,
                            kInterruptedAtShutdown,
                            kNotPrimaryNoSecondaryOk,
                            kNotPrimaryOrSecondary,
                            kInterruptedDueToReplStateChange,
                            kReadConcernMajorityNotAvailableYet};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

// Errors after which a change stream cannot be resumed.
bool EndsStream(int code) {
  return code == kChangeStreamFatalError || code == kChangeStreamHistoryLost;
}

// Errors after which a change stream can be resumed, perhaps at another node.
bool InterruptsStream(int code) {
  constexpr int kCodes[] = {kStaleShardVersion, kFailedToSatisfyReadPreference, kStaleEpoch,
                            kRetryChangeStream, kStaleConfig};
  return IsRetryable(code) ||
         std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

bool StartsStream(bson::View aggregate) {
  const bson::Value pipeline = aggregate["pipeline"];
  return pipeline.is_array() && !pipeline.AsArray().empty() &&
         pipeline.AsArray().front().value().is_document() &&
         pipeline.AsArray().front().value().AsDocument().Has("$changeStream");
}

// Whether the command that failed is known to read a change stream.
bool ReadsStream(const request::Call& call) {
  return call.summary.originating ? StartsStream(*call.summary.originating)
                                  : call.command.name == "aggregate" && StartsStream(call.body);
}

bool EndsTransaction(const request::Call& call) {
  return call.command.name == "commitTransaction" || call.command.name == "abortTransaction";
}

// Whether the client may send the same again when it did not hear the answer.
bool IsRetryableWrite(const request::Call& call) {
  return call.generic.txn_number && (EndsTransaction(call) || !call.generic.in_transaction());
}

// The error with the labels drivers act on.
Status Labelled(const Status& status, const request::Call& call, bool in_transaction) {
  if (EndsStream(status.code())) {
    return engine::WithLabel(status, "NonResumableChangeStreamError");
  }
  if (InterruptsStream(status.code()) && ReadsStream(call)) {
    return engine::WithLabel(status, "ResumableChangeStreamError");
  }
  const bool retryable = IsRetryable(status.code());
  if (in_transaction && (IsTransient(status.code()) || (retryable && !EndsTransaction(call)))) {
    return engine::WithLabel(status, "TransientTransactionError");
  }
  if (retryable && IsRetryableWrite(call)) {
    return engine::WithLabel(status, "RetryableWriteError");
  }
  return status;
}

// What a transaction runs on the admin database: its end, and bulkWrite with its cursor.
bool RunsOnAdminInTransaction(std::string_view command) {
  static constexpr std::string_view kNames[] = {"commitTransaction", "abortTransaction",
                                                "bulkWrite", "getMore", "killCursors"};
  return std::find(std::begin(kNames), std::end(kNames), command) != std::end(kNames);
}

Status WithLabels(const Status& status, const bson::Value& labels) {
  if (labels.AsArray().empty()) {
    return status;
  }
  bson::Builder extra;
  extra.Append("errorLabels", labels);
  return status.WithExtra(extra.Finish().bytes());
}

void AppendWriteConcernError(const Failure& failure, request::Call& call) {
  const bson::Value error = failure.write_concern_error.value();
  call.reply.Append("writeConcernError", error);
  if (failure.labels.value().is_array()) {
    call.reply.Append("errorLabels", failure.labels.value());
  } else if (const bson::Value code = error.AsDocument()["code"];
             code.is_number() && IsRetryableWrite(call) &&
             IsRetryable(static_cast<int>(bson::ClampedInt64(code)))) {
    call.reply.BeginArray("errorLabels").Push("RetryableWriteError").End();
  }
}

Status CheckTransactionUse(const request::Call& call) {
  if (call.generic.start_transaction &&
      (call.command.name == "getMore" || call.command.name == "killCursors")) {
    return {kOperationNotSupportedInTransaction,
            "Cannot run '" + std::string(call.command.name) +
                "' as the first operation in a multi-document transaction."};
  }
  const request::Generic& generic = call.generic;
  if (generic.txn_number && !generic.in_transaction() &&
      !(call.command.flags & request::kRetryable)) {
    return {kNotARetryableWriteCommand,
            "txnNumber may only be provided for multi-document transactions and retryable "
            "write commands. autocommit:false was not provided, and " +
                std::string(call.command.name) + " is not a retryable write command."};
  }
  if (generic.in_transaction() && generic.write_concern.given &&
      call.command.name != "commitTransaction" && call.command.name != "abortTransaction") {
    return {kInvalidOptions, "writeConcern is not allowed within a multi-statement transaction"};
  }
  if (generic.in_transaction() &&
      (generic.read_concern_level == "linearizable" || generic.read_concern_level == "available")) {
    return {kInvalidOptions,
            "The readConcern level must be either 'local' (default), 'majority' "
            "or 'snapshot' in order to run in a transaction"};
  }
  if (generic.in_transaction() && !generic.start_transaction && !generic.read_concern.empty()) {
    return {kInvalidOptions, "Only the first command in a transaction may specify a readConcern"};
  }
  if (generic.in_transaction() &&
      (call.database == "config" || call.database == "local" ||
       (call.database == "admin" && !RunsOnAdminInTransaction(call.command.name)))) {
    return {kOperationNotSupportedInTransaction, "Cannot perform data operations on the '" +
                                                     std::string(call.database) +
                                                     "' database in a transaction"};
  }
  bson::Value target = call.body.front().value();
  if (generic.in_transaction() && target.is_string() &&
      (target.AsString() == "system.profile" || target.AsString() == "system.views")) {
    return {kOperationNotSupportedInTransaction,
            "Cannot run command against the '" + std::string(call.database) + "." +
                std::string(target.AsString()) + "' collection in a transaction."};
  }
  return Status::Ok();
}

// What is refused while memory runs out: all that reads or writes, less what gives memory back.
bool MayNeedMemory(const request::CommandInfo& command) {
  constexpr std::string_view kFreeing[] = {
      "killCursors", "abortTransaction", "commitTransaction", "endSessions", "drop", "dropDatabase",
      "delete"};
  return (command.flags & (request::kRead | request::kWrite)) != 0 &&
         std::find(std::begin(kFreeing), std::end(kFreeing), command.name) == std::end(kFreeing);
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

}  // namespace

Commands::Commands(engine::Engine* engine, ServerInfo info)
    : Commands(engine, std::move(info), AllRows()) {}

Commands::Commands(engine::Engine* engine, ServerInfo info, std::vector<const Row*> rows)
    : Dispatcher(InfosOf(rows)),
      engine_(*engine),
      info_(std::move(info)),
      rows_(std::move(rows)),
      tallies_(std::make_unique<Tally[]>(rows_.size())),
      login_guard_(engine_, info_.access_control) {
  cluster_.Load(engine_);
  LoadQuerySettings(engine_);
  default_concerns_.Load(engine_);
  engine_.host = info_.host;
  engine_.current_operations = [this](const engine::Operation& operation, bson::View spec) {
    const bson::Value all = spec["allUsers"];
    const bool everybody = all.type() == bson::Type::kBool && all.AsBool();
    return CurrentOperations(*this, spec, everybody ? nullptr : operation.caller);
  };
  if (info_.auditor != nullptr) {
    engine_.catalog().on_publish = [auditor = info_.auditor](const auto& before, const auto& after,
                                                             const auto& removed,
                                                             const auto& added) {
      auditor->CatalogChanged(before, after, removed, added);
    };
  }
  engine_.append_latencies = [this](std::string_view ns, bool histograms, bson::Builder* out) {
    AppendLatencies(top_.LatenciesOf(ns), histograms, out);
  };
}

Status Commands::CheckWritesAllowed(request::Call& call) {
  if (call.database == "admin" || call.database == "config" || call.database == "local") {
    return Status::Ok();
  }
  engine::Operation operation{engine_, call.op};
  Invocation invocation{*this, engine_, operation, call};
  if (info_.access_control && May(invocation, Action::bypassWriteBlockingMode, auth::Cluster())) {
    return Status::Ok();
  }
  return {kUserWritesBlocked, "User writes blocked"};
}

Status Commands::Invoke(size_t index, request::Call& call) {
  if ((call.command.flags & request::kTestOnly) != 0 && !fail_points_.enabled()) {
    return {kCommandNotFound, "no such command: '" + std::string(call.command.name) + "'"};
  }
  if (call.generic.api.version == "2" && !fail_points_.accepts_version_2()) {
    return {kAPIVersionError, "API version must be \"1\""};
  }
  if (short_of_memory.load(std::memory_order_relaxed) && MayNeedMemory(call.command)) {
    return {kExceededMemoryLimit,
            "The server is short of memory; the operation can be tried again"};
  }
  if (info_.auditor != nullptr) {
    RETURN_IF_ERROR(info_.auditor->Begin(call));
  }
  Auditor::Attribution attribution(info_.auditor == nullptr ? nullptr : &call);
  RETURN_IF_ERROR(fail_points_.MeetTimeLimit(call.op));
  const std::optional<Failure> failure = fail_points_.Meet(call);
  return failure ? RunFailing(*failure, index, call) : Execute(index, call);
}

Status Commands::RunFailing(const Failure& failure, size_t index, request::Call& call) {
  RETURN_IF_ERROR(Block(call.op, failure.block));
  if (Status failed = End(failure, call); !failed.ok()) {
    return failure.labels.value().is_array()
               ? WithLabels(failed, failure.labels.value())
               : Labelled(failed, call, call.generic.in_transaction());
  }
  RETURN_IF_ERROR(Execute(index, call));
  if (failure.write_concern_error.value().is_document()) {
    AppendWriteConcernError(failure, call);
  }
  return Status::Ok();
}

Status Commands::Execute(size_t index, request::Call& call) {
  // No time is signed: with access control nobody may set the clock.
  RETURN_IF_ERROR(TakeClusterTime(call, !info_.access_control, engine_));
  RETURN_IF_ERROR(CheckReadTimes(call.generic, engine_));
  // What a read sees holds everything up to here.
  call.operation_time = engine_.log().Visible();
  call.summary.profiled = profiler_.Watches(call.database);
  RETURN_IF_ERROR(CheckTransactionUse(call));
  engine::Operation operation{engine_, call.op};
  operation.caller = call.identity.get();
  Invocation invocation{*this, engine_, operation, call};
  std::unique_ptr<Parsed> parsed;
  if (rows_[index]->parse != nullptr) {
    ASSIGN_OR_RETURN(parsed, rows_[index]->parse(invocation));
    invocation.parsed = parsed.get();
  }
  if (info_.access_control) {
    RETURN_IF_ERROR(Authorise(invocation, rows_[index]->access));
  }
  if (call.command.flags & request::kWrite) {
    RETURN_IF_ERROR(write_gate_.Pass(call.op));
    if (cluster_.writes_blocked()) {
      RETURN_IF_ERROR(CheckWritesAllowed(call));
    }
  } else if ((call.command.flags & request::kRead) && call.generic.max_time_ms == 0 &&
             cluster_.read_millis() > 0 && call.command.name != "getMore") {
    call.op.SetDeadline(OpContext::Clock::now() +
                        std::chrono::milliseconds(cluster_.read_millis()));
  }
  const request::Generic& generic = call.generic;
  call.op.memory_limit = static_cast<size_t>(engine_.stage_memory_bytes.load());
  operation.durability = generic.write_concern.given ? DurabilityOf(generic.write_concern)
                                                     : default_concerns_.durability();
  if (generic.read_concern_level == "snapshot" && !generic.in_transaction() &&
      (call.command.flags & request::kReadConcern) != 0) {
    const bson::Value at = generic.read_concern["atClusterTime"];
    ASSIGN_OR_RETURN(operation.snapshot, at.missing() ? engine_.snapshots().Now()
                                                      : engine_.snapshots().At(at.AsTimestamp()));
  }
  std::shared_ptr<engine::Session> session;
  std::unique_lock<std::mutex> lock;
  std::vector<int32_t> statement_ids;
  // Before a login there are no sessions: what names one is run without it.
  const bool stranger = info_.access_control && call.client.login == nullptr;
  if (stranger && generic.txn_number) {
    return {kUnauthorized,
            "Command " + std::string(call.command.name) + " requires authentication"};
  }
  if (!generic.lsid.empty() && !stranger) {
    ASSIGN_OR_RETURN(session, engine_.sessions().Get(generic.lsid));
    operation.session = session.get();
  }
  if (generic.txn_number) {
    lock = std::unique_lock(session->mutex);
    if (generic.in_transaction()) {
      RETURN_IF_ERROR(session->EnterTransaction(
          generic, call.command.name, engine_.catalog(),
          std::chrono::seconds(engine_.transaction_lifetime_seconds.load())));
      operation.in_transaction = session->state() == engine::Session::State::kInProgress;
      RETURN_IF_ERROR(CheckSnapshotTime(engine_, generic, session.get()));
    } else {
      RETURN_IF_ERROR(session->EnterRetryable(*generic.txn_number));
      operation.retryable = true;
      if (fail_points_.armed()) {
        operation.before_commit = [&] { return fail_points_.MeetCommit(call); };
      }
      ReadStatementIds(call.body, &operation.first_statement, &statement_ids);
      operation.statement_ids = statement_ids;
    }
  }
  Status status = rows_[index]->run(invocation);
  if (!status.ok() && operation.in_transaction) {
    session->AbortQuietly();
  }
  if (!status.ok()) {
    return Labelled(status, call, operation.in_transaction);
  }
  if (call.command.flags & request::kWrite) {
    call.operation_time = engine_.clock().Now();
    if (call.database == "admin") {
      accounts_version.fetch_add(1);  // the write may have been to users or roles
    }
    AppendWriteConcernError(generic.write_concern, &call.reply);
  }
  return status;
}

void Commands::FinishReply(const request::Call* call, bson::Builder* reply) {
  if (call != nullptr && (call->command.flags & request::kNoLogicalTime)) {
    return;
  }
  static constexpr char kNoHash[20] = {};
  bson::Timestamp now = engine_.clock().Now();
  bool ran = call != nullptr && call->operation_time != bson::Timestamp();
  reply->BeginDocument("$clusterTime")
      .Append("clusterTime", now)
      .BeginDocument("signature")
      .Append("hash", bson::Value::Binary({kNoHash, sizeof kNoHash}, 0))
      .Append("keyId", int64_t{0})
      .End()
      .End()
      .Append("operationTime", ran ? call->operation_time : engine_.log().Visible());
}

void Commands::Finished(const request::Call& call, const Status& status,
                        std::chrono::microseconds took) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (&rows_[i]->info == &call.command) {
      tallies_[i].total.fetch_add(1, std::memory_order_relaxed);
      tallies_[i].failed.fetch_add(status.ok() ? 0 : 1, std::memory_order_relaxed);
      tallies_[i].micros.fetch_add(took.count(), std::memory_order_relaxed);
      break;
    }
  }
  top_.Record(call, took, engine_.catalog());
  if (info_.auditor != nullptr) {
    info_.auditor->End(call, status, info_.access_control);
  }
  LogIfSlow(call, status, took);
  profiler_.Record(engine_, call, status, took, slow_millis.load(std::memory_order_relaxed));
}

void Commands::Disconnected(request::Client& client) {
  Dispatcher::Disconnected(client);
  if (info_.auditor != nullptr) {
    info_.auditor->Disconnected(client);
  }
}

void Commands::LogIfSlow(const request::Call& call, const Status& status,
                         std::chrono::microseconds took) {
  int64_t limit = slow_millis.load(std::memory_order_relaxed);
  if (limit < 0 || took < std::chrono::milliseconds(limit) ||
      (call.command.flags & request::kHandshake) != 0) {
    return;
  }
  log::Info("COMMAND", "Slow query",
            {{"type", "command"},
             {"ns", call.summary.ns},
             {"remote", call.client.remote()},
             {"command", bson::ToJson(ShownCommand(call.body).view())},
             {"planSummary", call.summary.plan},
             {"keysExamined", call.summary.keys_examined},
             {"docsExamined", call.summary.docs_examined},
             {"nreturned", call.summary.returned},
             {"errName", status.ok() ? std::string() : status.code_name()},
             {"durationMillis", static_cast<int64_t>(took.count() / 1000)}});
}

std::string Commands::automation_descriptor() {
  MutexLock lock(mutex_);
  return automation_descriptor_;
}

void Commands::SetAutomationDescriptor(std::string text) {
  MutexLock lock(mutex_);
  automation_descriptor_ = std::move(text);
}

}  // namespace quire::command
