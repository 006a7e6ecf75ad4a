// SPDX-License-Identifier: Apache-2.0
#include "command/repl/set_view.h"

#include <algorithm>

#include "bson/number.h"
#include "command/values.h"

namespace quire::command {

namespace {

using engine::MemberState;

bool FlagOf(bson::View member, std::string_view name, bool otherwise) {
  const bson::Value value = member[name];
  return value.missing() ? otherwise : Truthy(value);
}

template <typename T>
T NumberOf(bson::View document, std::string_view name, T otherwise) {
  const bson::Value value = document[name];
  return value.is_number() ? static_cast<T>(bson::ToDouble(value)) : otherwise;
}

SetMember ReadMember(bson::View stored) {
  SetMember member;
  member.id = NumberOf<int>(stored, "_id", -1);
  if (const bson::Value host = stored["host"]; host.is_string()) {
    member.host = host.AsString();
  }
  member.priority = NumberOf<double>(stored, "priority", 1);
  member.votes = NumberOf<int>(stored, "votes", 1);
  member.hidden = FlagOf(stored, "hidden", false);
  member.arbiter = FlagOf(stored, "arbiterOnly", false);
  member.builds_indexes = FlagOf(stored, "buildIndexes", true);
  member.delay_seconds = NumberOf<int64_t>(stored, "secondaryDelaySecs", 0);
  if (const bson::Value tags = stored["tags"]; tags.is_document()) {
    member.tags = tags.AsDocument();
  }
  return member;
}

template <typename Filter>
void AppendHosts(bson::Builder& reply, std::string_view name, bool even_if_empty,
                 const std::vector<SetMember>& members, Filter filter) {
  if (!even_if_empty && std::none_of(members.begin(), members.end(), filter)) {
    return;
  }
  reply.BeginArray(name);
  for (const SetMember& member : members) {
    if (filter(member)) {
      reply.Push(member.host);
    }
  }
  reply.End();
}

// An id that sorts with the term.
bson::ObjectId ElectionId(uint64_t epoch) {
  bson::ObjectId id;
  id.bytes = {0x7f, 0xff, 0xff, 0xff};
  for (size_t i = 0; i < 8; ++i) {
    id.bytes[4 + i] = static_cast<uint8_t>(epoch >> (56 - 8 * i));
  }
  return id;
}

void AppendSelf(bson::Builder& reply, const SetMember& self) {
  if (self.arbiter) {
    reply.Append("arbiterOnly", true);
  }
  if (self.priority == 0) {
    reply.Append("passive", true);
  }
  if (self.hidden) {
    reply.Append("hidden", true);
  }
  if (!self.builds_indexes) {
    reply.Append("buildIndexes", false);
  }
  if (self.delay_seconds != 0) {
    reply.Append("secondaryDelaySecs", self.delay_seconds);
  }
  if (!self.tags.empty()) {
    reply.Append("tags", self.tags);
  }
  reply.Append("me", self.host);
}

}  // namespace

std::vector<SetMember> MembersOf(bson::View config) {
  std::vector<SetMember> members;
  if (const bson::Value list = config["members"]; list.is_array()) {
    for (const bson::Element& e : list.AsArray()) {
      if (e.value().is_document()) {
        members.push_back(ReadMember(e.value().AsDocument()));
      }
    }
  }
  return members;
}

const SetMember* FindMember(const std::vector<SetMember>& members, int id) {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [id](const SetMember& member) { return member.id == id; });
  return found == members.end() ? nullptr : &*found;
}

const engine::MemberStatus* FindStatus(const engine::SetStatus& status, int id) {
  const auto found =
      std::find_if(status.members.begin(), status.members.end(),
                   [id](const engine::MemberStatus& member) { return member.id == id; });
  return found == status.members.end() ? nullptr : &*found;
}

Votes VotesOf(const std::vector<SetMember>& members, int newly_added) {
  const auto given = static_cast<int>(std::count_if(
      members.begin(), members.end(), [](const SetMember& m) { return m.votes > 0; }));
  const int voters = given - newly_added;
  return {voters, voters / 2 + 1};
}

std::string_view StateName(MemberState state) {
  switch (state) {
    case MemberState::kStartup:
      return "STARTUP";
    case MemberState::kPrimary:
      return "PRIMARY";
    case MemberState::kSecondary:
      return "SECONDARY";
    case MemberState::kRecovering:
      return "RECOVERING";
    case MemberState::kStartup2:
      return "STARTUP2";
    case MemberState::kDown:
      return "(not reachable/healthy)";
    case MemberState::kRollback:
      return "ROLLBACK";
    case MemberState::kRemoved:
      return "REMOVED";
    case MemberState::kUnknown:
      break;
  }
  return "UNKNOWN";
}

bson::Timestamp TimeOf(engine::LogPosition position) {
  return {static_cast<uint32_t>(position.time >> 32), static_cast<uint32_t>(position.time)};
}

void AppendOpTime(bson::Builder& reply, std::string_view name, engine::LogPosition position) {
  reply.BeginDocument(name)
      .Append("ts", TimeOf(position))
      .Append("t", position.epoch == 0 ? int64_t{-1} : static_cast<int64_t>(position.epoch))
      .End();
}

// A primary has applied what it has handed out, which the status may not tell yet.
LastApplied LastAppliedOf(engine::Replication& replication, const engine::SetStatus& status) {
  engine::LogPosition last = status.applied;
  if (status.writable) {
    last = std::max(last, replication.data().LastSlot());
  }
  return {last, WallOf(replication, last)};
}

bson::Date WallOf(engine::Replication& replication, engine::LogPosition position) {
  return {replication.data().WallOf(position.time)};
}

const bson::ObjectId& ProcessId() {
  static const bson::ObjectId id = bson::ObjectId::Generate();
  return id;
}

void AppendTopologyVersion(bson::Builder& reply, int64_t counter) {
  reply.BeginDocument("topologyVersion")
      .Append("processId", ProcessId())
      .Append("counter", counter)
      .End();
}

void AppendSetMember(bson::Builder& reply, std::string_view primary_field,
                     engine::Replication& replication, const engine::SetStatus& status,
                     bool quiescing) {
  const std::vector<SetMember> members =
      status.initiated ? MembersOf(status.config) : std::vector<SetMember>();
  const SetMember* self = FindMember(members, status.self);
  if (self == nullptr) {
    reply.Append(primary_field, false)
        .Append("secondary", false)
        .Append("info", "Does not have a valid replica set config")
        .Append("isreplicaset", true);
    return;
  }
  AppendHosts(reply, "hosts", true, members,
              [](const SetMember& m) { return !m.hidden && !m.arbiter && m.priority > 0; });
  AppendHosts(reply, "passives", false, members,
              [](const SetMember& m) { return !m.hidden && !m.arbiter && m.priority == 0; });
  AppendHosts(reply, "arbiters", false, members,
              [](const SetMember& m) { return !m.hidden && m.arbiter; });
  const bool primary = status.writable && !quiescing;
  const bool leads = status.state == MemberState::kPrimary;
  const bool secondary = status.state == MemberState::kSecondary || (leads && !primary);
  reply.Append("setName", replication.set_name())
      .Append("setVersion", NumberOf<int32_t>(status.config, "version", 1))
      .Append(primary_field, primary)
      .Append("secondary", secondary);
  if (const SetMember* leader = FindMember(members, status.primary);
      leader != nullptr && !(quiescing && leader == self)) {
    reply.Append("primary", leader->host);
  }
  AppendSelf(reply, *self);
  if (primary) {
    reply.Append("electionId", ElectionId(status.epoch));
  }
  const LastApplied last = LastAppliedOf(replication, status);
  reply.BeginDocument("lastWrite");
  AppendOpTime(reply, "opTime", last.position);
  reply.Append("lastWriteDate", last.wall);
  AppendOpTime(reply, "majorityOpTime", status.commit);
  reply.Append("majorityWriteDate", WallOf(replication, status.commit)).End();
}

}  // namespace quire::command
