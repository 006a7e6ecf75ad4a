// SPDX-License-Identifier: Apache-2.0
//
// What queries of the event log find, at the ends of their intervals and pages.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "patterns/testing/places.h"
#include "patterns/testing/profiled_calls.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/event_log.h"
#include "quire/patterns/index_advice.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Retention kRetentions[] = {Retention::kCapped, Retention::kTtl,
                                     Retention::kDailyCollections, Retention::kMonthlyDatabases,
                                     Retention::kRenamedCollections};
constexpr int64_t kDay = 86'400'000;

EventLog LogOf(World* world, Retention retention, const Seams& seams) {
  return EventLog(world->client, world->database,
                  {.retention = retention, .horizon = hours(24 * 60), .seams = seams});
}

// A world in a time that a server, which deletes what is old, has not reached yet.
struct FutureWorld : World {
  explicit FutureWorld(Place place) : World(place) { clock.Set(ToDate({2090, 3, 15, 12, 0, 0})); }
  ~FutureWorld() {
    for (const char* month : {"_209002", "_209003"}) {
      EXPECT_TRUE(client.GetDatabase(database + month).Drop().ok());
    }
  }
};

Document EventAt(const bson::Value& id, Date time) {
  return Doc("_id", id, "host", "h", "path", "/p", "time", time);
}

using Query = std::function<Result<Page>(const PageRequest&)>;

// The three ways to the same events.
std::vector<Query> QueriesOf(const EventLog& log, Date from, Date to) {
  return {[&, from, to](const PageRequest& page) { return log.ByTime(from, to, page); },
          [&, from, to](const PageRequest& page) { return log.ByHost("h", from, to, page); },
          [&](const PageRequest& page) { return log.ByPath("/p", page); }};
}

// The ids of all pages, as JSON.
std::vector<std::string> Paged(const Query& query, int64_t limit) {
  std::vector<std::string> ids;
  PageRequest request{.limit = limit};
  do {
    auto page = query(request);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    for (const Document& event : page->documents) {
      ids.push_back(bson::ToJson(event["_id"]));
    }
    request.after = page->next;
  } while (!request.after.empty() && ids.size() < 1000);
  return ids;
}

class EventQueriesTest : public ::testing::TestWithParam<Place> {};

TEST_P(EventQueriesTest, IntervalsAreHalfOpen) {
  for (Retention retention : kRetentions) {
    FutureWorld world(GetParam());
    EventLog log = LogOf(&world, retention, world.seams());
    const Date from{world.clock.Now().millis - 5 * kDay};
    const Date to{from.millis + 2 * kDay};
    const std::vector<Document> events = {
        EventAt(bson::Value(1), {from.millis - 1}), EventAt(bson::Value(2), from),
        EventAt(bson::Value(3), {to.millis - 1}), EventAt(bson::Value(4), to)};
    ASSERT_EQ(log.InsertMany(events)->inserted, 4);
    const std::vector<std::string> inside = {"2", "3"};
    EXPECT_EQ(Paged(QueriesOf(log, from, to)[0], 10), inside);
    EXPECT_EQ(Paged(QueriesOf(log, from, to)[1], 10), inside);
    const std::vector<DailyHits> hits = *log.CountByDayAndPath(from, to);
    ASSERT_EQ(hits.size(), 2u);
    const CivilTime first = ToCivil(from);
    const CivilTime last = ToCivil({to.millis - 1});
    for (size_t i = 0; i < 2; ++i) {
      const CivilTime& day = i == 0 ? first : last;
      EXPECT_EQ(hits[i].path, "/p");
      EXPECT_EQ(hits[i].hits, 1);
      EXPECT_EQ(std::tie(hits[i].year, hits[i].month, hits[i].day),
                std::tie(day.year, day.month, day.day));
    }
  }
}

// In access logs many events have one time. Their ids are of lines, made up, or of any type.
TEST_P(EventQueriesTest, EventsOfOneTimeComeOnceInPages) {
  for (Retention retention : kRetentions) {
    SCOPED_TRACE(static_cast<int>(retention));
    FutureWorld world(GetParam());
    EventLog log = LogOf(&world, retention, world.seams());
    const Date time{world.clock.Now().millis - kDay};
    std::vector<Document> events = {EventAt(bson::Value(0), {time.millis - 1}),
                                    EventAt(bson::Value(9), {time.millis + 1})};
    for (const char* text : {"a", "b", "c"}) {
      const Document nested = Doc("x", text);
      events.push_back(EventAt(bson::Value(text), time));
      events.push_back(EventAt(bson::Value(text[0] - 'a' + 1), time));
      events.push_back(EventAt(bson::Value::Binary(text, 0), time));
      events.push_back(EventAt(bson::Value(bson::ObjectId{{static_cast<uint8_t>(*text)}}), time));
      events.push_back(EventAt(bson::Value(nested.view()), time));
      ASSERT_EQ(log.InsertMany(events)->errors.size(), 0u);
      events.clear();
      EXPECT_TRUE(log.Rotate().ok());
    }
    for (const Query& query : QueriesOf(log, {time.millis - 5}, {time.millis + 5})) {
      const std::vector<std::string> all = Paged(query, 100);
      EXPECT_EQ(all.size(), 17u);
      EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 17u);
      for (int64_t limit : {1, 2, 3, 7}) {
        EXPECT_EQ(Paged(query, limit), all) << limit;
      }
    }
  }
}

TEST_P(EventQueriesTest, PagesOfOneTimeAreNotReadAgain) {
  World world(GetParam());
  EventLog log = LogOf(&world, Retention::kDailyCollections, world.seams());
  const Date time = world.clock.Now();
  std::vector<Document> events;
  for (int i = 0; i < 40; ++i) {
    events.push_back(EventAt(bson::Value(i), time));
  }
  ASSERT_EQ(log.InsertMany(events)->inserted, 40);
  auto pages = [&] {
    for (const Query& query : QueriesOf(log, time, {time.millis + 1})) {
      EXPECT_EQ(Paged(query, 7).size(), 40u);
    }
  };
  EXPECT_GE(ExpectIndexed(&world, pages), 18);
}

TEST_P(EventQueriesTest, ACursorStaysInTheInterval) {
  for (Retention retention : kRetentions) {
    FutureWorld world(GetParam());
    EventLog log = LogOf(&world, retention, world.seams());
    const int64_t start = world.clock.Now().millis - 10 * kDay;
    std::vector<Document> events;
    for (int i = 0; i < 6; ++i) {
      events.push_back(EventAt(bson::Value(i), {start + i * kDay}));
    }
    ASSERT_EQ(log.InsertMany(events)->inserted, 6);
    const std::string after = log.ByTime({start}, {start + 6 * kDay}, {.limit = 3})->next;  // 2
    auto earlier = log.ByTime({start}, {start + 2 * kDay}, {.after = after});
    EXPECT_TRUE(earlier->documents.empty());
    auto later = log.ByTime({start + 4 * kDay}, {start + 6 * kDay}, {.after = after});
    EXPECT_EQ(later->documents.size(), 2u);
    EXPECT_TRUE(log.ByTime({start}, {INT64_MIN}, {.limit = 3})->documents.empty());
  }
}

class Asked : public QueryHook {
 public:
  void Asks(const Document& query) override {
    const bool find = query.view().Has("find");
    collections.emplace(TextAt(query, find ? "find" : "aggregate"));
    ++count;
  }
  std::set<std::string> collections;
  int count = 0;
};

TEST_P(EventQueriesTest, OnlyUnitsOfTheIntervalAreAsked) {
  for (Retention retention : {Retention::kDailyCollections, Retention::kMonthlyDatabases}) {
    FutureWorld world(GetParam());
    const bool daily = retention == Retention::kDailyCollections;
    const Date start = ToDate({2090, 2, 27, 0, 0, 0});  // a day before February ends
    std::vector<Document> events;
    for (int i = 0; i < 6; ++i) {
      events.push_back(EventAt(bson::Value(i), {start.millis + i * kDay}));
    }
    ASSERT_EQ(LogOf(&world, retention, world.seams()).InsertMany(events)->inserted, 6);
    Asked asked;
    Seams seams = world.seams();
    seams.queries = &asked;
    EventLog log = LogOf(&world, retention, seams);
    const Date march = ToDate({2090, 3, 1, 0, 0, 0});
    EXPECT_EQ(Paged(QueriesOf(log, {march.millis - 1}, {march.millis + 1})[0], 10),
              std::vector<std::string>{"2"});
    EXPECT_EQ(asked.count, 2);
    EXPECT_EQ(asked.collections, daily
                                     ? (std::set<std::string>{"events_20900228", "events_20900301"})
                                     : std::set<std::string>{"events"});
    asked.count = 0;
    EXPECT_EQ(log.CountByDayAndPath({march.millis - kDay}, march)->size(), 1u);
    EXPECT_EQ(asked.count, 1);
  }
}

// They may still be there: the background deletes late, archives go as a whole.
TEST_P(EventQueriesTest, ExpiredEventsAreNotSeen) {
  for (Retention retention : {Retention::kTtl, Retention::kRenamedCollections}) {
    FutureWorld world(GetParam());
    EventLog log = LogOf(&world, retention, world.seams());
    const int64_t horizon = 60 * kDay;
    const Date time{world.clock.Now().millis - horizon + 1};
    EXPECT_EQ(log.InsertMany({EventAt(bson::Value(1), {time.millis - 1})})->dropped_late, 1);
    ASSERT_EQ(log.InsertMany({EventAt(bson::Value(2), time)})->inserted, 1);
    for (size_t seen : {1, 0}) {
      for (const Query& query : QueriesOf(log, {0}, {INT64_MAX})) {
        EXPECT_EQ(Paged(query, 10).size(), seen);
      }
      EXPECT_EQ(log.CountByDayAndPath({0}, {INT64_MAX})->size(), seen);
      world.clock.Advance(milliseconds(1));
    }
    EXPECT_EQ(world.All("events").size(), 1u);
  }
}

// 11 events of a host among 1296 of the interval.
TEST_P(EventQueriesTest, TheHostFirstExaminesWhatItReturns) {
  World world(GetParam());
  const Date start = world.clock.Now();
  std::vector<Document> events;
  for (int i = 0; i < 1296; ++i) {
    events.push_back(Doc("_id", i, "host", i % 120 == 0 ? "h" : "o" + std::to_string(i % 7), "time",
                         Date{start.millis + i}));
  }
  ASSERT_TRUE(
      world.client.GetDatabase(world.database).GetCollection("events").InsertMany(events).ok());
  const Document filter =
      Doc("host", "h", "time", Doc("$gte", start, "$lt", Date{start.millis + 1296}));
  auto trials = CompareIndexes(world.client, world.database, "events", filter, Doc(),
                               {R"({"time": 1, "host": 1})", R"({"host": 1, "time": 1})"});
  ASSERT_TRUE(trials.ok()) << trials.status().ToString();
  EXPECT_EQ((*trials)[0].keys, R"({"host":1,"time":1})");
  EXPECT_EQ((*trials)[0].keys_examined, 11);
  EXPECT_GT((*trials)[1].keys_examined, 100);
  for (const IndexTrial& trial : *trials) {
    EXPECT_EQ(trial.returned, 11);
    EXPECT_EQ(trial.documents_examined, 11);
  }
}

QUIRE_IN_BOTH_PLACES(EventQueriesTest);

}  // namespace
}  // namespace quire::patterns
