// SPDX-License-Identifier: Apache-2.0
//
// What members tell each other. Any message may be lost, late, doubled, or overtaken by another.
#pragma once

#include <variant>

#include "repl/core/log_summary.h"
#include "repl/core/view.h"

namespace quire::repl {

// From a leader to every member, on a connection that waits for no append and no sync.
struct Beacon {
  Epoch epoch = 0;
  Boot boot = 0;
  Stamp base;       // of the keys its election compared
  Stamp stamp;      // of those it counts by
  Millis sent = 0;  // by the leader's clock; comes back in the Ack
  Time commit = 0;
  Session session;     // the handshake it knows of the receiver
  DataId in_sync = 0;  // the folder of the receiver that is in sync, if any
  Time floor = 0;      // which every such folder has reached
};

// Slots (previous, last], all of the epoch of `last`. A caller may divide it into several.
struct Append {
  Epoch epoch = 0;
  Boot boot = 0;
  Stamp base;
  Session session;
  Position previous;
  Position last;
  Time commit = 0;
};

struct Ack {
  Epoch epoch = 0;
  Session session;
  DataId data = 0;
  Counter counter = 0;
  Millis beacon = 0;  // `sent` of the beacon it answers; 0: none
  bool joined = false;
  bool gap = false;    // an Append did not fit behind `last`
  bool fresh = false;  // the data folder has never been in sync
  Time durable = 0;
  Time applied = 0;
  Position last;
  Millis uptime = 0;
};

// A follower's side of the divergence handshake; repeated until a Join answers it.
struct Hello {
  Epoch epoch = 0;
  Session session;
  DataId data = 0;
  bool fresh = false;
  Time durable = 0;
  LogSummary log;
};

// The leader's: cut behind `common` and follow, or copy everything anew.
struct Join {
  Epoch epoch = 0;
  Session session;
  Position common;
  bool resync = false;
};

// To a leader of an older epoch.
struct Refused {
  Epoch accepted = 0;
};

// Would you let me campaign? `transfer`: the leader itself asked me to, or an operator.
struct PreVote {
  uint64_t round = 0;
  bool transfer = false;
};

struct PreVoteAnswer {
  uint64_t round = 0;
  Leadership accepted;
  Epoch fence = 0;
  Stamp heard;
  Boot boot = 0;
  DataId data = 0;
  bool fresh = false;
  bool hears = false;  // has a live leader
  bool leads = false;
  Position last;
};

// From a leader that hands over.
struct TakeOver {
  Epoch epoch = 0;
};

// Recovery by an operator: refuse epochs before this one, and say what you hold.
struct Survey {
  uint64_t round = 0;
  Epoch epoch = 0;
};

struct SurveyAnswer {
  uint64_t round = 0;
  bool fenced = false;
  Epoch highest = 0;
  Counter counter = 0;
  DataId data = 0;
  bool fresh = false;
  Position last;
};

using Message = std::variant<Beacon, Append, Ack, Hello, Join, Refused, PreVote, PreVoteAnswer,
                             TakeOver, Survey, SurveyAnswer>;

}  // namespace quire::repl
