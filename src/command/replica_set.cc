// SPDX-License-Identifier: Apache-2.0
//
// The face of a replica set with one member, this one.
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/access.h"
#include "command/diagnostic.h"

namespace quire::command {
namespace {

void AppendOpTime(bson::Builder& reply, std::string_view name, bson::Timestamp time) {
  reply.BeginDocument(name).Append("ts", time).Append("t", int64_t{1}).End();
}

void AppendConfig(Invocation& i) {
  i.reply()
      .BeginDocument("config")
      .Append("_id", i.commands.info().set_name)
      .Append("version", 1)
      .Append("term", 1)
      .BeginArray("members")
      .PushDocument()
      .Append("_id", 0)
      .Append("host", ReachedAs(i))
      .Append("arbiterOnly", false)
      .Append("buildIndexes", true)
      .Append("hidden", false)
      .Append("priority", 1)
      .BeginDocument("tags")
      .End()
      .Append("secondaryDelaySecs", int64_t{0})
      .Append("votes", 1)
      .End()
      .End()
      .Append("protocolVersion", int64_t{1})
      .Append("writeConcernMajorityJournalDefault", true)
      .BeginDocument("settings")
      .Append("chainingAllowed", true)
      .Append("heartbeatIntervalMillis", 2000)
      .Append("heartbeatTimeoutSecs", 10)
      .Append("electionTimeoutMillis", 10000)
      .Append("catchUpTimeoutMillis", -1)
      .Append("catchUpTakeoverDelayMillis", 30000)
      .BeginDocument("getLastErrorModes")
      .End()
      .BeginDocument("getLastErrorDefaults")
      .Append("w", 1)
      .Append("wtimeout", 0)
      .End()
      .End()
      .End();
}

Status RunGetConfig(Invocation& i) {
  AppendConfig(i);
  return Status::Ok();
}

Status RunGetStatus(Invocation& i) {
  bson::Builder& reply = i.reply();
  bson::Timestamp time = i.engine.log().Visible();
  bson::Date date{int64_t{time.seconds} * 1000};
  reply.Append("set", i.commands.info().set_name)
      .Append("date", WallClock())
      .Append("myState", 1)
      .Append("term", int64_t{1})
      .Append("syncSourceHost", "")
      .Append("syncSourceId", -1)
      .Append("heartbeatIntervalMillis", int64_t{2000})
      .Append("majorityVoteCount", 1)
      .Append("writeMajorityCount", 1)
      .Append("votingMembersCount", 1)
      .Append("writableVotingMembersCount", 1)
      .BeginDocument("optimes");
  for (std::string_view name :
       {"lastCommittedOpTime", "readConcernMajorityOpTime", "appliedOpTime", "durableOpTime"}) {
    AppendOpTime(reply, name, time);
  }
  reply.Append("lastAppliedWallTime", date)
      .Append("lastDurableWallTime", date)
      .End()
      .BeginArray("members")
      .PushDocument()
      .Append("_id", 0)
      .Append("name", ReachedAs(i))
      .Append("health", 1.0)
      .Append("state", 1)
      .Append("stateStr", "PRIMARY")
      .Append("uptime", static_cast<int32_t>(UptimeMillis() / 1000));
  AppendOpTime(reply, "optime", time);
  reply.Append("optimeDate", date)
      .Append("syncSourceHost", "")
      .Append("syncSourceId", -1)
      .Append("infoMessage", "")
      .Append("configVersion", 1)
      .Append("configTerm", 1)
      .Append("self", true)
      .Append("lastHeartbeatMessage", "")
      .End()
      .End();
  return Status::Ok();
}

Status RunInitiate(Invocation&) { return {kAlreadyInitialized, "already initialized"}; }

// Only the configuration that is in force already is accepted.
Status RunReconfig(Invocation& i) {
  bson::Value config = i.body().front().value();
  if (!config.is_document()) {
    return {kTypeMismatch, "replSetReconfig needs a configuration document"};
  }
  bson::Value id = config.AsDocument()["_id"];
  bson::Value members = config.AsDocument()["members"];
  if (!id.is_string() || !members.is_array()) {
    return {kInvalidReplicaSetConfig, "a replica set configuration needs _id and members"};
  }
  if (id.AsString() != i.commands.info().set_name || members.AsArray().Count() != 1) {
    return {kNewReplicaSetConfigurationIncompatible,
            "the replica set has one member and keeps its name"};
  }
  return Status::Ok();
}

Status RunStepDown(Invocation&) {
  return {kExceededTimeLimit,
          "No electable secondaries caught up as of now. Please use the replSetStepDown command "
          "with the argument {force: true} to force node to step down."};
}

Status RunFreeze(Invocation&) {
  return {kNotSecondary, "cannot freeze node when primary or running for election."};
}

}  // namespace

std::span<const Row> ReplicaSetRows() {
  using request::kAdminOnly;
  static constexpr Row kRows[] = {
      {{"replSetGetStatus", "", kAdminOnly, "the set as this member sees it"},
       RunGetStatus,
       OnCluster(Action::replSetGetStatus)},
      {{"replSetGetConfig", "", kAdminOnly, "the set's configuration"},
       RunGetConfig,
       OnCluster(Action::replSetGetConfig)},
      {{"replSetInitiate", "", kAdminOnly, "the set is ready from the start"},
       RunInitiate,
       OnCluster(Action::replSetConfigure)},
      {{"replSetReconfig", "", kAdminOnly, "sets the configuration"},
       RunReconfig,
       OnCluster(Action::replSetConfigure)},
      {{"replSetStepDown", "", kAdminOnly, "there is nobody to step down for"},
       RunStepDown,
       OnCluster(Action::replSetStateChange)},
      {{"replSetFreeze", "", kAdminOnly, "a primary cannot be frozen"},
       RunFreeze,
       OnCluster(Action::replSetStateChange)},
  };
  return kRows;
}

}  // namespace quire::command
