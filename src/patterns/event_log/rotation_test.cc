// SPDX-License-Identifier: Apache-2.0
//
// The event log that is rotated by renaming.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "patterns/testing/profiled_calls.h"
#include "patterns/testing/random_crash.h"
#include "patterns/testing/world.h"
#include "quire/patterns/event_log.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using std::chrono::hours;
using std::chrono::minutes;

constexpr int64_t kHour = 3'600'000;
constexpr Date kEver{0};
constexpr Date kNever{INT64_MAX};

EventLog LogOf(World* world, const Seams& seams) {
  return EventLog(
      world->client, world->database,
      {.retention = Retention::kRenamedCollections, .horizon = hours(24 * 60), .seams = seams});
}
EventLog LogOf(World* world) { return LogOf(world, world->seams()); }

// Event `i` is of i hours before the start of the world.
Document EventOf(int i) {
  return Doc("_id", i, "host", "h" + std::to_string(i % 3), "path", "/p" + std::to_string(i % 2),
             "time", Date{1'600'000'000'000 - i * kHour});
}

std::vector<Document> EventsOf(int from, int to) {
  std::vector<Document> events;
  for (int i = from; i < to; ++i) {
    events.push_back(EventOf(i));
  }
  return events;
}

std::vector<int64_t> IdsByTime(const EventLog& log, Date from = kEver, Date to = kNever) {
  std::vector<int64_t> ids;
  PageRequest request{.limit = 3};
  do {
    auto page = log.ByTime(from, to, request);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    for (const Document& event : page->documents) {
      ids.push_back(IntegerAt(event, "_id"));
    }
    request.after = page->next;
  } while (!request.after.empty());
  return ids;
}

std::vector<int64_t> Down(int64_t from, int64_t to) {
  std::vector<int64_t> ids;
  for (int64_t i = from; i >= to; --i) {
    ids.push_back(i);
  }
  return ids;
}

std::vector<std::string> CollectionsOf(World* world, std::string_view prefix) {
  std::vector<std::string> found;
  const std::vector<std::string> names =
      *world->client.GetDatabase(world->database).ListCollectionNames();
  for (const std::string& name : names) {
    if (name.starts_with(prefix)) {
      found.push_back(name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> ArchivesOf(World* world) { return CollectionsOf(world, "events_until_"); }

void DropAll(World* world) {
  for (const std::string& name : CollectionsOf(world, "event")) {
    EXPECT_TRUE(world->client.GetDatabase(world->database).GetCollection(name).Drop().ok());
  }
}

// In how many collections each event is.
std::map<int64_t, int> Copies(World* world) {
  std::map<int64_t, int> copies;
  for (const std::string& name : CollectionsOf(world, "events")) {
    for (const Document& event : world->All(name)) {
      copies[IntegerAt(event, "_id")] += 1;
    }
  }
  return copies;
}

void RotateToTheEnd(World* world) {
  for (int i = 0; i < 5; ++i) {
    world->clock.Advance(minutes(10));
    auto report = LogOf(world).Rotate();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    if (report->changed == 0) {
      return;
    }
  }
  FAIL() << "the rotation never ends";
}

class Questions : public QueryHook {
 public:
  void Asks(const Document& query) override { all += bson::ToJson(query.view()); }
  std::string all;
};

class EventRotationTest : public ::testing::TestWithParam<Place> {};

TEST_P(EventRotationTest, QueriesMergeTheArchives) {
  World world(GetParam());
  EventLog log = LogOf(&world);
  EXPECT_EQ(log.Rotate()->changed, 0);  // nothing yet
  ASSERT_EQ(log.InsertMany(EventsOf(0, 10))->inserted, 10);
  EXPECT_EQ(log.Rotate()->changed, 1);
  ASSERT_EQ(log.InsertMany(EventsOf(20, 30))->inserted, 10);  // older ones, later
  EXPECT_EQ(log.Rotate()->changed, 1);                        // in the same moment
  ASSERT_EQ(log.InsertMany(EventsOf(10, 20))->inserted, 10);
  ASSERT_EQ(ArchivesOf(&world).size(), 2u);
  EXPECT_TRUE(log.MissingIndexes()->empty());

  EXPECT_EQ(IdsByTime(log), Down(29, 0));
  EXPECT_EQ(log.ByPath("/p1", {.limit = 100})->documents.size(), 15u);
  EXPECT_EQ(log.ByHost("h2", kEver, kNever, {.limit = 100})->documents.size(), 10u);
  EXPECT_TRUE(log.ByTime(kEver, kNever, {.limit = 0})->documents.empty());
  int64_t hits = 0;
  const std::vector<DailyHits> rows = *log.CountByDayAndPath(kEver, kNever);
  for (const DailyHits& row : rows) {
    hits += row.hits;
  }
  EXPECT_EQ(hits, 30);
  EXPECT_EQ(rows.size(), 4u);  // two days and two paths: not one row for each archive

  // Only the archives whose times overlap are asked.
  Questions questions;
  Seams seams = world.seams();
  seams.queries = &questions;
  const Document ninth = EventOf(9);
  const Date from = ninth["time"].AsDate();
  EXPECT_EQ(IdsByTime(LogOf(&world, seams), from), Down(9, 0));
  EXPECT_NE(questions.all.find(ArchivesOf(&world)[0]), std::string::npos);
  EXPECT_EQ(questions.all.find(ArchivesOf(&world)[1]), std::string::npos);
}

TEST_P(EventRotationTest, SurvivesEveryCrashAndLateWrite) {
  CrashCase test;
  test.setup = [](World* world) {
    DropAll(world);
    EventLog log = LogOf(world);
    ASSERT_EQ(log.InsertMany(EventsOf(0, 4))->inserted, 4);
    ASSERT_EQ(log.Rotate()->changed, 1);
    world->clock.Advance(minutes(10));
    ASSERT_EQ(log.InsertMany(EventsOf(4, 8))->inserted, 4);
    // Stored again by a client that was not answered before the rotation.
    ASSERT_TRUE(world->store.Insert("events", EventOf(2)).ok());
  };
  test.operation = [](World* world, const Seams& seams) {
    return LogOf(world, seams).Rotate().status();
  };
  test.settle = RotateToTheEnd;
  test.always = [](World* world) { EXPECT_EQ(IdsByTime(LogOf(world)), Down(7, 0)); };
  test.settled = [](World* world) {
    for (const auto& [id, copies] : Copies(world)) {
      EXPECT_EQ(copies, 1) << id;
    }
    EventLog log = LogOf(world);
    EXPECT_TRUE(log.MissingIndexes()->empty());
    EXPECT_TRUE(world->All("events").empty());
    EXPECT_EQ(world->All("event_archives").size(), ArchivesOf(world).size());
  };
  EXPECT_GE(RunCrashCase(GetParam(), test), 25);
}

// Whoever writes while `events` is away finds it with its indexes.
TEST_P(EventRotationTest, WritersEndACrashedRotation) {
  for (const char* point : {"event_log.rotate.c1", "event_log.rotate.c2", "event_log.rotate.c3",
                            "event_log.restore.c1", "event_log.rotate.c5"}) {
    SCOPED_TRACE(point);
    World world(GetParam());
    EventLog writer = LogOf(&world);
    ASSERT_EQ(writer.InsertMany(EventsOf(0, 4))->inserted, 4);
    TestCrash crash;
    crash.at = point;
    EXPECT_TRUE(Is(LogOf(&world, world.seams(&crash)).Rotate().status(), Error::kCrashed));
    EXPECT_TRUE(crash.fired);
    ASSERT_EQ(writer.InsertMany(EventsOf(4, 8))->inserted, 4);
    EXPECT_TRUE(writer.MissingIndexes()->empty());
    EXPECT_EQ(IdsByTime(writer), Down(7, 0));
    auto again = writer.InsertMany(EventsOf(0, 8));
    EXPECT_EQ(again->inserted, 0);
    EXPECT_EQ(again->errors.size(), 8u);
    EXPECT_EQ(LogOf(&world).Rotate()->skipped, 0);  // the same worker's lease
    RotateToTheEnd(&world);
    EXPECT_EQ(IdsByTime(writer), Down(7, 0));
  }
}

TEST_P(EventRotationTest, StartingEndsACrashedRotation) {
  World world(GetParam());
  ASSERT_EQ(LogOf(&world).InsertMany(EventsOf(0, 4))->inserted, 4);
  TestCrash crash;
  crash.at = "event_log.rotate.c2";
  EXPECT_FALSE(LogOf(&world, world.seams(&crash)).Rotate().ok());
  EXPECT_TRUE(CollectionsOf(&world, "events_next").size() == 1);
  ASSERT_TRUE(LogOf(&world).CreateIndexes().ok());
  EXPECT_TRUE(CollectionsOf(&world, "events_next").empty());
  EXPECT_TRUE(LogOf(&world).MissingIndexes()->empty());
}

// A write that was on its way makes `events` while it is away: that is the new one.
TEST_P(EventRotationTest, AStrayCollectionIsTakenOver) {
  for (bool crashes : {false, true}) {
    World world(GetParam());
    EventLog log = LogOf(&world);
    ASSERT_EQ(log.InsertMany(EventsOf(0, 4))->inserted, 4);
    TestCrash crash;
    crash.at = "event_log.rotate.c2";
    crash.action = [&] {
      EXPECT_TRUE(world.store.Insert("events", EventOf(9)).ok());
      return !crashes;
    };
    EXPECT_EQ(LogOf(&world, world.seams(&crash)).Rotate().ok(), !crashes);
    ASSERT_TRUE(LogOf(&world).CreateIndexes().ok());  // the next start
    EXPECT_TRUE(log.MissingIndexes()->empty());
    EXPECT_EQ(IdsByTime(log), (std::vector<int64_t>{9, 3, 2, 1, 0}));
    RotateToTheEnd(&world);
    EXPECT_EQ(IdsByTime(log), (std::vector<int64_t>{9, 3, 2, 1, 0}));
    EXPECT_EQ(ArchivesOf(&world).size(), 2u);
  }
}

TEST_P(EventRotationTest, RepeatedBulksAndImportsAddNothing) {
  World world(GetParam());
  EventLog log = LogOf(&world);
  const std::string line = " - - [12/Sep/2020:10:00:00 +0000] \"GET /x HTTP/1.1\" 200 1\n";
  std::stringstream file("a" + line + "b" + line);
  ASSERT_EQ(log.Import("f", &file, {})->inserted, 2);
  ASSERT_EQ(log.InsertMany(EventsOf(0, 3))->inserted, 3);
  ASSERT_EQ(log.Rotate()->changed, 1);
  auto again = log.Import("f", &file, {});
  EXPECT_EQ(again->inserted, 0);
  EXPECT_EQ(again->duplicates, 2);

  const std::vector<Document> mixed = {EventOf(10), EventOf(11), EventOf(1), EventOf(12)};
  auto ordered = log.InsertMany(mixed, {.ordered = true});
  EXPECT_EQ(ordered->inserted, 2);
  ASSERT_EQ(ordered->errors.size(), 1u);
  EXPECT_EQ(ordered->errors[0].index, 2u);
  EXPECT_EQ(ordered->errors[0].code, 11000);
  auto unordered = log.InsertMany(mixed);
  EXPECT_EQ(unordered->inserted, 1);
  EXPECT_EQ(unordered->errors.size(), 3u);
  EXPECT_TRUE(log.InsertMany(mixed, {.concern = Doc("w", 0)})->errors.empty());
  EXPECT_EQ(log.ByPath("/x", {.limit = 10})->documents.size(), 2u);
}

TEST_P(EventRotationTest, DropsArchivesBeyondTheHorizon) {
  World world(GetParam());
  EventLog log = LogOf(&world);
  ASSERT_EQ(log.InsertMany(EventsOf(0, 4))->inserted, 4);
  ASSERT_EQ(log.Rotate()->changed, 1);
  world.clock.Advance(hours(24 * 50));
  ASSERT_EQ(log.InsertMany({Doc("_id", 100, "time", world.clock.Now())})->inserted, 1);
  ASSERT_EQ(log.Rotate()->changed, 1);
  EXPECT_EQ(log.DropExpired()->changed, 0);
  world.clock.Advance(hours(24 * 11));
  EXPECT_EQ(IdsByTime(log), std::vector<int64_t>{100});
  EXPECT_EQ(log.InsertMany({EventOf(1)})->dropped_late, 1);
  TestCrash crash;
  crash.at = "event_log.drop.c1";
  EXPECT_FALSE(LogOf(&world, world.seams(&crash)).DropExpired().ok());
  EXPECT_EQ(log.DropExpired()->changed, 0);
  EXPECT_EQ(ArchivesOf(&world).size(), 1u);
  EXPECT_EQ(world.All("event_archives").size(), 1u);
  EXPECT_EQ(IdsByTime(log), std::vector<int64_t>{100});
}

TEST_P(EventRotationTest, WritersReadersAndRotationsAtOnce) {
  World world(GetParam());
  std::atomic<bool> writing = true;
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&world, t] {
      EventLog log = LogOf(&world);
      for (int i = 0; i < 15; ++i) {
        auto report = log.InsertMany(EventsOf(t * 100 + 2 * i, t * 100 + 2 * i + 2));
        EXPECT_TRUE(report.ok() && report->inserted == 2) << report.status().ToString();
      }
    });
  }
  std::thread rotator([&] {
    while (writing) {
      auto report = LogOf(&world).Rotate();
      EXPECT_TRUE(report.ok()) << report.status().ToString();
      world.clock.Advance(minutes(1));
    }
  });
  for (std::thread& thread : writers) {
    thread.join();
  }
  writing = false;
  rotator.join();
  RotateToTheEnd(&world);
  EXPECT_EQ(IdsByTime(LogOf(&world)).size(), 90u);
  EXPECT_EQ(Copies(&world).size(), 90u);
  for (const auto& [id, copies] : Copies(&world)) {
    EXPECT_EQ(copies, 1) << id;
  }
}

TEST_P(EventRotationTest, EveryCallGoesByAnIndex) {
  World world(GetParam());
  EventLog log = LogOf(&world);
  ASSERT_EQ(log.InsertMany(EventsOf(0, 10))->inserted, 10);
  auto calls = [&] {
    EXPECT_EQ(log.Rotate()->changed, 1);
    EXPECT_EQ(log.InsertMany(EventsOf(8, 20))->inserted, 10);
    EXPECT_EQ(log.Rotate()->changed, 1);
    EXPECT_EQ(log.InsertMany(EventsOf(20, 30))->inserted, 10);
    EXPECT_EQ(IdsByTime(log), Down(29, 0));
    EXPECT_TRUE(log.ByPath("/p1", {.limit = 3}).ok());
    EXPECT_TRUE(log.ByHost("h1", kEver, kNever, {.limit = 3}).ok());
    EXPECT_FALSE(log.CountByDayAndPath(kEver, kNever)->empty());
    EXPECT_TRUE(log.DropExpired().ok());
  };
  EXPECT_GE(ExpectIndexed(&world, calls), 15);
}

// Bulks that are repeated until they are answered, rotations and drops.
class RandomRotation : public RandomWorkload {
 public:
  void Setup(World* /*world*/) override {}

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    if (chance->OneIn(3)) {
      chance->Note("rotate");
      world->clock.Advance(minutes(chance->Below(10)));
      return LogOf(world, seams).Rotate().status();
    }
    const int bulk = chance->Below(8);
    chance->Note("bulk " + std::to_string(bulk));
    return Insert(LogOf(world, seams), bulk, chance->OneIn(2));
  }

  void Settle(World* world) override {
    for (int bulk : std::set<int>(bulks_)) {
      EXPECT_TRUE(Insert(LogOf(world), bulk, false).ok());
    }
    RotateToTheEnd(world);
  }

  void ExpectAlways(World* world) override {
    const std::vector<int64_t> ids = IdsByTime(LogOf(world));
    EXPECT_EQ(std::set<int64_t>(ids.begin(), ids.end()).size(), ids.size());
    EXPECT_LE(ids.size(), bulks_.size() * kEvents);
  }

  void ExpectSettled(World* world) override {
    EXPECT_EQ(IdsByTime(LogOf(world)).size(), bulks_.size() * kEvents);
    for (const auto& [id, copies] : Copies(world)) {
      EXPECT_EQ(copies, 1) << id;
    }
  }

 private:
  static constexpr int kEvents = 3;

  Status Insert(const EventLog& log, int bulk, bool ordered) {
    bulks_.insert(bulk);
    return log.InsertMany(EventsOf(bulk * kEvents, (bulk + 1) * kEvents), {.ordered = ordered})
        .status();
  }

  std::set<int> bulks_;
};

const RandomSystem kRandom("EventRotation",
                           [](Chance*) { return std::make_unique<RandomRotation>(); });

INSTANTIATE_TEST_SUITE_P(Places, EventRotationTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
