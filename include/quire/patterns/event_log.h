// SPDX-License-Identifier: Apache-2.0
//
// Events at a high rate, searched by page, host and time, with a bounded history.
//
//   patterns::EventLog log(client, "logs", {.retention = patterns::Retention::kDailyCollections});
//   std::ifstream file("access.log");
//   auto report = log.Import("web1:access.log", &file, {});
//   auto page = log.ByHost("127.0.0.1", from, to, {.limit = 50});
#pragma once

#include <chrono>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/log_lines.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

enum class Retention {
  kCapped,            // `events`, a capped collection: the oldest go when it is full
  kTtl,               // `events`, deleted in the background once they are older than the horizon
  kDailyCollections,  // `events_YYYYMMDD`, dropped whole by DropExpired
  kMonthlyDatabases,  // `events` in databases `<database>_YYYYMM`, dropped whole: returns the disk
  kRenamedCollections,  // `events`, which Rotate renames to `events_until_TIME`, dropped whole.
                        // Not for sharded collections, which MongoDB 4.4 does not rename.
};

// What of an event is kept.
enum class Profile {
  kFull,
  kMinimal,  // host, time, path, referrer, user_agent
  kRaw,      // line, and time
};

struct EventLogOptions {
  Retention retention = Retention::kDailyCollections;
  std::chrono::milliseconds horizon = std::chrono::hours(24 * 30);  // not for kCapped
  int64_t capped_bytes = 64 << 20;
  int64_t capped_documents = 0;  // 0: bytes alone decide
  Profile profile = Profile::kFull;
  std::string worker = "worker";  // a name of its own for every process that runs the jobs
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  // Of what is not given a concern of its own: the primary's word is enough.
  Concerns concerns = KeptByPrimary();
  Seams seams = {};
};

struct InsertError {
  size_t index = 0;  // in the caller's list
  int code = 0;
  std::string message;
};

struct EventInsertOptions {
  bool ordered = false;         // ends at the first event that fails; otherwise all are tried
  bson::Document concern = {};  // MongoDB's write concern; with {w: 0} no error is seen
};

struct InsertReport {
  int64_t inserted = 0;
  int64_t dropped_late = 0;  // older than the horizon: not stored
  std::vector<InsertError> errors;
  // AppliedButNotConfirmed when a write concern was not met in time; a retry uses the same _ids,
  // which the caller has given.
  Status confirmation;
};

struct ImportOptions {
  enum class Format { kApache, kMonitorCsv };
  Format format = Format::kApache;
  // Where to go on: resume_offset and the line number after the last one of an earlier report.
  int64_t offset = 0;
  int64_t line = 0;
  bool final = false;  // the last line counts even without its newline
};

struct RejectedLine {
  int64_t line = 0;  // from 1
  std::string reason;
};

// lines = inserted + duplicates + rejected.size() + dropped_late.
struct ImportReport {
  int64_t lines = 0;
  int64_t inserted = 0;
  int64_t duplicates = 0;
  int64_t dropped_late = 0;
  std::vector<RejectedLine> rejected;
  int64_t resume_offset = 0;
  int64_t resume_line = 0;
};

struct DailyHits {
  std::string path;
  int32_t year = 0;
  int32_t month = 0;
  int32_t day = 0;
  int64_t hits = 0;
};

// Documents: events {_id, host, logname, user, time, request, method, path, protocol, status,
// response_size, referrer, user_agent, ssk}; ssk is a hash of _id for the shard key. With
// kRenamedCollections also event_archives {_id: collection, from, to}; jobs (see lease.h). An event
// that was stored again while the log was rotated may be counted twice, though not read
// twice, until the next rotation has ended. Safe for concurrent use.
class EventLog {
 public:
  EventLog(const Client& client, std::string_view database, EventLogOptions options = {});

  // Of every collection of events.
  std::vector<IndexSpec> Indexes() const;
  static const std::vector<ShardKeySpec>& ShardKeys();
  // Makes the collection (the one of this moment, with rotation) and its indexes, and ends a
  // rotation that crashed; writing does so by itself.
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // Stores events, each with a `time`; an _id is made up where there is none. Errors of the whole
  // call: BadTime (an event without one; nothing is stored), and MongoDB's (BadValue...), after
  // which some may be.
  Result<InsertReport> InsertMany(const std::vector<bson::Document>& events,
                                  const EventInsertOptions& options = {}) const;

  // Reads lines and stores their events. The _id of an event is made of the source's name, the
  // line's number and text: importing again adds nothing.
  Result<ImportReport> Import(std::string_view source, std::istream* stream,
                              const ImportOptions& options) const;

  // In the order of (time, _id). Error: BadCursor.
  Result<Page> ByPath(std::string_view path, const PageRequest& page) const;
  Result<Page> ByTime(bson::Date from, bson::Date to, const PageRequest& page) const;
  Result<Page> ByHost(std::string_view host, bson::Date from, bson::Date to,
                      const PageRequest& page) const;
  // By path, then day.
  Result<std::vector<DailyHits>> CountByDayAndPath(bson::Date from, bson::Date to) const;

  // kRenamedCollections: what was stored so far becomes an archive (changed is 1; 0 when there is
  // nothing). Nothing to do otherwise. skipped is 1 while another worker is at it.
  Result<JobReport> Rotate() const;
  // Drops rotated collections or databases that lie wholly before the horizon. skipped is 1 while
  // another worker is at it.
  Result<JobReport> DropExpired() const;
  // Bytes of each index over all collections, by name.
  Result<std::vector<std::pair<std::string, int64_t>>> IndexSizes() const;

  // What is wrong, a line each: events in a collection of another time, or, once a rotation has
  // ended, in two collections.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
