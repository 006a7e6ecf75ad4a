// SPDX-License-Identifier: Apache-2.0
//
// Days summed from their samples, months from their days: always anew and whole, never added to.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/perf/sums.h"
#include "patterns/perf/work.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Date;
using bson::Document;

constexpr char kJob[] = "perf.rollup";

Date StartOf(const std::string& key) {
  auto number = [&](size_t at, size_t size) { return std::stoi(key.substr(at, size)); };
  return ToDate({number(0, 4), number(4, 2), key.size() > 6 ? number(6, 2) : 1, 0, 0, 0});
}

Document WithStart(const Document& sum, Date start) {
  const bson::Value host = At(sum, "_id.h");
  const bson::Value parameter = At(sum, "_id.p");
  return Doc("_id", Doc("h", host, "p", parameter, "d", start), "count", sum["count"], "sum",
             sum["sum"], "sumsq", sum["sumsq"], "min", sum["min"], "max", sum["max"]);
}

// Sums in another order may differ in their last bits.
bool Same(const PerfSum& a, const PerfSum& b) {
  return a.count == b.count && a.min == b.min && a.max == b.max &&
         std::abs(a.sum - b.sum) <= 1e-9 * std::max(1.0, std::abs(a.sum));
}

}  // namespace

double NumberAt(bson::View document, std::string_view name) {
  bson::Value value = document[name];
  return value.type() == bson::Type::kDouble ? value.AsDouble()
                                             : static_cast<double>(IntegerAt(document, name));
}

Document SumsOver(std::string_view field, const Document& key) {
  return Doc("_id", key, "count", Doc("$sum", int64_t{1}), "sum", Doc("$sum", field), "sumsq",
             Doc("$sum", Doc("$multiply", List(field, field))), "min", Doc("$min", field), "max",
             Doc("$max", field));
}

void PartialSum::Add(bson::View part) {
  const bool first = count == 0;
  count += IntegerAt(part, "count");
  sum += NumberAt(part, "sum");
  sumsq += NumberAt(part, "sumsq");
  min = first ? NumberAt(part, "min") : std::min(min, NumberAt(part, "min"));
  max = first ? NumberAt(part, "max") : std::max(max, NumberAt(part, "max"));
}

PerfSum PartialSum::Result() const {
  PerfSum result;
  result.count = count;
  result.sum = sum;
  result.min = min;
  result.max = max;
  if (count > 0) {
    const auto n = static_cast<double>(count);
    result.mean = sum / n;
    result.deviation = std::sqrt(std::max(0.0, sumsq / n - result.mean * result.mean));
  }
  return result;
}

// The token in the filter keeps out a worker that summed before another, with a later turn, saw
// more samples.
Status Perf::Work::Replace(const char* collection, const Document& sum, int64_t token) const {
  bson::Builder set;
  for (const bson::Element& field : sum.view()) {
    if (field.name() != "_id") {
      set.Append(field);
    }
  }
  set.Append("ts", store_.Now()).Append("token", token);
  const Document mine = Doc("_id", sum["_id"], "token", Doc("$lte", token));
  const Document update = Doc("$set", set.Finish());
  Status status = store_.UpdateOne(collection, mine, update, true).status();
  if (!IsDuplicateKey(status)) {
    return status;
  }
  ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(collection, mine, update));
  return matched == 1 ? Status::Ok() : MakeError(Error::kLeaseLost, "a later turn wrote it");
}

Result<int64_t> Perf::Work::SumDay(const Day& day, int64_t token, JobReport* report) const {
  const Pipeline pipeline = {
      Doc("$group", SumsOver("$Value", Doc("h", "$Host", "p", "$ParameterName")))};
  ASSIGN_OR_RETURN(auto sums, store_.Aggregate(day.collection, pipeline));
  int64_t count = 0;
  for (const Document& sum : sums) {
    RETURN_IF_ERROR(Replace(kPerfDaily, WithStart(sum, day.from), token));
    count += IntegerAt(sum, "count");
    report->changed += 1;
  }
  return count;
}

Status Perf::Work::SumMonth(const std::string& month, int64_t token, JobReport* report) const {
  const Date start = StartOf(month);
  const Document key = Doc("h", "$_id.h", "p", "$_id.p");
  const Pipeline pipeline = {
      Doc("$match", Doc("_id.d", Doc("$gte", start, "$lt", NextBucket(start, Level::kMonth)))),
      Doc("$group",
          Doc("_id", key, "count", Doc("$sum", "$count"), "sum", Doc("$sum", "$sum"), "sumsq",
              Doc("$sum", "$sumsq"), "min", Doc("$min", "$min"), "max", Doc("$max", "$max")))};
  ASSIGN_OR_RETURN(auto sums, store_.Aggregate(kPerfDaily, pipeline));
  for (const Document& sum : sums) {
    RETURN_IF_ERROR(Replace(kPerfMonthly, WithStart(sum, start), token));
    report->changed += 1;
  }
  return Status::Ok();
}

// Days that changed since the last run. A write that was delayed since it noted its day is found by
// the number of samples: for as long as a write may be delayed, and this job after it.
Result<std::vector<std::string>> Perf::Work::Dirty(const bson::Value& last_run) const {
  Document since;
  if (!last_run.missing()) {
    const Date late = store_.Ago(2 * options_.tombstone_retention);
    since = Doc("changed", Doc("$gte", std::min(late, last_run.AsDate())));
  }
  ASSIGN_OR_RETURN(auto recent, store_.Find(kPerfCatalog, since, {.sort = Doc("changed", 1)}));
  std::vector<std::string> days;
  for (const Document& one : recent) {
    const std::string day(TextAt(one, "_id"));
    if (!last_run.missing() && one["changed"].AsDate() < last_run.AsDate()) {
      const Document command = Doc("count", DayOf(StartOf(day)).collection);
      ASSIGN_OR_RETURN(Document counted, store_.Run(command));
      if (IntegerAt(counted, "n") == IntegerAt(one, "count")) {
        continue;
      }
    }
    days.push_back(day);
  }
  return days;
}

// A day counts as summed when its month is, too: a run that crashed in between is found out by the
// count.
Result<JobReport> Perf::Work::Rollup() const {
  Lease lease(store_, kJob, options_.worker, options_.lease);
  return HoldLease(&lease, [&](const Document& state) { return RollupHeld(&lease, state); });
}

Result<JobReport> Perf::Work::RollupHeld(Lease* lease, const Document& state) const {
  RETURN_IF_ERROR(store_.seams().After("perf.rollup.c1"));
  const Date cutoff = store_.Ago(options_.delay);
  ASSIGN_OR_RETURN(auto dirty, Dirty(state["last_run"]));
  JobReport report;
  std::map<std::string, int64_t> counts;
  std::set<std::string> months;
  int step = 1;
  for (const std::string& day : dirty) {
    report.examined += 1;
    months.insert(day.substr(0, 6));
    ASSIGN_OR_RETURN(counts[day], SumDay(DayOf(StartOf(day)), lease->token(), &report));
    RETURN_IF_ERROR(store_.seams().After("perf.rollup", ++step));
    RETURN_IF_ERROR(lease->Save(state));
  }
  for (const std::string& month : months) {
    RETURN_IF_ERROR(SumMonth(month, lease->token(), &report));
    RETURN_IF_ERROR(store_.seams().After("perf.rollup", ++step));
  }
  for (const auto& [day, count] : counts) {
    const Document not_later = Doc("_id", day, "token", Doc("$not", Doc("$gt", lease->token())));
    const Document summed = Doc("$set", Doc("count", count, "token", lease->token()));
    RETURN_IF_ERROR(store_.UpdateOne(kPerfCatalog, not_later, summed).status());
    RETURN_IF_ERROR(store_.seams().After("perf.rollup", ++step));
  }
  RETURN_IF_ERROR(lease->Save(Doc("last_run", cutoff)));
  RETURN_IF_ERROR(store_.seams().After("perf.rollup", ++step));
  return report;
}

Result<std::vector<PerfSum>> Perf::Work::Stored(const char* collection, const char* unit,
                                                std::string_view host, std::string_view parameter,
                                                Date from, Date to) const {
  ASSIGN_OR_RETURN(auto found, store_.Find(collection,
                                           Doc("_id.h", host, "_id.p", parameter, "_id.d",
                                               Doc("$gte", from, "$lt", to)),
                                           {.sort = Doc("_id.h", 1, "_id.p", 1, "_id.d", 1)}));
  std::vector<PerfSum> sums;
  for (const Document& one : found) {
    PartialSum sum;
    sum.Add(one);
    PerfSum result = sum.Result();
    result.host = host;
    result.parameter = parameter;
    const std::string key = DayKey(At(one, "_id.d").AsDate());
    (unit == std::string_view("day") ? result.day : result.month) =
        unit == std::string_view("day") ? key : key.substr(0, 6);
    sums.push_back(std::move(result));
  }
  return sums;
}

Result<std::vector<PerfSum>> Perf::Work::Daily(std::string_view host, std::string_view parameter,
                                               Date from, Date to) const {
  return Stored(kPerfDaily, "day", host, parameter, from, to);
}

Result<std::vector<PerfSum>> Perf::Work::Monthly(std::string_view host, std::string_view parameter,
                                                 Date from, Date to) const {
  return Stored(kPerfMonthly, "month", host, parameter, from, to);
}

// Whether its sums are those of its samples by now, or should be.
Result<bool> Perf::Work::CheckDay(const Day& day, const bson::Value& last_run,
                                  std::vector<std::string>* wrong) const {
  ASSIGN_OR_RETURN(int64_t all, store_.Count(day.collection, Doc()));
  ASSIGN_OR_RETURN(
      int64_t own,
      store_.Count(day.collection, Doc("GeneratedOn", Doc("$gte", day.from, "$lt", day.to))));
  if (all != own) {
    wrong->push_back("samples of other days in " + day.collection);
  }
  ASSIGN_OR_RETURN(auto entry, store_.FindOne(kPerfCatalog, Doc("_id", day.name)));
  if (!entry && all > 0) {
    wrong->push_back("not in the catalog: " + day.name);
  }
  if (!entry || last_run.missing() || (*entry)["changed"].AsDate() >= last_run.AsDate()) {
    return false;
  }
  if (IntegerAt(*entry, "count") != all) {
    if ((*entry)["changed"].AsDate() < store_.Ago(2 * options_.tombstone_retention)) {
      wrong->push_back("the count of " + day.name);
    }
    return false;
  }
  ASSIGN_OR_RETURN(auto sums, SumsIn(store_, {.host = true, .parameter = true}, day.from, day.to));
  for (const PerfSum& sum : sums) {
    ASSIGN_OR_RETURN(auto stored, Daily(sum.host, sum.parameter, day.from, day.to));
    if (stored.size() != 1 || !Same(stored[0], sum)) {
      wrong->push_back("the sums of " + sum.host + " " + sum.parameter + " on " + day.name);
    }
  }
  return true;
}

Status Perf::Work::CheckMonth(const std::string& month, std::vector<std::string>* wrong) const {
  const Date start = StartOf(month);
  const Date end = NextBucket(start, Level::kMonth);
  ASSIGN_OR_RETURN(auto days,
                   store_.Find(kPerfDaily, Doc("_id.d", Doc("$gte", start, "$lt", end))));
  std::map<std::pair<std::string, std::string>, PartialSum> sums;
  for (const Document& day : days) {
    sums[{std::string(TextAt(day, "_id.h")), std::string(TextAt(day, "_id.p"))}].Add(day);
  }
  for (const auto& [of, sum] : sums) {
    ASSIGN_OR_RETURN(auto stored, Monthly(of.first, of.second, start, end));
    if (stored.size() != 1 || !Same(stored[0], sum.Result())) {
      wrong->push_back("the sums of " + of.first + " " + of.second + " in " + month);
    }
  }
  return Status::Ok();
}

Result<std::vector<std::string>> Perf::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  ASSIGN_OR_RETURN(auto job, store_.FindOne("jobs", Doc("_id", kJob)));
  const bson::Value last_run = job ? At(*job, "state.last_run") : bson::Value();
  ASSIGN_OR_RETURN(auto days, DaysIn(kPerfEver, kPerfNever));
  std::map<std::string, bool> months;  // whether all days are summed
  for (const Day& day : days) {
    ASSIGN_OR_RETURN(bool summed, CheckDay(day, last_run, &wrong));
    bool& all = months.try_emplace(day.name.substr(0, 6), true).first->second;
    all = all && summed;
  }
  for (const auto& [month, summed] : months) {
    if (summed) {
      RETURN_IF_ERROR(CheckMonth(month, &wrong));
    }
  }
  RETURN_IF_ERROR(Walk(store_, kPerfFiles, [&](const Document& file) {
    if (IntegerAt(file, "lines") !=
        IntegerAt(file, "inserted") + IntegerAt(file, "duplicates") + IntegerAt(file, "rejected")) {
      wrong.push_back("the counters of " + std::string(TextAt(file, "path")));
    }
    return Status::Ok();
  }));
  return wrong;
}

}  // namespace quire::patterns
