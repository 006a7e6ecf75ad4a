// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/reports/work.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Date;
using bson::Document;

constexpr char kDaily[] = "stats.daily";
constexpr char kMonthly[] = "stats.monthly";
constexpr int32_t kKeptBatches = 1000;
constexpr int kAttempts = 5;

Status CheckNames(std::string_view site, std::string_view page) {
  if (site.empty() || site.find('/') != std::string_view::npos) {
    return MakeError(Error::kInvalidName, site);
  }
  return page.starts_with('/') ? Status::Ok() : MakeError(Error::kInvalidName, page);
}

// Hits by the dotted name of their slot.
using Counts = std::unordered_map<std::string, int64_t>;

// A day has up to 1440 slots: each is looked at once, not searched for.
void AddCounts(bson::View document, const std::string& prefix, Counts* counts) {
  for (const bson::Element& field : document) {
    std::string slot = prefix + std::string(field.name());
    if (field.value().is_document()) {
      AddCounts(field.value().AsDocument(), slot + ".", counts);
    } else {
      (*counts)[std::move(slot)] += IntegerOf(field.value());
    }
  }
}

// The filter and one condition more.
template <typename Condition>
Document With(const Document& filter, std::string_view field, const Condition& condition) {
  bson::Builder out;
  out.AppendFields(filter).Append(field, condition);
  return out.Finish();
}

int64_t DaysBetween(Date from, Date to) { return (to.millis - from.millis) / 86'400'000; }

// FNV-1a: the same stripe for a batch in every process.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace

// The document that a count belongs to.
struct Reports::Work::Target {
  std::string_view collection;
  std::string id;
  Document it;  // its _id and, as dotted equalities, its metadata: a router knows its shard

  bool operator<(const Target& other) const {
    return std::tie(collection, id) < std::tie(other.collection, other.id);
  }
};

Reports::Work::Work(const Client& client, std::string_view database, ReportsOptions options)
    : options_(std::move(options)), store_(client, database, options_.seams, options_.concerns) {}

const std::vector<IndexSpec>& Reports::Work::Indexes() {
  static constexpr char kKeys[] = R"({"metadata.site": 1, "metadata.page": 1, "metadata.date": 1})";
  static const std::vector<IndexSpec> kIndexes = {{kDaily, kKeys}, {kMonthly, kKeys}};
  return kIndexes;
}

const std::vector<ShardKeySpec>& Reports::Work::ShardKeys() {
  static constexpr char kKeys[] = R"({"metadata.site": 1, "metadata.page": 1, "metadata.date": 1})";
  static const std::vector<ShardKeySpec> kShards = {{kDaily, kKeys}, {kMonthly, kKeys}};
  return kShards;
}

Reports::Work::Target Reports::Work::TargetOf(Date time, std::string_view site,
                                              std::string_view page, bool monthly,
                                              int32_t stripe) const {
  std::string id =
      (monthly ? MonthKey(time) : DayKey(time)) + "/" + std::string(site) + std::string(page);
  if (options_.stripes > 1) {
    id += "#" + std::to_string(stripe);
  }
  const Date date = BucketStart(time, monthly ? Level::kMonth : Level::kDay);
  Document it = Doc("_id", id, "metadata.site", site, "metadata.page", page, "metadata.date", date);
  return {monthly ? kMonthly : kDaily, std::move(id), std::move(it)};
}

std::string Reports::Work::MinuteSlot(const CivilTime& at) const {
  if (options_.layout == ReportLayout::kFlat) {
    return "minute." + std::to_string(at.hour * 60 + at.minute);
  }
  return "minute." + std::to_string(at.hour) + "." + std::to_string(at.minute);
}

std::map<std::string, int64_t> Reports::Work::DailyCounts(const Hit& hit) const {
  const CivilTime at = ToCivil(hit.time);
  std::map<std::string, int64_t> counts = {{"hourly." + std::to_string(at.hour), hit.count},
                                           {MinuteSlot(at), hit.count}};
  if (!split()) {
    counts.emplace("daily", hit.count);
  }
  return counts;
}

// A document that exists already though its upsert found none: made by another upsert, or marked
// with this batch.
Status Reports::Work::Add(const Target& target, const std::map<std::string, int64_t>& counts,
                          std::string_view batch) const {
  bson::Builder increments;
  for (const auto& [path, count] : counts) {
    increments.Append(path, count);
  }
  Document update = Doc("$inc", increments.Finish());
  Document guarded = target.it;
  if (!batch.empty()) {
    guarded = With(target.it, "batches", Doc("$ne", batch));
    update = MergeUpdates(
        update, Doc("$push", Doc("batches", Doc("$each", List(batch), "$slice", -kKeptBatches))));
  }
  for (int i = 0; i < kAttempts; ++i) {
    Status status = store_.UpdateOne(target.collection, guarded, update, true).status();
    if (!IsDuplicateKey(status)) {
      return status;
    }
    if (!batch.empty()) {
      ASSIGN_OR_RETURN(auto found,
                       store_.FindOne(target.collection, With(target.it, "batches", batch),
                                      {.projection = Doc("_id", 1)}));
      if (found) {
        return Status::Ok();
      }
    }
  }
  return MakeError(Error::kContention, target.id);
}

Status Reports::Work::LogHit(const Hit& hit) const {
  RETURN_IF_ERROR(CheckNames(hit.site, hit.page));
  if (options_.expected_hits_per_day > 0 &&
      store_.seams().random->Next() * static_cast<double>(options_.expected_hits_per_day) < 1.0) {
    RETURN_IF_ERROR(Preallocate(NextBucket(hit.time, Level::kDay), hit.site, hit.page));
  }
  const int32_t stripe =
      options_.stripes > 1 ? static_cast<int32_t>(store_.seams().random->Next() * options_.stripes)
                           : 0;
  RETURN_IF_ERROR(Add(TargetOf(hit.time, hit.site, hit.page, false, stripe), DailyCounts(hit), ""));
  RETURN_IF_ERROR(store_.seams().After("reports.log_hit.c1"));
  if (!split()) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(Add(TargetOf(hit.time, hit.site, hit.page, true, stripe),
                      {{"daily." + std::to_string(ToCivil(hit.time).day), hit.count}}, ""));
  return store_.seams().After("reports.log_hit.c2");
}

Status Reports::Work::LogBatch(std::string_view batch, Date made,
                               const std::vector<Hit>& hits) const {
  if (batch.empty()) {
    return MakeError(Error::kInvalidName, "a batch has an id");
  }
  if (made.millis < store_.Ago(options_.batch_retention).millis) {
    return MakeError(Error::kStaleBatch, batch);
  }
  const auto stripe =
      static_cast<int32_t>(HashOf(batch) % static_cast<uint64_t>(std::max(options_.stripes, 1)));
  std::map<Target, std::map<std::string, int64_t>> sums;
  for (const Hit& hit : hits) {
    RETURN_IF_ERROR(CheckNames(hit.site, hit.page));
    auto& daily = sums[TargetOf(hit.time, hit.site, hit.page, false, stripe)];
    for (const auto& [path, count] : DailyCounts(hit)) {
      daily[path] += count;
    }
    if (split()) {
      sums[TargetOf(hit.time, hit.site, hit.page, true, stripe)]
          ["daily." + std::to_string(ToCivil(hit.time).day)] += hit.count;
    }
  }
  int step = 0;
  for (const auto& [target, counts] : sums) {
    RETURN_IF_ERROR(Add(target, counts, batch));
    RETURN_IF_ERROR(store_.seams().After("reports.log_batch", ++step));
  }
  return Status::Ok();
}

Document Reports::Work::Zeros(bool monthly, Date date) const {
  bson::Builder zeros;
  if (monthly) {
    const int64_t days = DaysBetween(date, NextBucket(date, Level::kMonth));
    for (int64_t day = 1; day <= days; ++day) {
      zeros.Append("daily." + std::to_string(day), int64_t{0});
    }
    return zeros.Finish();
  }
  if (!split()) {
    zeros.Append("daily", int64_t{0});
  }
  for (CivilTime at; at.hour < 24; ++at.hour) {
    zeros.Append("hourly." + std::to_string(at.hour), int64_t{0});
    for (at.minute = 0; at.minute < 60; ++at.minute) {
      zeros.Append(MinuteSlot(at), int64_t{0});
    }
  }
  return zeros.Finish();
}

Status Reports::Work::Preallocate(Date day, std::string_view site, std::string_view page) const {
  RETURN_IF_ERROR(CheckNames(site, page));
  int step = 0;
  for (int32_t stripe = 0; stripe < std::max(options_.stripes, 1); ++stripe) {
    for (bool monthly : {false, true}) {
      if (monthly && !split()) {
        continue;
      }
      const Target target = TargetOf(day, site, page, monthly, stripe);
      const Date start = BucketStart(day, monthly ? Level::kMonth : Level::kDay);
      Status status = store_
                          .UpdateOne(target.collection, target.it,
                                     Doc("$setOnInsert", Zeros(monthly, start)), true)
                          .status();
      if (!IsDuplicateKey(status)) {
        RETURN_IF_ERROR(status);
      }
      RETURN_IF_ERROR(store_.seams().After("reports.preallocate", ++step));
    }
  }
  return Status::Ok();
}

Result<std::vector<ReportPoint>> Reports::Work::Series(std::string_view site, std::string_view page,
                                                       Date from, Date to, Level level) const {
  RETURN_IF_ERROR(CheckNames(site, page));
  const bool monthly = split() && level == Level::kDay;
  const Date first = BucketStart(from, monthly ? Level::kMonth : Level::kDay);
  ASSIGN_OR_RETURN(auto documents,
                   store_.ForReports().Find(monthly ? kMonthly : kDaily,
                                            Doc("metadata.site", site, "metadata.page", page,
                                                "metadata.date", Doc("$gte", first, "$lt", to)),
                                            {.sort = Doc("metadata.date", 1)}));
  std::map<int64_t, Counts> by_date;  // of several documents with stripes
  for (const Document& document : documents) {
    AddCounts(document, "", &by_date[At(document, "metadata.date").AsDate().millis]);
  }
  std::vector<ReportPoint> points;
  for (Date at = BucketStart(from, level); at.millis < to.millis; at = NextBucket(at, level)) {
    const CivilTime civil = ToCivil(at);
    const std::string slot = monthly                 ? "daily." + std::to_string(civil.day)
                             : level == Level::kDay  ? "daily"
                             : level == Level::kHour ? "hourly." + std::to_string(civil.hour)
                                                     : MinuteSlot(civil);
    const Counts& counts = by_date[BucketStart(at, monthly ? Level::kMonth : Level::kDay).millis];
    const auto found = counts.find(slot);
    points.push_back({at, found == counts.end() ? 0 : found->second});
  }
  return points;
}

// The days' sums as a month's, and their batches as its batches: a repeat would count them twice
// there.
Result<Document> Reports::Work::MonthFromDays(Date start, std::string_view site,
                                              std::string_view page, int32_t stripe) const {
  bson::Builder days;
  std::vector<bson::OwnedValue> batches;
  for (Date day = start; day.millis < NextBucket(start, Level::kMonth).millis;
       day = NextBucket(day, Level::kDay)) {
    const Target target = TargetOf(day, site, page, false, stripe);
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kDaily, target.it));
    int64_t sum = 0;
    for (int hour = 0; found && hour < 24; ++hour) {
      sum += IntegerAt(*found, "hourly." + std::to_string(hour));
    }
    days.Append("daily." + std::to_string(ToCivil(day).day), sum);
    if (found && (*found)["batches"].is_array()) {
      for (const bson::Element& batch : (*found)["batches"].AsArray()) {
        batches.emplace_back(batch.value());
      }
    }
  }
  Document update = Doc("$set", days.Finish());
  if (!batches.empty()) {
    update = MergeUpdates(update, Doc("$addToSet", Doc("batches", Doc("$each", ListOf(batches)))));
  }
  return update;
}

// The month is read before its days and must not have changed since: what was counted in both
// meanwhile would be lost from the month.
Status Reports::Work::RebuildMonth(Date month, std::string_view site, std::string_view page) const {
  RETURN_IF_ERROR(CheckNames(site, page));
  const Date start = BucketStart(month, Level::kMonth);
  for (int32_t stripe = 0; split() && stripe < std::max(options_.stripes, 1); ++stripe) {
    const Target target = TargetOf(start, site, page, true, stripe);
    bool written = false;
    for (int i = 0; i < kAttempts && !written; ++i) {
      ASSIGN_OR_RETURN(auto before, store_.FindOne(kMonthly, target.it));
      ASSIGN_OR_RETURN(Document update, MonthFromDays(start, site, page, stripe));
      Document unchanged = target.it;
      for (const char* field : {"daily", "batches"}) {
        const bson::Value value = before ? (*before)[field] : bson::Value();
        unchanged =
            With(unchanged, field, value.missing() ? Doc("$exists", false) : Doc("$eq", value));
      }
      Result<int64_t> matched = store_.UpdateOne(kMonthly, unchanged, update, !before);
      if (!IsDuplicateKey(matched.status())) {
        RETURN_IF_ERROR(matched.status());
        written = *matched == 1;
      }
    }
    if (!written) {
      return MakeError(Error::kContention, target.id);
    }
    RETURN_IF_ERROR(store_.seams().After("reports.rebuild_month", stripe + 1));
  }
  return Status::Ok();
}

Status Reports::Work::CheckDay(const Document& day, std::vector<std::string>* wrong) const {
  Counts counts;
  AddCounts(day, "", &counts);
  const std::string id(TextAt(day, "_id"));
  int64_t of_day = 0;
  for (int32_t hour = 0; hour < 24; ++hour) {
    int64_t of_minutes = 0;
    for (int32_t minute = 0; minute < 60; ++minute) {
      of_minutes += counts[MinuteSlot({.hour = hour, .minute = minute})];
    }
    const int64_t of_hour = counts["hourly." + std::to_string(hour)];
    of_day += of_hour;
    if (of_hour != of_minutes) {
      wrong->push_back("hour " + std::to_string(hour) + " of " + id);
    }
  }
  if (!split() && counts["daily"] != of_day) {
    wrong->push_back("the sum of " + id);
  }
  return Status::Ok();
}

Result<std::vector<std::string>> Reports::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  RETURN_IF_ERROR(Walk(store_, kDaily, [&](const Document& day) { return CheckDay(day, &wrong); }));
  auto check_month = [&](const Document& month) -> Status {
    const std::string_view id = TextAt(month, "_id");
    const size_t stripe = options_.stripes > 1 ? id.rfind('#') : std::string_view::npos;
    const int32_t number =
        stripe == std::string_view::npos ? 0 : std::stoi(std::string(id.substr(stripe + 1)));
    ASSIGN_OR_RETURN(Document days, MonthFromDays(At(month, "metadata.date").AsDate(),
                                                  TextAt(month, "metadata.site"),
                                                  TextAt(month, "metadata.page"), number));
    for (const bson::Element& day : days["$set"].AsDocument()) {
      if (IntegerOf(day.value()) != IntegerAt(month, day.name())) {
        wrong.push_back(std::string(day.name()) + " of " + std::string(id));
      }
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kMonthly, check_month));
  return wrong;
}

}  // namespace quire::patterns
