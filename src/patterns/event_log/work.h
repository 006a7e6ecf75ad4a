// SPDX-License-Identifier: Apache-2.0
//
// All of an EventLog: its calls, and the steps they are made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "patterns/batch_size.h"
#include "patterns/event_log/units.h"
#include "quire/patterns/event_log.h"

namespace quire::patterns {

class EventLog::Work {
 public:
  Work(const Client& client, std::string_view database, EventLogOptions options);
  std::vector<IndexSpec> Indexes() const;
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;
  Result<InsertReport> InsertMany(const std::vector<bson::Document>& events,
                                  const EventInsertOptions& options) const;
  Result<ImportReport> Import(std::string_view source, std::istream* stream,
                              const ImportOptions& options) const;
  Result<Page> ByPath(std::string_view path, const PageRequest& page) const;
  Result<Page> ByTime(bson::Date from, bson::Date to, const PageRequest& page) const;
  Result<Page> ByHost(std::string_view host, bson::Date from, bson::Date to,
                      const PageRequest& page) const;
  Result<std::vector<DailyHits>> CountByDayAndPath(bson::Date from, bson::Date to) const;
  Result<JobReport> Rotate() const;
  Result<JobReport> DropExpired() const;
  Result<std::vector<std::pair<std::string, int64_t>>> IndexSizes() const;
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  // Events of one collection, by their place in the caller's list.
  struct Batch {
    EventUnit unit;
    std::vector<size_t> indexes;
    BatchSize size;
  };
  Status Send(const Batch& batch, const std::vector<bson::Document>& events,
              const EventInsertOptions& options, InsertReport* report) const;
  Result<Page> Query(const bson::Document& equality, bson::Date from, bson::Date to,
                     const PageRequest& page) const;
  bson::Date Oldest() const;
  Status Read(const std::vector<EventUnit>& units, const bson::Document& filter, int64_t limit,
              std::vector<bson::Document>* documents) const;
  Result<std::vector<bson::Document>> Merged(const std::vector<EventUnit>& units,
                                             const bson::Document& filter, int64_t limit) const;
  // Takes the events out of the batch that an archive has.
  Status LeaveArchived(Batch* batch, const std::vector<bson::Document>& events, bool ordered,
                       std::vector<InsertError>* found) const;
  bson::Document Shaped(const bson::Document& event) const;

  EventLogOptions options_;
  Store store_;
  mutable EventUnits units_;  // locks what it remembers
};

}  // namespace quire::patterns
