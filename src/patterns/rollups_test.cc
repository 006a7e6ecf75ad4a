// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/rollups.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <shared_mutex>
#include <thread>

#include "patterns/random_crash.h"
#include "patterns/test_world.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using std::chrono::minutes;

constexpr Level kLevels[] = {Level::kHour, Level::kDay, Level::kWeek, Level::kMonth, Level::kYear};
constexpr Date kFrom{0};
constexpr Date kTo{4'000'000'000'000};

Rollups RollupsOf(World* world, const Seams& seams, const std::string& worker = "jobs") {
  return Rollups(world->client, world->database, {.worker = worker, .seams = seams});
}
Rollups RollupsOf(World* world) { return RollupsOf(world, world->seams()); }

std::vector<RollupEvent> RandomEvents(int n, unsigned seed) {
  std::mt19937 random(seed);
  const int64_t start = ToDate({2023, 12, 30, 0, 0, 0}).millis;
  std::vector<RollupEvent> events;
  for (int i = 0; i < n; ++i) {
    events.push_back({"u" + std::to_string(random() % 2),
                      Date{start + static_cast<int64_t>(random() % 20) * 10'800'000},
                      static_cast<double>(random() % 100)});
  }
  return events;
}

// Every level against direct sums of the raw events.
void ExpectExact(World* world) {
  auto events = world->store.Find("events", Doc());
  ASSERT_TRUE(events.ok());
  for (Level level : kLevels) {
    std::map<std::pair<std::string, int64_t>, std::pair<double, int64_t>> expected;
    for (const Document& event : *events) {
      auto& sum = expected[{std::string(TextAt(event, "userid")),
                            BucketStart(event["ts"].AsDate(), level).millis}];
      sum.first += event["length"].AsDouble();
      sum.second += 1;
    }
    std::map<std::pair<std::string, int64_t>, std::pair<double, int64_t>> found;
    for (const char* user : {"u0", "u1", "rick"}) {
      auto values = RollupsOf(world).Query(user, level, kFrom, kTo);
      ASSERT_TRUE(values.ok()) << values.status().ToString();
      for (const RollupValue& value : *values) {
        found[{user, value.start.millis}] = {value.total, value.count};
        EXPECT_DOUBLE_EQ(value.mean, value.total / static_cast<double>(value.count));
        EXPECT_LE(value.min, value.mean);
        EXPECT_GE(value.max, value.mean);
      }
    }
    EXPECT_EQ(found, expected) << static_cast<int>(level);
  }
}

void RecordAll(World* world, const std::vector<RollupEvent>& events) {
  for (const RollupEvent& event : events) {
    ASSERT_TRUE(RollupsOf(world).Record(event).ok());
  }
}

class RollupsTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(RollupsTest, LevelsOfOneEvent) {
  Rollups rollups = RollupsOf(&world_);
  EXPECT_EQ(rollups.MissingIndexes()->size(), 9u);
  ASSERT_TRUE(rollups.CreateIndexes().ok());
  ASSERT_TRUE(rollups.Record({"rick", ToDate({2010, 10, 10, 14, 17, 22}), 95}).ok());
  EXPECT_EQ(rollups.Run()->changed, 0);  // too young
  world_.clock.Advance(minutes(2));
  EXPECT_EQ(rollups.Run()->changed, 5);
  const CivilTime starts[] = {{2010, 10, 10, 14, 0, 0},
                              {2010, 10, 10, 0, 0, 0},
                              {2010, 10, 10, 0, 0, 0},
                              {2010, 10, 1, 0, 0, 0},
                              {2010, 1, 1, 0, 0, 0}};
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    auto values = rollups.Query("rick", kLevels[i], kFrom, kTo);
    ASSERT_EQ(values->size(), 1u);
    EXPECT_EQ(values->front().start.millis, ToDate(starts[i]).millis);
    EXPECT_EQ(values->front().total, 95);
  }
  ExpectExact(&world_);
}

TEST_P(RollupsTest, AGrowingHourIsNotCountedTwice) {
  Rollups rollups = RollupsOf(&world_);
  const Date hour = ToDate({2024, 1, 1, 10, 0, 0});
  for (int sessions : {10, 5}) {
    for (int i = 0; i < sessions; ++i) {
      ASSERT_TRUE(rollups.Record({"rick", Date{hour.millis + i}, 1}).ok());
    }
    world_.clock.Advance(minutes(2));
    ASSERT_TRUE(rollups.Run().ok());
    ASSERT_TRUE(rollups.Run().ok());
  }
  EXPECT_EQ(rollups.Query("rick", Level::kDay, kFrom, kTo)->front().count, 15);
  ExpectExact(&world_);
}

TEST_P(RollupsTest, LateAndRepeatedRunsStayExact) {
  ASSERT_TRUE(RollupsOf(&world_).CreateIndexes().ok());
  for (unsigned round = 0; round < 4; ++round) {
    RecordAll(&world_, RandomEvents(12, round));  // any order, often of hours done before
    world_.clock.Advance(minutes(3));
    ASSERT_TRUE(RollupsOf(&world_).Run().ok());
    ExpectExact(&world_);
  }
  ASSERT_TRUE(world_.store.DeleteMany("stats.daily", Doc()).ok());
  ASSERT_TRUE(RollupsOf(&world_).Repair(kFrom, kTo).ok());
  ExpectExact(&world_);
}

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

TEST_P(RollupsTest, SurvivesEveryCrash) {
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
TEST_P(RollupsTest, EveryOtherOperationSurvivesEveryCrash) {
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
TEST_P(RollupsTest, APausedWorkerDoesNotPutBackOldSums) {
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

// The clock stands while an event is on its way: none becomes visible later than the delay.
TEST_P(RollupsTest, WorkersSideBySide) {
  ASSERT_TRUE(RollupsOf(&world_).CreateIndexes().ok());
  std::shared_mutex clock;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        {
          std::shared_lock stands(clock);
          RecordAll(&world_, RandomEvents(4, static_cast<unsigned>(t * 10 + i)));
        }
        {
          std::unique_lock jumps(clock);
          world_.clock.Advance(minutes(15));
        }
        auto report = RollupsOf(&world_, world_.seams(), "w" + std::to_string(t)).Run();
        EXPECT_TRUE(report.ok() || Is(report.status(), Error::kLeaseLost))
            << report.status().ToString();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  world_.clock.Advance(minutes(10));
  ASSERT_TRUE(RollupsOf(&world_).Run().ok());
  ExpectExact(&world_);
}

TEST_P(RollupsTest, ReservedIdsAreDisjoint) {
  Rollups rollups = RollupsOf(&world_);
  EXPECT_EQ(*rollups.ReserveIds("s", 100), 0);
  EXPECT_EQ(*rollups.ReserveIds("s", 50), 100);
  std::mutex mutex;
  std::set<int64_t> firsts;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        auto first = rollups.ReserveIds("t", 3);
        ASSERT_TRUE(first.ok());
        std::lock_guard lock(mutex);
        EXPECT_TRUE(firsts.insert(*first).second);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(*firsts.rbegin(), 39 * 3);
}

// Levels of the closed hours against all events there ever were, though the raw ones are gone.
TEST_P(RollupsTest, ClosedHoursTakeLateEventsOnce) {
  const std::vector<RollupEvent> events = RandomEvents(7, 5);
  const Date all_closed = ToDate({2024, 2, 1, 0, 0, 0});
  std::map<std::string, std::pair<double, int64_t>> sums;
  for (const RollupEvent& event : events) {
    sums[event.user].first += event.length;
    sums[event.user].second += 1;
  }
  auto expect = [&](World* world, bool exact) {
    for (const auto& [user, sum] : sums) {
      for (Level level : kLevels) {
        double total = 0;
        int64_t count = 0;
        const auto values = *RollupsOf(world).Query(user, level, kFrom, kTo);
        for (const RollupValue& value : values) {
          EXPECT_EQ(value.mean, value.total / static_cast<double>(value.count));
          total += value.total;
          count += value.count;
        }
        EXPECT_TRUE(exact ? count == sum.second && total == sum.first : count <= sum.second)
            << static_cast<int>(level) << " " << count << " of " << sum.second;
      }
    }
  };
  auto settle = [](World* world) {
    world->clock.Advance(minutes(10));
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(RollupsOf(world).Run().ok());
    }
  };
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
  test.settle = settle;
  test.always = [&](World* world) { expect(world, false); };
  test.settled = [&](World* world) {
    expect(world, true);
    EXPECT_EQ(*world->store.Count("agg_late", Doc("applied", false)), 0);
    EXPECT_EQ(*world->store.Count("stats.hourly", Doc("late_ids.0", Doc("$exists", true))), 0);
  };
  EXPECT_GE(RunCrashCase(GetParam(), test), 30);
}

TEST_P(RollupsTest, NoCollectionScans) {
  ASSERT_TRUE(RollupsOf(&world_).CreateIndexes().ok());
  RecordAll(&world_, RandomEvents(20, 5));
  world_.clock.Advance(minutes(2));
  ASSERT_TRUE(RollupsOf(&world_).Run().ok());
  const Document interval = Doc("$gte", kFrom, "$lt", kTo);
  for (const Document& find :
       {Doc("find", "events", "filter", Doc("userid", "u0", "ts", interval)),
        Doc("find", "events", "filter", Doc("ing", interval)),
        Doc("find", "events", "filter", Doc("ts", interval)),
        Doc("find", "stats.daily", "filter", Doc("_id.u", "u0", "_id.d", interval), "sort",
            Doc("_id.u", 1, "_id.d", 1))}) {
    Explained explained = Explain(world_.store, find);
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
    EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos) << explained.plan;
    EXPECT_LE(explained.keys, explained.returned + 1) << explained.plan;
  }
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
  void ExpectSettled(World* world) override {
    using Sums = std::map<std::pair<std::string, int64_t>, std::pair<double, int64_t>>;
    for (Level level : kLevels) {
      Sums expected;
      for (const RollupEvent& event : events_) {
        auto& sum = expected[{event.user, BucketStart(event.time, level).millis}];
        sum.first += event.length;
        sum.second += 1;
      }
      Sums found;
      for (const char* user : {"u0", "u1"}) {
        const std::vector<RollupValue> values = *RollupsOf(world).Query(user, level, kFrom, kTo);
        for (const RollupValue& value : values) {
          found[{user, value.start.millis}] = {value.total, value.count};
        }
      }
      EXPECT_EQ(found, expected) << static_cast<int>(level);
    }
  }

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

INSTANTIATE_TEST_SUITE_P(Places, RollupsTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
