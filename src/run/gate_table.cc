// SPDX-License-Identifier: Apache-2.0
//
// The table of the gates, and those that ask the backend alone.
#include "request/route.h"
#include "run/backend.h"
#include "run/dispatcher.h"
#include "run/gates.h"
#include "run/labels.h"
#include "run/running.h"

namespace quire::run {

namespace {

using request::kAdminOnly;
using request::kOnPrimary;
using request::kRead;
using request::kTestOnly;
using request::kWrite;
using request::kWriteConcern;

// The order is the order of the errors that a client sees, and of what is done before what.
constexpr Gate kGates[] = {
    {"repeated fields", RefuseRepeatedFields},
    {"database name", RefuseDatabaseName},
    {"arguments", ReadArguments},
    {"help", AnswerHelp},
    {"allowed in a transaction", CheckAllowedInTransaction},
    {"database", CheckDatabase, kAdminOnly},
    {"concerns", CheckConcerns},
    {"stable API", CheckStableApi},
    {"time limit", SetTimeLimit},
    {"running operations", RegisterOperation},
    {"test command", CheckTestCommand, kTestOnly},
    {"test version", CheckTestVersion},
    {"memory", CheckMemory, kRead | kWrite},
    {"audit begins", BeginAudit},
    {"fail point: time limit", MeetTimeLimitPoint},
    {"fail point: command", MeetCommandPoint},
    {"fail point: end", EndByCommandPoint},
    {"cluster time", TakeClusterTime},
    {"read times", CheckReadTimes},
    {"visible time", TakeVisibleTime},
    {"profiling", NoteProfiling},
    {"transaction rules", CheckTransactionUse},
    {"parse", Parse},
    {"access", CheckAccess},
    {"member", AllowHere, kRead | kWrite | kWriteConcern | kOnPrimary},
    {"writes", AllowWrite, kWrite},
    {"default time limit", SetDefaultTimeLimit, kRead},
    {"session", FindSession},
    {"limits and concerns", Prepare},
    {"session checkout", CheckOutSession},
    {"transaction", EnterTransaction},
    {"run", RunCommand},
    {"read", ConfirmRead, kRead},
    {"abort", AbortTransaction, 0, Gate::kIfFailed},
    {"labels", LabelError, 0, Gate::kIfFailed},
    {"written", NoteWritten, kWrite},
    {"session back", GiveSessionBack, 0, Gate::kAlways},
    {"fail point: reply", HoldReplyByPoint, kWrite | kWriteConcern, Gate::kAlways},
    {"write concern", AwaitWriteConcern, kWrite | kWriteConcern | kOnPrimary, Gate::kAlways},
    {"fail point: write concern", AddFailedWriteConcern, 0, Gate::kAlways},
};

}  // namespace

std::span<const Gate> Gates() { return kGates; }

std::vector<Gate> GatesFor(const request::CommandInfo& command) {
  std::vector<Gate> gates;
  for (const Gate& gate : kGates) {
    if (gate.rows == 0 || command.Is(gate.rows)) {
      gates.push_back(gate);
    }
  }
  return gates;
}

Status BeginAudit(Running& running) {
  return running.dispatcher.backend().AuditBegins(running.call);
}

Status NoteProfiling(Running& running) {
  running.call.summary.profiled = running.dispatcher.profiler().Watches(running.call.database);
  return Status::Ok();
}

Status Parse(Running& running) { return running.dispatcher.backend().Parse(running); }

Status CheckAccess(Running& running) {
  Backend& backend = running.dispatcher.backend();
  return backend.access_control() ? backend.Authorise(running) : Status::Ok();
}

Status AllowHere(Running& running) { return running.dispatcher.backend().AllowHere(running); }

Status AllowWrite(Running& running) { return running.dispatcher.backend().AllowWrite(running); }

Status SetDefaultTimeLimit(Running& running) {
  const request::Call& call = running.call;
  const auto time = running.dispatcher.backend().default_read_time();
  if (time.count() > 0 && call.generic.max_time_ms == 0 &&
      !call.command.Is(kWrite | request::kOwnTimeLimit)) {
    running.op.SetDeadline(OpContext::Clock::now() + time);
  }
  return Status::Ok();
}

Status Prepare(Running& running) { return running.dispatcher.backend().Prepare(running); }

Status RunCommand(Running& running) {
  running.ran = true;
  return running.dispatcher.backend().Run(running);
}

Status ConfirmRead(Running& running) { return running.dispatcher.backend().ConfirmRead(running); }

// Errors of gates before the command have the labels that those gave them, but for those about the
// node's role: what they refuse may be tried again elsewhere.
Status LabelError(Running& running) {
  const Backend& backend = running.dispatcher.backend();
  if (running.ran) {
    return Labelled(running.status, running.call, running.aborted, backend);
  }
  const bool by_fail_point = running.failure && running.failure->code == running.status.code();
  return IsStateChange(running.status.code()) && !by_fail_point
             ? Labelled(running.status, running.call, running.call.generic.in_transaction(),
                        backend)
             : Status::Ok();
}

Status NoteWritten(Running& running) {
  running.dispatcher.backend().Written(running);
  return Status::Ok();
}

Status AwaitWriteConcern(Running& running) {
  return running.ran ? running.dispatcher.backend().AwaitWriteConcern(running) : Status::Ok();
}

}  // namespace quire::run
