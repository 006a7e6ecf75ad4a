// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/repl/concerns.h"
#include "command/repl/set_view.h"
#include "request/route.h"
#include "run/condition.h"
#include "run/labels.h"

namespace quire::command {

namespace {

using Clock = std::chrono::steady_clock;

// What AwaitConcern refers to, for as long as its answer is wanted.
struct PendingConcern {
  EffectiveConcern concern;
  std::unique_ptr<engine::PendingAnswer> pending;  // goes first
};

// Whether the primary's own commit is all that the concern asks for.
bool HoldsAtOnce(const request::WriteConcern& concern) {
  return concern.w.is_number() && bson::ClampedInt64(concern.w) <= 1;
}

bool IsCommitted(const engine::SetStatus& status, const request::WriteConcern& concern,
                 engine::LogPosition slot) {
  return concern.w.is_string() && concern.w.AsString() == "majority" &&
         status.commit.epoch == slot.epoch && status.commit >= slot;
}

// Whether what the command did, or found done, has to hold before it is told.
bool Waits(const NodeRunning& running) {
  const request::Call& call = running.call;
  if (!running.epoch) {
    return false;
  }
  if (call.generic.in_transaction() && !call.command.Is(request::kEndsTransaction)) {
    return false;
  }
  if (call.command.Is(request::kRead) && !running.invocation.writes) {
    return false;
  }
  // Who could not run, or was stopped, is told so.
  return running.status.ok() ||
         (!run::IsStateChange(running.status.code()) && running.op.CheckInterruptNow().ok());
}

}  // namespace

bson::Document ImplicitConcern(engine::Replication& replication) {
  const auto status = replication.status();
  bson::Builder out;
  if (VotesOf(MembersOf(status->config)).voters > 1) {
    out.Append("w", "majority");
  } else {
    out.Append("w", 1);
  }
  out.Append("wtimeout", 0);
  return out.Finish();
}

EffectiveConcern ConcernOf(Commands& commands, engine::Replication& replication,
                           const request::WriteConcern& given) {
  std::optional<bson::Document> general;
  bson::Document implicit;
  if (!given.given || given.w.missing()) {
    general = commands.default_concerns().Get().write;
    implicit = general ? bson::Document() : ImplicitConcern(replication);
  }
  const bson::View otherwise = general ? general->view() : implicit.view();
  const bson::Value general_journal = otherwise["j"];
  const bool journal =
      given.given ? given.journal : !general_journal.missing() && Truthy(general_journal);
  const int64_t timeout = given.given ? given.wtimeout : bson::ClampedInt64(otherwise["wtimeout"]);
  bson::Builder out;
  out.Append("w", given.w.missing() ? otherwise["w"] : given.w);
  if (journal) {
    out.Append("j", true);
  }
  out.Append("wtimeout", static_cast<int32_t>(std::max<int64_t>(0, timeout)))
      .Append("provenance", given.given ? "clientSupplied"
                            : general   ? "customDefault"
                                        : "implicitDefault");
  EffectiveConcern effective{out.Finish(), {}};
  effective.concern.w = effective.shown["w"];
  effective.concern.journal = journal;
  effective.concern.journal_given = given.given ? given.journal_given : !general_journal.missing();
  effective.concern.wtimeout = std::max<int64_t>(0, timeout);
  effective.concern.given = true;
  effective.concern.present = true;
  return effective;
}

bool WaitsForOwnDisk(const request::WriteConcern& concern) {
  return concern.journal && HoldsAtOnce(concern);
}

Status AwaitReplicated(NodeRunning& running, engine::Replication& replication) {
  request::Call& call = running.call;
  if (!Waits(running)) {
    return Status::Ok();
  }
  engine::LogPosition slot = replication.data().LastSlot();
  call.operation_time = TimeOf(slot);
  // Nothing was written in this term yet: what the terms before left has to be committed in it.
  slot.epoch = std::max(slot.epoch, *running.epoch);
  auto pending = std::make_shared<PendingConcern>();
  pending->concern =
      ConcernOf(running.invocation.commands, replication, call.generic.write_concern);
  pending->concern.concern.w = pending->concern.shown["w"];
  const request::WriteConcern& concern = pending->concern.concern;
  if (HoldsAtOnce(concern)) {
    return Status::Ok();
  }
  const auto status = replication.status();
  Status possible = replication.CheckWriteConcern(concern);
  if (possible.ok() && slot.epoch != *running.epoch) {
    possible = {kPrimarySteppedDown, "Primary stepped down while waiting for replication"};
  }
  if (!possible.ok()) {
    call.write_concern_error = run::ConcernError(possible, pending->concern.shown);
    return Status::Ok();
  }
  if (IsCommitted(*status, concern, slot)) {
    return Status::Ok();
  }
  auto answer = std::make_shared<run::Answer>();
  pending->pending = replication.AwaitConcern(
      slot, concern, [answer](Status given) { answer->Give(std::move(given)); });
  if (const std::optional<Status> given = answer->status(); given && given->ok()) {
    return Status::Ok();
  }
  const auto until = concern.wtimeout > 0
                         ? Clock::now() + std::chrono::milliseconds(concern.wtimeout)
                         : Clock::time_point::max();
  bson::Document shown = pending->concern.shown;
  run::AwaitCondition(std::make_unique<run::Answered>(std::move(answer), std::move(pending)), until,
                      call, std::move(shown));
  return Status::Ok();
}

}  // namespace quire::command
