// SPDX-License-Identifier: Apache-2.0
#include "patterns/event_log/units.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "quire/error.h"
#include "quire/patterns/buckets.h"

namespace quire::patterns {

namespace {

constexpr bson::Date kEver{std::numeric_limits<int64_t>::min()};
constexpr bson::Date kNever{std::numeric_limits<int64_t>::max()};

bool AllDigits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The start of the day or month that a name ends with; nothing when it ends otherwise.
std::optional<bson::Date> TimeOfName(std::string_view name, std::string_view prefix, bool daily) {
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  if (name.size() != (daily ? 8u : 6u) || !AllDigits(name)) {
    return std::nullopt;
  }
  auto number = [&](size_t at, size_t size) {
    return std::stoi(std::string(name.substr(at, size)));
  };
  CivilTime civil{number(0, 4), number(4, 2), daily ? number(6, 2) : 1, 0, 0, 0};
  return IsValid(civil) ? std::optional<bson::Date>(ToDate(civil)) : std::nullopt;
}

}  // namespace

EventUnits::EventUnits(Client client, std::string database, const EventLogOptions& options)
    : client_(std::move(client)), database_(std::move(database)), options_(options) {}

std::vector<IndexSpec> EventUnits::Indexes(const EventUnit& unit) const {
  std::vector<IndexSpec> indexes = {{unit.collection, R"({"path": 1, "time": 1, "_id": 1})"},
                                    {unit.collection, R"({"time": 1, "_id": 1})"},
                                    {unit.collection, R"({"host": 1, "time": 1, "_id": 1})"}};
  if (options_.retention == Retention::kTtl) {
    const int64_t seconds =
        std::chrono::duration_cast<std::chrono::seconds>(options_.horizon).count();
    indexes.push_back({unit.collection, R"({"time": 1})", false, seconds});
  }
  return indexes;
}

EventUnit EventUnits::Current() const { return {database_, kEvents, kEver, kNever}; }

EventUnit EventUnits::For(bson::Date time) const {
  switch (options_.retention) {
    case Retention::kCapped:
    case Retention::kTtl:
    case Retention::kRenamedCollections:
      return Current();
    case Retention::kDailyCollections:
      return {database_, std::string(kEvents) + "_" + DayKey(time), BucketStart(time, Level::kDay),
              NextBucket(time, Level::kDay)};
    case Retention::kMonthlyDatabases:
      break;
  }
  return {database_ + "_" + MonthKey(time), kEvents, BucketStart(time, Level::kMonth),
          NextBucket(time, Level::kMonth)};
}

bool EventUnits::Expired(const EventUnit& unit, bson::Date time) const {
  const int64_t cutoff = options_.seams.clock->Now().millis - options_.horizon.count();
  switch (options_.retention) {
    case Retention::kCapped:
      return false;
    case Retention::kTtl:
    case Retention::kRenamedCollections:
      return time.millis <= cutoff;
    case Retention::kDailyCollections:
    case Retention::kMonthlyDatabases:
      break;
  }
  return unit.to.millis <= cutoff;
}

bool EventUnits::Droppable(const EventUnit& unit) const {
  switch (options_.retention) {
    case Retention::kCapped:
    case Retention::kTtl:
      return false;
    case Retention::kDailyCollections:
    case Retention::kMonthlyDatabases:
    case Retention::kRenamedCollections:
      break;
  }
  return unit.to.millis <= options_.seams.clock->Now().millis - options_.horizon.count();
}

Status EventUnits::Prepare(const EventUnit& unit) {
  bool known = false;
  {
    MutexLock lock(mutex_);
    known = prepared_.contains(unit);
  }
  if (known && renamed()) {  // a rotation may have crashed when it was away
    ASSIGN_OR_RETURN(known, Exists(kEvents));
  }
  if (known) {
    return Status::Ok();
  }
  if (renamed()) {
    RETURN_IF_ERROR(Restore());
  }
  if (options_.retention == Retention::kCapped) {
    Status made =
        client_.GetDatabase(unit.database)
            .CreateCollection(unit.collection, {.capped = true,
                                                .size = options_.capped_bytes,
                                                .max_documents = options_.capped_documents});
    if (made.code() != kNamespaceExists) {
      RETURN_IF_ERROR(made);
    }
  }
  RETURN_IF_ERROR(In(unit).CreateIndexes(Indexes(unit)));
  MutexLock lock(mutex_);
  prepared_.insert(unit);
  return Status::Ok();
}

Result<std::vector<std::string>> EventUnits::Names() const {
  if (options_.retention == Retention::kMonthlyDatabases) {
    return Client(client_).ListDatabaseNames();
  }
  return client_.GetDatabase(database_).ListCollectionNames();
}

Result<std::vector<EventUnit>> EventUnits::Existing(bson::Date from, bson::Date to) const {
  if (options_.retention == Retention::kCapped || options_.retention == Retention::kTtl) {
    return std::vector<EventUnit>{For(from)};
  }
  if (renamed()) {
    ASSIGN_OR_RETURN(std::vector<EventUnit> units, Archives(from, to));
    units.insert(units.begin(), Current());
    return units;
  }
  const bool daily = options_.retention == Retention::kDailyCollections;
  const std::string prefix = (daily ? std::string(kEvents) : database_) + "_";
  ASSIGN_OR_RETURN(std::vector<std::string> names, Names());
  std::vector<EventUnit> units;
  for (const std::string& name : names) {
    if (std::optional<bson::Date> start = TimeOfName(name, prefix, daily)) {
      EventUnit unit = For(*start);
      if (unit.from.millis < to.millis && unit.to.millis > from.millis) {
        units.push_back(std::move(unit));
      }
    }
  }
  std::sort(units.begin(), units.end());
  return units;
}

Status EventUnits::Drop(const EventUnit& unit) {
  {
    MutexLock lock(mutex_);
    prepared_.erase(unit);
  }
  const Store store = In(unit);
  if (options_.retention == Retention::kMonthlyDatabases) {
    return store.DropDatabase();
  }
  RETURN_IF_ERROR(store.Drop(unit.collection));
  return renamed() ? ForgetDropped() : Status::Ok();
}

}  // namespace quire::patterns
