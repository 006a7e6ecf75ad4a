// SPDX-License-Identifier: Apache-2.0
//
// What the protocol knows of a member's log: where it begins, and where each epoch in it ends.
#pragma once

#include <span>
#include <vector>

#include "repl/core/types.h"

namespace quire::repl {

// A slot as it lies in the log: it names the one that was handed out before it.
struct Slot {
  Position at;
  Time previous = 0;
};

// How many of the slots, oldest first, are linked without a gap behind the one at `begin`. A
// leader's slots are written in another order than they were handed out, so a crash may leave the
// log with a hole; whatever lies behind it has to be undone and cut.
size_t LinkedSlots(Time begin, std::span<const Slot> slots);

struct LogSummary {
  Position begin;              // the last slot that was trimmed; {0, 0}: nothing was
  std::vector<Position> ends;  // the last slot of each epoch, oldest first
  Time undo_begin = 0;         // what was applied can be undone back to here

  Position last() const { return ends.empty() ? begin : ends.back(); }

  // The log grows to `at`, in an epoch not before that of its last slot.
  void Extend(Position at);

  // Drops everything behind `after`, which is a slot of the log or its begin.
  void Cut(Position after);

  // Everything up to `at`, a slot of the log, was removed from its front.
  void Trim(Position at);

  // The epoch of the slot that follows `after` and the last slot of that epoch. REQUIRES: after <
  // last().
  Position RunAfter(Position after) const;
};

// The last slot that both logs hold, found by the ends of their epochs: within an epoch every log
// is a prefix of what its leader wrote. {0, 0} when they share none.
Position CommonSlot(const LogSummary& one, const LogSummary& other);

}  // namespace quire::repl
