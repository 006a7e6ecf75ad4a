// SPDX-License-Identifier: Apache-2.0
//
// A replica set as replies show it: members of the configuration, optimes, the version of the
// topology.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.h"
#include "engine/replication.h"
#include "quire/bson.h"

namespace quire::command {

// A member as the configuration describes it. Refers to the configuration's bytes.
struct SetMember {
  int id = -1;
  std::string_view host;
  double priority = 1;
  int votes = 1;
  bool hidden = false;
  bool arbiter = false;
  bool builds_indexes = true;
  int64_t delay_seconds = 0;
  bson::View tags;
};

// In the configuration's order; empty before there is one.
std::vector<SetMember> MembersOf(bson::View config);
// Null when there is none of that id.
const SetMember* FindMember(const std::vector<SetMember>& members, int id);

// What is known of it; null when nothing is.
const engine::MemberStatus* FindStatus(const engine::SetStatus& status, int id);

// The votes of a configuration, but for those that do not count yet, and how many of them decide.
struct Votes {
  int voters = 0;
  int majority = 0;
};
Votes VotesOf(const std::vector<SetMember>& members, int newly_added = 0);

std::string_view StateName(engine::MemberState state);
bson::Timestamp TimeOf(engine::LogPosition position);

// Appends {ts, t}; of no position yet {ts: 0, t: -1}, and t is -1 before the first term, too.
void AppendOpTime(bson::Builder& reply, std::string_view name, engine::LogPosition position);

// The end of what a member has applied, and when that was written.
struct LastApplied {
  engine::LogPosition position;
  bson::Date wall;
};
LastApplied LastAppliedOf(engine::Replication& replication, const engine::SetStatus& status);
// When that slot was written, by the clock of the primary that wrote it.
bson::Date WallOf(engine::Replication& replication, engine::LogPosition position);

// The process, among all that ever served under this address.
const bson::ObjectId& ProcessId();
void AppendTopologyVersion(bson::Builder& reply, int64_t counter);

// The fields of hello and serverStatus.repl that speak of the set. While the process ends
// (`quiescing`) a primary shows itself as a secondary.
void AppendSetMember(bson::Builder& reply, std::string_view primary_field,
                     engine::Replication& replication, const engine::SetStatus& status,
                     bool quiescing);

}  // namespace quire::command
