// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/rollups.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>

#include "patterns/testing/rollups.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using std::chrono::milliseconds;
using std::chrono::minutes;

class RollupsTest : public BothPlaces {};

TEST_P(RollupsTest, LevelsOfOneEvent) {
  Rollups rollups = RollupsOf(&world_);
  EXPECT_EQ(rollups.MissingIndexes()->size(), Rollups::Indexes().size());
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

TEST_P(RollupsTest, DocumentsHaveTheirFields) {
  Rollups rollups = RollupsOf(&world_);
  const Date now = world_.clock.Now();
  const Date time = ToDate({2010, 10, 10, 14, 17, 22});
  ASSERT_TRUE(rollups.Record({"rick", time, 29}).ok());
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(rollups.Record({"rick", Date{time.millis + i}, 25}).ok());
  }
  const Document event = **world_.store.FindOne("events", Doc("length", 29.0));
  EXPECT_EQ(JsonOf(event), JsonOf(Doc("_id", event["_id"], "userid", "rick", "ts", time, "length",
                                      29.0, "ing", now)));
  world_.clock.Advance(minutes(2));
  const Date ran = world_.clock.Now();
  ASSERT_TRUE(rollups.Run().ok());
  const char* const kCollections[] = {"stats.hourly", "stats.daily", "stats.weekly",
                                      "stats.monthly", "stats.yearly"};
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    const Document id = Doc("u", "rick", "d", BucketStart(time, kLevels[i]));
    const Document value = Doc("total", 254.0, "count", int64_t{10}, "mean", 25.4, "min", 25.0,
                               "max", 29.0, "ts", ran);
    EXPECT_EQ(JsonOf(world_.All(kCollections[i]).at(0)),
              JsonOf(Doc("_id", id, "token", int64_t{1}, "value", value)));
  }
  auto state = [&] {
    const Document job = world_.All("jobs").at(0);
    return Document(job["state"].AsDocument());
  };
  EXPECT_EQ(JsonOf(state()), JsonOf(Doc("last_run", Date{ran.millis - 60'000})));
  const Date closed = ToDate({2010, 10, 11, 0, 0, 0});
  ASSERT_TRUE(rollups.Close(Date{closed.millis + 7}).ok());
  const Document closing = state();
  EXPECT_EQ(closing["closed_before"].AsDate(), closed);
  ASSERT_TRUE(rollups.Record({"rick", time, 5}, "late").ok());
  world_.clock.Advance(minutes(2));
  ASSERT_TRUE(rollups.Run().ok());
  EXPECT_EQ(JsonOf(world_.All("agg_late").at(0)),
            JsonOf(Doc("_id", "late", "u", "rick", "d", BucketStart(time, Level::kHour), "length",
                       5.0, "applied", true)));
  EXPECT_EQ(rollups.Query("rick", Level::kYear, kFrom, kTo)->front().min, 5.0);
  ASSERT_EQ(*rollups.ReserveIds("s", 3), 0);
  EXPECT_EQ(JsonOf(world_.All("my_sequence").at(0)), JsonOf(Doc("_id", "s", "inc", int64_t{3})));
}

TEST_P(RollupsTest, IntervalsAreHalfOpen) {
  Rollups rollups = RollupsOf(&world_);
  const Date hour = ToDate({2024, 1, 1, 10, 0, 0});
  const Date next{hour.millis + 3'600'000};
  ASSERT_TRUE(rollups.Record({"rick", hour, 1}).ok());
  world_.clock.Advance(minutes(1));
  EXPECT_EQ(rollups.Run()->changed, 0);  // ingested when the window ends
  ASSERT_TRUE(rollups.Record({"rick", next, 1}).ok());
  world_.clock.Advance(milliseconds(1));
  EXPECT_EQ(rollups.Run()->changed, 5);
  world_.clock.Advance(minutes(2));
  EXPECT_EQ(rollups.Run()->changed, 5);
  EXPECT_EQ(rollups.Query("rick", Level::kHour, hour, next)->size(), 1u);
  EXPECT_EQ(rollups.Query("rick", Level::kHour, Date{hour.millis + 1}, next)->size(), 0u);
  EXPECT_EQ(rollups.Query("rick", Level::kHour, hour, Date{next.millis + 1})->size(), 2u);
  ExpectExact(&world_);
}

TEST_P(RollupsTest, WeeksMayStartOnMonday) {
  Rollups rollups(world_.client, world_.database,
                  {.week = WeekStart::kMonday, .seams = world_.seams()});
  for (int day : {4, 10, 11}) {  // Monday, Sunday, Monday
    ASSERT_TRUE(rollups.Record({"rick", ToDate({2010, 10, day, 14, 17, 22}), 1}).ok());
  }
  world_.clock.Advance(minutes(2));
  ASSERT_TRUE(rollups.Run().ok());
  auto weeks = rollups.Query("rick", Level::kWeek, kFrom, kTo);
  ASSERT_EQ(weeks->size(), 2u);
  EXPECT_EQ(weeks->at(0).start, ToDate({2010, 10, 4, 0, 0, 0}));
  EXPECT_EQ(weeks->at(0).count, 2);
  EXPECT_EQ(weeks->at(1).start, ToDate({2010, 10, 11, 0, 0, 0}));
}

// Five events of one moment and some of others: what a batch has done is not done again.
TEST_P(RollupsTest, RunsGoOnAfterTheirLastBatch) {
  auto in_batches = [&](const Seams& seams) {
    return Rollups(world_.client, world_.database, {.batch = 2, .worker = "w", .seams = seams});
  };
  ASSERT_TRUE(RollupsOf(&world_).CreateIndexes().ok());
  for (int i = 0; i < 10; ++i) {
    RecordAll(&world_, {{"u" + std::to_string(i), ToDate({2024, 1, 1, i, 0, 0}), 1}});
    world_.clock.Advance(milliseconds(i < 3 || i > 6 ? 1 : 0));
  }
  world_.clock.Advance(minutes(2));
  TestCrash crash;
  crash.at = "rollups.run.c7";
  EXPECT_TRUE(Is(in_batches(world_.seams(&crash)).Run().status(), Error::kCrashed));
  EXPECT_EQ(*world_.store.Count("stats.yearly", Doc()), 2);
  EXPECT_EQ(in_batches(world_.seams()).Run()->changed, 5 * 8);
  EXPECT_EQ(in_batches(world_.seams()).Run()->examined, 0);
  ExpectExact(&world_);
}

// Time passes with every write, and others wait for the lease to end.
TEST_P(RollupsTest, LongJobsKeepTheirLease) {
  ASSERT_TRUE(RollupsOf(&world_).CreateIndexes().ok());
  RecordAll(&world_, RandomEvents(12, 3));
  world_.clock.Advance(minutes(2));
  class SlowWrites : public FaultHook {
   public:
    explicit SlowWrites(World* world) : world_(world) {}
    Fault BeforeWrite() override {
      world_->clock.Advance(minutes(1));
      auto other = RollupsOf(world_, world_->seams(), "other").Run();
      EXPECT_TRUE(writes++ == 0 || other->skipped == 1) << writes;
      return Fault::kNone;
    }
    int writes = 0;

   private:
    World* world_;
  } slow(&world_);
  Rollups rollups(world_.client, world_.database,
                  {.batch = 2, .worker = "slow", .seams = world_.seams(nullptr, &slow)});
  ASSERT_TRUE(rollups.Repair(kFrom, kTo).ok());
  EXPECT_GT(slow.writes, 10);
  ExpectExact(&world_);
}

// Also where no events are (any more), and where there should be nothing.
TEST_P(RollupsTest, RepairLooksAtEverythingStored) {
  Rollups rollups = RollupsOf(&world_);
  ASSERT_TRUE(rollups.CreateIndexes().ok());
  const std::vector<RollupEvent> events = RandomEvents(12, 4);
  RecordAll(&world_, events);
  world_.clock.Advance(minutes(2));
  ASSERT_TRUE(rollups.Close(ToDate({2024, 2, 1, 0, 0, 0})).ok());
  ASSERT_TRUE(world_.store.DeleteMany("events", Doc()).ok());
  ASSERT_TRUE(world_.store.DeleteMany("stats.daily", Doc()).ok());
  const Document value = Doc("total", 1.0, "count", int64_t{1});
  for (const char* collection : {"stats.daily", "stats.weekly", "stats.monthly", "stats.yearly"}) {
    const Document id = Doc("u", "rick", "d", ToDate({2023, 1, 1, 0, 0, 0}));
    ASSERT_TRUE(
        world_.store.Insert(collection, Doc("_id", id, "value", value, "token", int64_t{0})).ok());
  }
  ASSERT_TRUE(rollups.Repair(ToDate({2023, 1, 1, 12, 0, 0}), kTo).ok());
  ExpectSums(&world_, events);
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

QUIRE_IN_BOTH_PLACES(RollupsTest);

}  // namespace
}  // namespace quire::patterns
