// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/reports.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "patterns/testing/random_crash.h"
#include "patterns/testing/world.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;

constexpr ReportLayout kLayouts[] = {ReportLayout::kFlat, ReportLayout::kHierarchical,
                                     ReportLayout::kSplit};
constexpr int64_t kHour = 3'600'000;
constexpr int64_t kDay = 24 * kHour;

Reports ReportsOf(World* world, ReportLayout layout, const Seams& seams, int32_t stripes = 1) {
  return Reports(world->client, world->database,
                 {.layout = layout, .stripes = stripes, .seams = seams});
}
Reports ReportsOf(World* world, ReportLayout layout, int32_t stripes = 1) {
  return ReportsOf(world, layout, world->seams(), stripes);
}

int64_t Sum(const std::vector<ReportPoint>& points) {
  int64_t sum = 0;
  for (const ReportPoint& point : points) {
    sum += point.hits;
  }
  return sum;
}

std::vector<Hit> RandomHits(int n) {
  std::mt19937 random(11);
  const int64_t start = ToDate({2024, 1, 30, 0, 0, 0}).millis;
  std::vector<Hit> hits;
  for (int i = 0; i < n; ++i) {
    hits.push_back({Date{start + static_cast<int64_t>(random() % (3 * kDay))}, "s", "/p",
                    static_cast<int64_t>(random() % 3 + 1)});
  }
  return hits;
}

class ReportsTest : public ::testing::TestWithParam<Place> {};

TEST_P(ReportsTest, DocumentsAreAsDescribed) {
  const Hit hit{ToDate({2000, 10, 10, 23, 59, 30}), "site-1", "/apache_pb.gif", 1};
  const char* const kMinutes[] = {R"("minute":{"1439":1})", R"("minute":{"23":{"59":1}})",
                                  R"("minute":{"23":{"59":1}})"};
  for (ReportLayout layout : kLayouts) {
    World world(GetParam());
    Reports reports = ReportsOf(&world, layout);
    ASSERT_TRUE(reports.LogHit(hit).ok());
    auto daily = world.store.FindOne("stats.daily", Doc("_id", "20001010/site-1/apache_pb.gif"));
    ASSERT_TRUE(daily.ok() && *daily);
    const std::string text = bson::ToJson((*daily)->view());
    EXPECT_NE(text.find(kMinutes[static_cast<int>(layout)]), std::string::npos) << text;
    const int64_t one = 1;
    const bool split = layout == ReportLayout::kSplit;
    auto about = [](const Date& date) {
      return Doc("date", date, "page", "/apache_pb.gif", "site", "site-1");
    };
    const Document day = Doc("metadata", about(ToDate({2000, 10, 10, 0, 0, 0})), "hourly",
                             Doc("23", one), "daily", one);
    const Document month =
        Doc("metadata", about(ToDate({2000, 10, 1, 0, 0, 0})), "daily", Doc("10", one));
    for (const char* field : {"metadata", "hourly", "daily"}) {
      const bool absent = split && field == std::string("daily");
      EXPECT_TRUE((**daily)[field].BinaryEquals(absent ? bson::Value() : day[field])) << field;
    }
    auto monthly = world.store.FindOne("stats.monthly", Doc("_id", "200010/site-1/apache_pb.gif"));
    ASSERT_EQ(monthly->has_value(), split);
    for (const char* field : {"metadata", "daily"}) {
      EXPECT_TRUE(!split || (**monthly)[field].BinaryEquals(month[field])) << field;
    }
  }
}

// The filter of the last query.
class LastQuery : public QueryHook {
 public:
  void Asks(const Document& query) override { filter = Document(query["filter"].AsDocument()); }
  Document filter;
};

TEST_P(ReportsTest, AnHourAtMidnightReadsTwoDocuments) {
  for (ReportLayout layout : kLayouts) {
    World world(GetParam());
    LastQuery last;
    Seams seams = world.seams();
    seams.queries = &last;
    Reports reports = ReportsOf(&world, layout, seams);
    const Date from = ToDate({2000, 10, 10, 23, 30, 0});
    const Date to = ToDate({2000, 10, 11, 0, 30, 0});
    for (int64_t at : {from.millis - kDay, from.millis - 1, from.millis, to.millis - 1, to.millis,
                       to.millis + kDay}) {
      ASSERT_TRUE(reports.LogHit({Date{at}, "s", "/p", 1}).ok());
    }
    auto points = reports.Series("s", "/p", from, to, Level::kMinute);
    ASSERT_EQ(points->size(), 60u);
    EXPECT_EQ(*world.store.Count("stats.daily", last.filter), 2);
    for (size_t i = 0; i < 60; ++i) {
      EXPECT_EQ((*points)[i].start.millis, from.millis + static_cast<int64_t>(i) * 60'000);
      EXPECT_EQ((*points)[i].hits, i == 0 || i == 59 ? 1 : 0) << i;
    }
  }
}

TEST_P(ReportsTest, MonthsHaveTheirDays) {
  for (ReportLayout layout : kLayouts) {
    World world(GetParam());
    Reports reports = ReportsOf(&world, layout);
    ASSERT_TRUE(reports.LogHit({ToDate({2024, 2, 29, 23, 59, 59}), "s", "/p", 3}).ok());
    auto days = reports.Series("s", "/p", ToDate({2023, 2, 1, 0, 0, 0}),
                               ToDate({2024, 3, 1, 0, 0, 0}), Level::kDay);
    EXPECT_EQ(days->size(), 28u + 366u);  // from a February that has no 29th to one that has
    EXPECT_EQ(days->back().hits, 3);
    EXPECT_EQ(Sum(*days), 3);
  }
}

TEST_P(ReportsTest, PreallocatedDocumentsHaveEverySlot) {
  for (ReportLayout layout : kLayouts) {
    World world(GetParam());
    Reports reports = ReportsOf(&world, layout);
    ASSERT_TRUE(reports.Preallocate(ToDate({2024, 2, 10, 5, 0, 0}), "s", "/p").ok());
    auto daily = world.store.FindOne("stats.daily", Doc("_id", "20240210/s/p"));
    ASSERT_TRUE(daily.ok() && *daily);
    EXPECT_EQ(At(**daily, "hourly").AsDocument().Count(), 24u);
    const bson::View minutes = At(**daily, "minute").AsDocument();
    EXPECT_EQ(minutes.Count(), layout == ReportLayout::kFlat ? 1440u : 24u);
    EXPECT_TRUE(layout == ReportLayout::kFlat || minutes["23"].AsDocument().Count() == 60u);
    const std::string before(world.All("stats.daily").at(0).bytes());
    ASSERT_TRUE(reports.Preallocate(ToDate({2024, 2, 10, 6, 0, 0}), "s", "/p").ok());
    EXPECT_EQ(world.All("stats.daily").at(0).bytes(), before);
    EXPECT_EQ(world.All("stats.monthly").size(), layout == ReportLayout::kSplit ? 1u : 0u);
    EXPECT_EQ(Sum(*reports.Series("s", "/p", ToDate({2024, 2, 1, 0, 0, 0}),
                                  ToDate({2024, 3, 1, 0, 0, 0}), Level::kHour)),
              0);
  }
}

// One write per document, whatever the number of its hits.
TEST_P(ReportsTest, BatchesAreSummedFirst) {
  for (ReportLayout layout : kLayouts) {
    World world(GetParam());
    std::vector<Hit> hits;
    for (int i = 0; i < 20; ++i) {
      hits.push_back({ToDate({2024, 1, 1 + i % 2, i, 0, 0}), "s", "/p", 1});
    }
    TestFaults writes;
    Reports reports = ReportsOf(&world, layout, world.seams(nullptr, &writes));
    ASSERT_TRUE(reports.LogBatch("b", world.clock.Now(), hits).ok());
    EXPECT_EQ(writes.writes, layout == ReportLayout::kSplit ? 3 : 2);
    EXPECT_EQ(Sum(*reports.Series("s", "/p", ToDate({2024, 1, 1, 0, 0, 0}),
                                  ToDate({2024, 1, 3, 0, 0, 0}), Level::kDay)),
              20);
  }
}

TEST_P(ReportsTest, TheLastThousandBatchesAreKept) {
  World world(GetParam());
  Reports reports = ReportsOf(&world, ReportLayout::kFlat);
  const Hit hit{ToDate({2024, 1, 1, 0, 0, 0}), "s", "/p", 1};
  ASSERT_TRUE(reports.LogBatch("first", world.clock.Now(), {hit}).ok());
  std::vector<std::string> others;
  for (int i = 0; i < 999; ++i) {
    others.push_back("b" + std::to_string(i));
  }
  ASSERT_TRUE(world.store
                  .UpdateOne("stats.daily", Doc("_id", "20240101/s/p"),
                             Doc("$push", Doc("batches", Doc("$each", ListOf(others)))))
                  .ok());
  ASSERT_TRUE(reports.LogBatch("first", world.clock.Now(), {hit}).ok());  // a repeat
  EXPECT_EQ(IntegerAt(world.All("stats.daily").at(0), "daily"), 1);
  ASSERT_TRUE(reports.LogBatch("last", world.clock.Now(), {hit}).ok());
  const Document day = world.All("stats.daily").at(0);
  EXPECT_EQ(IntegerAt(day, "daily"), 2);
  EXPECT_EQ(day["batches"].AsArray().Count(), 1000u);
  EXPECT_FALSE(Holds(day["batches"], bson::Value("first")));
  EXPECT_TRUE(Holds(day["batches"], bson::Value("last")));
}

TEST_P(ReportsTest, LayoutsGiveEqualSeries) {
  const Date from = ToDate({2024, 1, 29, 0, 0, 0});
  const Date to = ToDate({2024, 2, 3, 0, 0, 0});
  const std::vector<Hit> hits = RandomHits(60);
  int64_t total = 0;
  for (const Hit& hit : hits) {
    total += hit.count;
  }
  for (Level level : {Level::kMinute, Level::kHour, Level::kDay}) {
    std::vector<std::vector<int64_t>> series;
    for (ReportLayout layout : kLayouts) {
      for (int32_t stripes : {1, 3}) {
        World world(GetParam());
        Reports reports = ReportsOf(&world, layout, stripes);
        ASSERT_TRUE(reports.CreateIndexes().ok());
        ASSERT_TRUE(reports.Preallocate(ToDate({2024, 1, 31, 5, 0, 0}), "s", "/p").ok());
        for (size_t i = 0; i < hits.size(); ++i) {
          Status status =
              i % 2 == 0 ? reports.LogHit(hits[i])
                         : reports.LogBatch("b" + std::to_string(i), world.clock.Now(), {hits[i]});
          ASSERT_TRUE(status.ok()) << status.ToString();
        }
        ASSERT_TRUE(reports.Preallocate(ToDate({2024, 1, 31, 5, 0, 0}), "s", "/p").ok());
        ASSERT_TRUE(reports.RebuildMonth(from, "s", "/p").ok());
        auto points = reports.Series("s", "/p", from, to, level);
        ASSERT_TRUE(points.ok()) << points.status().ToString();
        EXPECT_EQ(Sum(*points), total);
        series.emplace_back();
        for (const ReportPoint& point : *points) {
          series.back().push_back(point.hits);
        }
        EXPECT_EQ(series.back(), series.front());
      }
    }
  }
}

TEST_P(ReportsTest, BatchesCountOnceThroughEveryCrash) {
  const std::vector<Hit> hits = RandomHits(5);
  int64_t total = 0;
  for (const Hit& hit : hits) {
    total += hit.count;
  }
  for (ReportLayout layout : kLayouts) {
    CrashCase test;
    auto log = [&](World* world, const Seams& seams) {
      return ReportsOf(world, layout, seams).LogBatch("b", Date{1'600'000'000'000}, hits);
    };
    auto sum = [&](World* world, Level level) {
      return Sum(*ReportsOf(world, layout)
                      .Series("s", "/p", ToDate({2024, 1, 1, 0, 0, 0}),
                              ToDate({2024, 3, 1, 0, 0, 0}), level));
    };
    test.once = [&](World* world) { ASSERT_TRUE(ReportsOf(world, layout).CreateIndexes().ok()); };
    test.operation = log;
    test.settle = [&](World* world) {
      EXPECT_TRUE(
          ReportsOf(world, layout).RebuildMonth(ToDate({2024, 1, 1, 0, 0, 0}), "s", "/p").ok());
      EXPECT_TRUE(log(world, world->seams()).ok());
    };
    test.always = [&](World* world) { EXPECT_LE(sum(world, Level::kHour), total); };
    test.settled = [&](World* world) {
      for (Level level : {Level::kHour, Level::kDay}) {
        EXPECT_EQ(sum(world, level), total);
      }
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), 10);
  }
}

// The operations that count at least once, or count nothing.
TEST_P(ReportsTest, EveryOtherOperationSurvivesEveryCrash) {
  const Hit hit{ToDate({2024, 1, 31, 12, 0, 0}), "s", "/p", 5};
  const Date from = ToDate({2024, 1, 30, 0, 0, 0});
  const Date to = ToDate({2024, 2, 1, 0, 0, 0});
  const struct {
    const char* name;
    std::function<Status(const Reports&)> run;
    int64_t counts;
  } kOperations[] = {
      {"hit", [&](auto& reports) { return reports.LogHit(hit); }, 5},
      {"preallocate", [&](auto& reports) { return reports.Preallocate(hit.time, "s", "/p"); }, 0},
      {"rebuild", [&](auto& reports) { return reports.RebuildMonth(from, "s", "/p"); }, 0},
  };
  for (ReportLayout layout : kLayouts) {
    for (int32_t stripes : {1, 2}) {
      for (const auto& row : kOperations) {
        SCOPED_TRACE(row.name + std::to_string(static_cast<int>(layout)));
        auto sum = [&](World* world, Level level) {
          return Sum(*ReportsOf(world, layout, stripes).Series("s", "/p", from, to, level));
        };
        CrashCase test;
        test.once = [&](World* world) {
          Reports reports = ReportsOf(world, layout, stripes);
          ASSERT_TRUE(reports.CreateIndexes().ok());
          ASSERT_TRUE(reports.LogHit({ToDate({2024, 1, 30, 1, 0, 0}), "s", "/p", 7}).ok());
        };
        test.operation = [&](World* world, const Seams& seams) {
          return row.run(ReportsOf(world, layout, seams, stripes));
        };
        test.settle = [&](World* world) {
          EXPECT_TRUE(ReportsOf(world, layout, stripes).RebuildMonth(from, "s", "/p").ok());
        };
        test.always = [&](World* world) {
          const int64_t counted = sum(world, Level::kHour);
          EXPECT_TRUE(counted == 7 || counted == 7 + row.counts) << counted;
          EXPECT_EQ(sum(world, Level::kMinute), counted);
        };
        test.settled = [&](World* world) {
          EXPECT_EQ(sum(world, Level::kDay), sum(world, Level::kHour));
        };
        const bool nothing = layout != ReportLayout::kSplit && row.name == std::string("rebuild");
        EXPECT_GE(RunCrashCase(GetParam(), test), nothing ? 1 : 6);
      }
    }
  }
}

// A rebuild that read the days before a batch was counted does not take the batch back.
TEST_P(ReportsTest, ALateRebuildLosesNothing) {
  World world(GetParam());
  ASSERT_TRUE(ReportsOf(&world, ReportLayout::kSplit).CreateIndexes().ok());
  const Hit hit{ToDate({2024, 1, 31, 12, 0, 0}), "s", "/p", 5};
  TestFaults faults;
  faults.at = 1;
  faults.before = [&] {
    EXPECT_TRUE(
        ReportsOf(&world, ReportLayout::kSplit).LogBatch("b", world.clock.Now(), {hit}).ok());
  };
  Reports late = ReportsOf(&world, ReportLayout::kSplit, world.seams(nullptr, &faults));
  ASSERT_TRUE(late.RebuildMonth(hit.time, "s", "/p").ok());
  EXPECT_EQ(Sum(*late.Series("s", "/p", ToDate({2024, 1, 1, 0, 0, 0}),
                             ToDate({2024, 2, 1, 0, 0, 0}), Level::kDay)),
            5);
}

TEST_P(ReportsTest, PlainHitsAreRepairedFromTheDays) {
  World world(GetParam());
  TestCrash crash;
  crash.at = "reports.log_hit.c1";
  const Hit hit{ToDate({2024, 1, 31, 12, 0, 0}), "s", "/p", 5};
  EXPECT_TRUE(Is(ReportsOf(&world, ReportLayout::kSplit, world.seams(&crash)).LogHit(hit),
                 Error::kCrashed));
  Reports reports = ReportsOf(&world, ReportLayout::kSplit);
  const Date from = ToDate({2024, 1, 1, 0, 0, 0});
  const Date to = ToDate({2024, 2, 1, 0, 0, 0});
  EXPECT_EQ(Sum(*reports.Series("s", "/p", from, to, Level::kDay)), 0);
  ASSERT_TRUE(reports.RebuildMonth(from, "s", "/p").ok());
  auto days = reports.Series("s", "/p", from, to, Level::kDay);
  EXPECT_EQ(days->size(), 31u);
  EXPECT_EQ(days->back().hits, 5);
}

// Always draws the same number.
class FixedRandom : public RandomSource {
 public:
  double Next() override { return 0.0005; }
};

TEST_P(ReportsTest, HitsPreallocateTheNextDay) {
  World world(GetParam());
  FixedRandom random;
  Seams seams = world.seams();
  seams.random = &random;
  const Hit hit{ToDate({2024, 1, 31, 12, 0, 0}), "s", "/p", 1};
  for (auto [expected, made] : {std::pair{10'000, 1}, std::pair{1000, 3}}) {
    Reports reports(
        world.client, world.database,
        {.layout = ReportLayout::kSplit, .expected_hits_per_day = expected, .seams = seams});
    ASSERT_TRUE(reports.LogHit(hit).ok());
    EXPECT_EQ(
        *world.store.Count("stats.daily", Doc()) + *world.store.Count("stats.monthly", Doc()) - 1,
        made);
  }
  auto february = world.store.FindOne("stats.monthly", Doc("_id", "202402/s/p"));
  ASSERT_TRUE(february.ok() && *february);
  EXPECT_EQ(At(**february, "daily").AsDocument().Count(), 29u);
}

TEST_P(ReportsTest, ManyThreadsLoseNothing) {
  for (ReportLayout layout : kLayouts) {
    World world(GetParam());
    Reports reports = ReportsOf(&world, layout);
    ASSERT_TRUE(reports.CreateIndexes().ok());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          const Hit hit{ToDate({2024, 1, 1, i, 0, 0}), "s", "/p", 1};
          Status status = reports.LogHit(hit);
          EXPECT_TRUE(status.ok()) << status.ToString();
          // Every thread sends the same batches.
          status = reports.LogBatch("b" + std::to_string(i), world.clock.Now(), {hit});
          EXPECT_TRUE(status.ok()) << t << status.ToString();
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (Level level : {Level::kHour, Level::kDay}) {
      EXPECT_EQ(Sum(*reports.Series("s", "/p", ToDate({2024, 1, 1, 0, 0, 0}),
                                    ToDate({2024, 1, 2, 0, 0, 0}), level)),
                50);
    }
  }
}

TEST_P(ReportsTest, NamesBatchesAndIndexes) {
  World world(GetParam());
  Reports reports = ReportsOf(&world, ReportLayout::kSplit);
  EXPECT_EQ(reports.MissingIndexes()->size(), 2u);
  ASSERT_TRUE(reports.CreateIndexes().ok());
  const Date now = world.clock.Now();
  EXPECT_TRUE(Is(reports.LogHit({now, "a/b", "/p", 1}), Error::kInvalidName));
  EXPECT_TRUE(Is(reports.LogHit({now, "", "/p", 1}), Error::kInvalidName));
  EXPECT_TRUE(Is(reports.LogHit({now, "a", "p", 1}), Error::kInvalidName));
  EXPECT_TRUE(Is(reports.LogBatch("", now, {}), Error::kInvalidName));
  EXPECT_TRUE(Is(reports.LogBatch("b", Date{now.millis - kHour - 1}, {{now, "a", "/p", 1}}),
                 Error::kStaleBatch));
  EXPECT_TRUE(world.All("stats.daily").empty());
  EXPECT_TRUE(reports.LogBatch("b", Date{now.millis - kHour}, {{now, "b", "/p", 1}}).ok());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(reports.LogHit({Date{now.millis - i * kDay}, "a", "/p", 1}).ok());
  }
  Explained explained =
      Explain(world.store, Doc("find", "stats.daily", "filter",
                               Doc("metadata.site", "a", "metadata.page", "/p", "metadata.date",
                                   Doc("$gte", Date{now.millis - 3 * kDay}, "$lt", now)),
                               "sort", Doc("metadata.date", 1)));
  EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
  EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos) << explained.plan;
  EXPECT_LE(explained.keys, explained.returned + 1);
}

// Batches that are repeated until they are counted, at the edge of two months; in some histories
// plain hits beside them, which count at least once when they were answered.
class RandomReports : public RandomWorkload {
 public:
  RandomReports(ReportLayout layout, int32_t stripes, bool plain_hits)
      : layout_(layout), stripes_(stripes), plain_hits_(plain_hits) {}

  void Setup(World* world) override { ASSERT_TRUE(At(world).CreateIndexes().ok()); }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    Reports reports = ReportsOf(world, layout_, seams, stripes_);
    const Date time{kFrom.millis + chance->Below(4) * 12 * kHour};
    switch (chance->Below(6)) {
      case 0:
        chance->Note("rebuild");
        return reports.RebuildMonth(time, "s", "/p");
      case 1:
        chance->Note("preallocate");
        return reports.Preallocate(time, "s", "/p");
      case 2:
        if (plain_hits_) {
          chance->Note("hit");
          begun_hits_ += 1;
          Status status = reports.LogHit({time, "s", "/p", 1});
          answered_hits_ += status.ok() ? 1 : 0;
          return status;
        }
        [[fallthrough]];
      default: {
        const int batch = chance->Below(8);
        chance->Note("batch " + std::to_string(batch));
        return Log(reports, batch);
      }
    }
  }

  void Settle(World* world) override {
    for (int batch : std::set<int>(begun_)) {
      EXPECT_TRUE(Log(At(world), batch).ok());
    }
    for (int month : {1, 2}) {
      if (plain_hits_) {
        EXPECT_TRUE(At(world).RebuildMonth(ToDate({2024, month, 1, 0, 0, 0}), "s", "/p").ok());
      }
    }
  }

  void ExpectAlways(World* world) override {
    const std::vector<int64_t> minutes = SeriesOf(world, Level::kMinute);
    const std::vector<int64_t> hours = SeriesOf(world, Level::kHour);
    for (size_t hour = 0; hour < hours.size(); ++hour) {
      const auto first = minutes.begin() + static_cast<std::ptrdiff_t>(hour * 60);
      EXPECT_EQ(std::accumulate(first, first + 60, int64_t{0}), hours[hour]) << hour;
    }
    EXPECT_LE(std::accumulate(hours.begin(), hours.end(), int64_t{0}), BatchTotal() + begun_hits_);
  }

  // The days' sums equal the hours', of the month's documents too.
  void ExpectSettled(World* world) override {
    const std::vector<int64_t> hours = SeriesOf(world, Level::kHour);
    const std::vector<int64_t> days = SeriesOf(world, Level::kDay);
    for (size_t day = 0; day < days.size(); ++day) {
      const auto first = hours.begin() + static_cast<std::ptrdiff_t>(day * 24);
      EXPECT_EQ(std::accumulate(first, first + 24, int64_t{0}), days[day]) << day;
    }
    EXPECT_GE(std::accumulate(days.begin(), days.end(), int64_t{0}), BatchTotal() + answered_hits_);
  }

 private:
  static constexpr Date kFrom{1'706'659'200'000};  // 31 January 2024

  Reports At(World* world) { return ReportsOf(world, layout_, stripes_); }

  // A batch always has the same hits.
  Status Log(const Reports& reports, int batch) {
    begun_.insert(batch);
    return reports.LogBatch("b" + std::to_string(batch), Date{1'600'000'000'000}, HitsOf(batch));
  }
  static std::vector<Hit> HitsOf(int batch) {
    return {{Date{kFrom.millis + (batch % 4) * 12 * kHour}, "s", "/p", batch + 1},
            {Date{kFrom.millis + (batch % 3) * 20 * kHour}, "s", "/p", 1}};
  }
  int64_t BatchTotal() const {
    int64_t total = 0;
    for (int batch : begun_) {
      total += batch + 2;
    }
    return total;
  }
  std::vector<int64_t> SeriesOf(World* world, Level level) {
    std::vector<int64_t> hits;
    const std::vector<ReportPoint> points =
        *At(world).Series("s", "/p", kFrom, Date{kFrom.millis + 2 * kDay}, level);
    for (const ReportPoint& point : points) {
      hits.push_back(point.hits);
    }
    return hits;
  }

  ReportLayout layout_;
  int32_t stripes_;
  bool plain_hits_;
  std::set<int> begun_;
  int64_t begun_hits_ = 0;
  int64_t answered_hits_ = 0;
};

const RandomSystem kRandom("Reports", [](Chance* chance) {
  return std::make_unique<RandomReports>(chance->Pick(kLayouts), chance->OneIn(3) ? 2 : 1,
                                         chance->OneIn(2));
});

INSTANTIATE_TEST_SUITE_P(Places, ReportsTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
