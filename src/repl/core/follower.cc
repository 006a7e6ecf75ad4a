// SPDX-License-Identifier: Apache-2.0
//
// A member that follows: accepts a leader, finds where the logs part, appends, acknowledges.
#include <algorithm>

#include "repl/core/core.h"

namespace quire::repl {

bool Core::AcceptLeader(MemberId from, Epoch epoch, Boot boot, const Stamp& base) {
  if (role_ == Role::kCopying || role_ == Role::kClosing) return false;
  const Leadership& accepted = local_.accepted;
  bool old = epoch < accepted.epoch || epoch < local_.fence;
  if (old && rules_.refuse_old_epochs) {
    SendTo(from, Refused{std::max(accepted.epoch, local_.fence)});
    return false;
  }
  // Who campaigns acknowledges nothing any more until that is decided.
  if (campaign_ && epoch < campaign_->wanted.leader.leader.epoch) return false;
  if (epoch == accepted.epoch) {
    // Two leaders of one epoch: a store that went back. The first one stays.
    bool same = from == accepted.member && (boot == accepted.boot || !rules_.boot_ends_leadership);
    if (leading() || (accepted.member != kNoMember && !same)) return false;
  } else {
    // A leadership made by a store that has forgotten what this member has heard of.
    if (rules_.epoch_known_by_majority && Misses(base, local_.heard) && epoch > accepted.epoch)
      return false;
    if (leading()) {
      StepDown();
      return false;  // follows once its log is closed
    }
  }
  if (epoch != accepted.epoch || accepted.member == kNoMember) {
    local_.accepted = {epoch, from, boot};
    PersistLocal();
    EndCampaign();
    ballot_.reset();
    take_over_until_ = 0;
    BeginHandshake();
  }
  heard_ = now_;
  heard_any_ = true;
  leader_down_ = false;
  wanted_since_ = -1;
  if (ballot_ && !ballot_->transfer) ballot_.reset();
  return true;
}

void Core::BeginHandshake() {
  joined_ = false;
  ++attempt_;
  ++generation_;
  next_handshake_ = now_ + settings_.beacon;
  election_timeout_ = settings_.election + Jitter(settings_.election / 10);
}

void Core::SendHello() {
  Hello hello{local_.accepted.epoch, {boot_, attempt_}, local_.data, local_.fresh, durable_, log_};
  if (!rules_.ack_after_sync) hello.durable = log_.last().time;
  SendTo(local_.accepted.member, std::move(hello));
}

void Core::SendAck(Millis beacon, bool gap) {
  Ack ack;
  ack.epoch = local_.accepted.epoch;
  ack.session = {boot_, attempt_};
  ack.data = local_.data;
  ack.counter = local_.heard.counter;
  ack.beacon = beacon;
  ack.joined = joined_;
  ack.gap = gap;
  ack.fresh = local_.fresh;
  ack.durable = rules_.ack_after_sync ? durable_ : log_.last().time;
  ack.applied = told_applied_ = applied_;
  ack.last = log_.last();
  ack.uptime = now_ - started_;
  SendTo(local_.accepted.member, ack);
}

void Core::Take(MemberId from, const Beacon& beacon) {
  if (!AcceptLeader(from, beacon.epoch, beacon.boot, beacon.base)) return;
  if (beacon.stamp.counter > local_.heard.counter) {
    local_.heard = beacon.stamp;
    PersistLocal();
    Do(ReadKeys{});
  }
  if (!CheckFolder(beacon.in_sync == local_.data, beacon.floor)) return;
  TakeCommit(beacon.commit);
  if (joined_ && beacon.session != Session{boot_, attempt_} && now_ >= next_handshake_)
    BeginHandshake();
  if (!joined_) SendHello();
  SendAck(beacon.sent, false);
}

void Core::Take(MemberId from, const Append& append) {
  if (!AcceptLeader(from, append.epoch, append.boot, append.base)) return;
  if (!joined_ || append.session != Session{boot_, attempt_} || TooMuchUnapplied()) return;
  Position last = log_.last();
  bool behind = append.last.time > last.time;
  if (behind && (append.previous == last || !rules_.check_previous)) {
    Do(AppendLog{append.previous, append.last});
    log_.Extend(append.last);
  } else if (behind) {
    SendAck(0, true);
  }
  TakeCommit(append.commit);
}

void Core::TakeCommit(Time commit) {
  if (!joined_ && rules_.commit_after_join) return;
  commit = std::min(commit, log_.last().time);
  if (commit <= commit_) return;
  commit_ = commit;
  Do(Committed{commit_});
}

void Core::Take(MemberId from, const Join& join) {
  if (role_ != Role::kFollower || campaign_ || (joined_ && !join.resync)) return;
  if (join.epoch != local_.accepted.epoch || from != local_.accepted.member) return;
  if (join.session != Session{boot_, attempt_}) return;
  Position common = rules_.cut_by_epochs ? join.common : Position{log_.last().epoch, commit_};
  bool undoable = common.time >= applied_ || common.time >= log_.undo_begin;
  // To undo what was committed is never right, unless an operator gave it up.
  if (join.resync || common.time < commit_ || !undoable) {
    StartCopy();
    return;
  }
  joined_ = true;
  ++generation_;
  if (common.time < log_.last().time) CutTo(common);
  SendAck(0, false);
}

void Core::CutTo(Position common) {
  if (local_.acked > common.time) {
    local_.acked = common.time;
    PersistLocal();
  }
  Do(CutLog{common});
  log_.Cut(common);
  durable_ = std::min(durable_, common.time);
  applied_ = std::min(applied_, common.time);
  applying_ = std::min(applying_, common.time);
}

// Every folder in sync has held the log up to the floor; one that does not is an older copy of
// itself.
bool Core::CheckFolder(bool in_sync, Time floor) {
  if (role_ != Role::kFollower || !in_sync) return true;
  if (rules_.floor && log_.last().time < floor) {
    StartCopy();
    return false;
  }
  if (local_.fresh) {
    local_.fresh = false;
    PersistLocal();
  }
  return true;
}

void Core::StartCopy() {
  role_ = Role::kCopying;
  joined_ = false;
  ++generation_;
  durable_ = 0;
  snapshot_ = false;
  EndCampaign();
  ballot_.reset();
  Do(Resync{local_.accepted.member});
}

bool Core::TooMuchUnapplied() const {
  return applied_ < applying_ && now_ - applied_at_ > settings_.apply_lag;
}

}  // namespace quire::repl
