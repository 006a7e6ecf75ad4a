// SPDX-License-Identifier: Apache-2.0
//
// replSetGetStatus and replSetGetRBID.
#include <algorithm>

#include "base/error_codes.h"
#include "bson/number.h"
#include "command/repl/commands.h"
#include "command/repl/set_of_one.h"
#include "command/repl/set_view.h"
#include "command/values.h"

namespace quire::command::repl {

namespace {

using engine::LogPosition;
using engine::MemberState;
using engine::MemberStatus;
using engine::SetStatus;

bson::Date DateOf(LogPosition position) {
  return {static_cast<int64_t>(TimeOf(position).seconds) * 1000};
}

Status NotInitiated() {
  bson::Builder extra;
  extra.Append("info", "run rs.initiate(...) if not yet done for the set")
      .Append("startupStatus", 3);
  return Status(kNotYetInitialized, "no replset config has been received")
      .WithExtra(extra.Finish().bytes());
}

int32_t VersionOf(const SetStatus& status) {
  return static_cast<int32_t>(bson::ClampedInt64(status.config["version"]));
}

int64_t SettingOf(const SetStatus& status, std::string_view name) {
  const bson::Value settings = status.config["settings"];
  return settings.is_document() ? bson::ClampedInt64(settings.AsDocument()[name]) : 0;
}

// Whom the member follows; a primary nobody.
const SetMember* SourceOf(const SetStatus& status, const std::vector<SetMember>& members, int id) {
  const MemberStatus* member = FindStatus(status, id);
  const bool follows = member != nullptr && (member->self || member->healthy) &&
                       id != status.primary && status.primary != -1;
  return follows ? FindMember(members, status.primary) : nullptr;
}

void AppendSource(bson::Builder& reply, const SetMember* source) {
  reply.Append("syncSourceHost", source == nullptr ? std::string_view() : source->host)
      .Append("syncSourceId", source == nullptr ? -1 : source->id);
}

void AppendOptimes(bson::Builder& reply, engine::Replication& replication, const SetStatus& status,
                   const LastApplied& last) {
  const auto self = std::find_if(status.members.begin(), status.members.end(),
                                 [](const MemberStatus& member) { return member.self; });
  const LogPosition durable = self == status.members.end() ? status.commit : self->written;
  reply.BeginDocument("optimes");
  AppendOpTime(reply, "lastCommittedOpTime", status.commit);
  reply.Append("lastCommittedWallTime", WallOf(replication, status.commit));
  AppendOpTime(reply, "readConcernMajorityOpTime", status.commit);
  AppendOpTime(reply, "appliedOpTime", last.position);
  AppendOpTime(reply, "durableOpTime", durable);
  AppendOpTime(reply, "writtenOpTime", std::max(status.last, last.position));
  reply.Append("lastAppliedWallTime", last.wall)
      .Append("lastDurableWallTime", WallOf(replication, durable))
      .Append("lastWrittenWallTime", last.wall)
      .End();
}

void AppendElection(bson::Builder& reply, const SetStatus& status, const SetMember& self,
                    const Votes& votes) {
  const bson::Date when{status.election_wall_millis};
  reply.BeginDocument("electionCandidateMetrics")
      .Append("lastElectionReason", "electionTimeout")
      .Append("lastElectionDate", when)
      .Append("electionTerm", static_cast<int64_t>(status.epoch));
  AppendOpTime(reply, "lastCommittedOpTimeAtElection", status.committed_at_election);
  AppendOpTime(reply, "lastSeenWrittenOpTimeAtElection", status.seen_at_election);
  AppendOpTime(reply, "lastSeenOpTimeAtElection", status.applied_at_election);
  reply.Append("numVotesNeeded", votes.majority)
      .Append("priorityAtElection", self.priority)
      .Append("electionTimeoutMillis", SettingOf(status, "electionTimeoutMillis"))
      .Append("numCatchUpOps", int64_t{0})
      .Append("newTermStartDate", when)
      .Append("wMajorityWriteAvailabilityDate", when)
      .End();
}

// Nobody wins who lacks what is committed: the most in the set is that much at least.
void AppendParticipation(bson::Builder& reply, const SetStatus& status, const SetMember& self) {
  reply.BeginDocument("electionParticipantMetrics")
      .Append("votedForCandidate", status.primary != -1)
      .Append("electionTerm", static_cast<int64_t>(status.epoch))
      .Append("lastVoteDate", bson::Date{status.election_wall_millis})
      .Append("electionCandidateMemberId", status.primary)
      .Append("voteReason", "");
  const LogPosition& written = status.seen_at_election;
  const LogPosition& applied = status.applied_at_election;
  AppendOpTime(reply, "lastWrittenOpTimeAtElection", written);
  AppendOpTime(reply, "maxWrittenOpTimeInSet", std::max(written, status.committed_at_election));
  AppendOpTime(reply, "lastAppliedOpTimeAtElection", applied);
  AppendOpTime(reply, "maxAppliedOpTimeInSet", std::max(applied, status.committed_at_election));
  reply.Append("priorityAtElection", self.priority).End();
}

// What this member knows of itself.
void AppendSelf(bson::Builder& reply, const SetStatus& status, const LastApplied& last,
                const std::vector<SetMember>& members, const SetMember& self) {
  AppendOpTime(reply, "optime", last.position);
  reply.Append("optimeDate", DateOf(last.position));
  AppendOpTime(reply, "optimeWritten", std::max(status.last, last.position));
  reply.Append("optimeWrittenDate", DateOf(std::max(status.last, last.position)))
      .Append("lastAppliedWallTime", last.wall)
      .Append("lastDurableWallTime", last.wall)
      .Append("lastWrittenWallTime", last.wall);
  AppendSource(reply, SourceOf(status, members, self.id));
  const MemberStatus* known = FindStatus(status, self.id);
  reply.Append("infoMessage", known == nullptr ? std::string_view() : known->message);
  if (status.state == MemberState::kPrimary) {
    reply.Append("electionTime", TimeOf(status.election))
        .Append("electionDate", DateOf(status.election));
  }
  reply.Append("configVersion", VersionOf(status))
      .Append("configTerm", static_cast<int32_t>(bson::ClampedInt64(status.config["term"])))
      .Append("self", true)
      .Append("lastHeartbeatMessage", "");
}

void AppendOther(bson::Builder& reply, engine::Replication& replication, const SetStatus& status,
                 const MemberStatus& other, const std::vector<SetMember>& members) {
  AppendOpTime(reply, "optime", other.applied);
  AppendOpTime(reply, "optimeDurable", other.written);
  AppendOpTime(reply, "optimeWritten", other.written);
  const bson::Date applied = WallOf(replication, other.applied);
  const bson::Date written = WallOf(replication, other.written);
  reply.Append("optimeDate", DateOf(other.applied))
      .Append("optimeDurableDate", DateOf(other.written))
      .Append("optimeWrittenDate", DateOf(other.written))
      .Append("lastAppliedWallTime", applied)
      .Append("lastDurableWallTime", written)
      .Append("lastWrittenWallTime", written)
      .Append("lastHeartbeat", bson::Date{other.last_heartbeat_millis})
      .Append("lastHeartbeatRecv", bson::Date{other.last_heartbeat_received_millis})
      .Append("pingMs", other.ping_millis)
      .Append("lastHeartbeatMessage", other.message);
  AppendSource(reply, SourceOf(status, members, other.id));
  reply.Append("infoMessage", "");
  if (other.state == MemberState::kPrimary) {
    reply.Append("electionTime", TimeOf(status.election))
        .Append("electionDate", DateOf(status.election));
  }
  reply.Append("configVersion", static_cast<int32_t>(other.config_version))
      .Append("configTerm", static_cast<int32_t>(bson::ClampedInt64(status.config["term"])));
}

void AppendMembers(bson::Builder& reply, engine::Replication& replication, const SetStatus& status,
                   const LastApplied& last, const std::vector<SetMember>& members) {
  static const MemberStatus kUnheard;
  reply.BeginArray("members");
  for (const SetMember& member : members) {
    const MemberStatus* found = FindStatus(status, member.id);
    const MemberStatus& known = found == nullptr ? kUnheard : *found;
    const bool self = member.id == status.self;
    const MemberState state = self            ? status.state
                              : known.healthy ? known.state
                                              : MemberState::kDown;
    reply.PushDocument()
        .Append("_id", member.id)
        .Append("name", member.host)
        .Append("health", self || known.healthy ? 1.0 : 0.0)
        .Append("state", static_cast<int32_t>(state))
        .Append("stateStr", StateName(state))
        .Append("uptime", static_cast<int32_t>(known.uptime_seconds));
    if (self) {
      AppendSelf(reply, status, last, members, member);
    } else {
      AppendOther(reply, replication, status, known, members);
    }
    reply.End();
  }
  reply.End();
}

}  // namespace

Status GetStatus(Invocation& i) {
  if (i.engine.replication == nullptr) {
    return set_of_one::GetStatus(i);
  }
  engine::Replication& replication = *i.engine.replication;
  const auto status = replication.status();
  if (!status->initiated) {
    return NotInitiated();
  }
  const std::vector<SetMember> members = MembersOf(status->config);
  const SetMember* self = FindMember(members, status->self);
  if (self == nullptr) {
    return {kInvalidReplicaSetConfig,
            "Our replica set config is invalid or we are not a member of it"};
  }
  const Votes votes = VotesOf(members, status->newly_added);
  const LastApplied last = LastAppliedOf(replication, *status);
  bson::Builder& reply = i.reply();
  reply.Append("set", replication.set_name())
      .Append("date", WallClock())
      .Append("myState", static_cast<int32_t>(status->state))
      .Append("term", static_cast<int64_t>(status->epoch));
  AppendSource(reply, SourceOf(*status, members, status->self));
  reply.Append("heartbeatIntervalMillis", SettingOf(*status, "heartbeatIntervalMillis"))
      .Append("majorityVoteCount", votes.majority)
      .Append("writeMajorityCount", votes.majority)
      .Append("votingMembersCount", votes.voters)
      .Append("writableVotingMembersCount", votes.voters);
  AppendOptimes(reply, replication, *status, last);
  reply.Append("lastStableRecoveryTimestamp", TimeOf(status->commit));
  if (status->state == MemberState::kPrimary) {
    AppendElection(reply, *status, *self, votes);
  } else if (status->election_wall_millis != 0) {
    AppendParticipation(reply, *status, *self);
  }
  AppendMembers(reply, replication, *status, last, members);
  return Status::Ok();
}

// A node without others rolls nothing back.
Status GetRollbackId(Invocation& i) {
  const SetStatus alone;
  i.reply().Append("rbid", i.engine.replication == nullptr
                               ? alone.rollback_id
                               : i.engine.replication->status()->rollback_id);
  return Status::Ok();
}

}  // namespace quire::command::repl
