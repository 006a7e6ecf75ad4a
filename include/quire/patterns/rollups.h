// SPDX-License-Identifier: Apache-2.0
//
// Raw events rolled up by user into hours, days, weeks, months and years.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/buckets.h"
#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct RollupsOptions {
  // Events younger than this (by ingestion) wait for the next run: longer than any commit takes.
  std::chrono::milliseconds delay = std::chrono::seconds(60);
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  // A run saves how far it is after so many events, about, and every job renews its lease after so
  // many intervals. REQUIRES: > 0
  int64_t batch = 10'000;
  WeekStart week = WeekStart::kSunday;
  std::string worker = "worker";  // a name of its own for every worker
  // Sums can be made again from their events.
  Concerns concerns = KeptByPrimary();
  Seams seams = {};
};

struct RollupEvent {
  std::string user;
  bson::Date time;
  double length = 0;
};

struct RollupValue {
  bson::Date start;
  double total = 0;
  int64_t count = 0;
  double mean = 0;  // total / count
  double min = 0;
  double max = 0;
};

// Documents: events {_id, userid, ts, length, ing}; stats.hourly, .daily, .weekly, .monthly and
// .yearly {_id: {u, d}, value: {total, count, mean, min, max, ts}, token, late_ids}; agg_late {_id:
// event, u, d, length, applied}; my_sequence {_id, inc}; jobs (see lease.h); idempotency. Every
// level is computed anew from all of its inputs and replaced, never added to: runs may be repeated,
// crash and overlap. An hour computed anew counts the raw events that are still there: Close hours
// before their events are removed. Safe for concurrent use.
class Rollups {
 public:
  Rollups(const Client& client, std::string_view database, RollupsOptions options = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // With a key, which becomes the event's _id, the event is recorded once however often the call is
  // repeated while the event is there. Error: IdempotencyKeyReuse.
  Status Record(const RollupEvent& event, const CallKey& key = std::nullopt) const;

  // k consecutive numbers that nobody else gets: the first of them. Crashes leave gaps. With a key
  // repeating the call returns the same numbers.
  // REQUIRES: k > 0.
  Result<int64_t> ReserveIds(std::string_view sequence, int64_t k,
                             const CallKey& key = std::nullopt) const;
  // Forgets the keys of ReserveIds first used `retention` ago. skipped is 1 while another worker
  // does.
  Result<JobReport> PurgeKeys(std::chrono::milliseconds retention = std::chrono::hours(24)) const;

  // Rolls up what was recorded since the last run, up to `delay` ago, in batches: a run that is
  // broken off goes on where the last one ended. Does nothing while another worker holds the job
  // (skipped is 1). Error: LeaseLost.
  Result<JobReport> Run() const;

  // From now on the hours before `before` (of the hour it is in) are not computed anew: their raw
  // events may be removed once this returned, and what still comes for them is added, once each.
  // Hours never open again. Errors and skips as Run.
  Result<JobReport> Close(bson::Date before) const;

  // Computes every interval of [from, to) that has events, or is stored, anew at every level: also
  // what a run has missed or something else has written. Errors and skips as Run.
  Result<JobReport> Repair(bson::Date from, bson::Date to) const;

  // In the order of time; intervals without events are left out. REQUIRES: level is not kMinute.
  Result<std::vector<RollupValue>> Query(std::string_view user, Level level, bson::Date from,
                                         bson::Date to) const;

  // What is wrong, a line each, once a run has seen all that was recorded: hours that are still
  // computed and differ from their events, other intervals that differ from those they are made of,
  // and those that are missing.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
