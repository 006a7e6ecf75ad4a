// SPDX-License-Identifier: Apache-2.0
//
// Samples of monitored machines: imported from files in a folder, kept by day, queried by host,
// parameter and time, summed by day and month.
//
//   patterns::Perf perf(client, "monitoring", {.worker = host_name});
//   perf.ScanFolder("/var/spool/perf", ".csv");   // every minute, on any number of machines
//   perf.Rollup();                                // every hour
//   auto day = perf.ByHost("db7", from, to, {.limit = 1000});
//   auto sums = perf.Aggregate({.host = true, .day = true}, from, to);
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/buckets.h"
#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/index_advice.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct PerfSample {
  std::string host;
  bson::Date time;
  std::string parameter;
  double value = 0;
  std::string ip{};
  std::string node{};
};

struct PerfInsertReport {
  int64_t inserted = 0;
  int64_t duplicates = 0;
  int64_t expired = 0;  // older than the horizon: not stored
  // AppliedButNotConfirmed when a write concern was not met in time.
  Status confirmation{};
};

// What a result of Aggregate is about; a field that is not grouped by is empty.
struct PerfGroup {
  bool host = false;
  bool parameter = false;
  bool day = false;
  bool month = false;
};

struct PerfSum {
  std::string host{};
  std::string parameter{};
  std::string day{};    // "20130522"
  std::string month{};  // "201305"
  int64_t count = 0;
  double sum = 0;
  double mean = 0;
  double min = 0;
  double max = 0;
  double deviation = 0;  // of the whole population
};

struct PerfOptions {
  std::chrono::hours horizon =
      std::chrono::hours(24 * 183);  // whole days older than it are dropped
  std::chrono::milliseconds settle = std::chrono::seconds(30);  // a file is left alone that long
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  // Samples younger than that (by ingestion) wait for the next roll-up.
  std::chrono::milliseconds delay = std::chrono::seconds(60);
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  size_t batch_lines = 1000;
  double max_rejected = 0.1;      // share of a file's lines; above, the file has failed
  std::string worker = "worker";  // a name of its own for every worker
  // Of what is not given a concern of its own: the primary's word is enough.
  Concerns concerns = KeptByPrimary();
  Seams seams = {};
};

// Documents: perf_YYYYMMDD, by the day of the sample, {_id, Host, GeneratedOn, ParameterName,
// Value, Ip, Node, ing, ssk}; perf_catalog {_id: day, count, min, max, changed, token};
// import_files {_id, path, prefix, size, size_at, state, offset, line, lines, inserted, duplicates,
// rejected, owner, until, claim, errors, error}; perf_daily and perf_monthly {_id: {h, p, d:
// start}, count, sum, min, max, sumsq, ts, token}; jobs (see lease.h); idempotency. Safe for
// concurrent use.
class Perf {
 public:
  Perf(const Client& client, std::string_view database, PerfOptions options = {});

  // Of a day's collection, and of the others.
  static std::vector<IndexSpec> DayIndexes(std::string_view collection);
  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  // Days get theirs when they are first written to.
  Status CreateIndexes() const;
  // Also of the days that exist.
  Result<std::vector<std::string>> MissingIndexes() const;

  // `concern` is MongoDB's write concern: {w: 0}, {w: 1}, {j: true, w: 2}... With {w: 0} no error
  // is seen and nothing is counted. With a key samples are stored once: a repeat of a call that did
  // not end counts as duplicates what the first try has stored. Errors: BadTimestamp (after the
  // year 9999), BadNumber (not finite): nothing is stored; IdempotencyKeyReuse.
  Result<PerfInsertReport> Insert(const PerfSample& sample, const bson::Document& concern = {},
                                  const CallKey& key = std::nullopt) const;
  Result<PerfInsertReport> InsertMany(const std::vector<PerfSample>& samples,
                                      const bson::Document& concern = {},
                                      const CallKey& key = std::nullopt) const;

  // In the order of (GeneratedOn, _id), over [from, to). Error: BadCursor.
  Result<Page> ByHost(std::string_view host, bson::Date from, bson::Date to,
                      const PageRequest& page) const;
  Result<Page> ByRange(bson::Date from, bson::Date to, const PageRequest& page) const;
  Result<Page> ByHostAndParameter(std::string_view host, std::string_view parameter,
                                  bson::Date from, bson::Date to, const PageRequest& page) const;
  // The newest sample of a host. Error: NotFound.
  Result<bson::Document> Latest(std::string_view host) const;

  // Sums of [from, to), in the order of their fields.
  Result<std::vector<PerfSum>> Aggregate(const PerfGroup& by, bson::Date from, bson::Date to) const;
  // The same of a host's parameter from the roll-ups: whole days or months that begin in [from,
  // to).
  Result<std::vector<PerfSum>> Daily(std::string_view host, std::string_view parameter,
                                     bson::Date from, bson::Date to) const;
  Result<std::vector<PerfSum>> Monthly(std::string_view host, std::string_view parameter,
                                       bson::Date from, bson::Date to) const;

  // {GeneratedOn, Host} against {Host, GeneratedOn} for a host's samples of one day, best first.
  Result<std::vector<IndexTrial>> ExplainOrders(std::string_view host, bson::Date from,
                                                bson::Date to) const;

  // Imports the files of a folder whose names end with `suffix` and that did not change for
  // `settle`, and moves them to processed/ or, with a report, to failed/ beside them: under a name
  // that no file there has. changed counts files; skipped those that others import or that still
  // change.
  Result<JobReport> ScanFolder(const std::string& folder, std::string_view suffix) const;

  // Drops the days before the horizon, and keys after tombstone_retention.
  Result<JobReport> DropExpired() const;
  // Sums the days that got samples since the last run, and their months, anew. skipped is 1 while
  // another worker does. Error: LeaseLost.
  Result<JobReport> Rollup() const;

  // What is wrong, a line each: samples of another day, counters that do not add up, roll-ups (of
  // days that still exist and got nothing since, and their months) that differ from their samples.
  // A day of which a delayed write (tombstone_retention) may have been the last is left to the next
  // roll-up.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
