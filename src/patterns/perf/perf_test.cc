// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/perf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "patterns/testing/perf.h"
#include "patterns/testing/query_paths.h"

namespace quire::patterns {
namespace {

namespace fs = std::filesystem;

using bson::Date;
using bson::Document;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

class PerfTest : public BothPlaces {
 protected:
  Folder folder_;
};

TEST_P(PerfTest, ALineBecomesASampleOfItsDay) {
  Perf perf(world_.client, world_.database,
            {.horizon = hours(24 * 365 * 20), .settle = milliseconds(0), .seams = world_.seams()});
  folder_.Write("a.csv",
                "3beb4b58-2d0f-4d60-9c58-0f2ac9d13186,10.161.1.73,corp_xyz_sardar,IFU,"
                "1369221223384,0.2\n");
  auto report = perf.ScanFolder(folder_.path(), ".csv");
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->changed, 1);
  auto sample = world_.store.FindOne("perf_20130522", Doc());
  ASSERT_TRUE(sample.ok() && *sample);
  EXPECT_EQ(TextAt(**sample, "Host"), "corp_xyz_sardar");
  EXPECT_EQ(TextAt(**sample, "ParameterName"), "IFU");
  EXPECT_EQ((**sample)["Value"].AsDouble(), 0.2);
  EXPECT_EQ((**sample)["GeneratedOn"].AsDate(), Date{1369221223384});
  EXPECT_EQ((**sample)["_id"].AsBinary().size(), 16u);
  EXPECT_TRUE(folder_.Has("processed/a.csv"));
  EXPECT_TRUE(perf.Latest("corp_xyz_sardar").ok());
}

TEST_P(PerfTest, ResumesAfterTheLastRecordedBatch) {
  folder_.Write("a.csv", CsvLines(&world_, 1000));
  // The second batch is stored, but its client dies before it is recorded.
  class SecondBatch : public CrashHook {
   public:
    bool After(std::string_view point) override {
      return !(point == "perf.import.c3" && ++batches_ == 2);
    }

   private:
    int batches_ = 0;
  } second;
  Perf first(world_.client, world_.database, Quick(world_.seams(&second)));
  EXPECT_TRUE(Is(first.ScanFolder(folder_.path(), ".csv").status(), Error::kCrashed));
  EXPECT_EQ(FileCount(&world_, "offset"), static_cast<int64_t>(CsvLines(&world_, 300).size()));
  Perf other(
      world_.client, world_.database,
      {.settle = milliseconds(0), .batch_lines = 300, .worker = "other", .seams = world_.seams()});
  EXPECT_EQ(other.ScanFolder(folder_.path(), ".csv")->skipped, 1);  // still leased
  world_.clock.Advance(minutes(6));
  EXPECT_EQ(other.ScanFolder(folder_.path(), ".csv")->changed, 1);
  const Document file = FileOf(&world_);
  EXPECT_EQ(TextAt(file, "state"), "done");
  EXPECT_EQ(IntegerAt(file, "lines"), 1000);
  EXPECT_EQ(IntegerAt(file, "inserted"), 700);
  EXPECT_EQ(IntegerAt(file, "duplicates"), 300);
  EXPECT_EQ(IntegerAt(file, "rejected"), 0);
  EXPECT_EQ(Samples(&world_), 1000);
  ExpectSoundPerf(&world_);
}

// Files of one name, one after the other: all of them are kept.
TEST_P(PerfTest, AMovedFileReplacesNone) {
  Perf perf = PerfOf(&world_);
  auto text_of = [&](const std::string& name) {
    std::ifstream file(folder_.path() + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const char* const kMoved[] = {"processed/a.csv", "processed/a.1.csv", "processed/a.2.csv"};
  const char* const kFailed[] = {"failed/b", "failed/b.1"};
  for (int i = 0; i < 3; ++i) {
    folder_.Write("a.csv", CsvLines(&world_, 2, 10 * i));
    EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(text_of(kMoved[i]), CsvLines(&world_, 2, 10 * i));
  }
  for (int i = 0; i < 2; ++i) {
    folder_.Write("b", "nonsense " + std::to_string(i));
    EXPECT_EQ(perf.ScanFolder(folder_.path(), "b")->changed, 1);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(text_of(kFailed[i]), "nonsense " + std::to_string(i));
    EXPECT_EQ(text_of(kFailed[i] + std::string(".err")).substr(0, 26),
              "1 of 1 lines rejected\nline");
  }
}

TEST_P(PerfTest, FilesGrowRepeatFailAndCannotBeMoved) {
  Perf perf = PerfOf(&world_);
  EXPECT_TRUE(Is(perf.ScanFolder(folder_.path() + "/none", "").status(), Error::kNotFound));
  folder_.Write("empty.csv", "");
  folder_.Write("other.txt", "not ours\n");
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->skipped, 1);
  fs::remove(folder_.path() + "/empty.csv");

  folder_.Write("processed", "a file where the folder should be");
  folder_.Write("a.csv", CsvLines(&world_, 5) + "\n\r\n");
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);
  EXPECT_TRUE(folder_.Has("a.csv"));
  EXPECT_EQ(FileState(&world_), "done");
  folder_.Write("a.csv", CsvLines(&world_, 5, 5));  // it grows: only the rest is read
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);
  EXPECT_EQ(FileCount(&world_, "inserted"), 10);
  EXPECT_EQ(FileCount(&world_, "duplicates"), 0);
  fs::remove(folder_.path() + "/processed");
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);  // only moved
  EXPECT_TRUE(folder_.Has("processed/a.csv"));
  folder_.Write("a.csv",
                CsvLines(&world_, 5) + "\n\r\n" + CsvLines(&world_, 5, 5));  // it comes again
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);
  EXPECT_EQ(Samples(&world_), 10);
  folder_.Write("a.csv", CsvLines(&world_, 3, 500));  // another under the same name
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);
  EXPECT_EQ(Samples(&world_), 13);
  EXPECT_EQ(*world_.store.Count("import_files", Doc()), 2);

  folder_.Write("bad.csv",
                CsvLines(&world_, 2, 100) + "junk\nid,ip,h,p,1,2\n" + CsvLines(&world_, 1, 200));
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);
  EXPECT_TRUE(folder_.Has("failed/bad.csv"));
  std::ifstream report(folder_.path() + "/failed/bad.csv.err");
  std::string line;
  std::getline(report, line);
  EXPECT_EQ(line, "2 of 5 lines rejected");
  std::getline(report, line);
  EXPECT_EQ(line, "line 3: BadColumnCount: 1");
  std::getline(report, line);
  EXPECT_EQ(line.substr(0, 21), "line 4: BadTimestamp:");
  EXPECT_EQ(Samples(&world_), 16);

  folder_.Write("long.csv", std::string(200'000, 'x') + "\n" + CsvLines(&world_, 20, 300) + "h");
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);
  EXPECT_EQ(Samples(&world_), 36);
  ExpectSoundPerf(&world_);

  Perf patient(world_.client, world_.database, {.seams = world_.seams()});
  folder_.Write("slow.csv", CsvLines(&world_, 1, 900));
  EXPECT_EQ(patient.ScanFolder(folder_.path(), ".csv")->skipped, 1);
  world_.clock.Advance(std::chrono::seconds(20));
  folder_.Write("slow.csv", CsvLines(&world_, 1, 901));
  EXPECT_EQ(patient.ScanFolder(folder_.path(), ".csv")->skipped, 1);
  world_.clock.Advance(std::chrono::seconds(20));
  EXPECT_EQ(patient.ScanFolder(folder_.path(), ".csv")->skipped, 1);
  world_.clock.Advance(std::chrono::seconds(10));
  EXPECT_EQ(patient.ScanFolder(folder_.path(), ".csv")->changed, 1);
}

// Against a model in memory: pages and sums over days, borders included.
TEST_P(PerfTest, QueriesAndSumsEqualTheSamples) {
  Perf perf = PerfOf(&world_);
  std::mt19937 random(3);
  const int64_t start = BucketStart(world_.clock.Now(), Level::kDay).millis - 20 * kDay;
  std::vector<PerfSample> samples;
  for (int i = 0; i < 400; ++i) {
    samples.push_back(
        {"h" + std::to_string(random() % 3),
         Date{start + static_cast<int64_t>(random() % (15 * kDay / 3'600'000)) * 3'600'000},
         "p" + std::to_string(random() % 2), static_cast<double>(random() % 100)});
  }
  auto stored = perf.InsertMany(samples);
  ASSERT_TRUE(stored.ok()) << stored.status().ToString();
  EXPECT_EQ(stored->inserted, 400);
  EXPECT_EQ(perf.Insert({"old", Date{0}, "p", 1})->expired, 1);
  EXPECT_EQ(perf.InsertMany({{"w0", Date{start}, "p", 1}}, Doc("w", 0))->inserted, 0);
  ASSERT_TRUE(perf.Insert({"j", Date{start - kDay}, "p", 1}, Doc("w", 1, "j", true)).ok());

  const Date from{start + 3 * kDay};
  const Date to{start + 11 * kDay};  // midnight: of that day nothing
  for (int64_t limit : {7, 1000}) {
    std::vector<Document> all;
    PageRequest request{.limit = limit};
    do {
      auto page = perf.ByHostAndParameter("h1", "p0", from, to, request);
      ASSERT_TRUE(page.ok()) << page.status().ToString();
      all.insert(all.end(), page->documents.begin(), page->documents.end());
      request.after = page->next;
    } while (!request.after.empty());
    const auto expected = std::count_if(samples.begin(), samples.end(), [&](const PerfSample& s) {
      return s.host == "h1" && s.parameter == "p0" && s.time >= from && s.time < to;
    });
    EXPECT_EQ(static_cast<int64_t>(all.size()), expected);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const Document& a, const Document& b) {
      return a["GeneratedOn"].AsDate() < b["GeneratedOn"].AsDate();
    }));
  }
  const auto in_range = std::count_if(samples.begin(), samples.end(), [&](const PerfSample& s) {
    return s.time >= from && s.time < to;
  });
  EXPECT_EQ(static_cast<int64_t>(perf.ByRange(from, to, {.limit = 1000})->documents.size()),
            in_range);
  EXPECT_TRUE(Is(perf.ByHost("h1", from, to, {.after = "junk"}).status(), Error::kBadCursor));
  EXPECT_TRUE(Is(perf.Latest("none").status(), Error::kNotFound));
  EXPECT_EQ(perf.Latest("h0")->view()["GeneratedOn"].AsDate(),
            std::max_element(samples.begin(), samples.end(),
                             [](const PerfSample& a, const PerfSample& b) {
                               return std::pair(a.host == "h0", a.time) <
                                      std::pair(b.host == "h0", b.time);
                             })
                ->time);

  for (int bits = 0; bits < 16; ++bits) {
    const PerfGroup by{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
    std::map<std::string, std::vector<double>> expected;
    for (const PerfSample& s : samples) {
      if (s.time >= from && s.time < to) {
        expected[(by.host ? s.host : "") + "/" + (by.parameter ? s.parameter : "") + "/" +
                 (by.day ? DayKey(s.time) : "") + "/" + (by.month ? MonthKey(s.time) : "")]
            .push_back(s.value);
      }
    }
    auto sums = perf.Aggregate(by, from, to);
    ASSERT_TRUE(sums.ok()) << sums.status().ToString();
    EXPECT_EQ(sums->size(), expected.size());
    for (const PerfSum& sum : *sums) {
      const auto& values =
          expected[sum.host + "/" + sum.parameter + "/" + sum.day + "/" + sum.month];
      double total = 0;
      double squares = 0;
      for (double value : values) {
        total += value;
        squares += value * value;
      }
      const auto n = static_cast<double>(values.size());
      EXPECT_EQ(sum.count, static_cast<int64_t>(values.size()));
      EXPECT_DOUBLE_EQ(sum.sum, total);
      EXPECT_DOUBLE_EQ(sum.mean, total / n);
      EXPECT_EQ(sum.max, *std::max_element(values.begin(), values.end()));
      EXPECT_EQ(sum.min, *std::min_element(values.begin(), values.end()));
      EXPECT_NEAR(sum.deviation, std::sqrt(squares / n - (total / n) * (total / n)), 1e-9);
    }
  }
}

TEST_P(PerfTest, RollupsFollowLateSamplesAndSurviveTheirDays) {
  Perf perf = PerfOf(&world_);
  const int64_t day = BucketStart(world_.clock.Now(), Level::kDay).millis - 60 * kDay;
  ASSERT_TRUE(perf.InsertMany({{"h", Date{day}, "p", 2}, {"h", Date{day + kDay}, "p", 4}}).ok());
  ASSERT_TRUE(perf.Rollup().ok());
  world_.clock.Advance(minutes(2));
  ASSERT_TRUE(perf.Insert({"h", Date{day + 5}, "p", 6}).ok());  // late
  world_.clock.Advance(minutes(2));
  EXPECT_GT(perf.Rollup()->changed, 0);
  world_.clock.Advance(minutes(2));
  EXPECT_EQ(perf.Rollup()->examined, 0);
  auto daily = perf.Daily("h", "p", Date{day}, Date{day + 2 * kDay});
  ASSERT_EQ(daily->size(), 2u);
  EXPECT_EQ(daily->at(0).count, 2);
  EXPECT_EQ(daily->at(0).mean, 4);
  EXPECT_EQ(daily->at(0).deviation, 2);
  EXPECT_EQ(daily->at(0).day, DayKey(Date{day}));
  EXPECT_EQ(daily->at(0).min, 2);
  EXPECT_EQ(daily->at(0).max, 6);
  auto monthly = perf.Monthly("h", "p", BucketStart(Date{day}, Level::kMonth), world_.clock.Now());
  ASSERT_EQ(monthly->size(), 1u);
  EXPECT_EQ(monthly->at(0).sum, 12);
  EXPECT_EQ(monthly->at(0).month, MonthKey(Date{day}));
  ExpectSoundPerf(&world_);

  world_.clock.Advance(hours(24 * 123));
  EXPECT_EQ(perf.DropExpired()->changed, 0);
  world_.clock.Advance(hours(24));
  EXPECT_EQ(perf.DropExpired()->changed, 1);  // whole days only
  EXPECT_EQ(Samples(&world_), 1);
  EXPECT_EQ(*world_.store.Count("perf_catalog", Doc()), 1);
  EXPECT_EQ(perf.Daily("h", "p", Date{day}, Date{day + kDay})->size(), 1u);
  EXPECT_EQ(perf.Insert({"h", Date{day}, "p", 2})->expired, 1);
  ExpectSoundPerf(&world_);
}

// A month is one of a year, and a month of another year another.
TEST_P(PerfTest, MonthsOfTwoYearsAreTwo) {
  PerfOptions options = Quick(world_.seams());
  options.horizon = hours(24 * 365 * 20);
  Perf perf(world_.client, world_.database, options);
  const Date july_2012 = ToDate({2012, 7, 15, 0, 0, 0});
  const Date july_2013 = ToDate({2013, 7, 18, 0, 0, 0});
  ASSERT_TRUE(
      perf.InsertMany(
              {{"h", july_2012, "p", 1}, {"h", july_2013, "p", 2}, {"g", july_2013, "p", 4}})
          .ok());
  auto months = perf.Aggregate({.host = true, .month = true}, Date{0}, world_.clock.Now());
  ASSERT_EQ(months->size(), 3u);
  EXPECT_EQ(months->at(0).host + months->at(0).month, "g201307");
  EXPECT_EQ(months->at(1).host + months->at(1).month, "h201207");
  EXPECT_EQ(months->at(2).host + months->at(2).month, "h201307");
}

TEST_P(PerfTest, ConcernsThatAreNotMetAreSaid) {
  Perf perf = PerfOf(&world_);
  const Document many =
      Doc("w", 50, "j", true, "wtimeout", 1);  // no set of the tests has so many members
  auto report = perf.Insert({"h", world_.clock.Now(), "p", 1}, many);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(Is(report->confirmation, Error::kAppliedButNotConfirmed));
  EXPECT_EQ(Samples(&world_), 1);
  for (int i = 0; i < 2; ++i) {
    auto keyed = perf.Insert({"h", world_.clock.Now(), "p", 1}, many, "k");
    EXPECT_TRUE(Is(keyed.status(), Error::kAppliedButNotConfirmed)) << keyed.status().ToString();
    EXPECT_EQ(Samples(&world_), 2);
  }
  EXPECT_EQ(perf.InsertMany({}, Doc("w", 1))->inserted, 0);
}

// No query would see them, no roll-up sum them.
TEST_P(PerfTest, WhatHasNoDayOrValueIsRefused) {
  Perf perf = PerfOf(&world_);
  const Date last = ToDate({9999, 12, 31, 23, 59, 59});
  const PerfSample good{"h", last, "p", 1};
  EXPECT_TRUE(Is(perf.InsertMany({good, {"h", Date{last.millis + 1000}, "p", 1}}).status(),
                 Error::kBadTimestamp));
  EXPECT_TRUE(
      Is(perf.InsertMany({good, {"h", last, "p", std::nan("")}}).status(), Error::kBadNumber));
  EXPECT_EQ(Samples(&world_), 0);
  ASSERT_TRUE(perf.Insert(good).ok());
  EXPECT_TRUE(perf.Latest("h").ok());
  folder_.Write("a.csv", CsvLines(&world_, 30) +
                             "id,ip,h,p,1369221223384000000,1\n"
                             "id,ip,h,p,1369221223384,inf\n");
  EXPECT_EQ(perf.ScanFolder(folder_.path(), ".csv")->changed, 1);
  EXPECT_EQ(FileCount(&world_, "rejected"), 2);
  EXPECT_EQ(FileCount(&world_, "inserted"), 30);
  ExpectSoundPerf(&world_);
}

// Its value counts as it is once the file has settled. What a writer adds to it later is rejected.
TEST_P(PerfTest, ALastLineWithoutItsEndCounts) {
  Perf perf(world_.client, world_.database,
            {.settle = milliseconds(0), .max_rejected = 1, .seams = world_.seams()});
  folder_.Write("processed", "a file where the folder should be");
  std::string lines = CsvLines(&world_, 3);
  folder_.Write("a.csv", lines.substr(0, lines.size() - 2));
  ASSERT_TRUE(perf.ScanFolder(folder_.path(), ".csv").ok());
  EXPECT_EQ(FileCount(&world_, "inserted"), 3);
  folder_.Write("a.csv", lines.substr(lines.size() - 2) + CsvLines(&world_, 2, 3));
  ASSERT_TRUE(perf.ScanFolder(folder_.path(), ".csv").ok());
  EXPECT_EQ(FileCount(&world_, "inserted"), 5);
  EXPECT_EQ(FileCount(&world_, "rejected"), 1);
  EXPECT_EQ(Samples(&world_), 5);
  ExpectSoundPerf(&world_);
}

// The sample comes when its day was summed; the next roll-up sums the day again and dies.
TEST_P(PerfTest, ALateSampleReachesItsMonth) {
  const Date time{BucketStart(world_.clock.Now(), Level::kDay).millis};
  ASSERT_TRUE(PerfOf(&world_).Insert({"h", time, "p", 1}).ok());
  TestFaults faults;
  faults.at = 2;  // the catalog, then the sample
  faults.before = [&] {
    world_.clock.Advance(minutes(10));
    ASSERT_TRUE(PerfOf(&world_).Rollup().ok());
  };
  Perf late(world_.client, world_.database, Quick(world_.seams(nullptr, &faults)));
  ASSERT_TRUE(late.Insert({"h", time, "p", 2}).ok());
  TestCrash crash;
  crash.at = "perf.rollup.c2";
  Perf dying(world_.client, world_.database, Quick(world_.seams(&crash)));
  EXPECT_TRUE(Is(dying.Rollup().status(), Error::kCrashed));
  ExpectSoundPerf(&world_);
  ASSERT_TRUE(PerfOf(&world_).Rollup().ok());
  const Date month = BucketStart(time, Level::kMonth);
  EXPECT_EQ(PerfOf(&world_).Monthly("h", "p", month, world_.clock.Now())->at(0).count, 2);
  ExpectSoundPerf(&world_);
}

// All days together may take longer than a lease.
TEST_P(PerfTest, ARollupRenewsItsLease) {
  const int64_t day = BucketStart(world_.clock.Now(), Level::kDay).millis;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(PerfOf(&world_).Insert({"h", Date{day - i * kDay}, "p", 1}).ok());
  }
  class Slow : public CrashHook {
   public:
    explicit Slow(World* world) : world_(world) {}
    bool After(std::string_view point) override {
      if (point.starts_with("perf.rollup.") && point < "perf.rollup.c6") {
        PerfOptions options = Quick(world_->seams());
        options.worker = "other";
        EXPECT_EQ(Perf(world_->client, world_->database, options).Rollup()->skipped, 1) << point;
        world_->clock.Advance(minutes(4));
      }
      return true;
    }

   private:
    World* world_;
  } slow(&world_);
  auto report = Perf(world_.client, world_.database, Quick(world_.seams(&slow))).Rollup();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->examined, 4);
}

TEST_P(PerfTest, ManySchedulersImportEachLineOnce) {
  for (int i = 0; i < 6; ++i) {
    folder_.Write("f" + std::to_string(i) + ".csv", CsvLines(&world_, 120, i * 120));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      // The clock jumps while others store: the delay covers all of it.
      Perf perf(world_.client, world_.database,
                {.settle = milliseconds(0),
                 .delay = hours(2),
                 .batch_lines = 25,
                 .worker = "w" + std::to_string(t),
                 .seams = world_.seams()});
      for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(perf.ScanFolder(folder_.path(), ".csv").ok());
        world_.clock.Advance(minutes(2));  // leases end while others work
        Status summed = perf.Rollup().status();
        EXPECT_TRUE(summed.ok() || Is(summed, Error::kLeaseLost)) << summed.ToString();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  world_.clock.Advance(minutes(10));
  Perf perf = PerfOf(&world_);
  ASSERT_TRUE(perf.ScanFolder(folder_.path(), ".csv").ok());
  ASSERT_TRUE(perf.Rollup().ok());
  world_.clock.Advance(minutes(10));
  ASSERT_TRUE(perf.Rollup().ok());
  EXPECT_EQ(Samples(&world_), 720);
  EXPECT_EQ(*world_.store.Count("import_files", Doc("state", "done")), 6);
  ExpectSoundPerf(&world_);
}

TEST_P(PerfTest, QueriesUseTheIndexes) {
  QueryPaths paths;
  Seams seams = world_.seams();
  seams.queries = &paths;
  const Perf perf(world_.client, world_.database, Quick(seams));
  EXPECT_EQ(perf.MissingIndexes()->size(), Perf::Indexes().size());
  ASSERT_TRUE(perf.CreateIndexes().ok());
  const int64_t day = BucketStart(world_.clock.Now(), Level::kDay).millis;
  std::vector<PerfSample> samples;
  for (int i = 0; i < 10'000; ++i) {
    samples.push_back({"h" + std::to_string(i % 50), Date{day + i * 1000}, "p", 1});
  }
  ASSERT_TRUE(perf.InsertMany(samples).ok());
  EXPECT_TRUE(perf.MissingIndexes()->empty());
  EXPECT_FALSE(Perf::ShardKeys().empty());
  const Date from{day + 1'000'000};
  const Date to{day + 2'000'000};
  for (int64_t limit : {7, 1000}) {
    PageRequest page{.limit = limit};
    do {
      page.after = perf.ByHost("h7", from, to, page)->next;
    } while (!page.after.empty());
    do {
      page.after = perf.ByHostAndParameter("h7", "p", from, to, page)->next;
    } while (!page.after.empty());
    ASSERT_TRUE(perf.ByRange(from, to, page).ok());
  }
  ASSERT_TRUE(perf.Latest("h7").ok());
  ASSERT_TRUE(perf.Aggregate({.host = true}, from, to).ok());
  folder_.Write("a.csv", CsvLines(&world_, 20));
  ASSERT_TRUE(perf.ScanFolder(folder_.path(), ".csv").ok());
  world_.clock.Advance(minutes(5));
  ASSERT_TRUE(perf.Rollup().ok());
  ASSERT_TRUE(perf.Insert({"h7", from, "p", 1}, {}, "k").ok());
  world_.clock.Advance(minutes(5));
  ASSERT_TRUE(perf.Rollup().ok());
  ASSERT_EQ(perf.Daily("h7", "p", Date{day}, to)->size(), 1u);
  ASSERT_EQ(perf.Monthly("h7", "p", Date{0}, to)->size(), 1u);
  ASSERT_TRUE(perf.DropExpired().ok());
  // A day is summed whole; the first roll-up asks for every day there is.
  std::set<std::string> whole = {"find perf_catalog  by changed"};
  for (int64_t at = day - 2 * kDay; at <= day; at += kDay) {
    whole.insert("aggregate perf_" + DayKey(Date{at}) + " $group");
  }
  whole.erase("aggregate perf_" + DayKey(Date{day - kDay}) + " $group");
  paths.ExpectIndexed(world_.store, whole);
  auto trials = perf.ExplainOrders("h7", Date{day + 1'000'000}, Date{day + 2'000'000});
  ASSERT_TRUE(trials.ok()) << trials.status().ToString();
  ASSERT_EQ(trials->size(), 2u);
  EXPECT_EQ(trials->at(0).keys.find("Host"), 2u);  // the host first, then the time
  EXPECT_LE(trials->at(0).keys_examined, trials->at(0).returned + 1);
  EXPECT_GT(trials->at(1).keys_examined, 10 * trials->at(0).keys_examined);
}

QUIRE_IN_BOTH_PLACES(PerfTest);

}  // namespace
}  // namespace quire::patterns
