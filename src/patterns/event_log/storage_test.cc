// SPDX-License-Identifier: Apache-2.0
//
// What the event log stores of events and bulks, and for how long.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "patterns/testing/places.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/event_log.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using std::chrono::hours;
using std::chrono::milliseconds;

constexpr int64_t kDay = 86'400'000;

EventLog LogOf(World* world, Retention retention, int horizon_days = 60) {
  return EventLog(
      world->client, world->database,
      {.retention = retention, .horizon = hours(24 * horizon_days), .seams = world->seams()});
}

// Event `i` is of i days before now.
std::vector<Document> EventsOf(World* world, int n) {
  std::vector<Document> events;
  for (int i = 0; i < n; ++i) {
    events.push_back(Doc("_id", i, "time", Date{world->clock.Now().millis - i * kDay}));
  }
  return events;
}

std::set<int64_t> Stored(const EventLog& log) {
  std::set<int64_t> ids;
  auto page = log.ByTime({0}, {INT64_MAX}, {.limit = 1000});
  EXPECT_TRUE(page.ok()) << page.status().ToString();
  for (const Document& event : page->documents) {
    ids.insert(IntegerAt(event, "_id"));
  }
  return ids;
}

class EventStorageTest : public BothPlaces {};

TEST_P(EventStorageTest, ALineIsAnEventWithTheseFields) {
  EventLog log = LogOf(&world_, Retention::kDailyCollections, 365 * 40);
  std::stringstream file(
      R"(127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 )"
      R"x("http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)")x"
      "\n");
  ASSERT_EQ(log.Import("web1", &file, {})->inserted, 1);
  const std::vector<Document> stored = world_.All("events_20001010");
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0]["_id"].AsBinary().size(), 16u);
  EXPECT_EQ(stored[0].bytes(),
            Doc("_id", stored[0]["_id"], "host", "127.0.0.1", "logname", bson::Value::Null(),
                "user", "frank", "time", ToDate({2000, 10, 10, 20, 55, 36}), "request",
                "GET /apache_pb.gif HTTP/1.0", "method", "GET", "path", "/apache_pb.gif",
                "protocol", "HTTP/1.0", "status", 200, "response_size", int64_t{2326}, "referrer",
                "http://www.example.com/start.html", "user_agent",
                "Mozilla/4.08 [en] (Win98; I ;Nav)", "ssk", stored[0]["ssk"].AsInt64())
                .bytes())
      << bson::ToJson(stored[0].view());
}

TEST_P(EventStorageTest, MonitoringLinesAreEvents) {
  EventLog log = LogOf(&world_, Retention::kDailyCollections, 365 * 40);
  std::stringstream file("u-1,10.0.0.1,node,cpu.load,1369221223384,0.5\nu-1,10.0.0.1,node,x\n");
  auto report = log.Import("m", &file, {.format = ImportOptions::Format::kMonitorCsv});
  EXPECT_EQ(report->inserted, 1);
  ASSERT_EQ(report->rejected.size(), 1u);
  EXPECT_EQ(report->rejected[0].reason, "BadColumnCount: 4");
  const Date at{1369221223384};
  auto page = log.ByTime(at, {at.millis + 1}, {});
  ASSERT_EQ(page->documents.size(), 1u);
  const Document& event = page->documents[0];
  EXPECT_EQ(event.bytes(), Doc("_id", event["_id"], "Host", "node", "Ip", "10.0.0.1", "Node", "u-1",
                               "ParameterName", "cpu.load", "GeneratedOn", at, "Value", 0.5, "time",
                               at, "ssk", event["ssk"])
                               .bytes());
}

TEST_P(EventStorageTest, TheLinesOfAnImportAddUp) {
  EventLog log = LogOf(&world_, Retention::kDailyCollections);
  std::string text;
  for (const char* day : {"12/Sep/2020", "11/Sep/2020", "01/Jan/2020", "nonsense"}) {
    text += "h - - [" + std::string(day) + ":10:00:00 +0000] \"GET /x HTTP/1.1\" 200 1\n";
  }
  for (int64_t inserted : {2, 0}) {
    std::stringstream file(text);
    auto report = log.Import("f", &file, {});
    EXPECT_EQ(report->lines, 4);
    EXPECT_EQ(report->inserted, inserted);
    EXPECT_EQ(report->duplicates, 2 - inserted);
    EXPECT_EQ(report->dropped_late, 1);
    EXPECT_EQ(report->rejected.size(), 1u);
  }
}

// Five events, the third with the id of the first, in one collection and in five.
TEST_P(EventStorageTest, BulksStopOrGoOn) {
  for (Retention retention : {Retention::kCapped, Retention::kDailyCollections}) {
    for (bool ordered : {true, false}) {
      World world(GetParam());
      EventLog log = LogOf(&world, retention);
      std::vector<Document> events = EventsOf(&world, 5);
      events[2] = events[0];
      auto report = log.InsertMany(events, {.ordered = ordered});
      EXPECT_EQ(Stored(log), ordered ? (std::set<int64_t>{0, 1}) : (std::set<int64_t>{0, 1, 3, 4}));
      EXPECT_EQ(report->inserted, ordered ? 2 : 4);
      ASSERT_EQ(report->errors.size(), 1u);
      EXPECT_EQ(report->errors[0].index, 2u);
      EXPECT_EQ(report->errors[0].code, 11000);
    }
  }
}

TEST_P(EventStorageTest, ErrorsHaveTheIndexOfTheCaller) {
  EventLog log = LogOf(&world_, Retention::kDailyCollections);
  const std::vector<Document> events = EventsOf(&world_, 8);
  ASSERT_EQ(log.InsertMany({events[1], events[4], events[6]})->inserted, 3);
  auto report = log.InsertMany(events);
  EXPECT_EQ(report->inserted, 5);
  std::set<size_t> indexes;
  for (const InsertError& error : report->errors) {
    indexes.insert(error.index);
  }
  EXPECT_EQ(indexes, (std::set<size_t>{1, 4, 6}));
}

// No set of the tests has so many members.
TEST_P(EventStorageTest, AnUnmetConcernIsTold) {
  EventLog log = LogOf(&world_, Retention::kDailyCollections);
  const Document many = Doc("w", 50, "wtimeout", 1);
  auto report = log.InsertMany(EventsOf(&world_, 2), {.ordered = true, .concern = many});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(Is(report->confirmation, Error::kAppliedButNotConfirmed));
  EXPECT_EQ(report->inserted, 2);
  EXPECT_EQ(Stored(log).size(), 2u);
  EXPECT_EQ(log.InsertMany(EventsOf(&world_, 2), {.concern = many})->errors.size(), 2u);
  const Document both = Doc("w", 1, "j", true);
  EXPECT_TRUE(log.InsertMany(EventsOf(&world_, 3), {.concern = both})->confirmation.ok());
  EXPECT_EQ(Stored(log).size(), 3u);
}

TEST_P(EventStorageTest, AnEventThatIsTooLargeIsRefused) {
  EventLog log = LogOf(&world_, Retention::kDailyCollections);
  std::vector<Document> events = EventsOf(&world_, 1);
  events.push_back(Doc("_id", 1, "time", world_.clock.Now(), "path", std::string(17 << 20, 'p')));
  auto report = log.InsertMany(events, {.ordered = true});
  EXPECT_TRUE(report.ok() ? report->errors.size() == 1
                          : Is(report.status(), Error::kDocumentTooLarge))
      << report.status().ToString();
  EXPECT_FALSE(Stored(log).contains(1));
}

TEST_P(EventStorageTest, CappedBytesAreNotExceeded) {
  constexpr int64_t kBytes = 16'384;
  EventLog log(world_.client, world_.database,
               {.retention = Retention::kCapped, .capped_bytes = kBytes, .seams = world_.seams()});
  for (int i = 0; i < 50; ++i) {
    const Document event = Doc("_id", (i * 7) % 50, "time", world_.clock.Now(), "path",
                               std::string(static_cast<size_t>(500 + i * 10), 'p'));
    ASSERT_EQ(log.InsertMany({event})->inserted, 1);
    int64_t bytes = 0;
    int oldest = i + 1;
    const std::vector<Document> kept = world_.All("events");
    for (auto one = kept.rbegin(); one != kept.rend(); ++one) {
      bytes += static_cast<int64_t>(one->bytes().size());
      EXPECT_EQ(IntegerAt(*one, "_id"), (--oldest * 7) % 50);  // in the order they came
    }
    EXPECT_LE(bytes, kBytes);
    EXPECT_GT(bytes + 2000, std::min<int64_t>(kBytes, i * 500));
  }
}

TEST_P(EventStorageTest, UnitsAreDroppedWhenTheyHaveEnded) {
  for (Retention retention : {Retention::kDailyCollections, Retention::kMonthlyDatabases}) {
    World world(GetParam());
    world.clock.Set(ToDate({2020, 2, 28, 12, 0, 0}));
    EventLog log = LogOf(&world, retention);
    ASSERT_EQ(log.InsertMany({Doc("_id", 1, "time", world.clock.Now())})->inserted, 1);
    const Date end = retention == Retention::kDailyCollections ? ToDate({2020, 2, 29, 0, 0, 0})
                                                               : ToDate({2020, 3, 1, 0, 0, 0});
    world.clock.Set({end.millis + 60 * kDay - 1});
    EXPECT_EQ(log.DropExpired()->changed, 0);
    EXPECT_EQ(log.InsertMany({Doc("_id", 2, "time", Date{end.millis - 1})})->inserted, 1);
    world.clock.Advance(milliseconds(1));
    EXPECT_EQ(log.InsertMany({Doc("_id", 3, "time", Date{end.millis - 1})})->dropped_late, 1);
    EXPECT_EQ(log.DropExpired()->changed, 1);
    EXPECT_TRUE(Stored(log).empty());
  }
}

TEST_P(EventStorageTest, AnotherHorizonNeedsAnotherIndex) {
  ASSERT_TRUE(LogOf(&world_, Retention::kTtl, 60).CreateIndexes().ok());
  EXPECT_TRUE(LogOf(&world_, Retention::kTtl, 60).MissingIndexes()->empty());
  EXPECT_EQ(*LogOf(&world_, Retention::kTtl, 30).MissingIndexes(),
            std::vector<std::string>{R"(events {"time": 1})"});
}

// The sizes themselves are the server's estimates.
TEST_P(EventStorageTest, EveryIndexHasOneSize) {
  EventLog log = LogOf(&world_, Retention::kDailyCollections);
  ASSERT_EQ(log.InsertMany(EventsOf(&world_, 3))->inserted, 3);
  std::vector<std::string> names;
  const auto sizes = *log.IndexSizes();
  for (const auto& [name, size] : sizes) {
    names.push_back(name);
    EXPECT_GE(size, 0);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"_id_", "host_1_time_1__id_1", "path_1_time_1__id_1",
                                             "time_1__id_1"}));
}

QUIRE_IN_BOTH_PLACES(EventStorageTest);

}  // namespace
}  // namespace quire::patterns
