// SPDX-License-Identifier: Apache-2.0
#include "repl/core/core.h"

#include <algorithm>

namespace quire::repl {

Core::Core(MemberId self, Boot boot, const Settings& settings, uint64_t seed, const Rules& rules)
    : self_(self),
      boot_(boot),
      settings_(settings),
      rules_(rules),
      random_(seed * 2 + 1),
      proposals_(rules_),
      peers_(rules_) {}

void Core::Step(const Input& input, std::vector<Action>* out) {
  out_ = out;
  std::visit([this](const auto& one) { On(one); }, input);
  FinishStep();
}

bool Core::writable() const { return log_open() && view().set().Electable(self_) && !handing_; }

Core::MajorityReads Core::majority_reads() const {
  if (role_ == Role::kCopying) return MajorityReads::kNone;
  if (applied_ <= commit_ || !rules_.former_leader_reads) return MajorityReads::kApplied;
  return snapshot_ ? MajorityReads::kSnapshot : MajorityReads::kNone;
}

void Core::On(const Started& started) {
  now_ = started_ = heard_ = applied_at_ = started.now;
  local_ = started.local;
  log_ = started.log;
  applied_ = applying_ = std::min(started.applied, log_.last().time);
  commit_ = std::min(started.commit, log_.last().time);
  next_poll_ = now_;
  next_lazy_ = now_ + settings_.lazily;
  if (rules_.acked_file && log_.last().time < local_.acked)
    StartCopy();
  else
    BeginHandshake();
}

void Core::On(const Tick& tick) {
  now_ = std::max(now_, tick.now);
  if (now_ >= next_poll_) {
    next_poll_ = now_ + settings_.poll;
    Do(ReadKeys{});
  }
  if (now_ >= next_lazy_) {
    next_lazy_ = now_ + settings_.lazily;
    Time acked = std::min(durable_, log_.last().time);
    if (role_ != Role::kCopying && acked > local_.acked) {
      local_.acked = acked;
      PersistLocal();
    }
  }
  if (recovery_) TickRecovery();
  if (role_ == Role::kFollower) TickCandidate();
  if (leading()) TickLeader();
}

void Core::On(const Synced& synced) {
  if (synced.generation == sync_generation_) sync_generation_ = 0;
  if (role_ == Role::kCopying) return;
  if (synced.generation != generation_ && rules_.sync_generations) return;
  Time durable = std::min(synced.up_to, log_.last().time);
  if (durable <= durable_) return;
  durable_ = durable;
  if (role_ == Role::kFollower && joined_) SendAck(0, false);
}

void Core::On(const Applied& applied) {
  applied_at_ = now_;
  if (role_ != Role::kCopying)
    applied_ = std::max(applied_, std::min(applied.time, log_.last().time));
  // Who has caught up tells it at once; else it goes with what is acknowledged anyway.
  if (role_ == Role::kFollower && joined_ && applied_ == log_.last().time &&
      applied_ > told_applied_)
    SendAck(0, false);
}

void Core::On(const Trimmed& trimmed) { log_.Trim(trimmed.begin); }

void Core::On(const Received& received) {
  std::visit([&](const auto& message) { Take(received.from, message); }, received.message);
}

void Core::On(const Hint& hint) {
  store_hint_ = hint.view;
  if (hint.view.stamp.counter > view_.stamp.counter || !view_.known() || !rules_.ballot_counters)
    view_ = hint.view;
  CheckFolder(view_.isr.members.Contains(InSyncMember{self_, local_.data}), view_.isr.floor);
  // A process that ended cannot lead: nobody needs to wait for it.
  if (view_.leader.leader.member == self_ && view_.leader.leader.boot != boot_) {
    if (role_ == Role::kFollower && view_.leader.leader.epoch >= local_.accepted.epoch)
      leader_down_ = true;
    if (!rules_.boot_ends_leadership && role_ == Role::kFollower && !campaign_ &&
        view_.leader.leader.epoch == local_.accepted.epoch && local_.accepted.member == self_)
      BecomeLeader(view_);
  }
}

void Core::On(const PeerDown& down) {
  if (leading()) {
    if (Peer* peer = peers_.Find(down.member)) peer->down = true;
  } else if (down.member == local_.accepted.member) {
    leader_down_ = true;
  }
}

void Core::On(const LogClosed& closed) {
  if (role_ != Role::kClosing) return;
  role_ = Role::kFollower;
  log_ = closed.log;
  ++generation_;
  applied_ = applying_ = log_.last().time;  // a leader applies what it writes
  durable_ = std::min(durable_, applied_);
  commit_ = std::min(commit_, applied_);
  heard_ = now_;
  BeginHandshake();
}

void Core::On(const Copied& copied) {
  if (role_ != Role::kCopying) return;
  role_ = Role::kFollower;
  local_.data = copied.data;
  local_.fresh = true;
  local_.acked = 0;
  PersistLocal();
  log_ = copied.log;
  ++generation_;
  durable_ = 0;
  applied_ = applying_ = copied.applied;
  commit_ = copied.commit;
  snapshot_ = false;
  heard_ = now_;
  BeginHandshake();
}

void Core::On(const StoreAnswer& answer) {
  if (answer.now.stamp.counter > view_.stamp.counter || !view_.known()) view_ = answer.now;
  CheckFolder(view_.isr.members.Contains(InSyncMember{self_, local_.data}), view_.isr.floor);
  if (leading())
    TakeLeaderAnswer(answer);
  else if (campaign_)
    TakeCampaignAnswer(answer);
}

void Core::FinishStep() {
  if (leading()) {
    AdvancePhase();
    AdvanceCommit();
    CheckWaiters();
    HandOver();
  }
  if (leading()) {
    MaintainInSync();
    for (Peer& peer : peers_) SendSlots(&peer);
  }
  RequestSync();
  RequestApply();
  Show();
}

void Core::RequestSync() {
  if (role_ == Role::kCopying || role_ == Role::kClosing || sync_generation_ == generation_) return;
  if (log_.last().time <= durable_) return;
  sync_generation_ = generation_;
  sync_started_ = now_;
  Do(SyncLog{generation_, log_.last().time});
}

void Core::RequestApply() {
  if (role_ == Role::kCopying || role_ == Role::kClosing) return;
  Time up_to = role_ == Role::kFollower ? std::min(commit_, log_.last().time)
                                        : (phase_ == Phase::kApplying ? start_ : 0);
  if (up_to <= applying_) return;
  if (applying_ == applied_) applied_at_ = now_;
  applying_ = up_to;
  Do(Apply{up_to});
}

void Core::Show() {
  Become now{MemberState::kSecondary, local_.accepted.epoch};
  const View& keys = view();
  if (role_ == Role::kCopying)
    now.state = MemberState::kInitialSync;
  else if (!keys.known())
    now.state = MemberState::kStartup;
  else if (keys.set().Find(self_) == nullptr)
    now.state = MemberState::kRemoved;
  else if (log_open() && keys.set().Electable(self_))
    now.state = MemberState::kPrimary;
  else if (majority_reads() == MajorityReads::kNone)
    now.state = MemberState::kRecovering;
  if (now.state == shown_.state && now.epoch == shown_.epoch) return;
  shown_ = now;
  Do(now);
}

void Core::PersistLocal() { Do(Persist{local_}); }

Millis Core::Jitter(Millis up_to) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return up_to <= 0 ? 0 : static_cast<Millis>(random_ % static_cast<uint64_t>(up_to));
}

}  // namespace quire::repl
