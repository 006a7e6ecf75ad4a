// SPDX-License-Identifier: Apache-2.0
//
// A pre-vote: whether a member should try to become leader.
//
// It spares the set elections that nobody needs, and it finds a store that went back: a majority
// answers, and one of them has heard of the newest keys.
#pragma once

#include <vector>

#include "repl/core/events.h"
#include "repl/core/rules.h"

namespace quire::repl {

struct BallotAnswer {
  MemberId from = kNoMember;
  PreVoteAnswer answer;
};

struct Ballot {
  uint64_t round = 0;
  bool transfer = false;  // the leader itself wants it: that it lives is no objection
  Millis until = 0;
  std::vector<BallotAnswer> answers;  // of others, each once

  void Take(MemberId from, const PreVoteAnswer& answer);
};

enum class Verdict {
  kCampaign,
  kNoMajority,    // too few answered
  kLeaderLives,   // somebody hears the leader
  kStaleView,     // somebody knows newer keys: the view is old, or the store went back
  kAfterAnother,  // somebody should go first
};

struct Candidate {
  MemberId self = kNoMember;
  const Local* local = nullptr;
  Position last;
  Millis waited = 0;  // since it first wanted to
  Millis courtesy = 0;
};

// Whether the member may stand at all: its folder is in the in-sync set and reaches the floor.
bool MayStand(const View& view, const Candidate& candidate, const Rules& rules);

// REQUIRES: MayStand.
Verdict Judge(const Ballot& ballot, const View& view, const Candidate& candidate,
              const Rules& rules);

}  // namespace quire::repl
