// SPDX-License-Identifier: Apache-2.0
//
// What is read from an event log, over all collections it is spread over.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/event_log/work.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr bson::Date kEver{std::numeric_limits<int64_t>::min()};
constexpr bson::Date kNever{std::numeric_limits<int64_t>::max()};

// A part of the log that a query reads.
struct Interval {
  bson::Date from;
  bson::Date to;
  Document filter;
};

Interval Between(const Document& equality, bson::Date from, bson::Date to) {
  bson::Builder filter;
  filter.AppendFields(equality);
  if (from.millis != kEver.millis || to.millis != kNever.millis) {
    filter.BeginDocument("time");
    if (from.millis != kEver.millis) {
      filter.Append("$gte", from);
    }
    if (to.millis != kNever.millis) {
      filter.Append("$lt", to);
    }
    filter.End();
  }
  return {from, to, filter.Finish()};
}

// The rest of a time after that id: of the same type or a later one, which $gt would leave out.
Interval AtTime(const Document& equality, bson::Date time, const bson::Value& id) {
  bson::Builder filter;
  filter.AppendFields(equality).Append("time", time);
  filter.Append("$expr", Doc("$gt", List("$_id", Doc("$literal", id))));
  return {time, {time.millis + 1}, filter.Finish()};
}

// [from, to) after the event at `after` (time and _id; none when it is empty), in order. Events of
// one time may have ids of several types: made up, and of lines.
std::vector<Interval> Intervals(const Document& equality, bson::Date from, bson::Date to,
                                bson::View after) {
  const bson::Date time = after.empty() ? kEver : after["time"].AsDate();
  if (after.empty() || time < from) {
    return {Between(equality, from, to)};
  }
  if (time >= to) {
    return {};
  }
  return {AtTime(equality, time, after["_id"]), Between(equality, {time.millis + 1}, to)};
}

}  // namespace

// What is older has expired, though the background, or the next drop, has not deleted it yet.
bson::Date EventLog::Work::Oldest() const {
  return options_.retention == Retention::kTtl ||
                 options_.retention == Retention::kRenamedCollections
             ? bson::Date{store_.Ago(options_.horizon).millis + 1}
             : kEver;
}

Result<Page> EventLog::Work::Query(const Document& equality, bson::Date from, bson::Date to,
                                   const PageRequest& page) const {
  ASSIGN_OR_RETURN(const Document after, DecodeTimedPageEnd(page.after));
  from = std::max(from, Oldest());
  ASSIGN_OR_RETURN(const std::vector<EventUnit> units,
                   units_.Existing(after.empty() ? from : after["time"].AsDate(), to));
  Page result;
  for (const Interval& interval : Intervals(equality, from, to, after)) {
    std::vector<EventUnit> overlapping;
    std::copy_if(units.begin(), units.end(), std::back_inserter(overlapping),
                 [&](const EventUnit& u) { return u.from < interval.to && u.to > interval.from; });
    RETURN_IF_ERROR(Read(overlapping, interval.filter, page.limit, &result.documents));
  }
  if (static_cast<int64_t>(result.documents.size()) == page.limit && page.limit > 0) {
    const Document& last = result.documents.back();
    result.next = EncodePageEnd(Doc("time", last["time"], "_id", last["_id"]));
  }
  auto twice = std::unique(
      result.documents.begin(), result.documents.end(),
      [](const Document& a, const Document& b) { return a["_id"].BinaryEquals(b["_id"]); });
  result.documents.erase(twice, result.documents.end());
  return result;
}

// Up to `limit` documents in all.
Status EventLog::Work::Read(const std::vector<EventUnit>& units, const Document& filter,
                            int64_t limit, std::vector<Document>* documents) const {
  auto room = [&] { return limit - static_cast<int64_t>(documents->size()); };
  if (options_.retention == Retention::kRenamedCollections) {
    ASSIGN_OR_RETURN(auto found, Merged(units, filter, room()));
    std::move(found.begin(), found.end(), std::back_inserter(*documents));
    return Status::Ok();
  }
  for (const EventUnit& unit : units) {
    if (room() <= 0) {
      break;
    }
    ASSIGN_OR_RETURN(auto found, units_.In(unit).ForReports().Find(
                                     unit.collection, filter,
                                     {.sort = Doc("time", 1, "_id", 1), .limit = room()}));
    std::move(found.begin(), found.end(), std::back_inserter(*documents));
  }
  return Status::Ok();
}

// The units' times overlap.
Result<std::vector<Document>> EventLog::Work::Merged(const std::vector<EventUnit>& units,
                                                     const Document& filter, int64_t limit) const {
  const Document sort = Doc("time", 1, "_id", 1);
  if (limit <= 0 || units.empty()) {
    return std::vector<Document>();
  }
  if (units.size() == 1) {
    return store_.ForReports().Find(units[0].collection, filter, {.sort = sort, .limit = limit});
  }
  const Pipeline of_one = {Doc("$match", filter), Doc("$sort", sort), Doc("$limit", limit)};
  Pipeline pipeline = of_one;
  for (size_t i = 1; i < units.size(); ++i) {
    pipeline.push_back(
        Doc("$unionWith", Doc("coll", units[i].collection, "pipeline", ListOf(of_one))));
  }
  pipeline.push_back(Doc("$sort", sort));
  pipeline.push_back(Doc("$limit", limit));
  return store_.ForReports().Aggregate(units[0].collection, pipeline);
}

Result<Page> EventLog::Work::ByPath(std::string_view path, const PageRequest& page) const {
  return Query(Doc("path", path), kEver, kNever, page);
}

Result<Page> EventLog::Work::ByTime(bson::Date from, bson::Date to, const PageRequest& page) const {
  return Query(Doc(), from, to, page);
}

Result<Page> EventLog::Work::ByHost(std::string_view host, bson::Date from, bson::Date to,
                                    const PageRequest& page) const {
  return Query(Doc("host", host), from, to, page);
}

Result<std::vector<DailyHits>> EventLog::Work::CountByDayAndPath(bson::Date from,
                                                                 bson::Date to) const {
  from = std::max(from, Oldest());
  const Pipeline pipeline = {
      Doc("$match", Doc("time", Doc("$gte", from, "$lt", to))),
      Doc("$project", Doc("_id", 0, "path", 1, "time", 1)),
      Doc("$group", Doc("_id",
                        Doc("path", "$path", "y", Doc("$year", "$time"), "m",
                            Doc("$month", "$time"), "d", Doc("$dayOfMonth", "$time")),
                        "hits", Doc("$sum", int64_t{1}))),
      Doc("$sort", Doc("_id", 1))};
  ASSIGN_OR_RETURN(std::vector<EventUnit> units, units_.Existing(from, to));
  std::map<std::tuple<std::string, int64_t, int64_t, int64_t>, int64_t> sums;
  for (const EventUnit& unit : units) {
    ASSIGN_OR_RETURN(auto groups,
                     units_.In(unit).ForReports().Aggregate(unit.collection, pipeline));
    for (const Document& group : groups) {
      sums[{std::string(TextAt(group, "_id.path")), IntegerAt(group, "_id.y"),
            IntegerAt(group, "_id.m"), IntegerAt(group, "_id.d")}] += IntegerAt(group, "hits");
    }
  }
  std::vector<DailyHits> hits;
  for (const auto& [key, sum] : sums) {
    const auto& [path, year, month, day] = key;
    hits.push_back({path, static_cast<int32_t>(year), static_cast<int32_t>(month),
                    static_cast<int32_t>(day), sum});
  }
  return hits;
}

}  // namespace quire::patterns
