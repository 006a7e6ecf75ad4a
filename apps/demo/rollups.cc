// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/rollups.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Level;
using patterns::Rollups;

constexpr int64_t kUsers = 50;
constexpr int64_t kHour = 3'600'000;
constexpr int64_t kStart = 1'577'836'800'000;  // 2020-01-01
constexpr int64_t kHours = 24 * 60;
constexpr std::chrono::milliseconds kMillisecond{1};

patterns::RollupEvent EventOf(Chance* chance) {
  return {Numbered("user", chance->Below(kUsers)),
          bson::Date{kStart + chance->Below(kHours) * kHour},
          static_cast<double>(chance->Below(100))};
}

Result<int64_t> CountedAt(const Rollups& rollups, Level level) {
  int64_t sum = 0;
  for (int64_t user = 0; user < kUsers; ++user) {
    ASSIGN_OR_RETURN(std::vector<patterns::RollupValue> values,
                     rollups.Query(Numbered("user", user), level, bson::Date{0},
                                   bson::Date{kStart + 2 * kHours * kHour}));
    for (const patterns::RollupValue& value : values) {
      sum += value.count;
    }
  }
  return sum;
}

Status RunRollups(DesignRun* run) {
  // Nothing is recorded while a run goes on: only events of the run's own millisecond wait for the
  // next one.
  Rollups rollups(run->client(), run->database(), {.delay = {}});
  RETURN_IF_ERROR(rollups.CreateIndexes());
  std::atomic<int64_t> recorded{0};
  auto record = [&](Chance* chance) {
    Status status = rollups.Record(EventOf(chance));
    recorded += status.ok() ? 1 : 0;
    return status;
  };
  RETURN_IF_ERROR(run->Load("events", run->size(), [&](int64_t i) {
    Chance chance(static_cast<uint64_t>(i) + 1);
    return record(&chance);
  }));
  auto roll_up = [&] { return rollups.Run().status(); };
  RETURN_IF_ERROR(run->Job("first run", roll_up));
  auto query = [&](Level level) {
    return [&rollups, level](Worker& w) {
      return rollups
          .Query(Numbered("user", w.chance.Below(kUsers)), level, bson::Date{kStart},
                 bson::Date{kStart + kHours * kHour})
          .status();
    };
  };
  RETURN_IF_ERROR(run->Work({{"record", 60, [&](Worker& w) { return record(&w.chance); }},
                             {"query days", 20, query(Level::kDay)},
                             {"query months", 20, query(Level::kMonth)}}));
  std::this_thread::sleep_for(2 * kMillisecond);
  RETURN_IF_ERROR(run->Job("second run", roll_up));
  RETURN_IF_ERROR(
      run->Explain("query days", "stats.daily",
                   Doc("_id.u", Numbered("user", 3), "_id.d",
                       Doc("$gte", bson::Date{kStart}, "$lt", bson::Date{kStart + kHours * kHour})),
                   Doc("_id.d", 1)));
  for (Level level : {Level::kHour, Level::kDay, Level::kWeek, Level::kMonth, Level::kYear}) {
    constexpr const char* kNames[] = {"minute", "hour", "day", "week", "month", "year"};
    ASSIGN_OR_RETURN(int64_t counted, CountedAt(rollups, level));
    run->Check(std::string("every event counts once in its ") + kNames[static_cast<size_t>(level)],
               counted == recorded, std::to_string(counted) + " of " + std::to_string(recorded));
  }
  return run->CheckInvariants(rollups);
}

}  // namespace

Status DemoRollups(DemoRun* run) { return run->Design("recomputed", RunRollups); }

}  // namespace quire::apps
