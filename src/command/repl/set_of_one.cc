// SPDX-License-Identifier: Apache-2.0
#include "command/repl/set_of_one.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "command/auth/auditor.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"

namespace quire::command {
namespace {

void AppendOpTime(bson::Builder& reply, std::string_view name, bson::Timestamp time) {
  reply.BeginDocument(name).Append("ts", time).Append("t", int64_t{1}).End();
}

// Whether replSetInitiate may still be called: its term is -1 before. (A timestamp of zero would be
// filled in when it is stored.)
constexpr std::string_view kProgress = "local.replset.minvalid";
constexpr std::string_view kProgressId = "minvalid";

Status SaveProgress(engine::Engine& engine, bool initiated) {
  bson::Builder out;
  out.Append("_id", kProgressId)
      .Append("ts", bson::Timestamp{0, 1})
      .Append("t", initiated ? int64_t{1} : int64_t{-1});
  const bson::Document progress = out.Finish();
  return SaveOwn(engine, kProgress, progress);
}

// What the set is without anybody's word.
bson::Document DefaultConfiguration(std::string_view name, std::string_view host) {
  bson::Builder out;
  out.Append("_id", name)
      .Append("version", 1)
      .Append("term", 1)
      .BeginArray("members")
      .PushDocument()
      .Append("_id", 0)
      .Append("host", host)
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
      .End();
  return out.Finish();
}

bson::Document DefaultConfiguration(const Invocation& i) {
  return DefaultConfiguration(i.commands.info().set_name, ReachedAs(i));
}

// What replSetInitiate stored, if it ever succeeded.
Result<std::optional<bson::Document>> StoredConfiguration(Invocation& i) {
  ASSIGN_OR_RETURN(std::optional<bson::Document> progress,
                   LoadOwn(i.engine, kProgress, bson::Value(kProgressId)));
  if (progress && (*progress)["t"].AsInt64() < 0) {
    return std::optional<bson::Document>();
  }
  return LoadOwn(i.engine, kConfigurations, bson::Value(i.commands.info().set_name));
}

// Whether every field asked for has the value it has in `ours`. Those named in `free` may have
// another one of the same kind: with one member they change nothing but what is shown.
bool Agrees(bson::View asked, bson::View ours, std::initializer_list<std::string_view> free) {
  return std::all_of(asked.begin(), asked.end(), [&](const bson::Element& field) {
    bson::Value ours_value = ours[field.name()];
    bool is_free = std::find(free.begin(), free.end(), field.name()) != free.end();
    return is_free ? bson::CanonicalType(field.type()) == bson::CanonicalType(ours_value.type())
                   : bson::Equal(field.value(), ours_value);
  });
}

// Another name of this machine is taken at its word; the port must be ours.
bool HasOurPort(const Invocation& i, std::string_view host) {
  constexpr std::string_view kDefaultPort = "27017";
  size_t colon = host.rfind(':');
  std::string_view port = colon == std::string_view::npos ? kDefaultPort : host.substr(colon + 1);
  return i.commands.info().embedded || port == std::to_string(i.commands.info().port);
}

bool DescribesThisSet(const Invocation& i, bson::View asked, bson::View ours) {
  bson::Value members = asked["members"];
  bson::Value settings = asked["settings"];
  if (!Agrees(asked, ours, {"members", "settings"}) || asked["_id"].missing() ||
      !members.is_array() || members.AsArray().Count() != 1 ||
      !members.AsArray().front().value().is_document()) {
    return false;
  }
  bson::View member = members.AsArray().front().value().AsDocument();
  bson::View our_member = ours["members"].AsArray().front().value().AsDocument();
  return Agrees(member, our_member, {"_id", "host"}) && member["host"].is_string() &&
         HasOurPort(i, member["host"].AsString()) &&
         (settings.missing() ||
          Agrees(settings.AsDocument(), ours["settings"].AsDocument(),
                 {"chainingAllowed", "heartbeatTimeoutSecs", "electionTimeoutMillis",
                  "catchUpTimeoutMillis", "catchUpTakeoverDelayMillis"}));
}

// Appends the fields of `ours` with the values that `asked` has for them.
void AppendMerged(bson::View ours, bson::View asked, bson::Builder* out) {
  for (const bson::Element& field : ours) {
    bson::Value value = asked[field.name()];
    if (value.is_array() && !value.AsArray().empty()) {
      out->BeginArray(field.name()).PushDocument();
      AppendMerged(field.value().AsArray().front().value().AsDocument(),
                   value.AsArray().front().value().AsDocument(), out);
      out->End().End();
    } else if (value.is_document()) {
      out->BeginDocument(field.name());
      AppendMerged(field.value().AsDocument(), value.AsDocument(), out);
      out->End();
    } else {
      out->Append(field.name(), value.missing() ? field.value() : value);
    }
  }
}

bson::Date StartTime() { return {WallClock().millis - UptimeMillis()}; }
uint32_t Seconds(bson::Date date) { return static_cast<uint32_t>(date.millis / 1000); }

// How this member became primary: by its own vote, when it started.
void AppendElection(bson::Builder* out) {
  const bson::Date start = StartTime();
  const bson::Timestamp seen{Seconds(start), 1};
  out->BeginDocument("electionCandidateMetrics")
      .Append("lastElectionReason", "electionTimeout")
      .Append("lastElectionDate", start)
      .Append("electionTerm", int64_t{1});
  AppendOpTime(*out, "lastCommittedOpTimeAtElection", seen);
  AppendOpTime(*out, "lastSeenWrittenOpTimeAtElection", seen);
  AppendOpTime(*out, "lastSeenOpTimeAtElection", seen);
  out->Append("numVotesNeeded", 1)
      .Append("priorityAtElection", 1.0)
      .Append("electionTimeoutMillis", int64_t{10000})
      .Append("newTermStartDate", start)
      .Append("wMajorityWriteAvailabilityDate", start)
      .End();
}

}  // namespace

namespace set_of_one {

Status GetConfig(Invocation& i) {
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored, StoredConfiguration(i));
  i.reply().Append("config", stored ? *stored : DefaultConfiguration(i));
  return Status::Ok();
}

Status GetStatus(Invocation& i) {
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
  AppendOpTime(reply, "lastCommittedOpTime", time);
  reply.Append("lastCommittedWallTime", date);
  for (std::string_view name :
       {"readConcernMajorityOpTime", "appliedOpTime", "durableOpTime", "writtenOpTime"}) {
    AppendOpTime(reply, name, time);
  }
  reply.Append("lastAppliedWallTime", date)
      .Append("lastDurableWallTime", date)
      .Append("lastWrittenWallTime", date)
      .End()
      .Append("lastStableRecoveryTimestamp", time);
  AppendElection(&reply);
  reply.BeginArray("members")
      .PushDocument()
      .Append("_id", 0)
      .Append("name", ReachedAs(i))
      .Append("health", 1.0)
      .Append("state", 1)
      .Append("stateStr", "PRIMARY")
      .Append("uptime", static_cast<int32_t>(UptimeMillis() / 1000));
  AppendOpTime(reply, "optime", time);
  reply.Append("optimeDate", date);
  AppendOpTime(reply, "optimeWritten", time);
  reply.Append("optimeWrittenDate", date)
      .Append("lastAppliedWallTime", date)
      .Append("lastDurableWallTime", date)
      .Append("lastWrittenWallTime", date)
      .Append("syncSourceHost", "")
      .Append("syncSourceId", -1)
      .Append("infoMessage", "")
      .Append("electionTime", bson::Timestamp{Seconds(StartTime()), 1})
      .Append("electionDate", StartTime())
      .Append("configVersion", 1)
      .Append("configTerm", 1)
      .Append("self", true)
      .Append("lastHeartbeatMessage", "")
      .End()
      .End();
  return Status::Ok();
}

// The set is there from the start: the first call that asks for what it is succeeds, and is kept.
Status Initiate(Invocation& i) {
  Status already(kAlreadyInitialized, "already initialized");
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored, StoredConfiguration(i));
  bson::Document ours = DefaultConfiguration(i);
  bson::Value argument = i.body().front().value();
  bool asks = argument.is_document() && !argument.AsDocument().empty();
  bson::View asked = asks ? argument.AsDocument() : ours.view();
  if (stored || !DescribesThisSet(i, asked, ours)) {
    return already;
  }
  bson::Builder merged;
  AppendMerged(ours, asked, &merged);
  bson::Document configuration = merged.Finish();
  RETURN_IF_ERROR(SaveOwn(i.engine, kConfigurations, configuration));
  RETURN_IF_ERROR(SaveProgress(i.engine, true));
  if (auto& auditor = i.commands.info().auditor) {
    auditor->SetReconfigured(bson::View(), configuration);
  }
  if (!asks) {
    i.reply()
        .Append("info2", "no configuration specified. Using a default configuration for the set")
        .Append("me", ReachedAs(i));
  }
  return Status::Ok();
}

// Only the configuration that is in force already is accepted.
Status Reconfig(Invocation& i) {
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
  if (auto& auditor = i.commands.info().auditor) {
    ASSIGN_OR_RETURN(std::optional<bson::Document> stored, StoredConfiguration(i));
    const bson::Document before = stored ? *std::move(stored) : DefaultConfiguration(i);
    auditor->SetReconfigured(before, config.AsDocument());
  }
  return Status::Ok();
}

}  // namespace set_of_one

Status KeepConfiguration(engine::Engine& engine, const ServerInfo& info) {
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored,
                   LoadOwn(engine, kConfigurations, bson::Value(info.set_name)));
  if (stored) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(SaveProgress(engine, false));
  const bson::Document configuration = DefaultConfiguration(info.set_name, info.host);
  return SaveOwn(engine, kConfigurations, configuration);
}

}  // namespace quire::command
