// SPDX-License-Identifier: Apache-2.0
//
// The configuration of a set as far as the protocol needs it; hosts and the rest stay with the
// caller.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "repl/core/types.h"

namespace quire::repl {

inline constexpr int kMaxVoters = 7;
inline constexpr int kMaxInSync = kMaxVoters + 1;  // one more while a change is open

struct MemberConfig {
  MemberId id = kNoMember;
  bool votes = true;
  double priority = 1;
  bool hidden = false;
  Millis delay = 0;          // applies so much later; never in sync
  bool newly_added = false;  // has no vote until it is in the in-sync set
  std::vector<std::pair<std::string, std::string>> tags;
};

// Of each tag, so many different values.
using WriteTags = std::vector<std::pair<std::string, int>>;

// A write concern by name (`settings.getLastErrorModes`).
struct WriteMode {
  std::string name;
  WriteTags tags;
};

struct SetConfig {
  uint64_t version = 0;
  std::vector<MemberConfig> members;
  std::vector<WriteMode> modes;
  int min_in_sync = 0;   // 0: a majority of the voters
  std::string document;  // the caller's own form of the whole, carried along unread

  const MemberConfig* Find(MemberId id) const;
  bool Votes(MemberId id) const;
  bool Electable(MemberId id) const;    // may become a primary that takes writes
  bool MayBeInSync(MemberId id) const;  // votes, or would but for being new; not delayed
  int Voters() const;
  int Majority() const { return Voters() / 2 + 1; }
  // The in-sync set never has fewer members, nor does a majority that answers.
  int MinInSync() const { return min_in_sync > 0 ? min_in_sync : Majority(); }
  const WriteMode* FindMode(const std::string& name) const;
};

// The configuration that `wanted` becomes: newer than `now`; who votes in it and did not in `now`
// is newly added.
SetConfig NextConfig(const SetConfig& now, SetConfig wanted);

}  // namespace quire::repl
