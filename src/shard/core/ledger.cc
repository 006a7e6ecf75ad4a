// SPDX-License-Identifier: Apache-2.0
#include "shard/core/ledger.h"

#include <algorithm>

namespace quire::shard {

namespace {

bool SamePlacement(const placement::ShardVersion& own, const placement::ShardVersion& received,
                   const Rules& rules) {
  if (own == received) {
    return true;
  }
  return !rules.compare_majors && own.sharded && received.sharded &&
         own.generation == received.generation;
}

// Whether the shard has seen everything that the version can be about.
bool IsPast(const Known& known, const placement::ShardVersion& received, const Rules& rules) {
  const placement::ShardVersion& own = known.placed.version;
  if (!received.sharded) {
    return own.sharded;
  }
  if (own.sharded) {
    return received.OlderThan(own);
  }
  return rules.generations_survive_drops && received.generation <= known.last;
}

}  // namespace

Verdict JudgeVersion(const Known& known, const std::optional<placement::ShardVersion>& received,
                     const Rules& rules) {
  if (known.blocked) {
    return Verdict::kBlocked;
  }
  if (!received || SamePlacement(known.placed.version, *received, rules)) {
    return Verdict::kRun;
  }
  if (!received->sharded && !rules.unsharded_is_a_version) {
    return Verdict::kRun;
  }
  if (IsPast(known, *received, rules)) {
    return rules.refuse_older ? Verdict::kStale : Verdict::kRun;
  }
  return Verdict::kUnknown;
}

StepVerdict JudgeStep(const Known& known, const Step& step, const Rules& rules) {
  if (!rules.refuse_old_steps) {
    return StepVerdict::kTake;
  }
  if (step.stamp.number == known.stamp.number && step.phase == known.phase) {
    return step.stamp.attempt < known.stamp.attempt ? StepVerdict::kOutOfDate
                                                    : StepVerdict::kAlready;
  }
  if (step.stamp < known.stamp ||
      (step.stamp.number == known.stamp.number && step.phase < known.phase)) {
    return StepVerdict::kOutOfDate;
  }
  return StepVerdict::kTake;
}

bool HasPrepared(const Known& known, const Stamp& stamp, const Rules& rules) {
  return !rules.undo_what_was_prepared ||
         (known.phase == Phase::kPrepared && known.stamp.number == stamp.number);
}

Known AfterStep(const Known& known, const Step& step, const Rules& rules) {
  Known after = known;
  after.stamp = step.stamp;
  after.phase = step.phase;
  after.blocked = step.phase == Phase::kPrepared && step.blocks && rules.block_before_decision;
  if (step.placed) {
    after.placed = *step.placed;
    after.last = std::max(after.last, after.placed.version.generation);
  }
  return after;
}

bool MayAdopt(const Known& known, const Placed& placed, const Rules& rules) {
  return !known.blocked && JudgeVersion(known, placed.version, rules) == Verdict::kUnknown;
}

Known AfterAdoption(const Known& known, const Placed& placed) {
  Known after = known;
  after.placed = placed;
  after.last = std::max(after.last, placed.version.generation);
  return after;
}

}  // namespace quire::shard
