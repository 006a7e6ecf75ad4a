// SPDX-License-Identifier: Apache-2.0
//
// Hit counts per site and page, up to the minute, without looking at events again.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/buckets.h"
#include "quire/patterns/error.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

enum class ReportLayout {
  kFlat,          // stats.daily with minutes "0".."1439"
  kHierarchical,  // stats.daily with minutes by hour: fewer fields to skip over
  kSplit,         // the same, and stats.monthly with a count per day: long histories in few reads
};

struct ReportsOptions {
  ReportLayout layout = ReportLayout::kSplit;
  // Of one page; above 0, hits make the next day's document beforehand with that chance.
  int64_t expected_hits_per_day = 0;
  // Documents a page's day is spread over, for one very busy page. Like the layout the same for all
  // that write to the database.
  int32_t stripes = 1;
  // How old a batch may be: within it no document gets more than 1000 batches.
  std::chrono::milliseconds batch_retention = std::chrono::hours(1);
  // Counters: a failover may take the last hits.
  Concerns concerns = KeptByPrimary();
  Seams seams = {};
};

struct Hit {
  bson::Date time;
  std::string site;  // without "/"
  std::string page;  // starts with "/"
  int64_t count = 1;
};

struct ReportPoint {
  bson::Date start;
  int64_t hits = 0;
};

// Documents: stats.daily {_id: "YYYYMMDD/site/page", metadata: {date, site, page}, daily, hourly,
// minute, batches}, stats.monthly {_id: "YYYYMM/site/page", metadata, daily: {"1".."31"}, batches}.
// Safe for concurrent use.
class Reports {
 public:
  Reports(const Client& client, std::string_view database, ReportsOptions options = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // Counts at least once: after an error (HostUnreachable...) the hit may be counted or not, and
  // kSplit's month may lack it until RebuildMonth. Error: InvalidName.
  Status LogHit(const Hit& hit) const;

  // Counts the hits of a batch exactly once, however often it is repeated with the same id within
  // batch_retention of `made`. Errors: InvalidName, StaleBatch (nothing is counted).
  Status LogBatch(std::string_view batch, bson::Date made, const std::vector<Hit>& hits) const;

  // Makes the documents of that day (and its month) with all counts 0 unless they exist.
  Status Preallocate(bson::Date day, std::string_view site, std::string_view page) const;

  // One point per minute, hour or day of [from, to), 0 where nothing was counted.
  // REQUIRES: level is kMinute, kHour or kDay.
  Result<std::vector<ReportPoint>> Series(std::string_view site, std::string_view page,
                                          bson::Date from, bson::Date to, Level level) const;

  // Sets a month's days from the daily documents. Nothing to do but with kSplit. Error: Contention
  // (the month keeps changing).
  Status RebuildMonth(bson::Date month, std::string_view site, std::string_view page) const;

  // What is wrong, a line each: hours that are not the sum of their minutes, days not that of their
  // hours, and months (which may lack hits of LogHit until RebuildMonth) not that of their days.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
