// SPDX-License-Identifier: Apache-2.0
#include "command/repl/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "command/repl/set_view.h"

namespace quire::command {

namespace {

constexpr size_t kMostMembers = 50;
constexpr int kMostVoters = 7;
constexpr int kMostMemberId = 255;
constexpr double kMostPriority = 1000;

Status Invalid(std::string why) { return {kInvalidReplicaSetConfig, std::move(why)}; }

Status WrongType(std::string_view name, const bson::Value& value, std::string_view wanted) {
  return Invalid("BSON field '" + std::string(name) + "' is the wrong type '" +
                 std::string(bson::TypeName(value.type())) + "', expected type '" +
                 std::string(wanted) + "'");
}

Status Missing(std::string_view name) {
  return Invalid("BSON field '" + std::string(name) + "' is missing but a required field");
}

template <size_t N>
Status RefuseOthers(bson::View document, const std::array<std::string_view, N>& known,
                    std::string_view where) {
  for (const bson::Element& e : document) {
    if (std::find(known.begin(), known.end(), e.name()) == known.end()) {
      return Invalid("BSON field '" + std::string(where) + "." + std::string(e.name()) +
                     "' is an unknown field.");
    }
  }
  return Status::Ok();
}

struct Bounds {
  double least;
  double most;
};

Result<double> ReadNumber(bson::View document, std::string_view where, std::string_view name,
                          double otherwise, Bounds bounds) {
  const bson::Value value = document[name];
  if (value.missing()) {
    return otherwise;
  }
  const std::string path = std::string(where) + "." + std::string(name);
  if (!value.is_number()) {
    return WrongType(path, value, "[long, int, decimal, double]");
  }
  const double number = bson::ToDouble(value);
  if (!(number >= bounds.least && number <= bounds.most)) {
    return Invalid(std::string(name) + " field value of " + bson::ToJson(value) +
                   " is out of range");
  }
  return number;
}

Result<int64_t> ReadInteger(bson::View document, std::string_view where, std::string_view name,
                            int64_t otherwise, Bounds bounds) {
  ASSIGN_OR_RETURN(const double number,
                   ReadNumber(document, where, name, static_cast<double>(otherwise), bounds));
  return static_cast<int64_t>(std::trunc(number));
}

Result<bool> ReadFlag(bson::View document, std::string_view where, std::string_view name,
                      bool otherwise) {
  const bson::Value value = document[name];
  if (value.missing()) {
    return otherwise;
  }
  if (value.type() != bson::Type::kBool && !value.is_number()) {
    return WrongType(std::string(where) + "." + std::string(name), value,
                     "[bool, long, int, decimal, double]");
  }
  return request::Truthy(value);
}

Status CheckTags(const bson::Value& tags) {
  if (!tags.is_document()) {
    return WrongType("MemberConfig.tags", tags, "object");
  }
  for (const bson::Element& tag : tags.AsDocument()) {
    if (tag.type() != bson::Type::kString) {
      return Invalid("tags." + std::string(tag.name()) + " field has non-string value of type " +
                     std::string(bson::TypeName(tag.type())));
    }
  }
  return Status::Ok();
}

Result<std::string> ReadHost(bson::View given) {
  const bson::Value host = given["host"];
  if (host.missing()) {
    return Missing("MemberConfig.host");
  }
  if (!host.is_string()) {
    return WrongType("MemberConfig.host", host, "string");
  }
  auto text = HostAndPort(host.AsString());
  return text.ok() ? std::move(text) : Result<std::string>(Invalid(text.status().message()));
}

// What a member that can never be primary must not claim.
Status CheckPriority(double priority, int64_t votes, bool hidden, bool builds_indexes,
                     int64_t delay) {
  if (priority == 0) {
    return Status::Ok();
  }
  if (votes == 0) {
    return Invalid("priority must be 0 when non-voting (votes:0)");
  }
  if (hidden) {
    return Invalid("priority must be 0 when hidden=true");
  }
  if (!builds_indexes) {
    return Invalid("priority must be 0 when buildIndexes=false");
  }
  return delay == 0 ? Status::Ok() : Invalid("priority must be 0 when secondaryDelaySecs is used");
}

Status AppendReadMember(bson::View given, bson::Builder* out) {
  constexpr std::string_view kWhere = "MemberConfig";
  constexpr std::array<std::string_view, 10> kKnown = {
      "_id",      "host", "arbiterOnly",        "buildIndexes", "hidden",
      "priority", "tags", "secondaryDelaySecs", "votes",        "newlyAdded"};
  RETURN_IF_ERROR(RefuseOthers(given, kKnown, kWhere));
  if (given["_id"].missing()) {
    return Missing("MemberConfig._id");
  }
  ASSIGN_OR_RETURN(const int64_t id, ReadInteger(given, kWhere, "_id", 0, {0, kMostMemberId}));
  ASSIGN_OR_RETURN(const std::string host, ReadHost(given));
  ASSIGN_OR_RETURN(const bool arbiter, ReadFlag(given, kWhere, "arbiterOnly", false));
  ASSIGN_OR_RETURN(const bool builds_indexes, ReadFlag(given, kWhere, "buildIndexes", true));
  ASSIGN_OR_RETURN(const bool hidden, ReadFlag(given, kWhere, "hidden", false));
  ASSIGN_OR_RETURN(const double priority,
                   ReadNumber(given, kWhere, "priority", arbiter ? 0 : 1, {0, kMostPriority}));
  ASSIGN_OR_RETURN(const int64_t delay,
                   ReadInteger(given, kWhere, "secondaryDelaySecs", 0, {0, 366.0 * 24 * 60 * 60}));
  ASSIGN_OR_RETURN(const int64_t votes, ReadInteger(given, kWhere, "votes", 1, {0, 1}));
  if (!arbiter) {
    RETURN_IF_ERROR(CheckPriority(priority, votes, hidden, builds_indexes, delay));
  }
  out->PushDocument()
      .Append("_id", static_cast<int32_t>(id))
      .Append("host", host)
      .Append("arbiterOnly", arbiter)
      .Append("buildIndexes", builds_indexes)
      .Append("hidden", hidden)
      .Append("priority", priority);
  if (const bson::Value tags = given["tags"]; !tags.missing()) {
    RETURN_IF_ERROR(CheckTags(tags));
    out->Append("tags", tags);
  } else {
    out->BeginDocument("tags").End();
  }
  out->Append("secondaryDelaySecs", delay).Append("votes", static_cast<int32_t>(votes)).End();
  return Status::Ok();
}

Status AppendReadMembers(bson::View given, bson::Builder* out) {
  const bson::Value members = given["members"];
  if (members.missing()) {
    return Missing("ReplSetConfig.members");
  }
  if (!members.is_array()) {
    return WrongType("ReplSetConfig.members", members, "array");
  }
  out->BeginArray("members");
  for (const bson::Element& member : members.AsArray()) {
    if (!member.value().is_document()) {
      return WrongType("ReplSetConfig.members." + std::string(member.name()), member.value(),
                       "object");
    }
    RETURN_IF_ERROR(AppendReadMember(member.value().AsDocument(), out));
  }
  out->End();
  return Status::Ok();
}

// getLastErrorModes: {mode: {tag: how many different values}}
Status CheckModes(bson::View modes) {
  for (const bson::Element& mode : modes) {
    if (mode.name() == "majority" || !mode.value().is_document()) {
      return Invalid("settings.getLastErrorModes." + std::string(mode.name()) +
                     " must be a document, and not named \"majority\"");
    }
    for (const bson::Element& tag : mode.value().AsDocument()) {
      if (!tag.value().is_number() || bson::ClampedInt64(tag.value()) < 1) {
        return Invalid("settings.getLastErrorModes." + std::string(mode.name()) + "." +
                       std::string(tag.name()) + " must be a positive number");
      }
    }
  }
  return Status::Ok();
}

struct NumberSetting {
  std::string_view name;
  int32_t otherwise;
  Bounds bounds;
};
constexpr double kMostMillis = INT32_MAX;
constexpr NumberSetting kNumberSettings[] = {
    {"heartbeatIntervalMillis", 2000, {1, kMostMillis}},
    {"heartbeatTimeoutSecs", 10, {1, kMostMillis}},
    {"electionTimeoutMillis", 10000, {1, kMostMillis}},
    {"catchUpTimeoutMillis", -1, {-1, kMostMillis}},
    {"catchUpTakeoverDelayMillis", 30000, {-1, kMostMillis}},
};

// Of the set's own: how few members in sync are enough.
Status AppendOwnSettings(bson::View given, bson::Builder* out) {
  if (given.Has("minInSync")) {
    ASSIGN_OR_RETURN(const int64_t least,
                     ReadInteger(given, "settings", "minInSync", 1, {1, kMostVoters}));
    out->Append("minInSync", static_cast<int32_t>(least));
  }
  return Status::Ok();
}

Status AppendReadSettings(const bson::Value& given_settings, const ConfigDefaults& defaults,
                          bson::Builder* out) {
  constexpr std::array<std::string_view, 10> kKnown = {
      "chainingAllowed",      "heartbeatIntervalMillis",
      "heartbeatTimeoutSecs", "electionTimeoutMillis",
      "catchUpTimeoutMillis", "catchUpTakeoverDelayMillis",
      "getLastErrorModes",    "getLastErrorDefaults",
      "replicaSetId",         "minInSync"};
  if (!given_settings.missing() && !given_settings.is_document()) {
    return WrongType("ReplSetConfig.settings", given_settings, "object");
  }
  const bson::View given = given_settings.missing() ? bson::View() : given_settings.AsDocument();
  RETURN_IF_ERROR(RefuseOthers(given, kKnown, "ReplSetConfigSettings"));
  ASSIGN_OR_RETURN(const bool chaining, ReadFlag(given, "settings", "chainingAllowed", true));
  out->BeginDocument("settings").Append("chainingAllowed", chaining);
  for (const NumberSetting& setting : kNumberSettings) {
    ASSIGN_OR_RETURN(const int64_t number, ReadInteger(given, "settings", setting.name,
                                                       setting.otherwise, setting.bounds));
    out->Append(setting.name, static_cast<int32_t>(number));
  }
  const bson::Value modes = given["getLastErrorModes"];
  if (!modes.missing() && !modes.is_document()) {
    return WrongType("settings.getLastErrorModes", modes, "object");
  }
  if (modes.missing()) {
    out->BeginDocument("getLastErrorModes").End();
  } else {
    RETURN_IF_ERROR(CheckModes(modes.AsDocument()));
    out->Append("getLastErrorModes", modes);
  }
  out->BeginDocument("getLastErrorDefaults").Append("w", 1).Append("wtimeout", 0).End();
  const bson::Value id = given["replicaSetId"];
  if (!id.missing() && id.type() != bson::Type::kObjectId) {
    return WrongType("settings.replicaSetId", id, "objectId");
  }
  out->Append("replicaSetId", id.missing() ? defaults.set_id : id.AsObjectId());
  RETURN_IF_ERROR(AppendOwnSettings(given, out));
  out->End();
  return Status::Ok();
}

// How a text shows which configuration is meant.
std::string VersionText(bson::View config) {
  return "{version: " + std::to_string(bson::ClampedInt64(config["version"])) +
         ", term: " + std::to_string(bson::ClampedInt64(config["term"])) + "}";
}

Status Incompatible(std::string why) {
  return {kNewReplicaSetConfigurationIncompatible, std::move(why)};
}

// A mode asks for tags that members have.
Status CheckModeTags(bson::View config, const std::vector<SetMember>& members) {
  const bson::View modes = config["settings"].AsDocument()["getLastErrorModes"].AsDocument();
  for (const bson::Element& mode : modes) {
    for (const bson::Element& tag : mode.value().AsDocument()) {
      std::set<std::string_view> values;
      for (const SetMember& member : members) {
        if (const bson::Value value = member.tags[tag.name()]; value.is_string()) {
          values.insert(value.AsString());
        }
      }
      if (bson::ClampedInt64(tag.value()) > static_cast<int64_t>(values.size())) {
        return {kBadValue, "settings.getLastErrorModes." + std::string(mode.name()) +
                               " asks for more different values of the tag " +
                               std::string(tag.name()) + " than members have"};
      }
    }
  }
  return Status::Ok();
}

int VotesChanged(const std::vector<SetMember>& from, const std::vector<SetMember>& to) {
  return static_cast<int>(std::count_if(from.begin(), from.end(), [&](const SetMember& member) {
    const SetMember* same = FindMember(to, member.id);
    return member.votes > 0 && (same == nullptr || same->votes == 0);
  }));
}

Status CheckSameMembers(const std::vector<SetMember>& old, const std::vector<SetMember>& now) {
  for (const SetMember& member : now) {
    const SetMember* before = FindMember(old, member.id);
    if (before != nullptr && before->arbiter != member.arbiter) {
      return Incompatible(
          "New and old configurations differ in the setting of the arbiterOnly field for member " +
          std::string(member.host) + "; to make this change, remove then re-add the member");
    }
    if (before != nullptr && before->builds_indexes != member.builds_indexes) {
      return Incompatible(
          "New and old configurations differ in the setting of the buildIndexes field for member " +
          std::string(member.host) + "; to make this change, remove then re-add the member");
    }
  }
  return Status::Ok();
}

}  // namespace

Result<std::string> HostAndPort(std::string_view text) {
  const size_t bracket = text.rfind(']');
  const size_t colon = text.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  const std::string_view host = has_port ? text.substr(0, colon) : text;
  if (host.empty()) {
    return Status(kFailedToParse,
                  "Empty host component parsing HostAndPort from \"" + std::string(text) + "\"");
  }
  if (!has_port) {
    return std::string(text) + ":27017";
  }
  const std::string_view port = text.substr(colon + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535) {
    return Status(kFailedToParse, "Port number \"" + std::string(port) +
                                      "\" out of range parsing HostAndPort from \"" +
                                      std::string(text) + "\"");
  }
  return std::string(text);
}

Result<bson::Document> ReadConfig(bson::View given, const ConfigDefaults& defaults) {
  constexpr std::string_view kWhere = "ReplSetConfig";
  constexpr std::array<std::string_view, 7> kKnown = {
      "_id",     "version",         "term",
      "members", "protocolVersion", "writeConcernMajorityJournalDefault",
      "settings"};
  RETURN_IF_ERROR(RefuseOthers(given, kKnown, kWhere));
  const bson::Value name = given["_id"];
  if (name.missing()) {
    return Missing("ReplSetConfig._id");
  }
  if (!name.is_string() || name.AsString().empty()) {
    return WrongType("ReplSetConfig._id", name, "string");
  }
  if (given["version"].missing()) {
    return Missing("ReplSetConfig.version");
  }
  ASSIGN_OR_RETURN(const int64_t version, ReadInteger(given, kWhere, "version", 1, {1, INT32_MAX}));
  ASSIGN_OR_RETURN(const int64_t protocol,
                   ReadInteger(given, kWhere, "protocolVersion", 1, {1, 1}));
  ASSIGN_OR_RETURN(const bool journal,
                   ReadFlag(given, kWhere, "writeConcernMajorityJournalDefault", true));
  bson::Builder out;
  out.Append("_id", name)
      .Append("version", static_cast<int32_t>(version))
      .Append("term", defaults.term);
  RETURN_IF_ERROR(AppendReadMembers(given, &out));
  out.Append("protocolVersion", protocol).Append("writeConcernMajorityJournalDefault", journal);
  RETURN_IF_ERROR(AppendReadSettings(given["settings"], defaults, &out));
  return out.Finish();
}

Status CheckConfig(bson::View config) {
  const std::vector<SetMember> members = MembersOf(config);
  if (members.empty() || members.size() > kMostMembers) {
    return {kBadValue, "Replica set configuration contains " + std::to_string(members.size()) +
                           " members, but must have at least 1 and no more than 50"};
  }
  std::set<int> ids;
  std::set<std::string_view> hosts;
  for (const SetMember& member : members) {
    if (!ids.insert(member.id).second) {
      return {kBadValue, "Found two member configurations with same _id field, MemberId(" +
                             std::to_string(member.id) + ")"};
    }
    if (!hosts.insert(member.host).second) {
      return {kBadValue,
              "Found two member configurations with same host field, " + std::string(member.host)};
    }
    if (member.arbiter) {
      return {kBadValue, "Arbiters are not needed and not supported: member " +
                             std::string(member.host) + " has arbiterOnly: true"};
    }
  }
  const int voters = VotesOf(members).voters;
  if (voters < 1 || voters > kMostVoters) {
    return {kBadValue, "Replica set configuration contains " + std::to_string(voters) +
                           " voting members, but must be at least 1 and no more than 7"};
  }
  if (std::none_of(members.begin(), members.end(),
                   [](const SetMember& member) { return member.priority > 0; })) {
    return {kBadValue,
            "Replica set configuration must contain at least one non-arbiter member with "
            "priority > 0"};
  }
  return CheckModeTags(config, members);
}

Status CheckSuccession(bson::View old, bson::View now, bool force) {
  if (old["_id"].AsString() != now["_id"].AsString()) {
    return Incompatible("New and old configurations differ in replica set name; old was " +
                        std::string(old["_id"].AsString()) + ", and new is " +
                        std::string(now["_id"].AsString()));
  }
  const bson::Value id =
      old["settings"].is_document() ? old["settings"].AsDocument()["replicaSetId"] : bson::Value();
  if (!id.missing() && !bson::Equal(id, now["settings"].AsDocument()["replicaSetId"])) {
    return Incompatible("New and old configurations differ in replica set ID");
  }
  if (!force && bson::ClampedInt64(now["version"]) <= bson::ClampedInt64(old["version"])) {
    return Incompatible(
        "New replica set configuration version and term must be greater than old, "
        "but " +
        VersionText(now) + " is not greater than " + VersionText(old) + " for replica set " +
        std::string(now["_id"].AsString()));
  }
  const std::vector<SetMember> before = MembersOf(old);
  const std::vector<SetMember> after = MembersOf(now);
  RETURN_IF_ERROR(CheckSameMembers(before, after));
  if (!force && VotesChanged(before, after) + VotesChanged(after, before) > 1) {
    return Incompatible(
        "Non force replica set reconfig can only add or remove at most 1 voting member.");
  }
  return Status::Ok();
}

bson::Document OnlyMember(std::string_view name, std::string_view host) {
  bson::Builder out;
  out.Append("_id", name)
      .Append("version", 1)
      .BeginArray("members")
      .PushDocument()
      .Append("_id", 0)
      .Append("host", host)
      .End()
      .End();
  return out.Finish();
}

bson::Document WithVersion(bson::View config, int64_t version) {
  bson::Builder out;
  for (const bson::Element& e : config) {
    if (e.name() == "version") {
      out.Append("version", static_cast<int32_t>(version));
    } else {
      out.Append(e);
    }
  }
  return out.Finish();
}

}  // namespace quire::command
