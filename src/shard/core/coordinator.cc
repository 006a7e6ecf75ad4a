// SPDX-License-Identifier: Apache-2.0
#include "shard/core/coordinator.h"

#include <algorithm>
#include <utility>

namespace quire::shard {

LockSeen MostTelling(const std::vector<LockSeen>& locks, const std::string& nonce) {
  const auto busy = std::find_if(locks.begin(), locks.end(), [&](const LockSeen& seen) {
    return !seen.lock.over && seen.lock.nonce != nonce;
  });
  return busy == locks.end() ? locks.front() : *busy;
}

Coordinator::Coordinator(LockSeen seen, std::string nonce, ShardName primary,
                         std::set<ShardName> shards, Rules rules)
    : rules_(rules),
      nonce_(std::move(nonce)),
      primary_(std::move(primary)),
      shards_(std::move(shards)),
      revision_(seen.revision) {
  if (!seen.lock.over) {
    state_ = State::kBusy;
  }
  lock_ = {.stamp = {seen.lock.stamp.number + 1, 1},
           .phase = Phase::kPrepared,
           .over = false,
           .nonce = nonce_};
}

Coordinator Coordinator::Resume(LockSeen seen, std::string nonce, ShardName primary,
                                std::set<ShardName> shards, Rules rules) {
  Coordinator resumed(seen, std::move(nonce), std::move(primary), std::move(shards), rules);
  resumed.resumed_ = true;
  resumed.given_up_ = true;
  resumed.lock_ = seen.lock;
  resumed.lock_.nonce = resumed.nonce_;
  ++resumed.lock_.stamp.attempt;
  resumed.state_ = seen.lock.over ? State::kLost : State::kTaking;
  return resumed;
}

Lock Coordinator::wanted() const {
  Lock lock = lock_;
  lock.nonce = nonce_;
  switch (state_) {
    case State::kDeciding:
      lock.phase = Phase::kCommitted;
      break;
    case State::kAborting:
      lock.phase = Phase::kUndone;
      break;
    case State::kReleasing:
      lock.over = true;
      break;
    default:
      break;
  }
  return lock;
}

Phase Coordinator::phase() const {
  switch (state_) {
    case State::kFinishing:
      return Phase::kCommitted;
    case State::kUndoing:
      return Phase::kUndone;
    default:
      return Phase::kPrepared;
  }
}

bool Coordinator::answers() const {
  if (!rules_.answer_after_finish && committed()) {
    return true;
  }
  // An undone change is answered at once as well: nobody counts on it.
  return state_ == State::kReleasing || state_ == State::kEnded || state_ == State::kUndoing;
}

void Coordinator::Wrote(WriteOutcome outcome, const LockSeen& seen) {
  if (outcome == WriteOutcome::kUnknown) {
    if (!rules_.settle_by_write && state_ == State::kDeciding) {
      lock_.phase = Phase::kUndone;
      Begin(Phase::kUndone);
    }
    return;  // the same write again settles it
  }
  if (state_ == State::kTaking) {
    if (Mine(seen.lock)) {
      revision_ = seen.revision;
      Enter(seen.lock);
    } else if (resumed_ || !seen.lock.over) {
      state_ = resumed_ ? State::kLost : State::kBusy;
    } else {
      // Another change came and went: the next number.
      revision_ = seen.revision;
      lock_.stamp = {seen.lock.stamp.number + 1, 1};
    }
    return;
  }
  if (!Mine(seen.lock)) {
    state_ = State::kLost;
    return;
  }
  const bool moved = seen.revision != revision_;
  revision_ = seen.revision;
  if (moved) {
    Enter(seen.lock);
  } else if (outcome == WriteOutcome::kRefused && state_ == State::kDeciding && given_up_) {
    state_ = State::kAborting;
  }
}

// Goes on from what the lock says.
void Coordinator::Enter(const Lock& lock) {
  const bool first = state_ == State::kTaking;
  const bool same = !first && lock.phase == lock_.phase && lock.over == lock_.over;
  lock_ = lock;
  if (lock.over) {
    state_ = State::kEnded;
  } else if (same) {
    return;
  } else if (lock.phase == Phase::kPrepared && resumed_) {
    state_ = State::kAborting;
  } else {
    Begin(lock.phase);
  }
}

void Coordinator::Begin(Phase phase) {
  waiting_ = shards_;
  switch (phase) {
    case Phase::kCommitted:
      state_ = State::kFinishing;
      break;
    case Phase::kUndone:
      state_ = State::kUndoing;
      break;
    default:
      state_ = State::kPreparing;
      break;
  }
  ChooseNext();
}

void Coordinator::ChooseNext() {
  next_ = waiting_;
  if (state_ == State::kPreparing && waiting_.contains(primary_)) {
    next_ = {primary_};
  } else if (state_ == State::kFinishing && waiting_.size() > 1) {
    next_.erase(primary_);
  }
  if (state_ == State::kPreparing && !rules_.all_prepared && !waiting_.contains(primary_)) {
    next_.clear();
  }
  if (next_.empty()) {
    StepsDone();
  }
}

void Coordinator::StepsDone() {
  state_ = state_ == State::kPreparing ? State::kDeciding : State::kReleasing;
}

void Coordinator::Answered(const ShardName& shard, Phase phase, StepAnswer answer) {
  const bool stepping =
      state_ == State::kPreparing || state_ == State::kFinishing || state_ == State::kUndoing;
  if (!stepping || phase != this->phase()) {
    return;
  }
  if (answer == StepAnswer::kUnknown && state_ == State::kFinishing && !rules_.finish_forward) {
    answer = StepAnswer::kDone;
  }
  switch (answer) {
    case StepAnswer::kDone:
      waiting_.erase(shard);
      ChooseNext();
      break;
    case StepAnswer::kOutOfDate:
      state_ = State::kLost;  // the shard has heard of another coordinator, or of a later change
      break;
    case StepAnswer::kRefused:
      if (state_ == State::kPreparing) {
        Abort();
      }
      break;  // after a decision a step is sent until it is done
    case StepAnswer::kUnknown:
      break;
  }
}

void Coordinator::Abort() {
  given_up_ = true;
  if (state_ == State::kPreparing || state_ == State::kDeciding) {
    state_ = State::kAborting;
  }
}

}  // namespace quire::shard
