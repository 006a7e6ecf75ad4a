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
struct EventLog::Unit {
  std::string database;
  std::string collection;
  bson::Date from;
  bson::Date to;

  bool operator<(const Unit& other) const {
    return std::tie(database, collection) < std::tie(other.database, other.collection);
  }
};

// Safe for concurrent use.
class EventLog::Units {
 public:
  Units(Client client, std::string database, const EventLogOptions& options);

  std::vector<IndexSpec> Indexes(const Unit& unit) const;

  // Where an event of that time belongs.
  Unit For(bson::Date time) const;
  // Whether events of the unit (or, in one collection, of that time) are not kept any more.
  bool Expired(const Unit& unit, bson::Date time) const;
  // Whether the unit is one of several, wholly before the horizon.
  bool Droppable(const Unit& unit) const;
  // Makes the collection and its indexes the first time it is used.
  Status Prepare(const Unit& unit);
  // Those that exist and overlap [from, to), in the order of time (archives: of their ends, and
  // `events` first).
  Result<std::vector<Unit>> Existing(bson::Date from, bson::Date to) const;
  Status Drop(const Unit& unit);
  // The archives alone, of rename-based rotation, by name.
  Result<std::vector<Unit>> Archives(bson::Date from, bson::Date to) const;
  // Calls `visit` with {_id} of every event of the unit that one of the others has, too.
  Status Doubles(const Unit& unit, const std::vector<Unit>& others,
                 const std::function<Status(const bson::Document&)>& visit) const;
  // Rename-based rotation.
  Result<JobReport> Rotate();
  Store In(const Unit& unit) const {
    return Store(client_, unit.database, options_.seams, options_.concerns);
  }

 private:
  Result<std::vector<std::string>> Names() const;
  bool renamed() const { return options_.retention == Retention::kRenamedCollections; }
  Unit Current() const;
  Store Here() const { return Store(client_, database_, options_.seams, options_.concerns); }
  Result<bool> Exists(std::string_view collection) const;
  Status Rename(std::string_view from, std::string_view to) const;
  Status Restore();
  Result<std::string> MoveAway() const;
  Status SettleArchives(JobReport* report) const;
  Status LeaveOutDoubles(const Unit& archive, const std::vector<Unit>& earlier,
                         JobReport* report) const;
  Status Register(const Unit& archive) const;
  Status ForgetDropped() const;

  Client client_;
  const std::string database_;
  const EventLogOptions options_;
  Mutex mutex_;
  std::set<Unit> prepared_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::patterns
