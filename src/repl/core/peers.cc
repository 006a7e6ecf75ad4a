// SPDX-License-Identifier: Apache-2.0
#include "repl/core/peers.h"

#include <algorithm>

namespace quire::repl {

void Peers::SetMembers(const SetConfig& config, MemberId self, Millis now) {
  std::vector<Peer> next;
  for (const MemberConfig& member : config.members) {
    if (member.id == self) continue;
    if (const Peer* known = Find(member.id)) {
      next.push_back(*known);
      continue;
    }
    Peer& peer = next.emplace_back();
    peer.id = member.id;
    peer.heard = peer.level = now;  // it has the usual time to show itself
  }
  peers_ = std::move(next);
}

Peer* Peers::Find(MemberId id) {
  auto found = std::find_if(begin(), end(), [&](const Peer& peer) { return peer.id == id; });
  return found == end() ? nullptr : &*found;
}

const Peer* Peers::Find(MemberId id) const {
  auto found = std::find_if(begin(), end(), [&](const Peer& peer) { return peer.id == id; });
  return found == end() ? nullptr : &*found;
}

bool Peers::TakeHello(Peer* peer, const Hello& hello, const LogSummary& log) const {
  bool same_boot = peer->session.boot == hello.session.boot;
  if (same_boot && hello.session.attempt < peer->session.attempt) return false;
  peer->accepted = true;
  peer->fresh = hello.fresh;
  if (hello.session == peer->session) return true;
  Time before = peer->durable;
  peer->data = hello.data;
  peer->session = hello.session;
  peer->common = CommonSlot(log, hello.log);
  peer->resync = peer->common.time < std::max(log.begin.time, hello.log.begin.time);
  // What the disk does not hold yet may still be lost.
  peer->durable = std::min(peer->common.time, hello.durable);
  if (!rules_.positions_by_data) peer->durable = std::max(peer->durable, before);
  if (!rules_.join_after_handshake) peer->durable = hello.durable;
  peer->last = peer->sent = peer->common;
  peer->joined = !rules_.join_after_handshake;
  peer->applied = 0;
  peer->counter = 0;
  return true;
}

bool Peers::TakeAck(Peer* peer, const Ack& ack, Time end, Millis now) const {
  peer->accepted = true;
  peer->fresh = ack.fresh;
  peer->down = false;
  peer->heard = std::max(peer->heard, ack.beacon);
  peer->uptime = ack.uptime;
  if (ack.session != peer->session) return false;
  if (rules_.positions_by_data && ack.data != peer->data) return false;
  peer->counter = std::max(peer->counter, ack.counter);
  if (!ack.joined) return false;
  peer->joined = true;
  peer->durable = std::max(peer->durable, ack.durable);
  peer->applied = std::max(peer->applied, ack.applied);
  // An append that does not arrive shows in two acknowledged beacons with the same end.
  bool stuck = ack.beacon != 0 && ack.last == peer->last && peer->sent.time > ack.last.time;
  if (ack.gap || stuck || peer->sent.time < ack.last.time) peer->sent = ack.last;
  peer->last = ack.last;
  if (peer->durable >= peer->target) {
    peer->level = std::max(peer->level, peer->target_set);
    peer->target = end;
    peer->target_set = now;
  }
  if (peer->durable >= end) peer->level = now;
  return true;
}

}  // namespace quire::repl
