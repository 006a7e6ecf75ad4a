// SPDX-License-Identifier: Apache-2.0
#include "repl/config/set_config.h"

#include <algorithm>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::repl {
namespace {

bson::View DocumentOf(const SetConfig& config) { return bson::View(config.document.data()); }

bson::View MemberDocument(const SetConfig& config, MemberId id) {
  for (const bson::Element& element : DocumentOf(config)["members"].AsArray()) {
    if (element.value().AsDocument()["_id"].AsInt32() == id) {
      return element.value().AsDocument();
    }
  }
  return {};
}

bool IsLocalHost(std::string_view host) {
  host = host.substr(0, host.rfind(':'));
  return host == "localhost" || host.starts_with("127.") || host == "[::1]" ||
         host.starts_with("/");
}

Status CheckMembers(const SetConfig& config, int code) {
  const size_t count = config.members.size();
  if (count < 1 || count > kMaxMembers) {
    return {code, "Replica set configuration contains " + std::to_string(count) +
                      " members, but must have at least 1 and no more than  50"};
  }
  const auto hosts = HostsOf(config);
  size_t local = 0;
  for (size_t i = 0; i < count; ++i) {
    const MemberId id = config.members[i].id;
    local += IsLocalHost(hosts.at(id)) ? 1 : 0;
    for (size_t j = i + 1; j < count; ++j) {
      const std::string places = "members." + std::to_string(i);
      if (config.members[j].id == id) {
        return {code, "Found two member configurations with same _id field, members." +
                          std::to_string(i) + "._id == members." + std::to_string(j) +
                          "._id == MemberId(" + std::to_string(id) + ")"};
      }
      if (hosts.at(config.members[j].id) == hosts.at(id)) {
        return {code, "Found two member configurations with same host field, members." +
                          std::to_string(i) + ".host == members." + std::to_string(j) +
                          ".host == " + hosts.at(id)};
      }
    }
  }
  if (local != 0 && local != count) {
    return {code,
            "Either all host names in a replica set configuration must be localhost references, or "
            "none must be; found " +
                std::to_string(local) + " out of " + std::to_string(count)};
  }
  return Status::Ok();
}

Status CheckVotes(const SetConfig& config, int code) {
  const auto voters = std::count_if(config.members.begin(), config.members.end(),
                                    [](const MemberConfig& one) { return one.votes; });
  if (voters < 1 || voters > kMaxVoters) {
    return {code, "Replica set configuration contains " + std::to_string(voters) +
                      " voting members, but must be at least 1 and no more than 7"};
  }
  if (std::none_of(config.members.begin(), config.members.end(),
                   [](const MemberConfig& one) { return one.priority > 0; })) {
    return {code,
            "Replica set configuration must contain at least one non-arbiter member with priority "
            "> 0"};
  }
  if (config.min_in_sync > voters) {
    return {code, "settings.minInSync is greater than the number of voting members"};
  }
  return Status::Ok();
}

Status CheckModes(const SetConfig& config, int code) {
  for (const WriteMode& mode : config.modes) {
    for (const auto& [tag, count] : mode.tags) {
      const bool known = std::any_of(
          config.members.begin(), config.members.end(), [&name = tag](const MemberConfig& one) {
            return std::any_of(one.tags.begin(), one.tags.end(),
                               [&](const auto& own) { return own.first == name; });
          });
      if (!known) {
        return {code, "No such tag, \"" + tag + "\", in the configuration of any member"};
      }
    }
  }
  return Status::Ok();
}

Status Incompatible(std::string text) {
  return {kNewReplicaSetConfigurationIncompatible, std::move(text)};
}

}  // namespace

Status CheckConfig(const SetConfig& config, int code) {
  RETURN_IF_ERROR(CheckMembers(config, code));
  RETURN_IF_ERROR(CheckVotes(config, code));
  return CheckModes(config, code);
}

std::string VersionAndTerm(uint64_t version, Epoch term) {
  return "{version: " + std::to_string(version) + ", term: " + std::to_string(term) + "}";
}

Status CheckReconfig(const SetConfig& now, const SetConfig& next, Epoch term, bool force) {
  const std::string name = SetNameOf(now);
  if (SetNameOf(next) != name) {
    return Incompatible("New and old configurations differ in replica set name; old was " + name +
                        ", and new is " + SetNameOf(next));
  }
  const bson::Value old_id = DocumentOf(now)["settings"].AsDocument()["replicaSetId"];
  const bson::Value new_id = DocumentOf(next)["settings"].AsDocument()["replicaSetId"];
  if (!new_id.missing() && !old_id.missing() && !old_id.BinaryEquals(new_id)) {
    return Incompatible("New and old configurations differ in replica set ID; old was " +
                        old_id.AsObjectId().ToHex() + ", and new is " +
                        (new_id.type() == bson::Type::kObjectId ? new_id.AsObjectId().ToHex()
                                                                : std::string("no ObjectId")));
  }
  if (force) {
    return Status::Ok();
  }
  if (next.version <= now.version) {
    return Incompatible(
        "New replica set configuration version and term must be greater than old, but " +
        VersionAndTerm(next.version, term) + " is not greater than " +
        VersionAndTerm(now.version, term) + " for replica set " + name);
  }
  std::set<MemberId> changed;
  for (const MemberConfig& member : now.members) {
    const MemberConfig* after = next.Find(member.id);
    if (member.votes && (after == nullptr || !after->votes)) {
      changed.insert(member.id);
    }
  }
  for (const MemberConfig& member : next.members) {
    const MemberConfig* before = now.Find(member.id);
    if (member.votes && (before == nullptr || !before->votes)) {
      changed.insert(member.id);
    }
  }
  if (changed.size() > 1) {
    return Incompatible(
        "Non force replica set reconfig can only add or remove at most 1 voting member.");
  }
  return Status::Ok();
}

bson::Document ConfigDocument(const SetConfig& config, Epoch term, bool shown) {
  bson::Builder out;
  for (const bson::Element& field : DocumentOf(config)) {
    if (field.name() == "version") {
      out.Append("version", static_cast<int32_t>(config.version));
      out.Append("term", static_cast<int32_t>(term));
    } else if (field.name() == "members") {
      out.BeginArray("members");
      for (const MemberConfig& member : config.members) {
        out.PushDocument().AppendFields(MemberDocument(config, member.id));
        if (member.newly_added && !shown) {
          out.Append("newlyAdded", true);
        }
        out.End();
      }
      out.End();
    } else {
      out.Append(field);
    }
  }
  return out.Finish();
}

std::string SetNameOf(const SetConfig& config) {
  return std::string(DocumentOf(config)["_id"].AsString());
}

std::map<MemberId, std::string> HostsOf(const SetConfig& config) {
  std::map<MemberId, std::string> out;
  for (const bson::Element& element : DocumentOf(config)["members"].AsArray()) {
    const bson::View member = element.value().AsDocument();
    out.emplace(member["_id"].AsInt32(), member["host"].AsString());
  }
  return out;
}

Millis ElectionTimeoutOf(const SetConfig& config) {
  return DocumentOf(config)["settings"].AsDocument()["electionTimeoutMillis"].AsInt64();
}

bson::Document WithSetId(const bson::Argument& document, const bson::ObjectId& id) {
  bson::Builder out;
  bool written = false;
  for (const bson::Element& field : document.view()) {
    if (field.name() != "settings" || !field.value().is_document()) {
      out.Append(field);
      continue;
    }
    out.BeginDocument("settings");
    for (const bson::Element& setting : field.value().AsDocument()) {
      if (setting.name() != "replicaSetId") {
        out.Append(setting);
      }
    }
    out.Append("replicaSetId", id).End();
    written = true;
  }
  if (!written) {
    out.BeginDocument("settings").Append("replicaSetId", id).End();
  }
  return out.Finish();
}

}  // namespace quire::repl
