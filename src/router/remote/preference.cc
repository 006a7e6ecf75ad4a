// SPDX-License-Identifier: Apache-2.0
#include "router/remote/preference.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"

namespace quire::router {

namespace {

using Mode = ReadPreference::Mode;

struct ModeName {
  std::string_view name;
  Mode mode;
};
constexpr ModeName kModes[] = {
    {"primary", Mode::kPrimary},     {"primaryPreferred", Mode::kPrimaryPreferred},
    {"secondary", Mode::kSecondary}, {"secondaryPreferred", Mode::kSecondaryPreferred},
    {"nearest", Mode::kNearest},
};

using Members = std::vector<const MemberState*>;

bool HasTags(const MemberState& member, bson::View wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const bson::Element& tag) {
    return member.tags[tag.name()].BinaryEquals(tag.value());
  });
}

Members WithTags(const Members& members, const std::vector<bson::Document>& tags) {
  if (tags.empty()) {
    return members;
  }
  for (const bson::Document& wanted : tags) {
    Members found;
    std::copy_if(members.begin(), members.end(), std::back_inserter(found),
                 [&](const MemberState* member) { return HasTags(*member, wanted); });
    if (!found.empty()) {
      return found;
    }
  }
  return {};
}

// Those that are not further behind the newest than allowed.
Members Fresh(const std::vector<MemberState>& all, const Members& members,
              std::optional<int64_t> seconds) {
  if (!seconds) {
    return members;
  }
  int64_t newest = 0;
  for (const MemberState& member : all) {
    newest = std::max(newest, member.last_write.millis);
  }
  Members found;
  std::copy_if(members.begin(), members.end(), std::back_inserter(found),
               [&](const MemberState* member) {
                 return member->primary || newest - member->last_write.millis <= *seconds * 1000;
               });
  return found;
}

// Of the nearest ones any will do.
Members Near(Members members) {
  constexpr std::chrono::milliseconds kWindow{15};
  if (members.empty()) {
    return members;
  }
  const auto nearest = (*std::min_element(members.begin(), members.end(),
                                          [](const MemberState* a, const MemberState* b) {
                                            return a->round_trip < b->round_trip;
                                          }))
                           ->round_trip;
  std::erase_if(members,
                [&](const MemberState* member) { return member->round_trip > nearest + kWindow; });
  return members;
}

}  // namespace

Result<ReadPreference> ReadPreference::Parse(const bson::Argument& command) {
  ReadPreference preference;
  const bson::Element given = command.view().Find("$readPreference");
  if (!given.present() || given.value().nullish()) {
    return preference;
  }
  if (given.type() != bson::Type::kDocument) {
    return Status(kTypeMismatch, "$readPreference has incorrect type: expected object but got " +
                                     std::string(bson::TypeName(given.type())));
  }
  const bson::View fields = given.value().AsDocument();
  const bson::Value mode = fields["mode"];
  const std::string_view name = mode.is_string() ? mode.AsString() : "";
  const auto* known = std::find_if(std::begin(kModes), std::end(kModes),
                                   [&](const ModeName& one) { return one.name == name; });
  if (!mode.missing() && known == std::end(kModes)) {
    return Status(kBadValue, "Could not parse $readPreference mode '" + std::string(name) + "'");
  }
  if (!mode.missing()) {
    preference.mode = known->mode;
  }
  if (const bson::Value tags = fields["tags"]; tags.is_array()) {
    for (const bson::Element& set : tags.AsArray()) {
      if (set.type() == bson::Type::kDocument) {
        preference.tags.emplace_back(set.value().AsDocument());
      }
    }
  }
  const bool tagged = std::any_of(preference.tags.begin(), preference.tags.end(),
                                  [](const bson::Document& set) { return !set.empty(); });
  if (tagged && preference.mode == ReadPreference::Mode::kPrimary) {
    return Status(kBadValue, "Only empty tags are allowed with primary read preference");
  }
  if (const bson::Value staleness = fields["maxStalenessSeconds"]; staleness.is_number()) {
    const int64_t seconds = bson::ClampedInt64(staleness);
    if (seconds > 0) {
      preference.max_staleness_seconds = seconds;
    }
  }
  return preference;
}

std::vector<const MemberState*> Eligible(const std::vector<MemberState>& members,
                                         const ReadPreference& preference) {
  // Two may say that they are the primary for a moment: the later one is.
  Members primary;
  Members secondaries;
  for (const MemberState& member : members) {
    if (member.primary && (primary.empty() || primary.front()->term < member.term)) {
      primary = {&member};
    } else if (member.secondary) {
      secondaries.push_back(&member);
    }
  }
  auto narrow = [&](const Members& some) {
    return Near(WithTags(Fresh(members, some, preference.max_staleness_seconds), preference.tags));
  };
  switch (preference.mode) {
    case Mode::kPrimary:
      return primary;
    case Mode::kPrimaryPreferred:
      return primary.empty() ? narrow(secondaries) : primary;
    case Mode::kSecondary:
      return narrow(secondaries);
    case Mode::kSecondaryPreferred: {
      Members found = narrow(secondaries);
      return found.empty() ? primary : found;
    }
    case Mode::kNearest:
      break;
  }
  secondaries.insert(secondaries.end(), primary.begin(), primary.end());
  return narrow(secondaries);
}

}  // namespace quire::router
