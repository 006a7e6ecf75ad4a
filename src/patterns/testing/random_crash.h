// SPDX-License-Identifier: Apache-2.0
//
// The random crash run of the systems: random calls, crashed, paused, with writes that fail or lose
// their answers, and the invariants looked at all the time. Briefly in the unit tests; for long by
// `./dev crash-patterns`.
//
// A system takes part with a workload and one line beside it:
//
//   class RandomTransfers : public RandomWorkload { ... };
//   const RandomSystem kRandom("Transfers",
//                              [](Chance*) { return std::make_unique<RandomTransfers>(); });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/testing/world.h"

namespace quire::patterns {

// Everything random of a history comes from here: its seed brings it back.
class Chance : public RandomSource {
 public:
  explicit Chance(uint64_t seed) : engine_(seed) {}

  double Next() override { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }
  // From 0 to n - 1. REQUIRES: n > 0.
  int Below(size_t n) { return static_cast<int>(engine_() % n); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename List>
  const auto& Pick(const List& from) {
    return *std::next(std::begin(from), Below(std::size(from)));
  }

  // Adds to the story that is printed when something fails.
  void Note(std::string text) { story_.push_back(std::move(text)); }
  std::string Story() const;

 private:
  std::mt19937_64 engine_;
  std::vector<std::string> story_;
};

// One history of a system in a database of its own. All calls come from one thread; Step may be
// called again while a Step is paused, so long that its transaction has expired. Checks are
// GoogleTest's EXPECT.
class RandomWorkload {
 public:
  virtual ~RandomWorkload() = default;

  // Makes the indexes and what the history begins with.
  virtual void Setup(World* world) = 0;
  // One random call, of a job too, by a client with these seams, which may crash or be paused at
  // any moment; Note says which call. The status may be any. After Crashed and HostUnreachable it
  // is open whether the call was done: what a check needs to know of it is kept before it is made.
  virtual Status Step(World* world, const Seams& seams, Chance* chance) = 0;
  // Lets enough time pass and runs the jobs until they change nothing. A call may be paused: no
  // more time than a write may be delayed (tombstone_retention).
  virtual void Settle(World* world) = 0;
  // What holds at every instant, and what holds when everything is settled.
  virtual void ExpectAlways(World* world) = 0;
  virtual void ExpectSettled(World* world) = 0;
  // No call is on its way: any time may pass, and jobs that rely on it (Purge) may run.
  virtual void Rest(World* /*world*/) {}
};

// Takes the system into the run, under a name of letters and digits.
class RandomSystem {
 public:
  using Factory = std::function<std::unique_ptr<RandomWorkload>(Chance*)>;
  RandomSystem(std::string_view name, Factory make);

  static const std::vector<RandomSystem>& All();

  std::string name;
  Factory make;
};

}  // namespace quire::patterns
