// SPDX-License-Identifier: Apache-2.0
//
// The gates that each request passes, in the order of one table (gate_table.cc). A gate is a small
// function: it lets the request through (Ok), refuses it with an error, answers it (Running::done)
// or leaves a suspension in the call, after which the request goes on behind the gate.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quire/status.h"
#include "request/call.h"
#include "run/running.h"

namespace quire::run {

struct Gate {
  enum When : uint8_t { kUnlessFailed = 1, kIfFailed = 2, kAlways = 3 };

  std::string_view name;
  Status (*pass)(Running& running);
  uint32_t rows = 0;  // only commands with one of these flags; 0: all
  When when = kUnlessFailed;
};

// All of them.
std::span<const Gate> Gates();
// The gates that stand in the way of one command.
std::vector<Gate> GatesFor(const request::CommandInfo& command);

// --- arguments.cc: what every command takes ---
Status RefuseRepeatedFields(Running& running);
Status RefuseDatabaseName(Running& running);
Status ReadArguments(Running& running);
Status AnswerHelp(Running& running);
Status CheckDatabase(Running& running);
Status CheckAllowedInTransaction(Running& running);
Status CheckConcerns(Running& running);
Status CheckStableApi(Running& running);
Status SetTimeLimit(Running& running);
Status RegisterOperation(Running& running);
Status CheckTestCommand(Running& running);
Status CheckTestVersion(Running& running);
Status CheckMemory(Running& running);

// --- fail_point_gates.cc ---
Status MeetTimeLimitPoint(Running& running);
Status MeetCommandPoint(Running& running);
Status EndByCommandPoint(Running& running);
Status HoldReplyByPoint(Running& running);
Status AddFailedWriteConcern(Running& running);

// --- cluster_time.cc ---
Status TakeClusterTime(Running& running);
Status CheckReadTimes(Running& running);
Status TakeVisibleTime(Running& running);

// --- transaction_gates.cc ---
Status CheckTransactionUse(Running& running);
Status FindSession(Running& running);
Status CheckOutSession(Running& running);
Status EnterTransaction(Running& running);
Status AbortTransaction(Running& running);
Status GiveSessionBack(Running& running);

// --- gate_table.cc ---
Status BeginAudit(Running& running);
Status NoteProfiling(Running& running);
Status Parse(Running& running);
Status CheckAccess(Running& running);
Status AllowHere(Running& running);
Status AllowWrite(Running& running);
Status SetDefaultTimeLimit(Running& running);
Status Prepare(Running& running);
Status RunCommand(Running& running);
Status ConfirmRead(Running& running);
Status NoteWritten(Running& running);
Status AwaitWriteConcern(Running& running);

// --- labels.cc ---
Status LabelError(Running& running);

}  // namespace quire::run
