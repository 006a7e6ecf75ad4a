// SPDX-License-Identifier: Apache-2.0
#include "results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "aims.h"
#include "curves.h"
#include "workload.h"

namespace quire::bench {
namespace {

Rounds Of(std::vector<double> rates) {
  Rounds rounds;
  for (double rate : rates) {
    rounds.push_back({rate, 10, 20, 30, "", 0});
  }
  return rounds;
}

Results Sample2() {
  Results results;
  results.targets = {"a", "b"};
  results.resident_mb = {100, -1};
  results.size = 1000;
  results.seconds = 0.5;
  results.rows.push_back({"ping", 4, {Of({100, 200, 300}), Of({100, 100, 100})}});
  results.rows.push_back({"find", 4, {Of({50, 150, 150}), Of({100, 75, 300})}});
  return results;
}

TEST(BenchResults, MiddleAndSpread) {
  EXPECT_DOUBLE_EQ(MiddleOf({3, 1, 2}).median, 2);
  EXPECT_DOUBLE_EQ(MiddleOf({3, 1, 2}).spread, 1);
  EXPECT_DOUBLE_EQ(MiddleOf({4, 2}).median, 3);
  EXPECT_DOUBLE_EQ(MiddleOf({0}).spread, 0);
}

TEST(BenchResults, Percentiles) {
  const std::vector<float> sorted = {1, 2, 3, 4};
  EXPECT_EQ(Percentile(sorted, 0), 1);
  EXPECT_EQ(Percentile(sorted, 0.5), 3);
  EXPECT_EQ(Percentile(sorted, 0.999), 4);
  EXPECT_EQ(Percentile(sorted, 1), 4);
}

// Ratios are taken within a round: both sides met the same state of the machine.
TEST(BenchResults, RatiosOfTheSameRound) {
  const Results results = Sample2();
  const Summary a = Summarise(results, results.rows[1], 0);
  EXPECT_DOUBLE_EQ(a.of_ping, 0.5);
  EXPECT_DOUBLE_EQ(a.of_first, 1);
  const Summary b = Summarise(results, results.rows[1], 1);
  EXPECT_DOUBLE_EQ(b.of_ping, 1);
  EXPECT_DOUBLE_EQ(b.of_first, 2);
}

// A pass over 1000 documents in 10 us is 10 ns a document.
TEST(BenchResults, ScansAreComparedWithARawIterator) {
  Results results = Sample2();
  EXPECT_EQ(Summarise(results, results.rows[1], 0).of_raw, 0);
  for (Sample& sample : results.rows[1].targets[0]) {
    sample.raw_scan_ns = 40;
  }
  EXPECT_DOUBLE_EQ(Summarise(results, results.rows[1], 0).of_raw, 0.25);
  EXPECT_NE(TableRow(results, results.rows[1]).find("    0.25\n"), std::string::npos);
  EXPECT_NE(ResultsJson(results).find("\"ratio_to_raw_scan\": 0.25"), std::string::npos);
}

TEST(BenchResults, AnErrorTakesTheFiguresPlace) {
  Results results = Sample2();
  results.rows[1].targets[1][2].error = "no \"such\" thing";
  EXPECT_EQ(Summarise(results, results.rows[1], 1).error, "no \"such\" thing");
  EXPECT_NE(TableRow(results, results.rows[1]).find("b      no \"such\" thing\n"),
            std::string::npos);
  EXPECT_NE(ResultsJson(results).find(R"("error": "no \"such\" thing")"), std::string::npos);
}

TEST(BenchResults, OneTargetHasNoColumnForItsName) {
  Results one = Sample2();
  one.targets.pop_back();
  for (Row& row : one.rows) {
    row.targets.pop_back();
  }
  EXPECT_EQ(TableHead(one).find("target"), std::string::npos);
  EXPECT_NE(TableHead(Sample2()).find("target"), std::string::npos);
  EXPECT_EQ(TableRow(one, one.rows[1]),
            "find                 4         150    67%    0.500        10        20        30\n");
}

TEST(BenchResults, CurvesShowTheGrowthOfARow) {
  std::vector<Results> runs = {Sample2(), Sample2()};
  runs[1].size = 10'000;
  for (Sample& sample : runs[1].rows[1].targets[0]) {
    sample.p50_us = 30;
  }
  const std::vector<Curve> curves = CurvesOf(runs);
  ASSERT_EQ(curves.size(), 4U);
  EXPECT_EQ(curves[2].name, "find, 4, a");
  EXPECT_EQ(curves[2].points, (std::vector<double>{10, 30}));
  EXPECT_NE(CurveTable(runs).find("10.0        30.0     3.00\n"), std::string::npos);
  const std::string svg = CurveSvg(runs);
  EXPECT_NE(svg.find("find, 4, b"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

// Every aim is about a workload there is: a name with an error in it would never be measured.
TEST(BenchAims, NameWorkloads) {
  const std::vector<Workload> all = Workloads();
  for (const Aim& aim : Aims()) {
    if (aim.connections > 0) {
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Workload& w) {
        return std::string(w.name) == aim.name;
      })) << aim.name;
      EXPECT_TRUE(IsAimed(aim.name, aim.connections));
      EXPECT_TRUE(IsAimed("ping", aim.connections));
    }
  }
  EXPECT_FALSE(IsAimed("scan-filter", 4));
  EXPECT_EQ(AimedConnections(), "1,4");
}

TEST(BenchAims, AreMetMissedOrNotMeasured) {
  Results results = Sample2();
  results.rows[1].workload = "find-id";
  results.rows[1].targets[0][0].per_second = 80;  // of 100, 200 and 300 a second
  results.rows[1].targets[0][1].per_second = 160;
  const std::string table = AimTable(results, {{"insert", 2000, 1000, 2}});
  EXPECT_THAT(table, testing::ContainsRegex("find-id +4 of ping +0\\.80 >= +0\\.75  met\n"));
  EXPECT_THAT(table,
              testing::ContainsRegex("insert-1 +4 of ping +0\\.00 >= +0\\.60  not measured\n"));
  EXPECT_THAT(table,
              testing::ContainsRegex("insert +of RocksDB, embedded +2\\.00 <= +1\\.50  missed\n"));
  EXPECT_THAT(table, testing::ContainsRegex("resident +MB +100 <= +1100  met\n"));
}

TEST(BenchResults, PictureHasABarPerTarget) {
  const std::string svg = ResultsSvg(Sample2());
  size_t bars = 0;
  for (size_t at = 0; (at = svg.find("<rect x", at)) != std::string::npos; ++at) {
    ++bars;
  }
  EXPECT_EQ(bars, 4U);  // two in the legend, two of the workload
}

}  // namespace
}  // namespace quire::bench
