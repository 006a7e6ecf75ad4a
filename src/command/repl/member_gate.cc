// SPDX-License-Identifier: Apache-2.0
#include "command/repl/member_gate.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "request/fields.h"
#include "request/route.h"
#include "run/condition.h"
#include "run/gates.h"

namespace quire::command {

namespace {

using engine::MemberState;
using request::Call;

// Whether $readPreference lets a secondary answer.
Result<bool> PrefersSecondary(bson::View body) {
  const bson::Element given = body.Find("$readPreference");
  if (!given.present() || given.value().nullish()) {
    return false;
  }
  if (given.type() != bson::Type::kDocument) {
    return Status(kTypeMismatch, "$readPreference has incorrect type: expected object but got " +
                                     std::string(bson::TypeName(given.type())));
  }
  const bson::Value mode = given.value().AsDocument()["mode"];
  if (mode.missing()) {
    return false;
  }
  for (std::string_view name : {"primaryPreferred", "secondary", "secondaryPreferred", "nearest"}) {
    if (mode.is_string() && mode.AsString() == name) {
      return true;
    }
  }
  if (mode.is_string() && mode.AsString() == "primary") {
    return false;
  }
  return Status(kFailedToParse, "Could not parse $readPreference mode '" +
                                    (mode.is_string() ? std::string(mode.AsString()) : "") + "'");
}

// Whether only a primary may run it, whatever the client prefers.
bool IsForPrimary(const Call& call) {
  return call.command.Is(request::kWrite | request::kOnPrimary) || call.generic.in_transaction() ||
         (call.command.Is(request::kWriteConcern) && !call.command.Is(request::kRead));
}

Status CheckPreference(const Call& call) {
  if (IsForPrimary(call)) {
    return {kNotWritablePrimary, "not primary"};
  }
  if (call.generic.read_concern_level == "linearizable") {
    return {kNotWritablePrimary, "cannot satisfy linearizable read concern on non-primary node"};
  }
  if (call.command.Is(request::kOnEveryMember)) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(const bool preferred, PrefersSecondary(call.body));
  return preferred ? Status::Ok()
                   : Status(kNotPrimaryNoSecondaryOk, "not primary and secondaryOk=false");
}

// A leader that does not take writes yet shows itself as a secondary.
Status CheckState(MemberState state) {
  switch (state) {
    case MemberState::kPrimary:
    case MemberState::kSecondary:
      return Status::Ok();
    case MemberState::kRecovering:
    case MemberState::kRollback:
    case MemberState::kStartup2:
      return {kNotPrimaryOrSecondary, "node is recovering"};
    default:
      return {kNotPrimaryOrSecondary, "node is not in primary or recovering state"};
  }
}

}  // namespace

Status AllowOnMember(NodeRunning& running, engine::Replication& replication) {
  const Call& call = running.call;
  if (call.database == "local") {  // each member's own
    return Status::Ok();
  }
  const bool may_write =
      call.command.Is(request::kWrite | request::kOnPrimary | request::kWriteConcern) ||
      call.generic.in_transaction();
  if (may_write && replication.writes_paused()) {
    run::AwaitBell(
        replication.changed, [&replication] { return replication.writes_paused(); }, running,
        run::AllowHere);
    return Status::Ok();
  }
  const auto status = replication.status();
  if (status->writable) {
    if (may_write) {
      running.epoch = status->epoch;
    }
    return Status::Ok();
  }
  RETURN_IF_ERROR(CheckPreference(call));
  return CheckState(status->state);
}

}  // namespace quire::command
