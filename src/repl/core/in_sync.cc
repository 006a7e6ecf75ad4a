// SPDX-License-Identifier: Apache-2.0
//
// The leader keeps the in-sync set: who lags leaves it, who has caught up joins it.
#include <algorithm>
#include <memory>

#include "repl/core/core.h"

namespace quire::repl {

bool Core::Qualifies(const Peer& peer) const {
  const View& keys = proposals_.confirmed();
  if (!keys.set().MayBeInSync(peer.id) || !peer.joined || peer.resync || Silent(peer)) return false;
  if (rules_.join_at_commit && peer.durable < commit_) return false;
  if (rules_.join_at_epoch_start && peer.durable < start_) return false;
  return !keys.isr.members.Contains(InSyncMember{peer.id, peer.data});
}

bool Core::RemoveLaggard(InSyncSet* wanted) const {
  const SetConfig& set = proposals_.confirmed().set();
  for (const InSyncMember& member : proposals_.confirmed().isr.members) {
    const Peer* peer = peers_.Find(member.member);
    bool wiped = peer != nullptr && peer->data != 0 && peer->data != member.data;
    if (member.member == self_ || (peer != nullptr && !wiped && !Lags(*peer))) continue;
    if (wanted->size() > set.MinInSync()) {
      wanted->Remove(member.member);
      return true;
    }
    for (const Peer& other : peers_) {
      if (wanted->Contains(other.id) || !Qualifies(other) || !set.Votes(other.id)) continue;
      wanted->Remove(member.member);
      wanted->Add({other.id, other.data});
      return true;
    }
  }
  return false;
}

bool Core::AddMember(InSyncSet* wanted) const {
  for (const Peer& peer : peers_) {
    if (!Qualifies(peer)) continue;
    wanted->Add({peer.id, peer.data});
    return true;
  }
  return false;
}

void Core::MaintainInSync() {
  const View& keys = proposals_.confirmed();
  // The store may have gone back, and this be a leader that nobody who knows better follows. Whom
  // it added would count as having accepted its epoch, though it may have forgotten another leader
  // of it with its disk; and every write raises the counter by which others know that they have
  // heard of more than a candidate. Only a recovery leaves too few in sync to begin with.
  const bool whole = keys.isr.members.size() >= keys.set().MinInSync();
  if (rules_.epoch_before_changes && phase_ == Phase::kElected && whole) return;
  if (proposals_.open()) {
    if (now_ < next_write_) return;
    if (rules_.open_until_decided)
      RewriteInSync();
    else
      proposals_.Forget();
    return;
  }
  View wanted = keys;
  bool removes = now_ >= next_change_ && RemoveLaggard(&wanted.isr.members);
  if (removes || (now_ >= next_change_ && AddMember(&wanted.isr.members))) {
    bool config_too = false;
    auto config = std::make_shared<SetConfig>(keys.set());
    for (MemberConfig& member : config->members) {
      if (!member.newly_added || !wanted.isr.members.Contains(member.id)) continue;
      member.newly_added = false;
      config_too = true;
    }
    if (config_too) wanted.config.config = std::move(config);
    Propose(std::move(wanted), config_too, false, 0);
    // Whoever has caught up need not wait for others who did.
    next_change_ = now_ + (removes ? settings_.between_changes : 0);
    return;
  }
  bool stuck = std::any_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
    return keys.isr.members.Contains(peer.id) && Silent(peer);
  });
  bool old_floor = now_ - floor_written_ > settings_.floor && commit_ > keys.isr.floor;
  if ((stuck || old_floor) && now_ >= next_write_) {
    RewriteInSync();
    next_write_ = now_ + settings_.rewrite;
  }
}

Ticket Core::WriteTicket() {
  constexpr size_t kRemembered = 16;  // older answers prove little
  if (writes_.size() == kRemembered) writes_.erase(writes_.begin());
  writes_.push_back({++last_ticket_, now_});
  return last_ticket_;
}

void Core::Propose(View wanted, bool config_too, bool reconfig, CommandId command) {
  const View& keys = proposals_.confirmed();
  wanted.stamp.counter = keys.stamp.counter + 1;
  wanted.isr.floor = std::max(keys.isr.floor, commit_);
  Proposal proposal{VersionsOf(keys), wanted, {boot_, ++last_nonce_}, command, reconfig};
  WriteKeys write;
  write.ticket = WriteTicket();
  write.expected = proposal.expected;
  write.compare_leader = rules_.compare_leader;
  write.compare_nonces = rules_.compare_nonces;
  write.wanted = std::move(wanted);
  write.nonce = proposal.nonce;
  write.isr = true;
  write.config = config_too;
  Do(std::move(write));
  proposals_.Open(std::move(proposal));
  next_write_ = now_ + settings_.store_retry;
  next_change_ = now_ + settings_.between_changes;
}

// Unchanged, as a proof of leadership, to raise the floor, or to force the decision of an open
// proposal.
void Core::RewriteInSync() {
  const View& keys = proposals_.confirmed();
  WriteKeys write;
  write.ticket = WriteTicket();
  write.expected = VersionsOf(keys);
  write.compare_leader = rules_.compare_leader;
  write.compare_nonces = rules_.compare_nonces;
  write.wanted = keys;
  write.wanted.stamp.counter = keys.stamp.counter + 1;
  write.wanted.isr.floor = std::max(keys.isr.floor, commit_);
  write.nonce = {boot_, ++last_nonce_};
  write.isr = true;
  Do(std::move(write));
  next_write_ = now_ + settings_.store_retry;
}

void Core::TakeLeaderAnswer(const StoreAnswer& answer) {
  auto sent = std::find_if(writes_.begin(), writes_.end(),
                           [&](const SentWrite& one) { return one.ticket == answer.ticket; });
  if (sent == writes_.end()) return;
  Millis when = sent->sent;
  writes_.erase(sent);
  if (!answer.done && !rules_.refusal_decides_nothing) {
    proposals_.Forget();
    return;
  }
  if (answer.now.leader.leader != local_.accepted && rules_.compare_leader) {
    StepDown();
    return;
  }
  proven_ = std::max(proven_, when);
  Stamp before = proposals_.confirmed().stamp;
  std::optional<Proposal> decided = proposals_.Learn(answer.now);
  if (decided && decided->command != 0) {
    bool done = answer.now.config.version.nonce == decided->nonce;
    FinishCommand(decided->command, done ? 0 : kConfigurationInProgress);
  }
  if (proposals_.confirmed().stamp != before) LearnConfirmed(answer.now);
}

void Core::LearnConfirmed(const View& now) {
  local_.heard = now.stamp;
  PersistLocal();
  floor_written_ = now_;
  peers_.SetMembers(now.set(), self_, now_);
  for (Peer& peer : peers_) {
    bool in = now.isr.members.Contains(InSyncMember{peer.id, peer.data});
    if (!in)
      peer.in_sync_since = 0;
    else if (peer.in_sync_since == 0)
      peer.in_sync_since = peer.level = now_;  // has the usual time to become level
  }
  SendBeacons();
}

}  // namespace quire::repl
