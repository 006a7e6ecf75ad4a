// SPDX-License-Identifier: Apache-2.0
#include "shard/core/testing/simulator.h"

#include <algorithm>
#include <utility>

#include "shard/core/testing/simulator_internal.h"

namespace quire::shard {

Simulator::Simulator(SimulatorOptions options)
    : options_(options),
      random_(options.seed * 0x9e3779b97f4a7c15 + 1),
      shards_(kShards),
      tables_(kRouters) {
  lock_.revision = 0;
}

Simulator::~Simulator() = default;

uint64_t Simulator::Draw(uint64_t n) {
  uint64_t z = (random_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return (static_cast<unsigned __int128>(z) * n) >> 64;
}

bool Simulator::Chance(double p) {
  return static_cast<double>(Draw(1U << 30)) < p * static_cast<double>(1U << 30);
}

void Simulator::Fail(const std::string& what) {
  if (failure_.empty()) {
    failure_ = what;
    Say("VIOLATION: ", what);
  }
}

std::string Simulator::Run() {
  for (step_ = 0; step_ < options_.steps && failure_.empty(); ++step_) {
    if (Chance(options_.changes)) {
      AskForChange();
    } else if (Chance(options_.writes)) {
      documents_.push_back({.key = static_cast<int>(Draw(kKeys))});
      Write(static_cast<int>(Draw(kRouters)), static_cast<int>(documents_.size()) - 1,
            documents_.back().key, 0);
    } else if (Chance(options_.writes / 4)) {
      WriteDirectly();
    } else if (options_.repeated > 0 && Chance(options_.repeated)) {
      fleeting_.push_back({.key = static_cast<int>(Draw(kKeys))});
      Write(static_cast<int>(Draw(kRouters)), static_cast<int>(fleeting_.size()) - 1,
            fleeting_.back().key, 0, true);
    } else if (Chance(0.06)) {
      Query(static_cast<int>(Draw(kRouters)));
    } else if (Chance(options_.failovers)) {
      FailOver(static_cast<int>(Draw(kShards)));
    } else if (Chance(options_.takeovers)) {
      Resume(static_cast<int>(Draw(kShards)));
    } else if (!pending_.empty()) {
      const size_t i = Draw(pending_.size());
      std::swap(pending_[i], pending_.back());
      auto next = std::move(pending_.back());
      pending_.pop_back();
      next();
    }
    CheckOwners();
  }
  calm_ = true;
  FailOver(0);
  for (int i = 0; i < 200000 && !pending_.empty() && failure_.empty(); ++i) {
    const size_t at = Draw(pending_.size());
    std::swap(pending_[at], pending_.back());
    auto next = std::move(pending_.back());
    pending_.pop_back();
    next();
    CheckOwners();
  }
  if (failure_.empty()) {
    CheckEnd();
  }
  return failure_;
}

// A message that may be lost, which its sender learns by a timeout.
void Simulator::Message(const std::function<void()>& what, const std::function<void()>& lost) {
  if (!calm_ && Chance(options_.lost)) {
    Later(lost);
    return;
  }
  Later(what);
}

// --- The coordination store

void Simulator::Transact(const std::function<bool()>& writes, const Answer& answer) {
  const bool doubled = !calm_ && Chance(options_.doubled);
  if (!calm_ && Chance(options_.lost)) {
    Later([answer] { answer(WriteOutcome::kUnknown, {}); });
    if (Chance(0.5)) {
      Later([writes] { writes(); });  // it only took long
    }
    return;
  }
  Later([this, writes, answer] {
    const bool done = writes();
    const LockSeen seen = lock_;
    Message(
        [answer, done, seen] { answer(done ? WriteOutcome::kDone : WriteOutcome::kRefused, seen); },
        [answer] { answer(WriteOutcome::kUnknown, {}); });
  });
  if (doubled) {
    Later([writes] { writes(); });
  }
}

// May be old.
Simulator::Routing Simulator::Read() {
  if (!calm_ && !before_.empty() && Chance(0.3)) {
    return before_[Draw(before_.size())];
  }
  return routing_;
}

std::optional<placement::ShardVersion> Simulator::VersionFor(const Routing& table,
                                                             int shard) const {
  if (!table.live) {
    return placement::ShardVersion::Unsharded();
  }
  return placement::ShardVersion{true, table.generation, table.majors[static_cast<size_t>(shard)]};
}

Placed Simulator::PlacedOn(const Routing& routing, int shard) const {
  Placed placed;
  if (!routing.live) {
    return placed;
  }
  placed.version = *VersionFor(routing, shard);
  for (int key = 0; key < kKeys; ++key) {
    if (routing.owner[static_cast<size_t>(key)] == shard) {
      placed.owned.push_back(RangeOf(key));
    }
  }
  return placed;
}

// A shard that is asked with a version it has not heard of.
void Simulator::Adopt(int shard) {
  const int boot = shards_[static_cast<size_t>(shard)].boot;
  Transact([] { return true; },
           [this, shard, boot](WriteOutcome outcome, const LockSeen&) {
             ShardState& s = shards_[static_cast<size_t>(shard)];
             if (outcome != WriteOutcome::kDone || s.boot != boot ||
                 (options_.rules.adopt_facts && (!routing_.live || routing_.dropping))) {
               return;
             }
             const Placed placed = PlacedOn(options_.rules.adopt_facts ? routing_ : Read(), shard);
             Later([this, shard, boot, placed] {
               ShardState& at = shards_[static_cast<size_t>(shard)];
               if (at.boot == boot && !at.closed && MayAdopt(at.known, placed, options_.rules)) {
                 at.known = AfterAdoption(at.known, placed);
                 Say("shard ", shard, " adopts ", placed.version.generation.timestamp.seconds);
               }
             });
           });
}

void Simulator::FailOver(int shard) {
  ShardState& s = shards_[static_cast<size_t>(shard)];
  ++s.boot;
  s.passes = 0;
  s.closed = false;
  if (!options_.rules.blocked_until_outcome) {
    s.known.blocked = false;
  }
  ++counts_.failovers;
  Say("shard ", shard, " has a new primary ", s.boot);
  if (shard == 0) {
    Later([this] { Resume(0); });
  }
}

}  // namespace quire::shard
