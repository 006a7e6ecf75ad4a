// SPDX-License-Identifier: Apache-2.0
#include "repl/core/write_concern.h"

#include <algorithm>
#include <set>

namespace quire::repl {
namespace {

// How many different values of the tag the members that hold the slot have.
int ValuesOf(const SetConfig& config, const std::string& tag, Time time,
             std::span<const Held> held) {
  std::set<std::string> values;
  for (const Held& one : held) {
    const MemberConfig* member = config.Find(one.member);
    if (member == nullptr || one.held < time) continue;
    for (const auto& [name, value] : member->tags)
      if (name == tag) values.insert(value);
  }
  return static_cast<int>(values.size());
}

// The tags that a mode, or the concern itself, asks for. Null: there is no such mode.
const WriteTags* TagsOf(const SetConfig& config, const WriteConcern& concern) {
  if (concern.kind == WriteConcern::Kind::kTags) return &concern.tags;
  const WriteMode* mode = config.FindMode(concern.mode);
  return mode == nullptr ? nullptr : &mode->tags;
}

}  // namespace

int CheckWriteConcern(const SetConfig& config, const WriteConcern& concern) {
  switch (concern.kind) {
    case WriteConcern::Kind::kMajority:
      return 0;
    case WriteConcern::Kind::kNumber:
      return concern.number > static_cast<int>(config.members.size()) ? kUnsatisfiableWriteConcern
                                                                      : 0;
    case WriteConcern::Kind::kMode:
    case WriteConcern::Kind::kTags:
      break;
  }
  const WriteTags* tags = TagsOf(config, concern);
  if (tags == nullptr) return kUnknownReplWriteConcern;
  std::vector<Held> all;
  for (const MemberConfig& member : config.members) all.push_back({member.id, 0});
  int problem = 0;
  for (const auto& [tag, count] : *tags) {
    const int values = ValuesOf(config, tag, 0, all);
    if (values == 0 && concern.kind == WriteConcern::Kind::kTags) return kNoSuchKey;
    if (values < count) problem = kUnsatisfiableWriteConcern;
  }
  return problem;
}

bool MeetsWriteConcern(const SetConfig& config, const WriteConcern& concern, Time time, Time commit,
                       std::span<const Held> held, int majority) {
  switch (concern.kind) {
    case WriteConcern::Kind::kMajority:
      return commit >= time;
    case WriteConcern::Kind::kNumber: {
      auto holders = std::count_if(held.begin(), held.end(), [&](const Held& one) {
        return one.held >= time && config.Find(one.member) != nullptr;
      });
      if (concern.number >= majority && commit < time) return false;
      return holders >= concern.number;
    }
    case WriteConcern::Kind::kMode:
    case WriteConcern::Kind::kTags:
      break;
  }
  const WriteTags* tags = TagsOf(config, concern);
  if (tags == nullptr) return false;
  return std::all_of(tags->begin(), tags->end(), [&](const auto& need) {
    return ValuesOf(config, need.first, time, held) >= need.second;
  });
}

}  // namespace quire::repl
