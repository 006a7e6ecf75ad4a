// SPDX-License-Identifier: Apache-2.0
//
// A member that leads: opens its log, sends slots and beacons, advances the commit point, resigns.
#include <algorithm>

#include "repl/core/core.h"

namespace quire::repl {

void Core::BecomeLeader(const View& view) {
  role_ = Role::kLeader;
  phase_ = Phase::kElected;
  elected_ = now_;
  take_over_until_ = 0;
  local_.accepted = view.leader.leader;
  local_.accepted.boot = boot_;
  local_.heard = view.stamp;
  local_.fresh = false;
  PersistLocal();
  ++generation_;
  joined_ = false;
  leader_down_ = false;
  ballot_.reset();
  // Whoever was elected as usual meanwhile has not taken the operator's configuration.
  const bool recovered = campaign_ && campaign_->config;
  campaign_.reset();
  wanted_since_ = -1;
  start_ = log_.last().time;
  proposals_.Reset(view);
  peers_.Clear();
  peers_.SetMembers(view.set(), self_, now_);
  writes_.clear();
  handing_.reset();
  muted_ = false;
  proven_ = floor_written_ = now_;
  next_change_ = now_ + settings_.between_changes;
  next_write_ = now_;
  if (step_up_ != 0) FinishCommand(step_up_, 0);
  step_up_ = 0;
  if (recovery_) FinishCommand(recovery_->command, recovered ? 0 : kConfigurationInProgress);
  recovery_.reset();
  SendBeacons();
}

void Core::AdvancePhase() {
  const SetConfig& set = proposals_.confirmed().set();
  if (phase_ == Phase::kElected) {
    auto accepted = std::count_if(peers_.begin(), peers_.end(), [&](const Peer& peer) {
      return peer.accepted && !peer.fresh && set.Votes(peer.id);
    });
    if (rules_.epoch_known_by_majority && accepted + 1 < set.MinInSync()) return;
    phase_ = Phase::kApplying;
    // What is applied now is committed; the rest of the log may not be.
    if (applied_ <= commit_) {
      snapshot_ = true;
      Do(KeepSnapshot{});
    }
  }
  if (phase_ == Phase::kApplying && applied_ >= start_) {
    phase_ = Phase::kOpen;
    lag_target_ = start_;
    lag_since_ = now_;
    Do(OpenLog{epoch(), set.Electable(self_)});
    Do(WriteNoop{epoch(), ++noop_token_});
  }
}

void Core::On(const Grown& grown) {
  if (!log_open() || grown.visible <= log_.last().time) return;
  log_.Extend({epoch(), grown.visible});
  applied_ = applying_ = grown.visible;
}

// Somebody who can write takes over, and this one stays away for a while.
void Core::On(const LogBroken&) {
  if (!leading()) return;
  if (!handing_) handing_ = Handing{0, now_, now_ + settings_.courtesy, 0, true};
  handing_->force = true;
  handing_->stay_down = std::max(handing_->stay_down, settings_.election);
  PauseOrResume();
}

void Core::Take(MemberId from, const Hello& hello) {
  if (!leading() || hello.epoch != epoch()) return;
  Peer* peer = peers_.Find(from);
  if (peer == nullptr || !peers_.TakeHello(peer, hello, log_)) return;
  SendTo(from, Join{epoch(), hello.session, peer->common, peer->resync});
}

void Core::Take(MemberId from, const Ack& ack) {
  if (!leading() || ack.epoch != epoch()) return;
  Peer* peer = peers_.Find(from);
  if (peer != nullptr) peers_.TakeAck(peer, ack, log_.last().time, now_);
}

void Core::Take(MemberId, const Refused& refused) {
  if (leading() && refused.accepted > epoch()) StepDown();
}

void Core::SendSlots(Peer* peer) {
  if (!peer->joined || peer->resync || peer->down || peer->sent.time >= log_.last().time) return;
  if (peer->sent.time < log_.begin.time) {  // trimmed meanwhile
    peer->resync = true;
    SendTo(peer->id, Join{epoch(), peer->session, {}, true});
    return;
  }
  Position last = log_.RunAfter(peer->sent);
  SendTo(peer->id, Append{epoch(), boot_, base_, peer->session, peer->sent, last, commit_});
  peer->sent = last;
}

void Core::SendBeacons() {
  next_beacon_ = now_ + settings_.beacon;
  if (muted_) return;
  told_commit_ = commit_;
  const View& keys = proposals_.confirmed();
  for (const Peer& peer : peers_) {
    Beacon beacon{epoch(), boot_, base_, keys.stamp, now_, commit_, peer.session};
    for (const InSyncMember& member : keys.isr.members)
      if (member.member == peer.id) beacon.in_sync = member.data;
    beacon.floor = keys.isr.floor;
    SendTo(peer.id, beacon);
  }
}

void Core::AdvanceCommit() {
  if (phase_ != Phase::kOpen) return;
  const View& confirmed = proposals_.confirmed();
  if (confirmed.isr.members.size() < proposals_.Needed()) return;
  Time commit = rules_.leader_counts_synced ? durable_ : log_.last().time;
  for (const InSyncMember& member : proposals_.Largest()) {
    if (member.member == self_) continue;
    const Peer* peer = peers_.Find(member.member);
    if (peer == nullptr || !peer->joined) return;
    if (rules_.positions_by_data && peer->data != member.data) return;
    if (rules_.ack_counters && peer->counter < confirmed.stamp.counter) return;
    commit = std::min(commit, peer->durable);
  }
  // Behind its start every slot is of this epoch: the commit point does not go back.
  if (commit <= start_ || commit <= commit_) return;
  commit_ = commit;
  snapshot_ = true;
  Do(Committed{commit_});
}

bool Core::Silent(const Peer& peer) const {
  return peer.down || now_ - peer.heard > settings_.silent;
}

bool Core::Lags(const Peer& peer) const {
  return Silent(peer) || now_ - peer.level > settings_.slow;
}

bool Core::Proven() const {
  const SetConfig& set = proposals_.confirmed().set();
  Millis all = now_;
  for (const InSyncMember& member : proposals_.Largest())
    if (const Peer* peer = peers_.Find(member.member)) all = std::min(all, peer->heard);
  auto heard = std::count_if(peers_.begin(), peers_.end(), [&](const Peer& peer) {
    return set.Votes(peer.id) && now_ - peer.heard <= settings_.proof;
  });
  return now_ - std::max(all, proven_) <= settings_.proof && heard + 1 >= set.MinInSync();
}

void Core::TickLeader() {
  // One whose epoch no majority accepts is of no use, and keeps others from an operator's recovery.
  bool useless = phase_ == Phase::kElected && now_ - elected_ > settings_.election;
  if (useless || !Proven()) {
    StepDown();
    return;
  }
  bool hung = sync_generation_ != 0 && now_ - sync_started_ > settings_.hung_disk;
  if (hung && !muted_) {
    for (const Peer& peer : peers_) {
      bool fit = proposals_.confirmed().isr.members.Contains(InSyncMember{peer.id, peer.data}) &&
                 proposals_.confirmed().set().Electable(peer.id) && !Lags(peer);
      if (!fit) continue;
      HandTo(peer.id);
      return;
    }
  }
  muted_ = hung;
  // What is committed is shown by others once they know it.
  if (now_ >= next_beacon_ || told_commit_ < commit_) SendBeacons();
  if (log_open()) Throttle();
  ConsiderTakeover();
}

Time Core::LowestApplied() const {
  Time lowest = applied_;
  for (const InSyncMember& member : proposals_.Largest()) {
    const Peer* peer = peers_.Find(member.member);
    if (peer != nullptr && !Silent(*peer)) lowest = std::min(lowest, peer->applied);
  }
  return lowest;
}

// A failover takes as long as a member in sync lags in applying: writers wait for one that lags.
void Core::Throttle() {
  if (LowestApplied() >= lag_target_) {
    lag_target_ = log_.last().time;
    lag_since_ = now_;
  }
  throttled_ = now_ - lag_since_ > settings_.apply_lag / 2;
  PauseOrResume();
}

void Core::PauseOrResume() {
  bool pause = handing_ || throttled_;
  if (pause == paused_) return;
  paused_ = pause;
  Do(PauseWrites{pause});
}

void Core::StepDown() {
  role_ = Role::kClosing;
  throttled_ = paused_ = false;
  EndWaiters();
  if (proposals_.open() && proposals_.open()->command != 0)
    FinishCommand(proposals_.open()->command, kPrimarySteppedDown);
  view_ =
      proposals_.confirmed().stamp.counter > view_.stamp.counter ? proposals_.confirmed() : view_;
  proposals_.Reset(View{});
  peers_.Clear();
  writes_.clear();
  if (handing_ && handing_->command != 0) FinishCommand(handing_->command, 0);
  handing_.reset();
  Do(CloseLog{});
}

}  // namespace quire::repl
