// SPDX-License-Identifier: Apache-2.0
//
// Changes of the collection: coordinators, steps, what they do to a shard.
#include <algorithm>
#include <utility>

#include "shard/core/testing/simulator_internal.h"

namespace quire::shard {

namespace {

constexpr int kMostParked = 30;

std::set<ShardName> Names(int shards) {
  std::set<ShardName> names;
  for (int i = 0; i < shards; ++i) {
    names.insert(std::to_string(i));
  }
  return names;
}

}  // namespace

bool Simulator::Blocks(const Change& change, int shard) {
  return (change.kind == Kind::kShard && shard == 0) ||
         (change.kind == Kind::kMove && (shard == change.from || shard == change.to));
}

void Simulator::AskForChange() {
  ShardState& primary = shards_[0];
  Change change;
  change.kind = static_cast<Kind>(Draw(4));
  if (change.kind == Kind::kShard || !primary.known.placed.version.sharded) {
    change.kind = Kind::kShard;
  }
  change.uuid = primary.catalog != 0 ? primary.catalog : ++last_uuid_;
  change.key = static_cast<int>(Draw(kKeys));
  change.to = static_cast<int>(Draw(kShards));
  change.refuses = Chance(0.3) ? static_cast<int>(Draw(kShards)) : -1;
  change.wish = static_cast<int>(wishes_.size());
  wishes_.push_back({.kind = change.kind, .uuid = change.uuid});
  if (change.kind == Kind::kDrop) {
    dropping_.insert(change.uuid);
  }
  auto running = std::make_shared<Running>(Running{
      change, Coordinator(lock_, std::to_string(++nonces_), "0", Names(kShards), options_.rules),
      primary.boot});
  Pump(running);
}

// A new primary of the owner goes on with what is not over, or another shard's does, which has not
// heard of the owner's for long: the owner may be alive all the same.
void Simulator::Resume(int shard) {
  if (lock_.lock.over) {
    return;
  }
  auto running = std::make_shared<Running>(Running{
      changes_[lock_.lock.stamp.number],
      Coordinator::Resume(lock_, std::to_string(++nonces_), "0", Names(kShards), options_.rules),
      shards_[static_cast<size_t>(shard)].boot, shard});
  running->change.wish = -1;
  Say("change ", lock_.lock.stamp.number, " is resumed by ", shard);
  Pump(running);
}

void Simulator::Pump(const RunningPtr& change) {
  using State = Coordinator::State;
  Coordinator& c = change->coordinator;
  const int boot = shards_[static_cast<size_t>(change->shard)].boot;
  if (change->finished || (calm_ && change->boot != boot)) {
    return;
  }
  if (c.answers() && change->change.wish >= 0) {
    Wish& wish = wishes_[static_cast<size_t>(change->change.wish)];
    change->change.wish = -1;
    wish.answered = c.committed() ? 1 : -1;
    if (wish.answered == 1 && wish.kind == Kind::kDrop) {
      dropped_.insert(wish.uuid);
    }
    Say("client is answered ", wish.answered);
  }
  switch (c.state()) {
    case State::kTaking:
    case State::kDeciding:
    case State::kAborting:
    case State::kReleasing:
      WriteLock(change);
      break;
    case State::kPreparing:
    case State::kFinishing:
    case State::kUndoing:
      for (const ShardName& shard : std::set<ShardName>(c.next())) {
        SendStep(change, std::stoi(shard));
      }
      break;
    case State::kEnded:
    case State::kBusy:
    case State::kLost:
      change->finished = true;
      break;
  }
}

void Simulator::WriteLock(const RunningPtr& change) {
  if (change->writing) {
    return;
  }
  change->writing = true;
  const Lock wanted = change->coordinator.wanted();
  const int64_t expected = change->coordinator.expected();
  const auto state = change->coordinator.state();
  auto writes = [this, change, wanted, expected, state] {
    if (lock_.revision != expected ||
        change->boot != shards_[static_cast<size_t>(change->shard)].boot) {
      return false;
    }
    const uint64_t number = wanted.stamp.number;
    if (state == Coordinator::State::kTaking && wanted.stamp.attempt == 1) {
      change->change.from = routing_.owner[static_cast<size_t>(change->change.key)];
      changes_[number] = change->change;
    } else if (state == Coordinator::State::kDeciding) {
      Change decided = change->change;
      const Routing after = Decided(decided);
      before_.push_back(routing_);
      if (before_.size() > 8) {
        before_.pop_front();
      }
      routing_ = after;
      routing_.revision = revision_ + 1;
      changes_[number] = decided;
    } else if (state == Coordinator::State::kReleasing && changes_[number].kind == Kind::kDrop &&
               wanted.phase == Phase::kCommitted) {
      before_.push_back(routing_);
      routing_ = Routing{};
      routing_.revision = revision_ + 1;
    }
    lock_ = {++revision_, wanted};
    if (state == Coordinator::State::kReleasing) {
      ++(wanted.phase == Phase::kCommitted ? counts_.changes : counts_.undone);
      if (!options_.rules.numbers_for_ever) {
        lock_.lock.stamp = {};
      }
    }
    Say("lock: change ", number, ".", wanted.stamp.attempt, " phase ",
        static_cast<int>(wanted.phase), wanted.over ? " over" : "", " kind ",
        static_cast<int>(changes_[number].kind));
    return true;
  };
  Transact(writes, [this, change](WriteOutcome outcome, const LockSeen& seen) {
    change->writing = false;
    Coordinator& c = change->coordinator;
    const auto was = c.state();
    c.Wrote(outcome, seen);
    if (was == Coordinator::State::kDeciding && outcome == WriteOutcome::kUnknown && Chance(0.5)) {
      c.Abort();  // enough waited
    }
    if (c.committed() || c.state() == Coordinator::State::kUndoing) {
      if (auto kept = changes_.find(c.stamp().number); kept != changes_.end()) {
        const int wish = change->change.wish;
        change->change = kept->second;
        change->change.wish = wish;
      }
    }
    Pump(change);
  });
}

Simulator::Routing Simulator::Decided(Change& change) {
  Routing after = routing_;
  switch (change.kind) {
    case Kind::kShard:
      after = Routing{};
      after.live = true;
      after.uuid = change.uuid;
      after.generation.timestamp.seconds = ++last_time_;
      for (int key = 0; key < kKeys; ++key) {
        after.owner[static_cast<size_t>(key)] = change.empty ? key % kShards : 0;
      }
      break;
    case Kind::kMove: {
      const uint32_t major = 1 + *std::max_element(after.majors.begin(), after.majors.end());
      after.owner[static_cast<size_t>(change.key)] = change.to;
      after.majors[static_cast<size_t>(change.from)] = major;
      after.majors[static_cast<size_t>(change.to)] = major;
      break;
    }
    case Kind::kDrop:
      after.dropping = true;
      break;
    case Kind::kIndex:
      break;
  }
  for (int shard = 0; shard < kShards; ++shard) {
    change.after[shard] = change.kind == Kind::kDrop ? Placed{} : PlacedOn(after, shard);
  }
  return after;
}

void Simulator::SendStep(const RunningPtr& change, int shard) {
  const ShardName name = std::to_string(shard);
  if (!change->sent.insert(name).second) {
    return;
  }
  auto step = std::make_shared<StepAtShard>();
  step->change = change->change;
  step->shard = shard;
  step->step.stamp = change->coordinator.stamp();
  step->step.phase = change->coordinator.phase();
  step->step.blocks = Blocks(change->change, shard);
  if (step->step.phase == Phase::kCommitted && change->change.after.contains(shard)) {
    step->step.placed = change->change.after[shard];
  }
  const Phase phase = step->step.phase;
  auto tell = [this, change, name, phase](StepAnswer answer, const StepAtShard& at) {
    change->sent.erase(name);
    if (answer == StepAnswer::kDone && phase == Phase::kPrepared && at.shard == 0) {
      change->change.empty = at.empty;
    }
    change->coordinator.Answered(name, phase, answer);
    Pump(change);
  };
  step->answer = [this, tell](StepAnswer answer, const StepAtShard& at) {
    Message([tell, answer, at] { tell(answer, at); },
            [tell, at] { tell(StepAnswer::kUnknown, at); });
  };
  Message([this, step] { TakeStep(step); }, [tell, step] { tell(StepAnswer::kUnknown, *step); });
  if (!calm_ && Chance(options_.doubled)) {
    auto again = std::make_shared<StepAtShard>(*step);
    again->answer = [](StepAnswer, const StepAtShard&) {};
    Later([this, again] { TakeStep(again); });
  }
}

void Simulator::TakeStep(const std::shared_ptr<StepAtShard>& step) {
  ShardState& s = shards_[static_cast<size_t>(step->shard)];
  if (step->parked == 0) {
    step->boot = s.boot;
  } else if (step->boot != s.boot) {
    step->answer(StepAnswer::kUnknown, *step);
    return;
  }
  switch (JudgeStep(s.known, step->step, options_.rules)) {
    case StepVerdict::kOutOfDate:
      step->answer(StepAnswer::kOutOfDate, *step);
      return;
    case StepVerdict::kAlready:
      // What it found is found again: nobody writes while it is blocked.
      step->empty = s.catalog == 0 || s.collections[s.catalog].documents.empty();
      step->answer(StepAnswer::kDone, *step);
      return;
    case StepVerdict::kTake:
      break;
  }
  if (step->step.phase == Phase::kPrepared) {
    const std::optional<StepAnswer> answer = Prepare(*step);
    if (!answer) {
      ++step->parked;
      Later([this, step] { TakeStep(step); });
      return;
    }
    if (*answer != StepAnswer::kDone) {
      s.closed = false;
      step->answer(*answer, *step);
      return;
    }
    if (step->step.blocks && !options_.rules.block_is_logged) {
      step->answer(StepAnswer::kDone, *step);
      return;
    }
  }
  if (step->step.phase == Phase::kCommitted && step->change.kind == Kind::kDrop &&
      options_.rules.drain_before_drop) {
    s.closed = true;
    if (s.passes > 0) {
      ++step->parked;
      Later([this, step] { TakeStep(step); });
      return;
    }
  }
  Later([this, step] { Log(step); });
}

// Nothing: not yet.
std::optional<StepAnswer> Simulator::Prepare(StepAtShard& step) {
  ShardState& s = shards_[static_cast<size_t>(step.shard)];
  const Change& change = step.change;
  if (step.step.blocks && options_.rules.block_before_decision) {
    s.closed = true;
    if (s.passes > 0 && options_.rules.drain_before_look) {
      return step.parked > kMostParked ? std::optional(StepAnswer::kRefused) : std::nullopt;
    }
  }
  const bool sharded = s.known.placed.version.sharded;
  if (change.kind == Kind::kShard) {
    if (step.shard == 0) {
      step.empty = s.catalog == 0 || s.collections[s.catalog].documents.empty();
      return !sharded && (s.catalog == 0 || s.catalog == change.uuid) ? StepAnswer::kDone
                                                                      : StepAnswer::kRefused;
    }
    return StepAnswer::kDone;
  }
  if (step.shard == 0 && (!sharded || s.catalog != change.uuid)) {
    return StepAnswer::kRefused;
  }
  if (change.kind == Kind::kMove && step.step.blocks) {
    for (const auto& [id, key] : s.collections[s.catalog].documents) {
      if (key == change.key) {
        return StepAnswer::kRefused;
      }
    }
  }
  return change.kind == Kind::kIndex && step.shard == change.refuses ? StepAnswer::kRefused
                                                                     : StepAnswer::kDone;
}

void Simulator::Log(const std::shared_ptr<StepAtShard>& step) {
  ShardState& s = shards_[static_cast<size_t>(step->shard)];
  if (step->boot != s.boot) {
    step->answer(StepAnswer::kUnknown, *step);
    return;
  }
  if (JudgeStep(s.known, step->step, options_.rules) != StepVerdict::kTake) {
    TakeStep(step);
    return;
  }
  if (step->step.phase != Phase::kUndone ||
      HasPrepared(s.known, step->step.stamp, options_.rules)) {
    Effect(*step);
  }
  const bool early = step->step.phase == Phase::kPrepared && step->change.kind == Kind::kMove &&
                     step->shard == step->change.to && !options_.rules.gain_after_decision;
  s.known = AfterStep(s.known, step->step, options_.rules);
  if (early) {
    Change future = step->change;
    const uint32_t time = last_time_;
    Decided(future);
    last_time_ = time;
    s.known.placed = future.after[step->shard];
    s.known.blocked = false;
  }
  if (!s.known.blocked) {
    s.closed = false;
  }
  Say("shard ", step->shard, " takes change ", step->step.stamp.number, " phase ",
      static_cast<int>(step->step.phase));
  step->answer(StepAnswer::kDone, *step);
}

void Simulator::Effect(const StepAtShard& step) {
  ShardState& s = shards_[static_cast<size_t>(step.shard)];
  const Change& change = step.change;
  switch (step.step.phase) {
    case Phase::kPrepared:
      if (options_.rules.answers_go_first) {
        SendAnswers(step);
      }
      if (change.kind == Kind::kShard) {
        s.catalog = change.uuid;
        s.collections.try_emplace(change.uuid);
      } else if (change.kind == Kind::kIndex) {
        s.collections[change.uuid].pending = true;
      }
      break;
    case Phase::kUndone:
      if (change.kind == Kind::kIndex) {
        s.collections[change.uuid].pending = false;
      } else if (change.kind == Kind::kShard && step.shard != 0 && s.catalog == change.uuid) {
        s.catalog = 0;
        s.collections.erase(change.uuid);
      }
      break;
    case Phase::kCommitted:
      if (change.kind == Kind::kIndex) {
        s.collections[change.uuid].pending = false;
        s.collections[change.uuid].index = true;
      } else if (change.kind == Kind::kDrop) {
        const Uuid uuid = options_.rules.steps_name_uuids ? change.uuid : s.catalog;
        s.collections.erase(uuid);
        if (s.catalog == uuid) {
          s.catalog = 0;
        }
      }
      break;
    default:
      break;
  }
}

// To those who may gain what is written here.
void Simulator::SendAnswers(const StepAtShard& step) {
  const Change& change = step.change;
  const std::set<int> answers = shards_[static_cast<size_t>(step.shard)].answers;
  for (int to = 0; to < kShards; ++to) {
    const bool gains = change.kind == Kind::kMove
                           ? step.shard == change.from && to == change.to
                           : change.kind == Kind::kShard && step.shard == 0 && step.empty;
    if (gains) {
      shards_[static_cast<size_t>(to)].answers.insert(answers.begin(), answers.end());
    }
  }
}

}  // namespace quire::shard
