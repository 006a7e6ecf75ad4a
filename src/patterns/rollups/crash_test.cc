// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>
#include <string>

#include "patterns/testing/random_crash.h"
#include "patterns/testing/rollups.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using std::chrono::minutes;

class RollupsCrashTest : public BothPlaces {};

// Events that a run has seen and others that it has not.
void RecordMore(World* world) {
  ASSERT_TRUE(RollupsOf(world).CreateIndexes().ok());
  RecordAll(world, RandomEvents(3, 1));
  world->clock.Advance(minutes(2));
  ASSERT_TRUE(RollupsOf(world).Run().ok());
  RecordAll(world, RandomEvents(2, 2));
  world->clock.Advance(minutes(2));
}

void RunAfterLease(World* world) {
  world->clock.Advance(minutes(10));
  auto report = RollupsOf(world).Run();
  EXPECT_TRUE(report.ok() && report->skipped == 0) << report.status().ToString();
}

TEST_P(RollupsCrashTest, SurvivesEveryCrash) {
  CrashCase test;
  test.once = RecordMore;
  test.operation = [](World* world, const Seams& seams) {
    return RollupsOf(world, seams, "crashing").Run().status();
  };
  test.settle = RunAfterLease;
  test.always = [](World*) {};
  test.settled = ExpectExact;
  EXPECT_GE(RunCrashCase(GetParam(), test), 30);
}

// The other jobs and writes, each over events that a run has not seen yet.
TEST_P(RollupsCrashTest, EveryOtherOperationSurvivesEveryCrash) {
  const Date all = ToDate({2024, 2, 1, 0, 0, 0});
  const RollupEvent one{"u0", ToDate({2023, 12, 30, 5, 0, 0}), 9};
  const struct {
    const char* name;
    std::function<Status(const Rollups&)> run;
    bool keyed;
  } kOperations[] = {
      {"close", [&](auto& rollups) { return rollups.Close(all).status(); }, false},
      {"repair", [&](auto& rollups) { return rollups.Repair(kFrom, kTo).status(); }, false},
      {"record", [&](auto& rollups) { return rollups.Record(one); }, false},
      {"record keyed", [&](auto& rollups) { return rollups.Record(one, "k"); }, true},
      {"reserve", [&](auto& rollups) { return rollups.ReserveIds("s", 3).status(); }, false},
  };
  for (const auto& row : kOperations) {
    SCOPED_TRACE(row.name);
    CrashCase test;
    test.once = RecordMore;
    test.operation = [&](World* world, const Seams& seams) {
      Status first = row.run(RollupsOf(world, seams, "crashing"));
      if (row.keyed) {
        EXPECT_TRUE(row.run(RollupsOf(world)).ok());
        EXPECT_EQ(*world->store.Count("events", Doc("_id", "k")), 1);
      }
      return first;
    };
    test.settle = RunAfterLease;
    test.always = [](World* world) {
      EXPECT_EQ(*world->store.Count("my_sequence", Doc("inc", Doc("$nin", List(3)))), 0);
    };
    // An event whose insert was delayed beyond the delay is found by the next repair.
    test.settled = [](World* world) {
      ASSERT_TRUE(RollupsOf(world).Repair(kFrom, kTo).ok());
      ExpectExact(world);
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
  EXPECT_TRUE(RollupsOf(&world_).Record(one, "k").ok());
  EXPECT_TRUE(RollupsOf(&world_).Record(one, "k").ok());
  EXPECT_TRUE(Is(RollupsOf(&world_).Record({"u1", one.time, 9}, "k"), Error::kIdempotencyKeyReuse));
}

// A worker is paused before each of its writes while events arrive and another worker runs.
TEST_P(RollupsCrashTest, APausedWorkerDoesNotPutBackOldSums) {
  for (int write = 1; write <= 8; ++write) {
    World world(GetParam());
    ASSERT_TRUE(RollupsOf(&world).CreateIndexes().ok());
    RecordAll(&world, {{"u0", ToDate({2024, 1, 1, 10, 0, 0}), 5}});
    world.clock.Advance(minutes(2));
    TestFaults faults;
    faults.at = write;
    faults.before = [&] {
      RecordAll(&world, {{"u0", ToDate({2024, 1, 1, 10, 30, 0}), 7}});
      world.clock.Advance(minutes(10));
      EXPECT_EQ(RollupsOf(&world).Run()->skipped, 0);
    };
    auto report = RollupsOf(&world, world.seams(nullptr, &faults), "slow").Run();
    EXPECT_TRUE(report.ok() || Is(report.status(), Error::kLeaseLost))
        << report.status().ToString();
    ASSERT_GE(faults.writes, write);
    ExpectExact(&world);
  }
}

// Levels of the closed hours against all events there ever were, though the raw ones are gone.
TEST_P(RollupsCrashTest, ClosedHoursTakeLateEventsOnce) {
  const std::vector<RollupEvent> events = RandomEvents(7, 5);
  const Date all_closed = ToDate({2024, 2, 1, 0, 0, 0});
  CrashCase test;
  test.once = [&](World* world) {
    Rollups rollups = RollupsOf(world);
    ASSERT_TRUE(rollups.CreateIndexes().ok());
    for (size_t i = 0; i < 5; ++i) {
      ASSERT_TRUE(rollups.Record(events[i]).ok());
      world->clock.Advance(std::chrono::seconds(i < 4 ? 60 : 5));  // some are young at the close
    }
    ASSERT_TRUE(rollups.Run().ok());
    const Date cutoff{world->clock.Now().millis - 60'000};
    ASSERT_EQ(rollups.Close(all_closed)->skipped, 0);
    ASSERT_TRUE(world->store.DeleteMany("events", Doc("ing", Doc("$lt", cutoff))).ok());
    for (size_t i = 5; i < events.size(); ++i) {
      ASSERT_TRUE(rollups.Record(events[i]).ok());
    }
    world->clock.Advance(minutes(2));
  };
  test.operation = [&](World* world, const Seams& seams) {
    return RollupsOf(world, seams, "other").Run().status();
  };
  test.settle = [](World* world) {
    world->clock.Advance(minutes(10));
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(RollupsOf(world).Run().ok());
    }
  };
  test.always = [&](World* world) {
    for (Level level : kLevels) {
      int64_t count = 0;
      for (const char* user : {"u0", "u1"}) {
        const auto values = *RollupsOf(world).Query(user, level, kFrom, kTo);
        for (const RollupValue& value : values) {
          EXPECT_EQ(value.mean, value.total / static_cast<double>(value.count));
          count += value.count;
        }
      }
      EXPECT_LE(count, static_cast<int64_t>(events.size())) << static_cast<int>(level);
    }
  };
  test.settled = [&](World* world) {
    ExpectSums(world, events);
    EXPECT_EQ(*world->store.Count("agg_late", Doc("applied", false)), 0);
    EXPECT_EQ(*world->store.Count("stats.hourly", Doc("late_ids.0", Doc("$exists", true))), 0);
  };
  EXPECT_GE(RunCrashCase(GetParam(), test), 30);
}

// Workers that crash and are paused beyond their lease; hours are closed and their events removed.
class RandomRollups : public RandomWorkload {
 public:
  void Setup(World* world) override { ASSERT_TRUE(RollupsOf(world).CreateIndexes().ok()); }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    const std::string worker = "w" + std::to_string(++workers_);
    Rollups rollups = RollupsOf(world, seams, worker);
    switch (chance->Below(8)) {
      case 0:
      case 1:
      case 2: {
        chance->Note("record");
        RollupEvent event = RandomEvents(1, static_cast<unsigned>(chance->Below(1000)))[0];
        events_.push_back(event);
        return RollupsOf(world).Record(event);  // none becomes visible later than the delay
      }
      case 3:
        chance->Note(worker + " repairs");
        return rollups.Repair(kFrom, kTo).status();
      case 4:
        if (chance->OneIn(3)) {
          const Date before{ToDate({2023, 12, 30, 0, 0, 0}).millis +
                            chance->Below(20) * 10'800'000};
          chance->Note(worker + " closes");
          return rollups.Close(before).status();
        }
        [[fallthrough]];
      default:
        chance->Note(worker + " runs");
        world->clock.Advance(std::chrono::seconds(chance->Below(150)));
        return rollups.Run().status();
    }
  }

  void Settle(World* world) override {
    world->clock.Advance(minutes(10));  // past every lease
    auto report = RollupsOf(world, world->seams(), "settle" + std::to_string(++workers_)).Run();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->skipped == 0 || report->examined > 0);  // closed hours are skipped
  }

  void ExpectAlways(World* world) override {
    int64_t count = 0;
    const std::vector<Document> hours = *world->store.Find("stats.hourly", Doc());
    for (const Document& hour : hours) {
      count += IntegerAt(hour, "value.count");
    }
    EXPECT_LE(count, static_cast<int64_t>(events_.size()));
  }

  // Every level against direct sums of all events there ever were.
  void ExpectSettled(World* world) override { ExpectSums(world, events_); }

  // What is closed and known does without its raw events.
  void Rest(World* world) override {
    Settle(world);
    auto job = world->store.FindOne("jobs", Doc("_id", "rollups"));
    ASSERT_TRUE(job.ok() && *job);
    const bson::Value closed = At(**job, "state.closed_before");
    const bson::Value known = At(**job, "state.last_run");
    if (closed.type() == bson::Type::kDate) {
      EXPECT_TRUE(
          world->store.DeleteMany("events", Doc("ts", Doc("$lt", closed), "ing", Doc("$lt", known)))
              .ok());
    }
  }

 private:
  std::vector<RollupEvent> events_;
  int workers_ = 0;
};

const RandomSystem kRandom("Rollups", [](Chance*) { return std::make_unique<RandomRollups>(); });

QUIRE_IN_BOTH_PLACES(RollupsCrashTest);

}  // namespace
}  // namespace quire::patterns
