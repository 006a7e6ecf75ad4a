// SPDX-License-Identifier: Apache-2.0
//
// Rotation by renaming: `events` becomes an archive, and `events_next`, which has the indexes
// already, becomes `events`. Whatever crashes between leaves no `events`: the next writer, rotation
// or start puts `events_next` in its place. A writer that was under way may have made `events`
// meanwhile: then that is the new one, and gets its indexes.
#include <algorithm>
#include <limits>
#include <map>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/event_log/units.h"
#include "patterns/walk.h"
#include "quire/error.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kNext[] = "events_next";
constexpr char kArchivePrefix[] = "events_until_";
constexpr char kCatalog[] = "event_archives";
constexpr char kRotate[] = "event_log.rotate";
constexpr int kAttempts = 10;
constexpr bson::Date kEver{std::numeric_limits<int64_t>::min()};
constexpr bson::Date kNever{std::numeric_limits<int64_t>::max()};

// "20200913122640000": as text in the order of time.
std::string TimeText(int64_t millis) {
  const CivilTime at = ToCivil(bson::Date{millis});
  auto digits = [](int64_t value, size_t width) {
    std::string text = std::to_string(value);
    return std::string(width - std::min(width, text.size()), '0') + text;
  };
  return DayKey(bson::Date{millis}) + digits(at.hour, 2) + digits(at.minute, 2) +
         digits(at.second, 2) + digits((millis % 1000 + 1000) % 1000, 3);
}

}  // namespace

Result<bool> EventUnits::Exists(std::string_view collection) const {
  ASSIGN_OR_RETURN(Document reply, Here().Run(Doc("listCollections", 1, "nameOnly", true, "filter",
                                                  Doc("name", collection))));
  return At(reply, "cursor.firstBatch").AsArray().Count() > 0;
}

Status EventUnits::Rename(std::string_view from, std::string_view to) const {
  return Store(client_, "admin", options_.seams)
      .RunWrite(Doc("renameCollection", database_ + "." + std::string(from), "to",
                    database_ + "." + std::string(to)))
      .status();
}

// Afterwards there is `events`, with its indexes.
Status EventUnits::Restore() {
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(bool there, Exists(kEvents));
    if (!there) {
      ASSIGN_OR_RETURN(bool prepared, Exists(kNext));
      if (prepared) {
        Status renamed = Rename(kNext, kEvents);
        if (renamed.code() == kNamespaceExists || renamed.code() == kNamespaceNotFound) {
          continue;  // another was faster
        }
        RETURN_IF_ERROR(renamed);
        RETURN_IF_ERROR(options_.seams.After("event_log.restore.c1"));
      }
    }
    return Here().CreateIndexes(Indexes(Current()));
  }
  return MakeError(Error::kContention, "others keep rotating the log");
}

// The archive's name; empty when another has taken `events` away.
Result<std::string> EventUnits::MoveAway() const {
  int64_t until = options_.seams.clock->Now().millis;
  for (int i = 0; i < kAttempts; ++i, ++until) {
    const std::string archive = kArchivePrefix + TimeText(until);
    Status renamed = Rename(kEvents, archive);
    if (renamed.code() == kNamespaceNotFound) {
      return std::string();
    }
    if (renamed.code() != kNamespaceExists) {
      RETURN_IF_ERROR(renamed);
      return archive;
    }
  }
  return MakeError(Error::kContention, "too many rotations in a moment");
}

Result<JobReport> EventUnits::Rotate() {
  if (!renamed()) {
    return JobReport{};
  }
  Lease lease(Here(), kRotate, options_.worker, options_.lease);
  return RunLeased(lease, [&]() -> Result<JobReport> {
    JobReport report;
    RETURN_IF_ERROR(Restore());
    ASSIGN_OR_RETURN(auto any, Here().FindOne(kEvents, Doc(), {.sort = Doc("time", 1, "_id", 1)}));
    if (any) {
      EventUnit next = Current();
      next.collection = kNext;
      RETURN_IF_ERROR(Here().CreateIndexes(Indexes(next)));
      RETURN_IF_ERROR(options_.seams.After(kRotate, 1));
      ASSIGN_OR_RETURN(std::string archive, MoveAway());
      RETURN_IF_ERROR(options_.seams.After(kRotate, 2));
      RETURN_IF_ERROR(Restore());
      RETURN_IF_ERROR(options_.seams.After(kRotate, 3));
      report.changed += archive.empty() ? 0 : 1;
    }
    RETURN_IF_ERROR(SettleArchives(&report));
    return report;
  });
}

Result<std::vector<EventUnit>> EventUnits::Archives(bson::Date from, bson::Date to) const {
  ASSIGN_OR_RETURN(std::vector<std::string> names, Names());
  ASSIGN_OR_RETURN(auto entries, Here().Find(kCatalog, Doc(), {.sort = Doc("_id", 1)}));
  std::map<std::string_view, const Document*> known;
  for (const Document& entry : entries) {
    known[TextAt(entry, "_id")] = &entry;
  }
  std::vector<EventUnit> archives;
  for (const std::string& name : names) {
    if (!name.starts_with(kArchivePrefix)) {
      continue;
    }
    EventUnit unit{database_, name, kEver, kNever};  // until it is in the catalog
    if (auto entry = known.find(name); entry != known.end()) {
      unit.from = (*entry->second)["from"].AsDate();
      unit.to = (*entry->second)["to"].AsDate();
    }
    if (unit.from.millis < to.millis && unit.to.millis > from.millis) {
      archives.push_back(std::move(unit));
    }
  }
  std::sort(archives.begin(), archives.end());
  return archives;
}

Status EventUnits::SettleArchives(JobReport* report) const {
  ASSIGN_OR_RETURN(std::vector<EventUnit> archives, Archives(kEver, kNever));
  std::vector<EventUnit> earlier;
  for (const EventUnit& archive : archives) {
    report->examined += 1;
    if (archive.to.millis == kNever.millis) {
      RETURN_IF_ERROR(LeaveOutDoubles(archive, earlier, report));
      RETURN_IF_ERROR(Register(archive));
      RETURN_IF_ERROR(options_.seams.After(kRotate, 5));
    }
    earlier.push_back(archive);
  }
  return Status::Ok();
}

Status EventUnits::Doubles(const EventUnit& unit, const std::vector<EventUnit>& others,
                           const std::function<Status(const Document&)>& visit) const {
  if (others.empty()) {
    return Status::Ok();
  }
  auto look = [&](const std::vector<Document>& events) -> Status {
    std::vector<bson::OwnedValue> ids;
    for (const Document& event : events) {
      ids.emplace_back(event["_id"]);
    }
    for (const EventUnit& other : others) {
      ASSIGN_OR_RETURN(auto twice,
                       Here().Find(other.collection, Doc("_id", Doc("$in", ListOf(ids))),
                                   {.projection = Doc("_id", 1)}));
      for (const Document& event : twice) {
        RETURN_IF_ERROR(visit(event));
      }
    }
    return Status::Ok();
  };
  return WalkBatches(Here(), unit.collection, Doc("_id", 1), look);
}

// Who repeated a call while the log was rotated may have stored its events again.
Status EventUnits::LeaveOutDoubles(const EventUnit& archive, const std::vector<EventUnit>& earlier,
                                   JobReport* report) const {
  return Doubles(archive, earlier, [&](const Document& event) -> Status {
    ASSIGN_OR_RETURN(int64_t deleted, Here().DeleteOne(archive.collection, event));
    report->changed += deleted;
    return options_.seams.After(kRotate, 4);
  });
}

// Writes the times of the archive's events down. Nobody adds to an archive.
Status EventUnits::Register(const EventUnit& archive) const {
  bson::Date ends[2] = {{0}, {-1}};
  for (int i = 0; i < 2; ++i) {
    const int32_t order = i == 0 ? 1 : -1;
    ASSIGN_OR_RETURN(auto found, Here().FindOne(archive.collection, Doc(),
                                                {.sort = Doc("time", order, "_id", order)}));
    if (found) {
      ends[i] = (*found)["time"].AsDate();
    }
  }
  const Document interval = Doc("from", ends[0], "to", bson::Date{ends[1].millis + 1});
  Status registered =
      Here()
          .UpdateOne(kCatalog, Doc("_id", archive.collection), Doc("$set", interval), true)
          .status();
  return IsDuplicateKey(registered) ? Status::Ok() : registered;
}

Status EventUnits::ForgetDropped() const {
  ASSIGN_OR_RETURN(std::vector<std::string> names, Names());
  return Here().DeleteMany(kCatalog, Doc("_id", Doc("$nin", ListOf(names)))).status();
}

}  // namespace quire::patterns
