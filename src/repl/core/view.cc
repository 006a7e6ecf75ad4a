// SPDX-License-Identifier: Apache-2.0
#include "repl/core/view.h"

#include <algorithm>

namespace quire::repl {

bool InSyncSet::Contains(InSyncMember member) const {
  return std::find(begin(), end(), member) != end();
}

bool InSyncSet::Contains(MemberId member) const {
  return std::any_of(begin(), end(), [&](const InSyncMember& m) { return m.member == member; });
}

void InSyncSet::Add(InSyncMember member) {
  Remove(member.member);
  Include(member);
}

void InSyncSet::Include(InSyncMember member) {
  if (!Contains(member) && size_ < kMaxInSync) members_[size_++] = member;
}

void InSyncSet::Remove(MemberId member) {
  auto* last = members_.data() + size_;
  auto* kept = std::remove_if(members_.data(), last,
                              [&](const InSyncMember& m) { return m.member == member; });
  std::fill(kept, last, InSyncMember{});
  size_ = static_cast<int>(kept - members_.data());
}

Versions VersionsOf(const View& view) {
  return {view.leader.version, view.isr.version, view.config.version};
}

}  // namespace quire::repl
