// SPDX-License-Identifier: Apache-2.0
//
// What the log of a shard says about a name (of a collection, or of a database), and what follows
// from it for requests and for the steps of a change. Pure: no threads, no clock, no I/O.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "placement/shard_key.h"
#include "placement/version.h"
#include "shard/core/rules.h"

namespace quire::shard {

// Which change of a name, and which attempt to carry it out. Both grow for ever.
struct Stamp {
  uint64_t number = 0;
  uint64_t attempt = 0;

  friend auto operator<=>(const Stamp&, const Stamp&) = default;
};

// How far a change of a name has come on a shard. Undone and committed are ends.
enum class Phase : uint8_t { kNone, kPrepared, kUndone, kCommitted };

// Where a collection lies, as one shard sees it. A database has the same form: its version is
// "sharded" on its primary shard, and nowhere else.
struct Placed {
  placement::ShardVersion version = {};         // Unsharded() when it is not sharded
  std::vector<placement::KeyRange> owned = {};  // of the shard, in order

  friend bool operator==(const Placed&, const Placed&) = default;
};

struct Known {
  Stamp stamp;  // of the last change that reached the shard
  Phase phase = Phase::kNone;
  bool blocked = false;  // by that change, until its end
  Placed placed;
  placement::Generation last;  // the newest one the name ever had

  friend bool operator==(const Known&, const Known&) = default;
};

enum class Verdict : uint8_t {
  kRun,
  kStale,    // the request knows less than the shard
  kUnknown,  // the shard knows less than the request
  kBlocked,
};

// Whether a request with that version may run; nothing: it has none, as that of a client which is
// connected to the shard itself.
Verdict JudgeVersion(const Known& known, const std::optional<placement::ShardVersion>& received,
                     const Rules& rules = {});

// A step of a change as it reaches a shard.
struct Step {
  Stamp stamp;
  Phase phase = Phase::kPrepared;
  bool blocks = false;  // prepared: nobody uses the name until the end
  std::optional<Placed> placed =
      {};  // committed: what the name is from here on; nothing: as it was
};

enum class StepVerdict : uint8_t {
  kTake,
  kAlready,    // it was taken: the answer is the same
  kOutOfDate,  // a later one was
};
StepVerdict JudgeStep(const Known& known, const Step& step, const Rules& rules = {});
// Whether there is something to take back: the shard has prepared this very change.
bool HasPrepared(const Known& known, const Stamp& stamp, const Rules& rules = {});
// REQUIRES: kTake.
Known AfterStep(const Known& known, const Step& step, const Rules& rules = {});

// What the coordination store says of the name, to a shard that has not been told by a step. False
// when the shard's log knows better, or the name is blocked.
bool MayAdopt(const Known& known, const Placed& placed, const Rules& rules = {});
Known AfterAdoption(const Known& known, const Placed& placed);

}  // namespace quire::shard
