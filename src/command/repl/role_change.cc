// SPDX-License-Identifier: Apache-2.0
//
// What commands do when the member's role changes, when replication has written what they keep in
// memory, and when the process is about to end.
#include <algorithm>
#include <thread>

#include "base/error_codes.h"
#include "base/log.h"
#include "command/auth/login_state.h"
#include "command/command.h"
#include "command/own_documents.h"
#include "command/repl/set_of_one.h"
#include "command/stored_version.h"
#include "engine/replication.h"

namespace quire::command {

namespace {

using Clock = std::chrono::steady_clock;

int64_t SteadyMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

// A reply that only waits for replication is told by that what became of it.
bool EndsWithRole(const run::RunningOp& op) {
  const request::Call& call = *op.call;
  const bool parked = op.waker != nullptr && call.suspension != nullptr;
  return (call.command.Is(request::kWrite | request::kEndsTransaction) ||
          call.generic.in_transaction()) &&
         !(parked && call.suspension->reply_only);
}

}  // namespace

void Commands::RoleChanged() {
  operations().KillIf(EndsWithRole, kInterruptedDueToReplStateChange);
  engine_.sessions().ForgetAll();
  for (std::string_view ns : {kUsers, kClusterSettings, kQuerySettings}) {
    Applied(ns);
  }
  ConfigurationChanged();
}

void Commands::Applied(std::string_view ns) {
  if (ns == kUsers || ns == kRoles) {
    accounts_version.fetch_add(1);
  } else if (ns == kClusterSettings || ns == kClusterParameters || ns == kVersionNs) {
    cluster_.Load(engine_);
    LoadDefaultConcerns(*this);
  } else if (ns == kQuerySettings) {
    LoadQuerySettings(engine_);
  }
}

void Commands::ConfigurationChanged() {
  if (engine_.replication == nullptr) {
    return;
  }
  const auto status = engine_.replication->status();
  if (!status->initiated) {
    return;
  }
  if (Status kept = SaveOwn(engine_, kConfigurations, status->config); !kept.ok()) {
    log::Warning("REPL", "The configuration is not in local.system.replset",
                 {{"error", kept.message()}});
  }
}

void Commands::Quiesce(std::chrono::milliseconds most) {
  quiesced_at_ = SteadyMillis() + most.count();
  if (engine_.replication != nullptr) {
    engine_.replication->changed.Ring();
  }
  auto busy = [this] {
    bool found = false;
    operations().ForEach([&](const run::RunningOp& op) {
      const bool idle =
          op.waker != nullptr && op.call->suspension != nullptr && op.call->suspension->idle;
      found = found || !idle;
    });
    return found;
  };
  constexpr std::chrono::milliseconds kLook{10};
  while (SteadyMillis() < quiesced_at_.load() && busy()) {
    std::this_thread::sleep_for(kLook);
  }
}

std::optional<std::chrono::milliseconds> Commands::quiesce_left() const {
  const int64_t end = quiesced_at_.load(std::memory_order_relaxed);
  if (end == 0) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::max<int64_t>(0, end - SteadyMillis()));
}

}  // namespace quire::command
