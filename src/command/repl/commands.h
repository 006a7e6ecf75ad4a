// SPDX-License-Identifier: Apache-2.0
//
// The commands about replica sets; rows.cc lists them. Those of a node without others answer as the
// only member of a set would.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "command/command.h"
#include "engine/replication.h"
#include "quire/status.h"
#include "run/condition.h"

namespace quire::command::repl {

Status GetStatus(Invocation& invocation);
Status GetConfig(Invocation& invocation);
Status GetRollbackId(Invocation& invocation);
Status Initiate(Invocation& invocation);
Status Reconfig(Invocation& invocation);
Status StepDown(Invocation& invocation);
Status StepUp(Invocation& invocation);
Status Freeze(Invocation& invocation);
Status Maintenance(Invocation& invocation);
Status SyncFrom(Invocation& invocation);
Status ResizeOplog(Invocation& invocation);
Status AbortPrimaryCatchUp(Invocation& invocation);
Status AppendOplogNote(Invocation& invocation);
Status Message(Invocation& invocation);

// Calls `ask` with a function that takes the answer, and lets the request wait for it without a
// thread. `then` gets the answer's status and says how the command ends.
template <typename Ask>
Status AwaitAnswer(
    Invocation& i, Ask ask, run::Then then = [](Status status) { return status; }) {
  auto answer = std::make_shared<run::Answer>();
  ask([answer](Status status) { answer->Give(std::move(status)); });
  if (std::optional<Status> given = answer->status()) {
    return then(*std::move(given));
  }
  run::AwaitAnswer(std::move(answer), nullptr, i.call, std::move(then));
  return Status::Ok();
}

}  // namespace quire::command::repl
