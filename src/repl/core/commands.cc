// SPDX-License-Identifier: Apache-2.0
//
// What an administrator asks for: step down and up, freeze, reconfig, recovery.
#include <algorithm>
#include <memory>
#include <utility>

#include "repl/core/core.h"

namespace quire::repl {

void Core::FinishCommand(CommandId id, int code, MemberId hint) {
  if (id != 0) Do(CommandDone{id, code, hint});
}

void Core::On(const StepDownCommand& command) {
  if (!log_open() || handing_) {
    FinishCommand(command.id, kNotWritablePrimary);
    return;
  }
  // One that is forced at once takes along what is under way, too, if that is quick.
  const Millis timeout =
      command.force ? std::max(command.catch_up, settings_.settle) : command.catch_up;
  handing_ = Handing{command.id, now_, now_ + timeout, command.stay_down, command.force};
  PauseOrResume();
}

void Core::HandOver() {
  if (!handing_) return;
  // Whoever waits for its write is answered first.
  bool settled = now_ - handing_->begun >= settings_.settle && commit_ >= log_.last().time;
  if (const Peer* successor = settled ? Successor(true) : nullptr) {
    HandTo(successor->id);
  } else if (now_ >= handing_->until && handing_->force) {
    const Peer* next = Successor(false);
    HandTo(next == nullptr ? kNoMember : next->id);
  } else if (now_ >= handing_->until) {
    FinishCommand(handing_->command, kExceededTimeLimit);
    handing_.reset();
    PauseOrResume();
  }
}

void Core::HandTo(MemberId successor) {
  if (handing_) frozen_until_ = now_ + handing_->stay_down;
  if (successor != kNoMember) SendTo(successor, TakeOver{epoch()});
  StepDown();
}

// Of those in sync who holds most, of these the one with the highest priority.
const Peer* Core::Successor(bool whole) const {
  const View& keys = proposals_.confirmed();
  const Peer* best = nullptr;
  for (const Peer& peer : peers_) {
    if (!keys.isr.members.Contains(InSyncMember{peer.id, peer.data}) || Lags(peer)) continue;
    if (!keys.set().Electable(peer.id)) continue;
    if (whole && peer.durable < log_.last().time) continue;
    auto rank = [&](const Peer& one) {
      return std::pair(one.durable, keys.set().Find(one.id)->priority);
    };
    if (best == nullptr || rank(peer) > rank(*best)) best = &peer;
  }
  return best;
}

// A member of higher priority takes over when it has been in sync for a while; from a caretaker,
// which takes no writes, anyone who may take them does at once.
void Core::ConsiderTakeover() {
  const View& keys = proposals_.confirmed();
  const MemberConfig* self = keys.set().Find(self_);
  if (!log_open() || handing_ || self == nullptr) return;
  bool caretaker = !keys.set().Electable(self_);
  for (const Peer& peer : peers_) {
    if (!keys.set().Electable(peer.id) || Lags(peer)) continue;
    if (!keys.isr.members.Contains(InSyncMember{peer.id, peer.data})) continue;
    bool higher = keys.set().Find(peer.id)->priority > self->priority && peer.in_sync_since != 0 &&
                  now_ - peer.in_sync_since >= settings_.takeover_in_sync &&
                  peer.uptime >= settings_.takeover_uptime;
    if (!caretaker && !higher) continue;
    handing_ = Handing{0, now_, now_ + settings_.courtesy, 0, false};
    PauseOrResume();
    return;
  }
}

void Core::On(const StepUpCommand& command) {
  if (leading()) {
    FinishCommand(command.id, 0);
  } else if (role_ != Role::kFollower || campaign_ || step_up_ != 0 ||
             !MayStand(view_, AsCandidate(), rules_)) {
    FinishCommand(command.id, kCommandFailed);
  } else {
    step_up_ = command.id;
    step_up_until_ = now_ + settings_.election;
    StartBallot(true);
  }
}

void Core::On(const FreezeCommand& command) {
  if (leading()) {
    FinishCommand(command.id, kNotSecondary);
    return;
  }
  frozen_until_ = command.duration == 0 ? 0 : now_ + command.duration;
  take_over_until_ = 0;
  FinishCommand(command.id, 0);
}

void Core::On(const ReconfigCommand& command) {
  if (!log_open()) {
    FinishCommand(command.id, kNotWritablePrimary);
    return;
  }
  if (proposals_.open()) {
    FinishCommand(command.id, kConfigurationInProgress);
    return;
  }
  const View& keys = proposals_.confirmed();
  auto next = std::make_shared<SetConfig>(NextConfig(keys.set(), *command.config));
  View wanted = keys;
  if (!rules_.reconfig_adds_nobody) {
    for (MemberConfig& member : next->members) {
      const Peer* peer = peers_.Find(member.id);
      if (!member.newly_added || peer == nullptr || peer->data == 0) continue;
      member.newly_added = false;
      wanted.isr.members.Add({member.id, peer->data});
    }
  }
  for (const InSyncMember& member : keys.isr.members)
    if (!next->Votes(member.member) || !next->MayBeInSync(member.member))
      wanted.isr.members.Remove(member.member);
  auto voters = std::count_if(next->members.begin(), next->members.end(),
                              [](const MemberConfig& member) { return member.votes; });
  if (voters > kMaxVoters || !next->Electable(self_) ||
      wanted.isr.members.size() < next->MinInSync()) {
    FinishCommand(command.id, kNewReplicaSetConfigurationIncompatible);
    return;
  }
  wanted.config.config = std::move(next);
  Propose(std::move(wanted), true, true, command.id);
}

void Core::On(const RecoverCommand& command) {
  if (leading() || recovery_ || role_ == Role::kCopying || local_.fresh) {
    FinishCommand(command.id, kCommandFailed);
    return;
  }
  recovery_ = Recovery{};
  recovery_->command = command.id;
  recovery_->accept_loss = command.accept_loss;
  recovery_->config = command.config;
  recovery_->deadline = now_ + settings_.recovery;
  recovery_->next = now_;
  TickRecovery();
}

// A leader that was heard of a moment ago, a log that is not closed yet, a campaign or a request to
// the store without an answer: all that passes.
void Core::TickRecovery() {
  if (recovery_->asked && !campaign_ && now_ >= recovery_->until) FinishSurvey();
  if (!recovery_) return;
  if (now_ >= recovery_->deadline) {
    FailRecovery();
    return;
  }
  bool may = role_ == Role::kFollower && !campaign_ && store_hint_.known() && !HearsLeader();
  if (may && !recovery_->asked && now_ >= recovery_->next) AskSurvivors();
}

void Core::AskSurvivors() {
  Epoch highest = std::max(view_.leader.leader.epoch, local_.accepted.epoch);
  highest = std::max({highest, local_.fence, store_hint_.leader.leader.epoch});
  recovery_->asked = true;
  recovery_->round = ++round_;
  recovery_->epoch = highest + 1;
  recovery_->until = now_ + settings_.courtesy;
  recovery_->answers.clear();
  if (rules_.recover_fences) {
    local_.fence = recovery_->epoch;
    PersistLocal();
    BeginHandshake();
  }
  for (const MemberConfig& member : view_.set().members)
    if (member.id != self_) SendTo(member.id, Survey{round_, recovery_->epoch});
}

void Core::RecoverLater() {
  if (!recovery_) return;
  recovery_->asked = false;
  recovery_->next = now_ + settings_.ballot;
  Do(ReadKeys{});
}

void Core::FailRecovery(MemberId hint) {
  if (!recovery_) return;
  FinishCommand(recovery_->command, kCommandFailed, hint);
  recovery_.reset();
}

// Who is fenced has promised to follow no older leader and to be none: what it holds is all it will
// ever acknowledge. Whoever has a campaign on its way cannot promise that.
void Core::Take(MemberId from, const Survey& survey) {
  SurveyAnswer answer;
  answer.round = survey.round;
  answer.highest = std::max(local_.accepted.epoch, local_.fence);
  answer.counter = local_.heard.counter;
  answer.data = local_.data;
  answer.fresh = local_.fresh || role_ == Role::kCopying;
  answer.last = log_.last();
  const bool campaigns = campaign_ && rules_.recover_fences;
  if (role_ == Role::kFollower && !campaigns && !HearsLeader() && survey.epoch > answer.highest) {
    answer.fenced = true;
    if (rules_.recover_fences) {
      local_.fence = survey.epoch;
      PersistLocal();
      BeginHandshake();
    }
  }
  SendTo(from, answer);
}

void Core::Take(MemberId from, const SurveyAnswer& answer) {
  if (!recovery_ || !recovery_->asked || answer.round != recovery_->round) return;
  for (auto& [member, one] : recovery_->answers)
    if (member == from) return;
  recovery_->answers.emplace_back(from, answer);
}

void Core::FinishSurvey() {
  const Recovery& recovery = *recovery_;
  const SetConfig& set = view_.set();
  int fenced = set.Votes(self_) ? 1 : 0;
  Counter counter =
      std::max({local_.heard.counter, view_.stamp.counter, store_hint_.stamp.counter});
  Position longest = log_.last();
  MemberId holder = self_;
  // Somebody was elected meanwhile, or recovers, too.
  bool overtaken = (local_.fence != recovery.epoch && rules_.recover_fences) ||
                   view_.leader.leader.epoch >= recovery.epoch ||
                   store_hint_.leader.leader.epoch >= recovery.epoch;
  for (const auto& [member, answer] : recovery.answers) {
    if (!answer.fenced || answer.fresh) continue;
    counter = std::max(counter, answer.counter);
    if (set.Votes(member)) ++fenced;
    if (answer.last <= longest) continue;
    longest = answer.last;
    holder = member;
  }
  bool enough = fenced >= set.Majority() || recovery.accept_loss;
  bool best = holder == self_ || !rules_.recover_longest;
  // It will be the only one in sync: what it holds must not go with the power.
  bool durable = durable_ >= log_.last().time;
  if (!best) {
    FailRecovery(holder);
    return;
  }
  if (role_ != Role::kFollower || overtaken || !enough || !durable) {
    RecoverLater();
    return;
  }
  View wanted = store_hint_;
  wanted.config = view_.config;
  if (recovery.config) wanted.config.config = recovery.config;
  wanted.leader.leader = {recovery.epoch, self_, boot_};
  wanted.isr.members = InSyncSet();
  wanted.isr.members.Add({self_, local_.data});
  wanted.isr.floor = log_.last().time;
  ++wanted.isr.unclean;
  wanted.stamp.counter = counter + 1;
  // Newer than all that anyone has heard of: what the store has forgotten is looked up no more.
  campaign_ =
      OpenCampaign{VersionsOf(store_hint_), {counter + 1, {}}, wanted, true, last_ticket_ + 1, 0};
  SendCampaign();
}

}  // namespace quire::repl
