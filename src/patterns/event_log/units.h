// SPDX-License-Identifier: Apache-2.0
//
// The collections an event log is spread over: one, or one per day or month.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/mutex.h"
#include "quire/patterns/event_log.h"

namespace quire::patterns {

inline constexpr char kEvents[] = "events";

// A collection of events and the interval [from, to) of the times in it.
struct EventUnit {
  std::string database;
  std::string collection;
  bson::Date from;
  bson::Date to;

  bool operator<(const EventUnit& other) const {
    return std::tie(database, collection) < std::tie(other.database, other.collection);
  }
};

// Safe for concurrent use.
class EventUnits {
 public:
  EventUnits(Client client, std::string database, const EventLogOptions& options);

  std::vector<IndexSpec> Indexes(const EventUnit& unit) const;

  // Where an event of that time belongs.
  EventUnit For(bson::Date time) const;
  // Whether events of the unit (or, in one collection, of that time) are not kept any more.
  bool Expired(const EventUnit& unit, bson::Date time) const;
  // Whether the unit is one of several, wholly before the horizon.
  bool Droppable(const EventUnit& unit) const;
  // Makes the collection and its indexes the first time it is used.
  Status Prepare(const EventUnit& unit);
  // The units that exist and overlap [from, to), in the order of time (archives: of their ends, and
  // `events` first).
  Result<std::vector<EventUnit>> Existing(bson::Date from, bson::Date to) const;
  Status Drop(const EventUnit& unit);
  // The archives alone, of rename-based rotation, by name.
  Result<std::vector<EventUnit>> Archives(bson::Date from, bson::Date to) const;
  // Calls `visit` with {_id} of every event of the unit that one of the others has, too.
  Status Doubles(const EventUnit& unit, const std::vector<EventUnit>& others,
                 const std::function<Status(const bson::Document&)>& visit) const;
  // Rename-based rotation.
  Result<JobReport> Rotate();
  Store In(const EventUnit& unit) const {
    return Store(client_, unit.database, options_.seams, options_.concerns);
  }

 private:
  Result<std::vector<std::string>> Names() const;
  bool renamed() const { return options_.retention == Retention::kRenamedCollections; }
  EventUnit Current() const;
  Store Here() const { return Store(client_, database_, options_.seams, options_.concerns); }
  Result<bool> Exists(std::string_view collection) const;
  Status Rename(std::string_view from, std::string_view to) const;
  Status Restore();
  Result<std::string> MoveAway() const;
  Status SettleArchives(JobReport* report) const;
  Status LeaveOutDoubles(const EventUnit& archive, const std::vector<EventUnit>& earlier,
                         JobReport* report) const;
  Status Register(const EventUnit& archive) const;
  Status ForgetDropped() const;

  Client client_;
  const std::string database_;
  const EventLogOptions options_;
  Mutex mutex_;
  std::set<EventUnit> prepared_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::patterns
