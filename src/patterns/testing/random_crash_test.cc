// SPDX-License-Identifier: Apache-2.0
#include "patterns/testing/random_crash.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

namespace quire::patterns {

namespace {

std::vector<RandomSystem>& Systems() {
  static std::vector<RandomSystem> systems;
  return systems;
}

}  // namespace

std::string Chance::Story() const {
  std::string text;
  for (const std::string& line : story_) {
    text += "  " + line + "\n";
  }
  return text;
}

RandomSystem::RandomSystem(std::string_view given_name, Factory given_make)
    : name(given_name), make(std::move(given_make)) {
  Systems().push_back(*this);
}

const std::vector<RandomSystem>& RandomSystem::All() { return Systems(); }

namespace {

// What happens to one call: something at the n-th of its points or writes.
enum class Fate { kNothing, kCrash, kPause, kPauseBeforeWrite, kFailBefore, kLoseAnswer };

constexpr const char* kFateNames[] = {"",
                                      "crash after point",
                                      "pause after point",
                                      "pause before write",
                                      "failed write",
                                      "lost answer of write"};

class FatedClient : public CrashHook, public FaultHook {
 public:
  FatedClient(Fate fate, int at, std::function<void()> while_paused, Chance* chance)
      : fate_(fate), at_(at), while_paused_(std::move(while_paused)), chance_(chance) {}

  bool After(std::string_view point) override {
    if (dead_) {
      return false;
    }
    if ((fate_ == Fate::kCrash || fate_ == Fate::kPause) && ++seen_ == at_) {
      chance_->Note(std::string(fate_ == Fate::kCrash ? "crashed" : "paused") + " after " +
                    std::string(point));
      if (fate_ == Fate::kCrash) {
        dead_ = true;
        return false;
      }
      Pause();
    }
    return true;
  }

  // The dead write nothing any more, whatever they were about to do.
  Fault BeforeWrite() override {
    if (dead_) {
      return Fault::kFailBefore;
    }
    if (fate_ == Fate::kNothing || fate_ == Fate::kCrash || fate_ == Fate::kPause ||
        ++seen_ != at_) {
      return Fault::kNone;
    }
    chance_->Note(kFateNames[static_cast<int>(fate_)] + (" " + std::to_string(at_)));
    if (fate_ == Fate::kPauseBeforeWrite) {
      Pause();
      return Fault::kNone;
    }
    return fate_ == Fate::kFailBefore ? Fault::kFailBefore : Fault::kLoseAnswer;
  }

 private:
  // It may still die later.
  void Pause() {
    while_paused_();
    chance_->Note("the paused client goes on");
    seen_ = 0;
    at_ = chance_->Below(6) + 1;
    fate_ = chance_->OneIn(3) ? Fate::kCrash : Fate::kNothing;
  }

  Fate fate_;
  int at_;
  std::function<void()> while_paused_;
  Chance* chance_;
  int seen_ = 0;
  bool dead_ = false;
};

constexpr int kMaxPaused = 3;

class History {
 public:
  History(World* world, RandomWorkload* work, Chance* chance)
      : world_(world), work_(work), chance_(chance) {}

  void Run() {
    work_->Setup(world_);
    const int steps = 8 + chance_->Below(20);
    for (int i = 0; i < steps && !Failed(); ++i) {
      Step(0);
      if (chance_->OneIn(4)) {
        Settle();
      }
      if (chance_->OneIn(8) && !Failed()) {
        chance_->Note("rest");
        work_->Rest(world_);
        work_->ExpectAlways(world_);
      }
    }
    if (!Failed()) {
      Settle();
    }
  }

 private:
  static bool Failed() { return ::testing::Test::HasFailure(); }

  Fate RandomFate(int paused) {
    if (chance_->OneIn(4)) {
      return Fate::kNothing;
    }
    for (;;) {
      const Fate fate = static_cast<Fate>(1 + chance_->Below(5));
      if (paused < kMaxPaused || (fate != Fate::kPause && fate != Fate::kPauseBeforeWrite)) {
        return fate;
      }
    }
  }

  void Step(int paused) {
    const Fate fate = RandomFate(paused);
    const int at = 1 + chance_->Below(chance_->OneIn(2) ? 4 : 12);
    FatedClient client(
        fate, at, [&] { Interlude(paused + 1); }, chance_);
    Seams seams = world_->seams(&client, &client);
    seams.random = chance_;
    Status status = work_->Step(world_, seams, chance_);
    chance_->Note("  " + (status.ok() ? "done" : status.ToString()));
    work_->ExpectAlways(world_);
  }

  // What others do while a client is paused.
  void Interlude(int paused) {
    work_->ExpectAlways(world_);
    world_->ExpireTransactions();
    const int steps = chance_->Below(3);
    for (int i = 0; i < steps && !Failed(); ++i) {
      Step(paused);
    }
    if (chance_->OneIn(2) && !Failed()) {
      Settle();
    }
  }

  void Settle() {
    chance_->Note("settle");
    work_->Settle(world_);
    work_->ExpectAlways(world_);
    work_->ExpectSettled(world_);
  }

  World* world_;
  RandomWorkload* work_;
  Chance* chance_;
};

int64_t NumberFrom(const char* variable, int64_t otherwise) {
  const char* text = getenv(variable);
  return text != nullptr && *text != 0 ? atoll(text) : otherwise;
}

struct Case {
  const RandomSystem* system;
  Place place;
};

std::string NameOf(const Case& one) { return one.system->name + PlaceName(one.place); }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const RandomSystem& system : RandomSystem::All()) {
    cases.push_back({&system, Place::kEmbedded});
    cases.push_back({&system, Place::kServed});
  }
  return cases;
}

class RandomCrashTest : public ::testing::TestWithParam<Case> {};

// How long a system runs: the first rounds of a fixed seed; or, as the environment says, from
// QUIRE_CRASH_SEED on, all such tests together QUIRE_CRASH_SECONDS long (one round of each with a
// seed alone).
struct Extent {
  using Time = std::chrono::steady_clock;

  static Extent FromEnvironment() {
    const int64_t seconds = NumberFrom("QUIRE_CRASH_SECONDS", 0);
    const int64_t seed = NumberFrom("QUIRE_CRASH_SEED", 0);
    const int tests = ::testing::UnitTest::GetInstance()->test_to_run_count();
    Extent extent;
    extent.first_seed = static_cast<uint64_t>(seed > 0 ? seed : 1);
    extent.rounds = seconds > 0 || seed > 0 ? 1 : 3;
    extent.timed = seconds > 0;
    extent.end = Time::now() + std::chrono::milliseconds(seconds * 1000 / std::max(tests, 1));
    return extent;
  }

  bool GoesOn(int64_t done) const { return done < rounds || (timed && Time::now() < end); }

  uint64_t first_seed = 1;
  int64_t rounds = 0;
  bool timed = false;
  Time::time_point end;
};

TEST_P(RandomCrashTest, InvariantsHold) {
  const Extent extent = Extent::FromEnvironment();
  const auto& [system, place] = GetParam();
  int64_t rounds = 0;
  for (uint64_t seed = extent.first_seed; extent.GoesOn(rounds) && !HasFailure(); ++seed) {
    Chance chance(seed);
    World world(place);
    std::unique_ptr<RandomWorkload> work = system->make(&chance);
    History(&world, work.get(), &chance).Run();
    ++rounds;
    EXPECT_FALSE(HasFailure()) << "again: ./dev crash-patterns --system " << NameOf(GetParam())
                               << " --seed " << seed << "\n"
                               << chance.Story();
  }
  if (extent.timed) {
    std::cout << NameOf(GetParam()) << ": " << rounds << " histories from seed "
              << extent.first_seed << std::endl;
  }
}

INSTANTIATE_TEST_SUITE_P(Systems, RandomCrashTest, ::testing::ValuesIn(Cases()),
                         [](const auto& one) { return NameOf(one.param); });

}  // namespace
}  // namespace quire::patterns
