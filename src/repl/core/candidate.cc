// SPDX-License-Identifier: Apache-2.0
//
// A member without a leader: asks the others, and tries to write itself into the keys.
#include <algorithm>

#include "repl/core/core.h"

namespace quire::repl {

Candidate Core::AsCandidate() const {
  Millis waited = wanted_since_ < 0 ? 0 : now_ - wanted_since_;
  return {self_, &local_, log_.last(), waited, settings_.courtesy};
}

bool Core::HearsLeader() const {
  return role_ == Role::kFollower && local_.accepted.member != kNoMember && !leader_down_ &&
         heard_any_ && local_.accepted.member != self_ && now_ - heard_ < settings_.election;
}

void Core::Take(MemberId from, const PreVote& vote) {
  PreVoteAnswer answer;
  answer.round = vote.round;
  answer.accepted = local_.accepted;
  answer.fence = local_.fence;
  answer.heard = local_.heard;
  answer.boot = boot_;
  answer.data = local_.data;
  answer.fresh = local_.fresh || role_ == Role::kCopying;
  answer.hears = HearsLeader();
  answer.leads = leading();
  answer.last = log_.last();
  SendTo(from, answer);
}

void Core::Take(MemberId from, const PreVoteAnswer& answer) {
  if (from == local_.accepted.member && answer.boot != local_.accepted.boot) leader_down_ = true;
  if (!ballot_ || answer.round != ballot_->round) return;
  ballot_->Take(from, answer);
  if (ballot_->answers.size() + 1 >= view_.set().members.size()) CloseBallot();
}

void Core::Take(MemberId from, const TakeOver& take_over) {
  bool from_leader = from == local_.accepted.member && take_over.epoch == local_.accepted.epoch;
  if (role_ != Role::kFollower || !from_leader || campaign_ || now_ < frozen_until_) return;
  // Tried again for a while: an answer may be lost, and the keys that put this one in sync may be
  // news to it.
  take_over_until_ = now_ + settings_.courtesy;
  if (MayStand(view_, AsCandidate(), rules_)) {
    StartBallot(true);
  } else {
    Do(ReadKeys{});
  }
}

void Core::TickCandidate() {
  if (step_up_ != 0 && now_ >= step_up_until_) {
    FinishCommand(step_up_, kCommandFailed);
    step_up_ = 0;
  }
  if (campaign_) {
    if (now_ >= campaign_->sent + settings_.store_retry) SendCampaign();
    return;
  }
  if (ballot_) {
    if (now_ >= ballot_->until) CloseBallot();
    return;
  }
  bool asked = step_up_ != 0 || now_ < take_over_until_;
  if (!asked && !leader_down_ && now_ - heard_ < election_timeout_) return;
  if (now_ < next_ballot_ || (now_ < frozen_until_ && !asked)) return;
  next_ballot_ = now_ + settings_.ballot + Jitter(settings_.ballot);
  Do(ReadKeys{});
  if (!MayStand(view_, AsCandidate(), rules_)) return;
  if (wanted_since_ < 0) wanted_since_ = now_;
  StartBallot(asked);
}

void Core::StartBallot(bool transfer) {
  ballot_ = Ballot{++round_, transfer, now_ + settings_.ballot, {}};
  for (const MemberConfig& member : view_.set().members)
    if (member.id != self_) SendTo(member.id, PreVote{round_, transfer});
}

void Core::CloseBallot() {
  Ballot ballot = std::move(*ballot_);
  ballot_.reset();
  if (role_ != Role::kFollower || campaign_ || !MayStand(view_, AsCandidate(), rules_)) return;
  if (recovery_ && recovery_->asked) return;
  if (Judge(ballot, view_, AsCandidate(), rules_) != Verdict::kCampaign) return;
  Epoch above = std::max(view_.leader.leader.epoch, std::max(local_.accepted.epoch, local_.fence));
  for (const BallotAnswer& one : ballot.answers) above = std::max(above, one.answer.fence);
  Campaign(ballot.transfer, above);
}

void Core::Campaign(bool transfer, Epoch above) {
  View wanted = view_;
  MemberId before = wanted.leader.leader.member;
  wanted.leader.leader = {above + 1, self_, boot_};
  InSyncSet rest = wanted.isr.members;
  rest.Remove(before);
  if (before != self_ && !transfer && rest.size() >= wanted.set().MinInSync())
    wanted.isr.members = rest;
  if (!rules_.only_in_sync_lead) wanted.isr.members.Add({self_, local_.data});
  wanted.isr.floor = std::max(wanted.isr.floor, commit_);
  wanted.stamp.counter = view_.stamp.counter + 1;
  campaign_ = OpenCampaign{VersionsOf(view_), view_.stamp, wanted, false, last_ticket_ + 1, 0};
  SendCampaign();
}

void Core::SendCampaign() {
  campaign_->sent = now_;
  WriteKeys write;
  write.ticket = ++last_ticket_;
  write.expected = campaign_->expected;
  write.compare_nonces = rules_.compare_nonces;
  write.wanted = campaign_->wanted;
  write.nonce = {boot_, ++last_nonce_};
  write.leader = true;
  // Also when it stays the same: it is another key for the leader before.
  write.isr = rules_.compare_leader || campaign_->wanted.isr.members != view_.isr.members;
  write.config = campaign_->config;
  Do(std::move(write));
}

// An attempt that is repeated writes the same, so either is as good; not one of an earlier campaign
// for the same epoch, which a store that went back may still do. Once the versions differ from
// those compared, none of them can happen any more.
void Core::TakeCampaignAnswer(const StoreAnswer& answer) {
  if (answer.ticket < campaign_->first_ticket) return;
  bool counts = answer.done || rules_.refusal_decides_nothing;
  const View& wanted = campaign_->wanted;
  if (counts && answer.now.leader.leader == wanted.leader.leader &&
      answer.now.stamp.counter == wanted.stamp.counter) {
    base_ = campaign_->base;
    Millis sent = campaign_->sent;
    BecomeLeader(answer.now);
    proven_ = sent;
  } else if (!counts || VersionsOf(answer.now) != campaign_->expected) {
    campaign_.reset();
    RecoverLater();
    next_ballot_ = now_ + settings_.ballot + Jitter(settings_.ballot);
  }
}

void Core::EndCampaign() {
  campaign_.reset();
  FailRecovery();
}

}  // namespace quire::repl
