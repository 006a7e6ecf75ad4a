// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/event_log.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "patterns/testing/random_crash.h"
#include "patterns/testing/world.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/index_advice.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using std::chrono::hours;

constexpr Retention kRetentions[] = {Retention::kCapped, Retention::kTtl,
                                     Retention::kDailyCollections, Retention::kMonthlyDatabases,
                                     Retention::kRenamedCollections};
constexpr int64_t kHour = 3'600'000;
constexpr int64_t kDay = 24 * kHour;

EventLog LogOf(World* world, Retention retention, const Seams& seams) {
  return EventLog(world->client, world->database,
                  {.retention = retention, .horizon = hours(24 * 60), .seams = seams});
}
EventLog LogOf(World* world, Retention retention) {
  return LogOf(world, retention, world->seams());
}

// Event `i` of a history over some days before now.
Document EventOf(World* world, int i) {
  const std::string host = "h" + std::to_string(i % 3);
  const std::string path = "/p" + std::to_string(i % 4);
  return Doc("_id", i, "host", host, "path", path, "time",
             Date{world->clock.Now().millis - i * 7 * kHour});
}

std::vector<Document> EventsOf(World* world, int n) {
  std::vector<Document> events;
  for (int i = 0; i < n; ++i) {
    events.push_back(EventOf(world, i));
  }
  return events;
}

std::vector<int64_t> Ids(const std::vector<Document>& documents) {
  std::vector<int64_t> ids;
  for (const Document& document : documents) {
    ids.push_back(IntegerAt(document, "_id"));
  }
  return ids;
}

std::string LinesOf(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    text += i % 5 == 4 ? "nonsense\n"
                       : "h" + std::to_string(i) +
                             " - - [12/Sep/2020:10:00:00 +0000] \"GET /x HTTP/1.1\" 200 1\r\n";
  }
  return text;
}

// The databases of a rotated log.
void DropMonths(World* world) {
  const std::vector<std::string> names = *world->client.ListDatabaseNames();
  for (const std::string& name : names) {
    if (name.starts_with(world->database + "_")) {
      EXPECT_TRUE(world->client.GetDatabase(name).Drop().ok());
    }
  }
}

void DropEveryMonth(Place place) {
  const std::vector<std::string> names = *ClientOf(place).ListDatabaseNames();
  for (const std::string& name : names) {
    if (name.find('_') != std::string::npos) {
      EXPECT_TRUE(ClientOf(place).GetDatabase(name).Drop().ok());
    }
  }
}

class EventLogTest : public ::testing::TestWithParam<Place> {};

TEST_P(EventLogTest, QueriesPageAlikeInEveryRetention) {
  for (Retention retention : kRetentions) {
    World world(GetParam());
    EventLog log = LogOf(&world, retention);
    auto report = log.InsertMany(EventsOf(&world, 60));
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->inserted, 60);
    EXPECT_TRUE(log.MissingIndexes()->empty());

    const int64_t now = world.clock.Now().millis;
    const Date from{now - 10 * kDay};
    const Date to{now - kDay};
    std::vector<int64_t> expected;
    for (int i = 59; i >= 0; --i) {
      const int64_t time = now - i * 7 * kHour;
      if (i % 3 == 1 && time >= from.millis && time < to.millis) {
        expected.push_back(i);
      }
    }
    std::vector<int64_t> found;
    PageRequest request{.limit = 4};
    do {
      auto page = log.ByHost("h1", from, to, request);
      ASSERT_TRUE(page.ok()) << page.status().ToString();
      std::vector<int64_t> ids = Ids(page->documents);
      found.insert(found.end(), ids.begin(), ids.end());
      request.after = page->next;
    } while (!request.after.empty());
    EXPECT_EQ(found, expected);
    EXPECT_EQ(log.ByPath("/p2", {.limit = 100})->documents.size(), 15u);
    EXPECT_EQ(log.ByTime(from, to, {.limit = 1000})->documents.size(), 31u);
    EXPECT_TRUE(Is(log.ByTime(from, to, {.after = "xyz"}).status(), Error::kBadCursor));
    int64_t hits = 0;
    const std::vector<DailyHits> rows = *log.CountByDayAndPath(from, to);
    for (const DailyHits& row : rows) {
      hits += row.hits;
    }
    EXPECT_EQ(hits, 31);
    EXPECT_GE(log.IndexSizes()->size(), 4u);
    DropMonths(&world);
  }
}

TEST_P(EventLogTest, BulksReportEveryError) {
  World world(GetParam());
  EventLog log = LogOf(&world, Retention::kTtl);
  std::vector<Document> events = EventsOf(&world, 5);
  events[2] = events[0];
  auto ordered = log.InsertMany(events, {.ordered = true});
  ASSERT_TRUE(ordered.ok());
  EXPECT_EQ(ordered->inserted, 2);
  ASSERT_EQ(ordered->errors.size(), 1u);
  EXPECT_EQ(ordered->errors[0].index, 2u);
  EXPECT_EQ(ordered->errors[0].code, 11000);
  auto unordered = log.InsertMany(events);
  EXPECT_EQ(unordered->inserted, 2);
  EXPECT_EQ(unordered->errors.size(), 3u);
  EXPECT_TRUE(log.InsertMany(events, {.concern = Doc("w", 0)})->errors.empty());
  EXPECT_TRUE(Is(log.InsertMany({Doc("host", "x")}).status(), Error::kBadTime));
  EXPECT_TRUE(log.InsertMany({Doc("time", world.clock.Now())},
                             {.ordered = true, .concern = Doc("w", "majority")})
                  ->confirmation.ok());
}

TEST_P(EventLogTest, OrderedBulksStopAcrossUnits) {
  World world(GetParam());
  EventLog log = LogOf(&world, Retention::kDailyCollections);
  std::vector<Document> events = EventsOf(&world, 12);
  events[7] = events[6];
  auto report = log.InsertMany(events, {.ordered = true});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->inserted, 7);
  ASSERT_EQ(report->errors.size(), 1u);
  EXPECT_EQ(report->errors[0].index, 7u);
}

TEST_P(EventLogTest, ImportsEachLineOnce) {
  World world(GetParam());
  EventLog log = LogOf(&world, Retention::kDailyCollections);
  std::stringstream file(LinesOf(20) + "unfinished");
  auto first = log.Import("f", &file, {});
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(first->lines, 20);
  EXPECT_EQ(first->inserted, 16);
  EXPECT_EQ(first->rejected.size(), 4u);
  EXPECT_EQ(first->rejected[0].line, 5);
  EXPECT_EQ(first->resume_offset, static_cast<int64_t>(LinesOf(20).size()));
  auto again = log.Import("f", &file, {});
  EXPECT_EQ(again->inserted, 0);
  EXPECT_EQ(again->duplicates, 16);
  auto rest = log.Import(
      "f", &file, {.offset = first->resume_offset, .line = first->resume_line, .final = true});
  EXPECT_EQ(rest->lines, 1);
  EXPECT_EQ(rest->rejected.at(0).line, 21);
  auto other = log.Import("g", &file, {});
  EXPECT_EQ(other->inserted, 16);
}

// Lines of two months into every retention. Who is not answered imports the file again.
TEST_P(EventLogTest, ImportSurvivesEveryCrash) {
  std::string text;
  for (const char* day : {"12/Sep", "11/Sep", "20/Aug"}) {
    std::string lines = LinesOf(5);
    for (size_t at = 0; (at = lines.find("12/Sep", at)) != std::string::npos; ++at) {
      lines.replace(at, 6, day);
    }
    text += lines;
  }
  for (Retention retention : kRetentions) {
    SCOPED_TRACE(static_cast<int>(retention));
    auto import = [&](World* world, const Seams& seams) {
      std::stringstream file(text);
      return LogOf(world, retention, seams).Import("f", &file, {}).status();
    };
    auto stored = [&](World* world) {
      return LogOf(world, retention).ByPath("/x", {.limit = 1000})->documents.size();
    };
    CrashCase test;
    test.setup = DropMonths;
    test.operation = import;
    test.settle = [&](World* world) { EXPECT_TRUE(import(world, world->seams()).ok()); };
    test.always = [&](World* world) { EXPECT_LE(stored(world), 12u); };
    test.settled = [&](World* world) { EXPECT_EQ(stored(world), 12u); };
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
  DropEveryMonth(GetParam());
}

// Bulks and drops of every retention. Whoever is not answered sends the same bulk again.
TEST_P(EventLogTest, BulksAndDropsSurviveEveryCrash) {
  for (Retention retention : kRetentions) {
    for (const char* operation : {"ordered", "unordered", "drop"}) {
      SCOPED_TRACE(operation + std::to_string(static_cast<int>(retention)));
      const bool drop = operation == std::string("drop");
      auto insert = [&](World* world, const Seams& seams, bool ordered) {
        return LogOf(world, retention, seams)
            .InsertMany(EventsOf(world, 8), {.ordered = ordered})
            .status();
      };
      auto stored = [&](World* world) {
        std::set<int64_t> ids;
        auto page = LogOf(world, retention).ByTime(Date{0}, Date{INT64_MAX}, {.limit = 100});
        for (int64_t id : Ids(page->documents)) {
          EXPECT_TRUE(ids.insert(id).second) << id;
        }
        return ids.size();
      };
      CrashCase test;
      test.setup = [&](World* world) {
        DropMonths(world);
        ASSERT_TRUE(!drop || insert(world, world->seams(), false).ok());
        if (drop) {
          world->clock.Advance(hours(24 * 100));
        }
      };
      test.operation = [&](World* world, const Seams& seams) {
        return drop ? LogOf(world, retention, seams).DropExpired().status()
                    : insert(world, seams, operation == std::string("ordered"));
      };
      test.settle = [&](World* world) {
        EXPECT_TRUE(drop ? LogOf(world, retention).DropExpired().ok()
                         : insert(world, world->seams(), false).ok());
      };
      test.always = [&](World* world) { EXPECT_LE(stored(world), 8u); };
      const bool rotated =
          retention == Retention::kDailyCollections || retention == Retention::kMonthlyDatabases;
      test.settled = [&](World* world) {
        const bool visible = !drop || retention == Retention::kCapped;
        EXPECT_EQ(stored(world), visible ? 8u : 0u);
      };
      // Nothing is written by a drop of what is not rotated.
      EXPECT_GE(RunCrashCase(GetParam(), test), drop && !rotated ? 1 : 3);
    }
  }
  DropEveryMonth(GetParam());
}

TEST_P(EventLogTest, RotationDropsWholeUnits) {
  for (Retention retention : {Retention::kDailyCollections, Retention::kMonthlyDatabases}) {
    World world(GetParam());
    EventLog log = LogOf(&world, retention);
    ASSERT_EQ(log.InsertMany(EventsOf(&world, 60))->inserted, 60);
    EXPECT_EQ(log.DropExpired()->changed, 0);
    world.clock.Advance(hours(24 * 50));
    auto dropped = log.DropExpired();
    ASSERT_TRUE(dropped.ok()) << dropped.status().ToString();
    EXPECT_GT(dropped->changed, 0);
    EXPECT_EQ(log.DropExpired()->changed, 0);
    auto left = log.ByTime(Date{0}, Date{INT64_MAX}, {.limit = 1000});
    ASSERT_TRUE(left.ok());
    EXPECT_LT(left->documents.size(), 60u);
    // What belongs to a dropped unit is not stored again.
    const Document late = Doc("time", Date{world.clock.Now().millis - 100 * kDay});
    EXPECT_EQ(log.InsertMany({late})->dropped_late, 1);
    EXPECT_EQ(log.ByTime(Date{0}, Date{INT64_MAX}, {.limit = 1000})->documents.size(),
              left->documents.size());
    DropMonths(&world);
  }
}

// The oldest of several units cannot be dropped just now.
TEST_P(EventLogTest, OneUnitThatStaysDoesNotKeepTheOthers) {
  for (Retention retention : {Retention::kDailyCollections, Retention::kMonthlyDatabases}) {
    World world(GetParam());
    ASSERT_EQ(LogOf(&world, retention).InsertMany(EventsOf(&world, 60))->inserted, 60);
    world.clock.Advance(hours(24 * 400));
    TestFaults faults;
    faults.at = 2;  // after the lease
    faults.fault = FaultHook::Fault::kFailBefore;
    auto dropped = LogOf(&world, retention, world.seams(nullptr, &faults)).DropExpired();
    ASSERT_TRUE(dropped.ok()) << dropped.status().ToString();
    EXPECT_EQ(dropped->errors, 1);
    EXPECT_EQ(dropped->changed, dropped->examined - 1);
    EXPECT_GT(dropped->changed, 0);
    EXPECT_EQ(LogOf(&world, retention).DropExpired()->changed, 1);
    DropMonths(&world);
  }
}

TEST_P(EventLogTest, CappedKeepsTheNewest) {
  World world(GetParam());
  EventLog log(world.client, world.database,
               {.retention = Retention::kCapped, .capped_documents = 10, .seams = world.seams()});
  ASSERT_EQ(log.InsertMany(EventsOf(&world, 25), {.ordered = true})->inserted, 25);
  auto kept = world.store.Find("events", Doc());
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(Ids(*kept), (std::vector<int64_t>{15, 16, 17, 18, 19, 20, 21, 22, 23, 24}));
}

TEST_P(EventLogTest, ManyWritersFirstUseOfAUnit) {
  World world(GetParam());
  EventLog log = LogOf(&world, Retention::kDailyCollections);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        auto report = log.InsertMany({Doc("_id", t * 100 + i, "path", "/c", "time",
                                          Date{world.clock.Now().millis - i * kDay})});
        EXPECT_TRUE(report.ok() && report->inserted == 1) << report.status().ToString();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(log.ByPath("/c", {.limit = 100})->documents.size(), 40u);
}

TEST_P(EventLogTest, ProfilesKeepWhatTheySay) {
  struct {
    Profile profile;
    const char* fields;
  } const kRows[] = {{Profile::kMinimal, "_id host time path referrer user_agent ssk "},
                     {Profile::kRaw, "_id time line ssk "}};
  for (const auto& row : kRows) {
    World world(GetParam());
    EventLog log(world.client, world.database,
                 {.retention = Retention::kTtl, .profile = row.profile, .seams = world.seams()});
    std::stringstream file(LinesOf(1));
    ASSERT_EQ(log.Import("f", &file, {})->inserted, 1);
    std::string fields;
    auto stored = world.store.FindOne("events", Doc());
    ASSERT_TRUE(stored.ok() && *stored);
    for (const bson::Element& field : (*stored)->view()) {
      fields += std::string(field.name()) + " ";
    }
    EXPECT_EQ(fields, row.fields);
  }
}

TEST_P(EventLogTest, IndexesAreComparedAndUsed) {
  World world(GetParam());
  EventLog log = LogOf(&world, Retention::kTtl);
  ASSERT_EQ(log.InsertMany(EventsOf(&world, 60))->inserted, 60);
  const Date from{world.clock.Now().millis - 10 * kDay};
  const Document filter = Doc("host", "h1", "time", Doc("$gte", from));
  auto trials =
      CompareIndexes(world.client, world.database, "events", filter, Doc("time", 1),
                     {R"({"time": 1, "host": 1})", R"({"host": 1, "time": 1})", R"({"host": 1})"});
  ASSERT_TRUE(trials.ok()) << trials.status().ToString();
  EXPECT_EQ((*trials)[0].keys, R"({"host":1,"time":1})");
  EXPECT_LE((*trials)[0].keys_examined, (*trials)[0].returned + 1);
  EXPECT_TRUE((*trials)[2].sorts_in_memory);
  EXPECT_EQ((*trials)[2].keys, R"({"host":1})");
  EXPECT_EQ(log.Indexes().size(), 4u);  // the trials' are gone again
  EXPECT_EQ(*world.store.MissingIndexes({{"events", R"({"host": 1})"}}),
            std::vector<std::string>{R"(events {"host": 1})"});
  const Document sort = Doc("time", 1, "_id", 1);
  for (const Document& query :
       {filter, Doc("path", "/p1"), Doc("time", Doc("$gte", from)),
        Doc("host", "h1", "time", Doc("$gte", from), "$or",
            List(Doc("time", Doc("$gt", from)), Doc("_id", Doc("$gt", 1))))}) {
    Explained explained =
        Explain(world.store, Doc("find", "events", "filter", query, "sort", sort));
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
    EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos) << explained.plan;
    EXPECT_LE(explained.keys, explained.returned + 1) << explained.plan;
  }
}

// Imports and bulks that are repeated until they are answered; rotated units are dropped meanwhile.
class RandomEventLog : public RandomWorkload {
 public:
  explicit RandomEventLog(Retention retention) : retention_(retention) {}
  ~RandomEventLog() override { DropMonths(world_); }

  void Setup(World* world) override {
    world_ = world;
    start_ = world->clock.Now().millis;
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    switch (chance->Below(4)) {
      case 0:
        chance->Note("drop");
        world->clock.Advance(hours(24 * chance->Below(3)));
        return At(world, seams).DropExpired().status();
      case 1: {
        const int bulk = chance->Below(5);
        chance->Note("bulk " + std::to_string(bulk));
        return Insert(At(world, seams), bulk, chance->OneIn(2));
      }
      default: {
        const int file = chance->Below(4);
        chance->Note("import " + std::to_string(file));
        return Import(At(world, seams), file);
      }
    }
  }

  void Settle(World* world) override {
    EventLog log = At(world, world->seams());
    for (int bulk : std::set<int>(bulks_)) {
      EXPECT_TRUE(Insert(log, bulk, false).ok());
    }
    for (int file : std::set<int>(files_)) {
      EXPECT_TRUE(Import(log, file).ok());
    }
    EXPECT_TRUE(log.DropExpired().ok());
  }

  void ExpectAlways(World* world) override {
    EXPECT_LE(Stored(world), bulks_.size() * kEvents + files_.size() * kEvents);
  }

  // All that was ever begun and whose unit is not expired, once.
  void ExpectSettled(World* world) override {
    const int64_t cutoff = world->clock.Now().millis - 40 * kDay;
    size_t expected = 0;
    auto count = [&](int64_t days_back) {
      const Date time{start_ - days_back * kDay};
      const Date end = NextBucket(
          time, retention_ == Retention::kDailyCollections ? Level::kDay : Level::kMonth);
      expected += !Rotated() || end.millis > cutoff ? 1 : 0;
    };
    for (int from : {0, 1}) {
      for (int number : from == 0 ? bulks_ : files_) {
        for (int i = 0; i < kEvents; ++i) {
          count(DaysBack(number, i));
        }
      }
    }
    EXPECT_EQ(Stored(world), expected);
  }

  void Rest(World* world) override { world->clock.Advance(hours(24 * 10)); }

 private:
  static constexpr int kEvents = 4;
  static int64_t DaysBack(int number, int i) { return number * 7 + i * 3; }

  // In units whose names are of times.
  bool Rotated() const {
    return retention_ == Retention::kDailyCollections || retention_ == Retention::kMonthlyDatabases;
  }
  EventLog At(World* world, const Seams& seams) {
    return EventLog(world->client, world->database,
                    {.retention = retention_,
                     // A background that has the time of today deletes nothing of this history.
                     .horizon = hours(24 * (Rotated() ? 40 : 365 * 60)),
                     .seams = seams});
  }
  size_t Stored(World* world) {
    auto page = At(world, world->seams()).ByPath("/x", {.limit = 1000});
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    return page.ok() ? page->documents.size() : 0;
  }
  Status Insert(const EventLog& log, int bulk, bool ordered) {
    bulks_.insert(bulk);
    std::vector<Document> events;
    for (int i = 0; i < kEvents; ++i) {
      events.push_back(Doc("_id", bulk * 100 + i, "path", "/x", "time",
                           Date{start_ - DaysBack(bulk, i) * kDay}));
    }
    return log.InsertMany(events, {.ordered = ordered}).status();
  }
  Status Import(const EventLog& log, int file) {
    files_.insert(file);
    std::string text;
    static const char* const kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    for (int i = 0; i < kEvents; ++i) {
      const CivilTime at = ToCivil(Date{start_ - DaysBack(file, i) * kDay});
      text += "h - - [" + std::to_string(at.day + 100).substr(1) + "/" + kMonths[at.month - 1] +
              "/" + std::to_string(at.year) +
              ":12:00:00 +0000] \"GET /x HTTP/1.1\" 200 1\nnonsense\n";
    }
    std::stringstream stream(text);
    return log.Import("f" + std::to_string(file), &stream, {}).status();
  }

  Retention retention_;
  World* world_ = nullptr;
  int64_t start_ = 0;
  std::set<int> bulks_;
  std::set<int> files_;
};

const RandomSystem kRandom("EventLog", [](Chance* chance) {
  return std::make_unique<RandomEventLog>(chance->Pick(kRetentions));
});

INSTANTIATE_TEST_SUITE_P(Places, EventLogTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

TEST(IndexAdviceTest, EqualitySortRange) {
  IndexAdvice advice = AdviseIndex({"host"}, {"-time"}, {"time", "status"});
  EXPECT_EQ(bson::ToJson(advice.keys.view()), R"({"host":1,"time":-1,"status":1})");
  EXPECT_EQ(advice.warnings.size(), 2u);
  EXPECT_TRUE(AdviseIndex({"a", "a"}, {"b"}, {"b"}).warnings.empty());
}

}  // namespace
}  // namespace quire::patterns
