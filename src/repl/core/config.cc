// SPDX-License-Identifier: Apache-2.0
#include "repl/core/config.h"

#include <algorithm>

namespace quire::repl {

const MemberConfig* SetConfig::Find(MemberId id) const {
  for (const MemberConfig& member : members)
    if (member.id == id) return &member;
  return nullptr;
}

bool SetConfig::Votes(MemberId id) const {
  const MemberConfig* member = Find(id);
  return member != nullptr && member->votes && !member->newly_added;
}

bool SetConfig::Electable(MemberId id) const {
  const MemberConfig* member = Find(id);
  return member != nullptr && member->votes && !member->newly_added && member->priority > 0 &&
         !member->hidden && member->delay == 0;
}

bool SetConfig::MayBeInSync(MemberId id) const {
  const MemberConfig* member = Find(id);
  return member != nullptr && member->votes && member->delay == 0;
}

int SetConfig::Voters() const {
  return static_cast<int>(std::count_if(
      members.begin(), members.end(),
      [](const MemberConfig& member) { return member.votes && !member.newly_added; }));
}

const WriteMode* SetConfig::FindMode(const std::string& name) const {
  for (const WriteMode& mode : modes)
    if (mode.name == name) return &mode;
  return nullptr;
}

SetConfig NextConfig(const SetConfig& now, SetConfig wanted) {
  wanted.version = std::max(wanted.version, now.version + 1);
  for (MemberConfig& member : wanted.members)
    member.newly_added = member.votes && !now.Votes(member.id);
  return wanted;
}

}  // namespace quire::repl
