// SPDX-License-Identifier: Apache-2.0
//
// Samples by day: stored, read and dropped.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/try.h"
#include "patterns/batch_size.h"
#include "patterns/doc.h"
#include "patterns/line_id.h"
#include "patterns/perf/sums.h"
#include "patterns/perf/work.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Date;
using bson::Document;

constexpr char kPrefix[] = "perf_";

std::optional<Date> DayOfName(std::string_view name) {
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(sizeof kPrefix - 1);
  if (name.size() != 8 || name.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  auto number = [&](size_t at, size_t size) {
    return std::stoi(std::string(name.substr(at, size)));
  };
  const CivilTime civil{number(0, 4), number(4, 2), number(6, 2), 0, 0, 0};
  return IsValid(civil) ? std::optional<Date>(ToDate(civil)) : std::nullopt;
}

Document SampleDocument(const PerfSample& sample) {
  return Doc("Host", sample.host, "Ip", sample.ip, "Node", sample.node, "ParameterName",
             sample.parameter, "GeneratedOn", sample.time, "Value", sample.value);
}

bool Unacknowledged(const Document& concern) {
  return concern["w"].is_number() && IntegerAt(concern, "w") == 0;
}

}  // namespace

Perf::Work::Work(const Client& client, std::string_view database, PerfOptions options)
    : options_(std::move(options)),
      client_(client),
      database_(database),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "perf") {}

std::vector<IndexSpec> Perf::Work::DayIndexes(std::string_view collection) {
  return {{collection, R"({"Host": 1, "GeneratedOn": 1, "_id": 1})"},
          {collection, R"({"GeneratedOn": 1, "_id": 1})"},
          {collection, R"({"Host": 1, "ParameterName": 1, "GeneratedOn": 1, "_id": 1})"}};
}

const std::vector<IndexSpec>& Perf::Work::Indexes() {
  static const std::vector<IndexSpec> kIndexes = {
      {kPerfFiles, R"({"path": 1})"},
      {kPerfCatalog, R"({"changed": 1})"},
      {kPerfDaily, R"({"_id.h": 1, "_id.p": 1, "_id.d": 1})"},
      {kPerfDaily, R"({"_id.d": 1})"},
      {kPerfMonthly, R"({"_id.h": 1, "_id.p": 1, "_id.d": 1})"},
      Idempotency::Index()};
  return kIndexes;
}

const std::vector<ShardKeySpec>& Perf::Work::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{"perf_YYYYMMDD", R"({"Host": 1, "ssk": 1})"},
                                                  {kPerfDaily, R"({"_id.h": 1, "_id.d": 1})"},
                                                  {kPerfMonthly, R"({"_id.h": 1, "_id.d": 1})"},
                                                  Idempotency::ShardKey()};
  return kKeys;
}

Result<std::vector<std::string>> Perf::Work::MissingIndexes() const {
  ASSIGN_OR_RETURN(auto missing, store_.MissingIndexes(Indexes()));
  ASSIGN_OR_RETURN(auto days, DaysIn(kPerfEver, kPerfNever));
  for (const Day& day : days) {
    ASSIGN_OR_RETURN(auto more, store_.MissingIndexes(DayIndexes(day.collection)));
    missing.insert(missing.end(), more.begin(), more.end());
  }
  return missing;
}

Perf::Work::Day Perf::Work::DayOf(Date time) {
  const std::string name = DayKey(time);
  return {name, kPrefix + name, BucketStart(time, Level::kDay), NextBucket(time, Level::kDay)};
}

// Those that exist, in order.
Result<std::vector<Perf::Work::Day>> Perf::Work::DaysIn(Date from, Date to) const {
  ASSIGN_OR_RETURN(auto names, client_.GetDatabase(database_).ListCollectionNames());
  std::vector<Day> days;
  for (const std::string& name : names) {
    if (std::optional<Date> start = DayOfName(name)) {
      Day day = DayOf(*start);
      if (day.from < to && from < day.to) {
        days.push_back(std::move(day));
      }
    }
  }
  std::sort(days.begin(), days.end(), [](const Day& a, const Day& b) { return a.from < b.from; });
  return days;
}

bool Perf::Work::Expired(const Day& day) const { return day.to <= store_.Ago(options_.horizon); }

Status Perf::Work::Prepare(const Day& day) const {
  {
    MutexLock lock(prepared_.mutex);
    if (prepared_.days.contains(day.name)) {
      return Status::Ok();
    }
  }
  RETURN_IF_ERROR(store_.CreateIndexes(DayIndexes(day.collection)));
  MutexLock lock(prepared_.mutex);
  prepared_.days.insert(day.name);
  return Status::Ok();
}

Document Perf::Work::Shaped(const Document& sample, const bson::Value& id) const {
  std::string encoded;
  id.AppendTo(&encoded);
  bson::Builder out;
  out.Append("_id", id).AppendFields(sample).Append("ing", store_.Now());
  out.Append("ssk", static_cast<int64_t>(HashBytes(encoded, 3)));
  return out.Finish();
}

Result<PerfInsertReport> Perf::Work::Insert(const PerfSample& sample, const Document& concern,
                                            const CallKey& key) const {
  return InsertMany({sample}, concern, key);
}

Result<PerfInsertReport> Perf::Work::InsertMany(const std::vector<PerfSample>& samples,
                                                const Document& concern, const CallKey& key) const {
  for (const PerfSample& one : samples) {
    if (one.time >= kPerfEnd) {
      return MakeError(Error::kBadTimestamp, std::to_string(one.time.millis));
    }
    if (!std::isfinite(one.value)) {
      return MakeError(Error::kBadNumber, one.host + " " + one.parameter);
    }
  }
  if (!key) {
    return InsertOnce(samples, concern, Claim{store_.seams().ids->Next()});
  }
  std::vector<Document> given;
  for (const PerfSample& one : samples) {
    given.push_back(SampleDocument(one));
  }
  std::string all;
  for (const Document& one : given) {
    all += one.bytes();
  }
  const std::string digest = HashId(all);  // of what may be too much for one document
  auto insert = [&](const Claim& claim) -> Result<Document> {
    ASSIGN_OR_RETURN(PerfInsertReport report, InsertOnce(samples, concern, claim));
    RETURN_IF_ERROR(report.confirmation);
    return Doc("inserted", report.inserted, "duplicates", report.duplicates, "expired",
               report.expired);
  };
  ASSIGN_OR_RETURN(Document done, calls_.Once("perf.insert", key,
                                              Doc("samples", bson::Value::Binary(digest, 0),
                                                  "count", static_cast<int64_t>(samples.size())),
                                              insert));
  return PerfInsertReport{IntegerAt(done, "inserted"), IntegerAt(done, "duplicates"),
                          IntegerAt(done, "expired")};
}

// The ids come from the claim: whoever carries it out stores the same samples.
Result<PerfInsertReport> Perf::Work::InsertOnce(const std::vector<PerfSample>& samples,
                                                const Document& concern, const Claim& claim) const {
  const std::string call(claim.id.bytes.begin(), claim.id.bytes.end());
  std::vector<Document> documents;
  for (const PerfSample& one : samples) {
    const std::string id = HashId(call + std::to_string(documents.size()));
    documents.push_back(Shaped(SampleDocument(one), bson::Value::Binary(id, 0)));
  }
  return StoreAll(documents, concern);
}

Result<PerfInsertReport> Perf::Work::StoreAll(const std::vector<Document>& samples,
                                              const Document& concern) const {
  struct Batch {
    std::vector<Document> samples{};
    BatchSize size{};
  };
  std::map<std::string, std::pair<Day, std::vector<Batch>>> by_day;
  PerfInsertReport report;
  for (const Document& sample : samples) {
    Day day = DayOf(sample["GeneratedOn"].AsDate());
    if (Expired(day)) {
      report.expired += 1;
      continue;
    }
    auto& [of_day, batches] = by_day[day.name];
    of_day = std::move(day);
    if (batches.empty() || !batches.back().size.Take(sample)) {
      batches.emplace_back().size.Take(sample);
    }
    batches.back().samples.push_back(sample);
  }
  for (const auto& [name, entry] : by_day) {
    for (const Batch& batch : entry.second) {
      ASSIGN_OR_RETURN(PerfInsertReport part, StoreDay(entry.first, batch.samples, concern));
      report.inserted += part.inserted;
      report.duplicates += part.duplicates;
      report.confirmation = part.confirmation.ok() ? report.confirmation : part.confirmation;
    }
  }
  return report;
}

// The catalog says that the day changes before it does: a roll-up never misses it.
Result<PerfInsertReport> Perf::Work::StoreDay(const Day& day, const std::vector<Document>& samples,
                                              const Document& concern) const {
  RETURN_IF_ERROR(Prepare(day));
  Date least = kPerfNever;
  Date most = kPerfEver;
  for (const Document& sample : samples) {
    least = std::min(least, sample["GeneratedOn"].AsDate());
    most = std::max(most, sample["GeneratedOn"].AsDate());
  }
  const Document seen =
      Doc("$min", Doc("min", least), "$max", Doc("max", most, "changed", store_.Now()));
  Status noted = store_.UpdateOne(kPerfCatalog, Doc("_id", day.name), seen, true).status();
  if (IsDuplicateKey(noted)) {  // another made it first
    noted = store_.UpdateOne(kPerfCatalog, Doc("_id", day.name), seen).status();
  }
  RETURN_IF_ERROR(noted);
  RETURN_IF_ERROR(store_.seams().After("perf.insert.c1"));
  ASSIGN_OR_RETURN(Document reply, store_.InsertBatch(day.collection, samples, false, concern));
  RETURN_IF_ERROR(store_.seams().After("perf.insert.c2"));
  PerfInsertReport report;
  if (Unacknowledged(concern)) {
    return report;
  }
  report.inserted = IntegerAt(reply, "n");
  bson::Value errors = reply["writeErrors"];
  for (const bson::Element& element : errors.is_array() ? errors.AsArray() : bson::View()) {
    bson::View error = element.value().AsDocument();
    Status status(static_cast<int>(IntegerAt(error, "code")), std::string(TextAt(error, "errmsg")));
    if (!IsDuplicateKey(status)) {
      return status;
    }
    report.duplicates += 1;
  }
  if (bson::Value unmet = reply["writeConcernError"]; unmet.is_document()) {
    report.confirmation =
        MakeError(Error::kAppliedButNotConfirmed, TextAt(unmet.AsDocument(), "errmsg"));
  }
  return report;
}

Result<Page> Perf::Work::Query(const Document& equality, Date from, Date to,
                               const PageRequest& page) const {
  ASSIGN_OR_RETURN(const Document after, DecodeTimedPageEnd(page.after));
  const Date start = after.empty() ? from : std::max(from, after["time"].AsDate());
  bson::Builder filter;
  filter.AppendFields(equality).Append("GeneratedOn", Doc("$gte", start, "$lt", to));
  if (!after.empty()) {
    Put(&filter, "$or",
        List(Doc("GeneratedOn", Doc("$gt", start)), Doc("_id", Doc("$gt", after["_id"]))));
  }
  const Document matching = filter.Finish();
  Page result;
  ASSIGN_OR_RETURN(std::vector<Day> days, DaysIn(start, to));
  for (const Day& day : days) {
    const int64_t room = page.limit - static_cast<int64_t>(result.documents.size());
    if (room <= 0) {
      break;
    }
    ASSIGN_OR_RETURN(auto found, store_.ForReports().Find(
                                     day.collection, matching,
                                     {.sort = Doc("GeneratedOn", 1, "_id", 1), .limit = room}));
    std::move(found.begin(), found.end(), std::back_inserter(result.documents));
  }
  if (static_cast<int64_t>(result.documents.size()) == page.limit && page.limit > 0) {
    const Document& last = result.documents.back();
    result.next = EncodePageEnd(Doc("time", last["GeneratedOn"], "_id", last["_id"]));
  }
  return result;
}

Result<Page> Perf::Work::ByHost(std::string_view host, Date from, Date to,
                                const PageRequest& page) const {
  return Query(Doc("Host", host), from, to, page);
}

Result<Page> Perf::Work::ByRange(Date from, Date to, const PageRequest& page) const {
  return Query(Doc(), from, to, page);
}

Result<Page> Perf::Work::ByHostAndParameter(std::string_view host, std::string_view parameter,
                                            Date from, Date to, const PageRequest& page) const {
  return Query(Doc("Host", host, "ParameterName", parameter), from, to, page);
}

Result<Document> Perf::Work::Latest(std::string_view host) const {
  ASSIGN_OR_RETURN(std::vector<Day> days, DaysIn(kPerfEver, kPerfNever));
  for (auto day = days.rbegin(); day != days.rend(); ++day) {
    ASSIGN_OR_RETURN(auto found,
                     store_.FindOne(day->collection, Doc("Host", host),
                                    {.sort = Doc("Host", -1, "GeneratedOn", -1, "_id", -1)}));
    if (found) {
      return *std::move(found);
    }
  }
  return MakeError(Error::kNotFound, host);
}

Result<std::vector<PerfSum>> Perf::Work::Aggregate(const PerfGroup& by, Date from, Date to) const {
  return SumsIn(store_.ForReports(), by, from, to);
}

Result<std::vector<PerfSum>> Perf::Work::SumsIn(const Store& store, const PerfGroup& by, Date from,
                                                Date to) const {
  bson::Builder key;
  if (by.host) {
    key.Append("h", "$Host");
  }
  if (by.parameter) {
    key.Append("p", "$ParameterName");
  }
  const Document group = key.Finish();
  const Pipeline pipeline = {Doc("$match", Doc("GeneratedOn", Doc("$gte", from, "$lt", to))),
                             Doc("$group", SumsOver("$Value", group))};
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, PartialSum> sums;
  ASSIGN_OR_RETURN(std::vector<Day> days, DaysIn(from, to));
  for (const Day& day : days) {
    ASSIGN_OR_RETURN(auto parts, store.Aggregate(day.collection, pipeline));
    for (const Document& part : parts) {
      sums[{std::string(TextAt(part, "_id.h")), std::string(TextAt(part, "_id.p")),
            by.day ? day.name : "", by.month ? day.name.substr(0, 6) : ""}]
          .Add(part);
    }
  }
  std::vector<PerfSum> result;
  for (const auto& [of, sum] : sums) {
    PerfSum one = sum.Result();
    std::tie(one.host, one.parameter, one.day, one.month) = of;
    result.push_back(std::move(one));
  }
  return result;
}

Result<std::vector<IndexTrial>> Perf::Work::ExplainOrders(std::string_view host, Date from,
                                                          Date to) const {
  return CompareIndexes(client_, database_, DayOf(from).collection,
                        Doc("Host", host, "GeneratedOn", Doc("$gte", from, "$lt", to)), Doc(),
                        {R"({"GeneratedOn": 1, "Host": 1})", R"({"Host": 1, "GeneratedOn": 1})"});
}

// By their names, not by the catalog: a sample on its way may have made a day anew.
Result<JobReport> Perf::Work::DropExpired() const {
  return RunLeased(
      Lease(store_, "perf.retention", options_.worker, options_.lease), [&]() -> Result<JobReport> {
        JobReport report;
        ASSIGN_OR_RETURN(std::vector<Day> days, DaysIn(kPerfEver, kPerfNever));
        for (const Day& day : days) {
          report.examined += 1;
          if (!Expired(day)) {
            report.skipped += 1;
            continue;
          }
          RETURN_IF_ERROR(store_.RunWrite(Doc("drop", day.collection)).status());
          RETURN_IF_ERROR(store_.seams().After("perf.retention.c1"));
          report.changed += 1;
          MutexLock lock(prepared_.mutex);
          prepared_.days.erase(day.name);
        }
        const std::string first_kept = DayKey(store_.Ago(options_.horizon));
        RETURN_IF_ERROR(
            store_.DeleteMany(kPerfCatalog, Doc("_id", Doc("$lt", first_kept))).status());
        RETURN_IF_ERROR(store_.seams().After("perf.retention.c2"));
        ASSIGN_OR_RETURN(JobReport keys, calls_.Purge({options_.tombstone_retention,
                                                       options_.worker, options_.lease}));
        return report += keys;
      });
}

}  // namespace quire::patterns
