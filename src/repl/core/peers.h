// SPDX-License-Identifier: Apache-2.0
//
// What a leader knows of the other members, each by its data folder and its handshake in this
// epoch.
#pragma once

#include <vector>

#include "repl/core/messages.h"
#include "repl/core/rules.h"
#include "repl/core/view.h"

namespace quire::repl {

struct Peer {
  MemberId id = kNoMember;
  DataId data = 0;
  bool fresh = false;
  bool accepted = false;  // this epoch
  bool joined = false;    // has finished the handshake
  Session session;
  Position common;      // what the handshake found
  bool resync = false;  // or that there is nothing in common
  Time durable = 0;     // holds the leader's log durably up to here
  Time applied = 0;
  Counter counter = 0;    // of the in-sync set it has heard of
  Position last;          // its log's end as last heard
  Position sent;          // what it was sent
  Millis heard = 0;       // when the last beacon it acknowledged was sent
  Millis level = 0;       // when it last held all that the leader's log then had
  Time target = 0;        // the end of the leader's log
  Millis target_set = 0;  // at that time
  Millis in_sync_since = 0;
  Millis uptime = 0;
  bool down = false;  // its process has ended, as far as one can see
};

class Peers {
 public:
  explicit Peers(const Rules& rules) : rules_(rules) {}

  // Everybody in the configuration but `self`; who was there before keeps its state.
  void SetMembers(const SetConfig& config, MemberId self, Millis now);
  void Clear() { peers_.clear(); }

  std::vector<Peer>::iterator begin() { return peers_.begin(); }
  std::vector<Peer>::iterator end() { return peers_.end(); }
  std::vector<Peer>::const_iterator begin() const { return peers_.begin(); }
  std::vector<Peer>::const_iterator end() const { return peers_.end(); }
  Peer* Find(MemberId id);
  const Peer* Find(MemberId id) const;

  // A Hello, compared with the leader's log. False: an old one that says nothing any more.
  bool TakeHello(Peer* peer, const Hello& hello, const LogSummary& log) const;

  // An Ack, when the leader's log ends at `end`. False: its positions do not count, being those of
  // another handshake or folder.
  bool TakeAck(Peer* peer, const Ack& ack, Time end, Millis now) const;

 private:
  const Rules& rules_;
  std::vector<Peer> peers_;
};

}  // namespace quire::repl
