// SPDX-License-Identifier: Apache-2.0
//
// A change of a name on all shards or on none: prepared everywhere, decided by one transaction of
// the coordination store, finished everywhere. Pure: whoever drives it does what state() asks for
// and tells what came of it. What the change is about is not known here.
//
// All it needs to be resumed is in the lock, a key of the coordination store that changes with
// every decision. A write of it is compared with the revision seen last, so that each decision is
// taken once; one without an answer is settled by another write, never by a guess.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shard/core/ledger.h"
#include "shard/core/rules.h"

namespace quire::shard {

using ShardName = std::string;

// The value of the lock of a name. It stays when the change is over: the numbers grow for ever.
struct Lock {
  Stamp stamp;
  Phase phase = Phase::kNone;  // what was decided: prepared is nothing yet
  bool over = true;            // nobody has anything left to do
  std::string nonce;           // of who wrote it

  friend bool operator==(const Lock&, const Lock&) = default;
};

// The lock at one place of the store's history. Without a lock there has been no change yet.
struct LockSeen {
  int64_t revision = 0;
  Lock lock;
};

// A change of several names has a lock of each, which are written together: what its coordinator is
// told of. Another one's that is open, or else the first. REQUIRES: `locks` is not empty.
LockSeen MostTelling(const std::vector<LockSeen>& locks, const std::string& nonce);

enum class WriteOutcome : uint8_t { kDone, kRefused, kUnknown };
enum class StepAnswer : uint8_t { kDone, kRefused, kOutOfDate, kUnknown };

class Coordinator {
 public:
  enum class State : uint8_t {
    kTaking,     // write wanted() where the lock has the revision expected()
    kPreparing,  // send kPrepared to next()
    kDeciding,   // write wanted() together with what the change means for routers
    kAborting,   // write wanted()
    kFinishing,  // send kCommitted to next()
    kUndoing,    // send kUndone to next()
    kReleasing,  // write wanted()
    kEnded,      // committed() tells how
    kBusy,       // another change has the lock
    kLost,       // another coordinator has taken over
  };

  // `seen` may be out of date: the first write tells. The primary shard is prepared first and
  // finished last. REQUIRES: `primary` is in `shards`.
  Coordinator(LockSeen seen, std::string nonce, ShardName primary, std::set<ShardName> shards,
              Rules rules = {});
  // Takes over what another one left: what is undecided is undone, what is decided is finished.
  static Coordinator Resume(LockSeen seen, std::string nonce, ShardName primary,
                            std::set<ShardName> shards, Rules rules = {});

  State state() const { return state_; }
  const Stamp& stamp() const { return lock_.stamp; }
  int64_t expected() const { return revision_; }
  Lock wanted() const;
  // The shards to which the step is to be sent now.
  const std::set<ShardName>& next() const { return next_; }
  Phase phase() const;
  bool committed() const { return lock_.phase == Phase::kCommitted; }
  // Whether the client may be answered.
  bool answers() const;

  // What came of the write that state() asked for. `seen` is a fact unless the outcome is unknown.
  void Wrote(WriteOutcome outcome, const LockSeen& seen);
  // What came of the step that was sent to `shard` in that phase.
  void Answered(const ShardName& shard, Phase phase, StepAnswer answer);
  // The change cannot be: while nothing is decided it will be undone.
  void Abort();

 private:
  bool Mine(const Lock& lock) const { return lock.nonce == nonce_; }
  void Enter(const Lock& lock);
  void Begin(Phase phase);
  void ChooseNext();
  void StepsDone();

  Rules rules_;
  std::string nonce_;
  ShardName primary_;
  std::set<ShardName> shards_;
  std::set<ShardName> waiting_;  // have not answered the present step
  std::set<ShardName> next_;
  State state_ = State::kTaking;
  bool resumed_ = false;
  bool given_up_ = false;  // nothing may be committed any more
  int64_t revision_ = 0;
  Lock lock_;  // as it is known to be, or (kTaking) as it is to be
};

}  // namespace quire::shard
