// SPDX-License-Identifier: Apache-2.0
#include "repl/core/ballot.h"

#include <algorithm>

namespace quire::repl {
namespace {

bool InSync(const View& view, MemberId member, DataId data, const Rules& rules) {
  return rules.data_ids ? view.isr.members.Contains(InSyncMember{member, data})
                        : view.isr.members.Contains(member);
}

// Whether the answerer should stand before the candidate.
bool GoesFirst(const BallotAnswer& other, const View& view, const Candidate& self,
               const Rules& rules) {
  const SetConfig& set = view.set();
  if (!set.Electable(other.from) || other.answer.last.time < view.isr.floor) return false;
  if (!InSync(view, other.from, other.answer.data, rules)) return false;
  if (!set.Electable(self.self)) return true;
  if (other.answer.last != self.last) return other.answer.last > self.last;
  return set.Find(other.from)->priority > set.Find(self.self)->priority;
}

}  // namespace

void Ballot::Take(MemberId from, const PreVoteAnswer& answer) {
  auto same = std::find_if(answers.begin(), answers.end(),
                           [&](const BallotAnswer& one) { return one.from == from; });
  if (same == answers.end())
    answers.push_back({from, answer});
  else
    same->answer = answer;
}

bool MayStand(const View& view, const Candidate& candidate, const Rules& rules) {
  if (!view.known() || !view.set().Votes(candidate.self)) return false;
  if (rules.only_in_sync_lead && !InSync(view, candidate.self, candidate.local->data, rules))
    return false;
  if (rules.floor && candidate.last.time < view.isr.floor) return false;
  bool behind = Misses(view.stamp, candidate.local->heard) ||
                candidate.local->accepted.epoch > view.leader.leader.epoch;
  return !behind || !rules.ballot_counters;
}

Verdict Judge(const Ballot& ballot, const View& view, const Candidate& candidate,
              const Rules& rules) {
  const SetConfig& set = view.set();
  int answered = candidate.local->fresh ? 0 : 1;
  bool lives = false, stale = false, after = false;
  for (const BallotAnswer& one : ballot.answers) {
    const PreVoteAnswer& answer = one.answer;
    bool in_sync = InSync(view, one.from, answer.data, rules);
    if (set.Votes(one.from) && !answer.fresh) ++answered;
    if (answer.leads || (answer.hears && in_sync)) lives = true;
    if (answer.accepted.epoch > view.leader.leader.epoch || Misses(view.stamp, answer.heard))
      stale = true;
    if (GoesFirst(one, view, candidate, rules)) after = true;
  }
  if (answered < set.MinInSync()) return Verdict::kNoMajority;
  if (lives && !ballot.transfer) return Verdict::kLeaderLives;
  if (stale && rules.ballot_counters) return Verdict::kStaleView;
  bool patient = set.Electable(candidate.self) ? after : true;
  if (patient && !ballot.transfer && candidate.waited < candidate.courtesy)
    return Verdict::kAfterAnother;
  return Verdict::kCampaign;
}

}  // namespace quire::repl
