// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"
#include "quire/patterns/event_log.h"

namespace quire::apps {
namespace {

using patterns::EventLog;
using patterns::Retention;

constexpr int64_t kBatch = 100;
constexpr int64_t kDays = 5;
constexpr int64_t kDay = 86'400'000;
constexpr int64_t kPage = 50;

bson::Document EventOf(Chance* chance) {
  const int64_t now = patterns::Clock::System()->Now().millis;
  return Doc("host", Numbered("10.0.", chance->Below(200)), "time",
             bson::Date{now - chance->Below(kDays * kDay)}, "path",
             Numbered("/page", chance->Skewed(500)), "status", 200, "response_size",
             chance->Below(100'000), "referrer", bson::Value::Null(), "user_agent", "demo");
}

Status InsertBatch(const EventLog& log, Chance* chance, int64_t count,
                   std::atomic<int64_t>* stored) {
  std::vector<bson::Document> events;
  for (int64_t i = 0; i < count; ++i) {
    events.push_back(EventOf(chance));
  }
  ASSIGN_OR_RETURN(patterns::InsertReport report, log.InsertMany(events));
  *stored += report.inserted;
  return report.confirmation;
}

std::vector<Step> Steps(const EventLog& log, std::atomic<int64_t>* stored) {
  const bson::Date now = patterns::Clock::System()->Now();
  const bson::Date from{now.millis - kDays * kDay};
  return {
      {"insert 100", 10,
       [&log, stored](Worker& w) { return InsertBatch(log, &w.chance, kBatch, stored); }},
      {"by host", 40,
       [&log, from, now](Worker& w) {
         const std::string host = Numbered("10.0.", w.chance.Below(200));
         return log.ByHost(host, from, now, {.limit = kPage}).status();
       }},
      {"by path", 40,
       [&log](Worker& w) {
         return log.ByPath(Numbered("/page", w.chance.Skewed(500)), {.limit = kPage}).status();
       }},
      {"by time", 9,
       [&log, now](Worker& w) {
         const int64_t start = now.millis - w.chance.Below(kDays * kDay);
         const bson::Date to{start + kDay / 24};
         return log.ByTime(bson::Date{start}, to, {.limit = kPage}).status();
       }},
      {"count by day", 1,
       [&log, now](Worker&) {
         return log.CountByDayAndPath(bson::Date{now.millis - kDay / 24}, now).status();
       }},
  };
}

struct Unit {
  std::string database;
  std::string collection;
};

// The databases of a log in databases by month.
Result<std::vector<std::string>> Months(const DesignRun& run) {
  Client client = run.client();
  ASSIGN_OR_RETURN(std::vector<std::string> names, client.ListDatabaseNames());
  std::erase_if(names,
                [&](const std::string& name) { return !name.starts_with(run.database() + "_2"); });
  return names;
}

// The collections that hold events.
Result<std::vector<Unit>> Units(const DesignRun& run) {
  std::vector<Unit> units;
  ASSIGN_OR_RETURN(std::vector<std::string> databases, Months(run));
  databases.push_back(run.database());
  for (const std::string& database : databases) {
    ASSIGN_OR_RETURN(std::vector<std::string> names,
                     run.client().GetDatabase(database).ListCollectionNames());
    for (const std::string& name : names) {
      if (name.starts_with("events")) {
        units.push_back({database, name});
      }
    }
  }
  return units;
}

Status CheckStored(DesignRun* run, const std::vector<Unit>& units, int64_t stored) {
  int64_t found = 0;
  for (const Unit& unit : units) {
    ASSIGN_OR_RETURN(
        int64_t count,
        run->client().GetDatabase(unit.database).GetCollection(unit.collection).Count());
    found += count;
  }
  run->Check("every accepted event is stored once, in " + std::to_string(units.size()) +
                 (units.size() == 1 ? " collection" : " collections"),
             found == stored, std::to_string(found) + " instead of " + std::to_string(stored));
  return Status::Ok();
}

Status RunRetention(DesignRun* run, Retention retention) {
  EventLog log(run->client(), run->database(),
               {.retention = retention, .capped_bytes = int64_t{1} << 30});
  ASSIGN_OR_RETURN(std::vector<std::string> left, Months(*run));
  for (const std::string& month : left) {
    RETURN_IF_ERROR(run->client().GetDatabase(month).Drop());
  }
  RETURN_IF_ERROR(log.CreateIndexes());
  std::atomic<int64_t> stored{0};
  RETURN_IF_ERROR(run->LoadBatches("batches", run->size(), kBatch, [&](int64_t i, int64_t count) {
    Chance chance(static_cast<uint64_t>(i) + 1);
    return InsertBatch(log, &chance, count, &stored);
  }));
  auto rotate = [&log] {
    Status rotated = log.Rotate().status();
    return rotated.ok() ? log.DropExpired().status() : rotated;
  };
  RETURN_IF_ERROR(run->Job("rotate and drop", rotate));
  ASSIGN_OR_RETURN(std::vector<std::string> months, Months(*run));
  for (const std::string& month : months) {
    run->AddDatabase(month);
  }
  RETURN_IF_ERROR(run->Work(Steps(log, &stored)));
  ASSIGN_OR_RETURN(std::vector<Unit> units, Units(*run));
  RETURN_IF_ERROR(CheckStored(run, units, stored));
  RETURN_IF_ERROR(run->CheckInvariants(log));
  const bson::Document by_time = Doc("time", 1, "_id", 1);
  const Unit& first = units[0];
  RETURN_IF_ERROR(run->Explain("by host", first.collection, Doc("host", Numbered("10.0.", 7)),
                               by_time, kPage, first.database));
  return run->Explain("by path", first.collection, Doc("path", Numbered("/page", 3)), by_time,
                      kPage, first.database);
}

}  // namespace

Status DemoEvents(DemoRun* run) {
  struct Row {
    const char* name;
    Retention retention;
  };
  constexpr Row kRows[] = {{"daily collections", Retention::kDailyCollections},
                           {"monthly databases", Retention::kMonthlyDatabases},
                           {"renamed", Retention::kRenamedCollections},
                           {"ttl", Retention::kTtl},
                           {"capped", Retention::kCapped}};
  for (const Row& row : kRows) {
    RETURN_IF_ERROR(run->Design(
        row.name, [&](DesignRun* design) { return RunRetention(design, row.retention); }));
  }
  return Status::Ok();
}

}  // namespace quire::apps
