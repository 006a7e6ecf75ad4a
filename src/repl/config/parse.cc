// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error_codes.h"
#include "base/try.h"
#include "repl/config/parse_internal.h"
#include "repl/config/set_config.h"

namespace quire::repl {
namespace {

constexpr double kMaxPriority = 1000;

Status Invalid(std::string text) { return {kInvalidReplicaSetConfig, std::move(text)}; }

bool IsFlag(const bson::Value& value) {
  return value.type() == bson::Type::kBool || value.is_number();
}

double NumberOf(const bson::Value& value) {
  switch (value.type()) {
    case bson::Type::kDouble:
      return value.AsDouble();
    case bson::Type::kInt32:
    case bson::Type::kInt64:
      return static_cast<double>(value.AsInt64());
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

bool FlagOf(const bson::Value& value) {
  return value.type() == bson::Type::kBool ? value.AsBool() : NumberOf(value) != 0;
}

std::string NumberText(double number) {
  return number == std::floor(number) && std::abs(number) < 1e15
             ? std::to_string(static_cast<int64_t>(number))
             : std::to_string(number);
}

// Takes fields by name and tells of those nobody took.
class MemberReader {
 public:
  explicit MemberReader(bson::View member) : member_(member) {}

  Status Fail(std::string_view kind, const std::string& text) const {
    return Invalid(std::string(kind) + ": " + text + " for member:" + bson::ToJson(member_));
  }
  Result<double> Number(std::string_view name, double otherwise) {
    const bson::Value value = member_[name];
    if (value.missing()) {
      return otherwise;
    }
    if (!value.is_number() || std::isnan(NumberOf(value))) {
      return Fail("TypeMismatch", std::string(name) + " field has non-numeric type " +
                                      std::string(bson::TypeName(value.type())));
    }
    return NumberOf(value);
  }
  Result<bool> Flag(std::string_view name, bool otherwise) {
    const bson::Value value = member_[name];
    if (value.missing()) {
      return otherwise;
    }
    if (!IsFlag(value)) {
      return Fail("TypeMismatch", "Expected " + std::string(name) + " to be a boolean, but found " +
                                      std::string(bson::TypeName(value.type())));
    }
    return FlagOf(value);
  }
  Status CheckNames() const {
    static constexpr std::string_view kKnown[] = {
        "_id",      "host", "arbiterOnly",        "buildIndexes", "hidden",
        "priority", "tags", "secondaryDelaySecs", "votes",        "newlyAdded"};
    for (const bson::Element& field : member_) {
      if (std::find(std::begin(kKnown), std::end(kKnown), field.name()) == std::end(kKnown)) {
        return Fail("BadValue", "Unexpected field " + std::string(field.name()) +
                                    " in replica set member configuration");
      }
    }
    return Status::Ok();
  }

 private:
  bson::View member_;
};

Result<MemberId> ParseId(MemberReader* in, bson::View member) {
  if (member["_id"].missing()) {
    return in->Fail("NoSuchKey", "_id field is missing");
  }
  ASSIGN_OR_RETURN(double id, in->Number("_id", 0));
  if (id < 0) {
    return in->Fail("BadValue",
                    "_id field value of " + NumberText(id) + " can't be a negative number");
  }
  if (id > std::numeric_limits<int32_t>::max() || id != std::floor(id)) {
    return in->Fail("BadValue", "_id field value of " + NumberText(id) + " is out of range");
  }
  return static_cast<MemberId>(id);
}

Result<std::string> ParseHost(MemberReader* in, bson::View member) {
  const bson::Value host = member["host"];
  if (host.missing()) {
    return in->Fail("NoSuchKey", "Missing expected field \"host\"");
  }
  if (!host.is_string()) {
    return in->Fail("TypeMismatch", "\"host\" had the wrong type. Expected string, found " +
                                        std::string(bson::TypeName(host.type())));
  }
  std::string text(host.AsString());
  const size_t colon = text.rfind(':');
  const bool bracket = text.ends_with("]");
  if (text.empty() || colon == 0) {
    return in->Fail("FailedToParse",
                    "Empty host component parsing HostAndPort from \"" + text + "\"");
  }
  if (colon == std::string::npos || bracket) {
    return text + ":27017";
  }
  const std::string port = text.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoi(port) < 1 || std::stoi(port) > 65535) {
    return in->Fail("FailedToParse", "Port number \"" + port +
                                         "\" out of range parsing HostAndPort "
                                         "from \"" +
                                         text + "\"");
  }
  return text;
}

Status ParseTags(MemberReader* in, bson::View member, MemberConfig* out) {
  const bson::Value tags = member["tags"];
  if (tags.missing()) {
    return Status::Ok();
  }
  if (!tags.is_document()) {
    return in->Fail("TypeMismatch", "\"tags\" had the wrong type. Expected object, found " +
                                        std::string(bson::TypeName(tags.type())));
  }
  for (const bson::Element& tag : tags.AsDocument()) {
    if (!tag.value().is_string()) {
      return in->Fail("TypeMismatch", "tags." + std::string(tag.name()) +
                                          " field has non-string value of type " +
                                          std::string(bson::TypeName(tag.type())));
    }
    out->tags.emplace_back(tag.name(), tag.value().AsString());
  }
  return Status::Ok();
}

Status CheckMemberTogether(const MemberConfig& member, bool build_indexes) {
  if (member.priority < 0 || member.priority > kMaxPriority) {
    return Invalid("priority field value of " + NumberText(member.priority) + " is out of range");
  }
  if (member.priority > 0) {
    if (!member.votes) return Invalid("priority must be 0 when non-voting (votes:0)");
    if (member.delay != 0) return Invalid("priority must be 0 when secondaryDelaySecs is used");
    if (member.hidden) return Invalid("priority must be 0 when hidden=true");
    if (!build_indexes) return Invalid("priority must be 0 when buildIndexes=false");
  }
  if (!build_indexes) {
    return Invalid("buildIndexes: false is not supported: every member has all indexes");
  }
  return Status::Ok();
}

struct Setting {
  std::string_view name;
  int64_t otherwise;
  int64_t least;
};
// The times of MongoDB's own protocol; the election timeout is ours, too.
constexpr Setting kNumbers[] = {{"heartbeatIntervalMillis", 2000, 1},
                                {"heartbeatTimeoutSecs", 10, 1},
                                {"electionTimeoutMillis", 10000, 1},
                                {"catchUpTimeoutMillis", -1, -1},
                                {"catchUpTakeoverDelayMillis", 30000, -1}};

Status ParseModes(const bson::Value& modes, SetConfig* config) {
  if (modes.missing()) {
    return Status::Ok();
  }
  if (!modes.is_document()) {
    return Invalid("\"getLastErrorModes\" had the wrong type. Expected object, found " +
                   std::string(bson::TypeName(modes.type())));
  }
  for (const bson::Element& mode : modes.AsDocument()) {
    const std::string where = "settings.getLastErrorModes." + std::string(mode.name());
    if (config->FindMode(std::string(mode.name())) != nullptr) {
      return Invalid(where + " is given twice");
    }
    if (!mode.value().is_document()) {
      return Invalid("Expected " + where + " to be an Object, not " +
                     std::string(bson::TypeName(mode.type())));
    }
    WriteMode& made = config->modes.emplace_back();
    made.name = mode.name();
    for (const bson::Element& tag : mode.value().AsDocument()) {
      const double count = tag.value().is_number() ? NumberOf(tag.value()) : -1;
      if (!(count > 0)) {
        return Invalid("Value for " + where + "." + std::string(tag.name()) +
                       " must be positive, but found " + bson::ToJson(tag.value()));
      }
      made.tags.emplace_back(tag.name(), static_cast<int>(count));
    }
  }
  return Status::Ok();
}

Status CheckSettingNames(bson::View settings) {
  static constexpr std::string_view kOthers[] = {
      "chainingAllowed", "getLastErrorModes", "getLastErrorDefaults", "replicaSetId", "minInSync"};
  for (const bson::Element& field : settings) {
    const bool number = std::any_of(std::begin(kNumbers), std::end(kNumbers),
                                    [&](const Setting& one) { return one.name == field.name(); });
    if (!number &&
        std::find(std::begin(kOthers), std::end(kOthers), field.name()) == std::end(kOthers)) {
      return Invalid("BSON field 'ReplSetConfigSettings." + std::string(field.name()) +
                     "' is an unknown field.");
    }
  }
  return Status::Ok();
}

Result<uint64_t> ParseVersion(bson::View document) {
  const bson::Value version = document["version"];
  if (version.missing()) {
    return Invalid("Missing expected field \"version\"");
  }
  if (!version.is_number()) {
    return Invalid("Expected field \"version\" to have numeric type, but found " +
                   std::string(bson::TypeName(version.type())));
  }
  const double number = NumberOf(version);
  if (!(number >= 1 && number <= std::numeric_limits<int32_t>::max())) {
    return Invalid("version field value of " + NumberText(number) + " is out of range");
  }
  return static_cast<uint64_t>(number);
}

Status CheckNames(bson::View document) {
  static constexpr std::string_view kKnown[] = {
      "_id",      "version",         "term",
      "members",  "protocolVersion", "writeConcernMajorityJournalDefault",
      "settings", "configsvr"};
  for (const bson::Element& field : document) {
    if (std::find(std::begin(kKnown), std::end(kKnown), field.name()) == std::end(kKnown)) {
      return Invalid("BSON field 'ReplSetConfig." + std::string(field.name()) +
                     "' is an unknown field.");
    }
  }
  const bson::Value protocol = document["protocolVersion"];
  if (!protocol.missing() && NumberOf(protocol) != 1) {
    return Invalid("BSON field 'protocolVersion' value must be 1");
  }
  if (document.Has("configsvr")) {
    return Invalid("configsvr is not supported: the coordination store has that role");
  }
  return Status::Ok();
}

Status ParseMembers(bson::View document, SetConfig* config, bson::Builder* out) {
  const bson::Value members = document["members"];
  if (members.missing()) {
    return Invalid("Missing expected field \"members\"");
  }
  if (!members.is_array()) {
    return Invalid("\"members\" had the wrong type. Expected array, found " +
                   std::string(bson::TypeName(members.type())));
  }
  out->BeginArray("members");
  for (const bson::Element& element : members.AsArray()) {
    if (!element.value().is_document()) {
      return Invalid("Expected type of members." + std::string(element.name()) +
                     " to be Object, but found " + std::string(bson::TypeName(element.type())));
    }
    out->PushDocument();
    ASSIGN_OR_RETURN(MemberConfig member, ParseMember(element.value().AsDocument(), out));
    config->members.push_back(std::move(member));
    out->End();
  }
  out->End();
  return Status::Ok();
}

}  // namespace

Result<MemberConfig> ParseMember(bson::View member, bson::Builder* out) {
  MemberReader in(member);
  MemberConfig made;
  RETURN_IF_ERROR(in.CheckNames());
  ASSIGN_OR_RETURN(made.id, ParseId(&in, member));
  ASSIGN_OR_RETURN(std::string host, ParseHost(&in, member));
  ASSIGN_OR_RETURN(bool arbiter, in.Flag("arbiterOnly", false));
  if (arbiter) {
    return Invalid(
        "arbiters are not supported: the coordination store does their work, and two members "
        "that hold data fail over with settings.minInSync: 1 (member " +
        host + ")");
  }
  ASSIGN_OR_RETURN(bool build_indexes, in.Flag("buildIndexes", true));
  ASSIGN_OR_RETURN(made.hidden, in.Flag("hidden", false));
  ASSIGN_OR_RETURN(made.newly_added, in.Flag("newlyAdded", false));
  RETURN_IF_ERROR(ParseTags(&in, member, &made));
  const bson::Value given_votes = member["votes"];
  if (!given_votes.missing() && !IsFlag(given_votes)) {
    return in.Fail("TypeMismatch", "votes field value has non-numeric type " +
                                       std::string(bson::TypeName(given_votes.type())));
  }
  const double votes = given_votes.type() == bson::Type::kBool ? (given_votes.AsBool() ? 1 : 0)
                       : given_votes.missing()                 ? 1
                                                               : NumberOf(given_votes);
  if (votes != 0 && votes != 1) {
    return Invalid("votes field value is " + NumberText(votes) + " but must be 0 or 1");
  }
  made.votes = votes == 1;
  ASSIGN_OR_RETURN(made.priority, in.Number("priority", 1));
  ASSIGN_OR_RETURN(double delay, in.Number("secondaryDelaySecs", 0));
  constexpr double kMostDelay = 3600.0 * 24 * 366;
  if (delay < 0 || delay > kMostDelay) {
    return Invalid("secondaryDelaySecs field value of " + NumberText(delay) +
                   " seconds is out of range");
  }
  made.delay = static_cast<Millis>(delay) * 1000;
  RETURN_IF_ERROR(CheckMemberTogether(made, build_indexes));
  out->Append("_id", made.id)
      .Append("host", host)
      .Append("arbiterOnly", false)
      .Append("buildIndexes", true)
      .Append("hidden", made.hidden)
      .Append("priority", made.priority)
      .BeginDocument("tags");
  for (const auto& [name, value] : made.tags) {
    out->Append(name, value);
  }
  out->End()
      .Append("secondaryDelaySecs", static_cast<int64_t>(delay))
      .Append("votes", static_cast<int32_t>(votes));
  return made;
}

Status ParseSettings(bson::View settings, SetConfig* config, bson::Builder* out) {
  RETURN_IF_ERROR(CheckSettingNames(settings));
  const bson::Value chaining = settings["chainingAllowed"];
  out->Append("chainingAllowed", chaining.missing() || FlagOf(chaining));
  for (const Setting& setting : kNumbers) {
    const bson::Value value = settings[setting.name];
    const double number =
        value.missing() ? static_cast<double>(setting.otherwise) : NumberOf(value);
    if (!(number >= static_cast<double>(setting.least) &&
          number <= std::numeric_limits<int32_t>::max())) {
      return Invalid("settings." + std::string(setting.name) + " must be a number of at least " +
                     std::to_string(setting.least));
    }
    out->Append(setting.name, static_cast<int32_t>(number));
  }
  RETURN_IF_ERROR(ParseModes(settings["getLastErrorModes"], config));
  const bson::Value modes = settings["getLastErrorModes"];
  out->Append("getLastErrorModes", modes.missing() ? bson::Value(bson::View()) : modes);
  const bson::Value defaults = settings["getLastErrorDefaults"];
  if (defaults.is_document() &&
      !(defaults.AsDocument()["w"].missing() || NumberOf(defaults.AsDocument()["w"]) == 1)) {
    return Invalid(
        "Fields in settings.getLastErrorDefaults other than {w: 1, wtimeout: 0} are not "
        "supported: use setDefaultRWConcern");
  }
  out->BeginDocument("getLastErrorDefaults").Append("w", 1).Append("wtimeout", 0).End();
  if (const bson::Value least = settings["minInSync"]; !least.missing()) {
    const double number = NumberOf(least);
    if (!(number >= 0 && number <= kMaxVoters)) {
      return Invalid("settings.minInSync must be a number from 0 to 7");
    }
    config->min_in_sync = static_cast<int>(number);
    out->Append("minInSync", config->min_in_sync);
  }
  out->Append("replicaSetId", settings["replicaSetId"]);
  return Status::Ok();
}

Result<SetConfig> ParseConfig(const bson::Argument& argument) {
  const bson::View document = argument.view();
  SetConfig config;
  const bson::Value name = document["_id"];
  if (name.missing()) {
    return Invalid("Missing expected field \"_id\"");
  }
  if (!name.is_string() || name.AsString().empty()) {
    return Invalid("Replica set configuration must have non-empty \"_id\" field");
  }
  RETURN_IF_ERROR(CheckNames(document));
  ASSIGN_OR_RETURN(config.version, ParseVersion(document));
  bson::Builder out;
  out.Append("_id", name.AsString()).Append("version", static_cast<int32_t>(config.version));
  RETURN_IF_ERROR(ParseMembers(document, &config, &out));
  const bson::Value settings = document["settings"];
  if (!settings.missing() && !settings.is_document()) {
    return Invalid("\"settings\" had the wrong type. Expected object, found " +
                   std::string(bson::TypeName(settings.type())));
  }
  const bson::Value journal = document["writeConcernMajorityJournalDefault"];
  if (!journal.missing() && !FlagOf(journal)) {
    return Invalid("writeConcernMajorityJournalDefault must be true: only what is durable counts");
  }
  out.Append("protocolVersion", int64_t{1}).Append("writeConcernMajorityJournalDefault", true);
  out.BeginDocument("settings");
  RETURN_IF_ERROR(
      ParseSettings(settings.missing() ? bson::View() : settings.AsDocument(), &config, &out));
  out.End();
  config.document = std::move(out.Finish()).TakeBytes();
  return config;
}

}  // namespace quire::repl
