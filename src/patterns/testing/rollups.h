// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the roll-ups share: events at random, and what the levels of them must be.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "patterns/testing/places.h"
#include "quire/patterns/rollups.h"

namespace quire::patterns {

inline constexpr Level kLevels[] = {Level::kHour, Level::kDay, Level::kWeek, Level::kMonth,
                                    Level::kYear};
inline constexpr bson::Date kFrom{0};
inline constexpr bson::Date kTo{4'000'000'000'000};

inline Rollups RollupsOf(World* world, const Seams& seams, const std::string& worker = "jobs") {
  return Rollups(world->client, world->database, {.worker = worker, .seams = seams});
}
inline Rollups RollupsOf(World* world) { return RollupsOf(world, world->seams()); }

inline std::vector<RollupEvent> RandomEvents(int n, unsigned seed) {
  std::mt19937 random(seed);
  const int64_t start = ToDate({2023, 12, 30, 0, 0, 0}).millis;
  std::vector<RollupEvent> events;
  for (int i = 0; i < n; ++i) {
    events.push_back({"u" + std::to_string(random() % 2),
                      bson::Date{start + static_cast<int64_t>(random() % 20) * 10'800'000},
                      static_cast<double>(random() % 100)});
  }
  return events;
}

// Sums of intervals, by user and start.
using RollupSums = std::map<std::pair<std::string, int64_t>, RollupValue>;

inline void AddTo(RollupSums* sums, const RollupEvent& event, Level level) {
  const bson::Date start = BucketStart(event.time, level);
  auto [sum, first] = sums->try_emplace({event.user, start.millis}, RollupValue{start});
  RollupValue& value = sum->second;
  value.total += event.length;
  value.count += 1;
  value.mean = value.total / static_cast<double>(value.count);
  value.min = first ? event.length : std::min(value.min, event.length);
  value.max = first ? event.length : std::max(value.max, event.length);
}

// Every level against direct sums of the events.
inline void ExpectSums(World* world, const std::vector<RollupEvent>& events) {
  for (Level level : kLevels) {
    SCOPED_TRACE(static_cast<int>(level));
    RollupSums expected;
    std::set<std::string> users = {"u0", "u1", "rick"};
    for (const RollupEvent& event : events) {
      AddTo(&expected, event, level);
      users.insert(event.user);
    }
    RollupSums found;
    for (const std::string& user : users) {
      auto values = RollupsOf(world).Query(user, level, kFrom, kTo);
      ASSERT_TRUE(values.ok()) << values.status().ToString();
      for (const RollupValue& value : *values) {
        found[{user, value.start.millis}] = value;
      }
    }
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [of, value] : expected) {
      SCOPED_TRACE(of.first + " " + std::to_string(of.second));
      ASSERT_TRUE(found.contains(of));
      const RollupValue& stored = found[of];
      EXPECT_EQ(stored.total, value.total);
      EXPECT_EQ(stored.count, value.count);
      EXPECT_EQ(stored.mean, value.mean);
      EXPECT_EQ(stored.min, value.min);
      EXPECT_EQ(stored.max, value.max);
    }
  }
}

// The same for the events that are there.
inline void ExpectExact(World* world) {
  std::vector<RollupEvent> events;
  for (const bson::Document& event : world->All("events")) {
    events.push_back(
        {std::string(TextAt(event, "userid")), event["ts"].AsDate(), event["length"].AsDouble()});
  }
  ExpectSums(world, events);
}

inline void RecordAll(World* world, const std::vector<RollupEvent>& events) {
  for (const RollupEvent& event : events) {
    ASSERT_TRUE(RollupsOf(world).Record(event).ok());
  }
}

}  // namespace quire::patterns
