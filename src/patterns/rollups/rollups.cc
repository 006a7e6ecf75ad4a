// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/rollups/work.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Date;
using bson::Document;

constexpr char kEvents[] = "events";
constexpr char kSequences[] = "my_sequence";
constexpr char kJob[] = "rollups";
constexpr char kHourly[] = "stats.hourly";
constexpr char kLate[] = "agg_late";
constexpr int kAttempts = 100;

// A level, where it is kept and what it is computed from, lowest first.
struct Row {
  Level level;
  const char* collection;
  Level from;
  const char* from_collection;
};
constexpr Row kRows[] = {
    {Level::kHour, "stats.hourly", Level::kMinute, kEvents},
    {Level::kDay, "stats.daily", Level::kHour, "stats.hourly"},
    {Level::kWeek, "stats.weekly", Level::kDay, "stats.daily"},
    {Level::kMonth, "stats.monthly", Level::kDay, "stats.daily"},
    {Level::kYear, "stats.yearly", Level::kMonth, "stats.monthly"},
};

const Row& RowOf(Level level) {
  for (const Row& row : kRows) {
    if (row.level == level) {
      return row;
    }
  }
  return kRows[0];
}

// One group over the inputs of an interval: the sums of events, or of the level below.
Pipeline SumOf(const Row& row, const std::string& user, Date from, Date to, Date known) {
  const bool raw = row.level == Level::kHour;
  const Document interval = Doc("$gte", from, "$lt", to);
  const std::string field = raw ? "$length" : "$value.";
  auto of = [&](const char* name) { return raw ? field : field + name; };
  return {Doc("$match", raw ? Doc("userid", user, "ts", interval, "ing", Doc("$lt", known))
                            : Doc("_id.u", user, "_id.d", interval)),
          Doc("$group", Doc("_id", bson::Value::Null(), "total", Doc("$sum", of("total")), "count",
                            raw ? Doc("$sum", int64_t{1}) : Doc("$sum", "$value.count"), "min",
                            Doc("$min", of("min")), "max", Doc("$max", of("max"))))};
}

double DoubleAt(bson::View document, std::string_view path) {
  bson::Value value = At(document, path);
  return value.type() == bson::Type::kDouble ? value.AsDouble()
                                             : static_cast<double>(IntegerAt(document, path));
}

Date DateOr(const bson::Value& value, Date other) {
  return value.type() == bson::Type::kDate ? value.AsDate() : other;
}
// Of the job's state: up to when it has seen what was ingested, and before when hours are closed.
Date LastRun(const Document& state) { return DateOr(state["last_run"], Date{INT64_MIN}); }
Date ClosedBefore(const Document& state) { return DateOr(state["closed_before"], Date{INT64_MIN}); }
// Without a date that no driver can read while there is none.
bson::Value Stored(Date date) {
  return date.millis == INT64_MIN ? bson::Value() : bson::Value(date);
}

// Whether an interval is what its inputs sum up to.
bool SameSums(const Document& sum, const Document& interval) {
  const int64_t count = IntegerAt(interval, "value.count");
  return IntegerAt(sum, "count") == count &&
         DoubleAt(sum, "total") == DoubleAt(interval, "value.total") &&
         DoubleAt(sum, "min") == DoubleAt(interval, "value.min") &&
         DoubleAt(sum, "max") == DoubleAt(interval, "value.max") &&
         DoubleAt(interval, "value.mean") == DoubleAt(sum, "total") / static_cast<double>(count);
}

std::string LineOf(const Row& row, const std::string& user, Date start) {
  return std::string(row.collection) + " of " + user + ", " + bson::ToJson(bson::Value(start));
}

}  // namespace

Rollups::Work::Work(const Client& client, std::string_view database, RollupsOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "rollups") {}

const std::vector<IndexSpec>& Rollups::Work::Indexes() {
  static const std::vector<IndexSpec> kIndexes = [] {
    std::vector<IndexSpec> indexes = {{kEvents, R"({"ing": 1})"},
                                      {kEvents, R"({"userid": 1, "ts": 1})"},
                                      {kEvents, R"({"ts": 1})"},
                                      Idempotency::Index()};
    for (const Row& row : kRows) {
      indexes.push_back({row.collection, R"({"_id.u": 1, "_id.d": 1})"});
      indexes.push_back({row.collection, R"({"_id.d": 1})"});
    }
    return indexes;
  }();
  return kIndexes;
}

const std::vector<ShardKeySpec>& Rollups::Work::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = [] {
    std::vector<ShardKeySpec> keys = {{kEvents, R"({"userid": 1, "ts": 1})"},
                                      Idempotency::ShardKey()};
    for (const Row& row : kRows) {
      keys.push_back({row.collection, R"({"_id.u": 1, "_id.d": 1})"});
    }
    return keys;
  }();
  return kKeys;
}

Status Rollups::Work::Record(const RollupEvent& event, const CallKey& key) const {
  const bson::ObjectId made = store_.seams().ids->Next();
  const bson::Value id = key ? bson::Value(std::string_view(*key)) : bson::Value(made);
  const Document fields = Doc("userid", event.user, "ts", event.time, "length", event.length);
  bson::Builder document;
  document.Append("_id", id).AppendFields(fields);
  document.Append("ing", store_.Now());
  Status inserted = store_.Insert(kEvents, document.Finish());
  if (key && IsDuplicateKey(inserted)) {
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kEvents, Doc("_id", id)));
    for (const bson::Element& field : fields.view()) {
      if (found && !(*found)[field.name()].BinaryEquals(field.value())) {
        return MakeError(Error::kIdempotencyKeyReuse, *key);
      }
    }
    return Status::Ok();
  }
  RETURN_IF_ERROR(inserted);
  return store_.seams().After("rollups.record.c1");
}

// Whoever repeats a call takes other numbers; the ones kept first are the call's, the rest a gap.
Result<int64_t> Rollups::Work::ReserveIds(std::string_view sequence, int64_t k,
                                          const CallKey& key) const {
  auto reserve = [&](const Claim&) -> Result<Document> {
    for (int i = 0; i < kAttempts; ++i) {
      auto taken =
          store_.FindAndUpdate(kSequences, Doc("_id", sequence), Doc("$inc", Doc("inc", k)), true);
      if (IsDuplicateKey(taken.status())) {  // another made it first
        continue;
      }
      RETURN_IF_ERROR(taken.status());
      RETURN_IF_ERROR(store_.seams().After("rollups.reserve_ids.c1"));
      return Doc("first", IntegerAt(**taken, "inc") - k);
    }
    return MakeError(Error::kContention, sequence);
  };
  ASSIGN_OR_RETURN(Document block, calls_.Once("rollups.reserve_ids", key,
                                               Doc("sequence", sequence, "k", k), reserve));
  return IntegerAt(block, "first");
}

Result<Rollups::Work::Dirty> Rollups::Work::DirtyHours(const Document& filter) const {
  const Pipeline pipeline = {
      Doc("$match", filter),
      Doc("$group", Doc("_id", Doc("u", "$userid", "d",
                                   Doc("$dateTrunc", Doc("date", "$ts", "unit", "hour")))))};
  ASSIGN_OR_RETURN(auto groups, store_.Aggregate(kEvents, pipeline));
  Dirty hours;
  for (const Document& group : groups) {
    hours.emplace(TextAt(group, "_id.u"), At(group, "_id.d").AsDate().millis);
  }
  return hours;
}

Rollups::Work::Dirty Rollups::Work::Raised(const Dirty& below, Level level) const {
  Dirty raised;
  for (const auto& [user, start] : below) {
    raised.emplace(user, BucketStart(Date{start}, level, options_.week).millis);
  }
  return raised;
}

// The sums of an interval's inputs; nothing when there are none.
Result<std::optional<Document>> Rollups::Work::SumUp(const std::string& user, Date start,
                                                     Level level, Date known) const {
  const Row& row = RowOf(level);
  const Date end = NextBucket(start, level, options_.week);
  ASSIGN_OR_RETURN(auto sums,
                   store_.Aggregate(row.from_collection, SumOf(row, user, start, end, known)));
  return sums.empty() ? std::nullopt : std::optional<Document>(sums.front());
}

// The token in the filter keeps out the write of a worker that computed it before another, with a
// later turn, saw more events.
Status Rollups::Work::Recompute(const std::string& user, Date start, Level level, int64_t token,
                                Date known) const {
  const Row& row = RowOf(level);
  const Document id = Doc("u", user, "d", start);
  const Document mine = Doc("_id", id, "token", Doc("$lte", token));
  ASSIGN_OR_RETURN(auto found, SumUp(user, start, level, known));
  if (!found) {
    return store_.DeleteOne(row.collection, mine).status();
  }
  const Document& sum = *found;
  const double mean = DoubleAt(sum, "total") / static_cast<double>(IntegerAt(sum, "count"));
  const Document value = Doc("total", sum["total"], "count", IntegerAt(sum, "count"), "mean", mean,
                             "min", sum["min"], "max", sum["max"], "ts", store_.Now());
  const Document update = Doc("$set", Doc("value", value, "token", token));
  Status status = store_.UpdateOne(row.collection, mine, update, true).status();
  if (!IsDuplicateKey(status)) {
    return status;
  }
  ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(row.collection, mine, update));
  return matched == 1 ? Status::Ok() : MakeError(Error::kLeaseLost, "a later turn wrote it");
}

Result<JobReport> Rollups::Work::Cascade(const Turn& turn, const Dirty& hours,
                                         const Closing& closing) const {
  JobReport report;
  int step = 1;
  for (const Row& row : kRows) {
    const Dirty dirty = Raised(hours, row.level);
    for (const auto& [user, start] : dirty) {
      report.examined += 1;
      if (report.examined % options_.batch == 0) {
        RETURN_IF_ERROR(Save(turn));
      }
      if (row.level == Level::kHour && start < turn.closed.millis) {
        report.skipped += 1;
        continue;
      }
      const Date known = start < closing.before.millis ? closing.known : Date{INT64_MAX};
      RETURN_IF_ERROR(Recompute(user, Date{start}, row.level, turn.lease->token(), known));
      report.changed += 1;
    }
    RETURN_IF_ERROR(store_.seams().After(turn.operation, ++step));
  }
  return report;
}

// An event for a closed hour: kept aside by its id, so that it is added once.
Status Rollups::Work::AddLate(const Document& event, int64_t token) const {
  const Date hour = BucketStart(event["ts"].AsDate(), Level::kHour);
  const Document late = Doc("_id", event["_id"], "u", event["userid"], "d", hour, "length",
                            event["length"], "applied", false);
  Status inserted = store_.Insert(kLate, late);
  if (IsDuplicateKey(inserted)) {
    ASSIGN_OR_RETURN(auto before, store_.FindOne(kLate, Doc("_id", event["_id"])));
    if (before && (*before)["applied"].AsBool()) {
      return ForgetLate(late);
    }
  } else {
    RETURN_IF_ERROR(inserted);
  }
  RETURN_IF_ERROR(store_.seams().After("rollups.late.c1"));
  RETURN_IF_ERROR(AddToHour(late, token));
  RETURN_IF_ERROR(store_.seams().After("rollups.late.c2"));
  RETURN_IF_ERROR(
      store_.UpdateOne(kLate, Doc("_id", late["_id"]), Doc("$set", Doc("applied", true))).status());
  RETURN_IF_ERROR(store_.seams().After("rollups.late.c3"));
  return ForgetLate(late);
}

// Once agg_late says that it was added, the hour need not.
Status Rollups::Work::ForgetLate(const Document& late) const {
  RETURN_IF_ERROR(store_
                      .UpdateOne(kHourly, Doc("_id", Doc("u", late["u"], "d", late["d"])),
                                 Doc("$pull", Doc("late_ids", late["_id"])))
                      .status());
  return store_.seams().After("rollups.late.c4");
}

// The sums it was computed from are in the filter: who else adds makes it compute again.
Status Rollups::Work::AddToHour(const Document& late, int64_t token) const {
  const Document id = Doc("_id", Doc("u", late["u"], "d", late["d"]));
  const double length = DoubleAt(late, "length");
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(auto hour, store_.FindOne(kHourly, id));
    if (hour && Holds((*hour)["late_ids"], late["_id"])) {
      return Status::Ok();
    }
    if (hour && IntegerAt(*hour, "token") > token) {
      return MakeError(Error::kLeaseLost, "a later turn wrote it");
    }
    const double total = hour ? DoubleAt(*hour, "value.total") + length : length;
    const int64_t count = hour ? IntegerAt(*hour, "value.count") + 1 : 1;
    const double least = hour ? std::min(DoubleAt(*hour, "value.min"), length) : length;
    const double most = hour ? std::max(DoubleAt(*hour, "value.max"), length) : length;
    const Document value =
        Doc("total", total, "count", count, "mean", total / static_cast<double>(count), "min",
            least, "max", most, "ts", store_.Now());
    bson::Builder filter;
    filter.AppendFields(id).Append("late_ids", Doc("$ne", late["_id"]));
    filter.Append("token", Doc("$lte", token));
    if (hour) {
      filter.Append("value", (*hour)["value"]);
    }
    auto written = store_.UpdateOne(
        kHourly, filter.Finish(),
        Doc("$set", Doc("value", value, "token", token), "$push", Doc("late_ids", late["_id"])),
        !hour);
    if (!IsDuplicateKey(written.status())) {
      RETURN_IF_ERROR(written.status());
      if (*written == 1) {
        return Status::Ok();
      }
    }
  }
  return MakeError(Error::kContention, "the hour keeps changing");
}

Result<JobReport> Rollups::Work::TakeTurn(
    std::string_view operation, const std::function<Result<JobReport>(Turn*)>& job) const {
  Lease lease(store_, kJob, options_.worker, options_.lease);
  return HoldLease(&lease, [&](const Document& state) -> Result<JobReport> {
    RETURN_IF_ERROR(store_.seams().After(operation, 1));
    Turn turn{operation, &lease, LastRun(state), ClosedBefore(state)};
    return job(&turn);
  });
}

// Keeps the lease, too.
Status Rollups::Work::Save(const Turn& turn) {
  return turn.lease->Save(
      Doc("last_run", Stored(turn.last_run), "closed_before", Stored(turn.closed)));
}

// Where a batch that begins at `from` ends: events ingested in the same millisecond are in one.
Result<Date> Rollups::Work::BatchEnd(Date from, Date to) const {
  ASSIGN_OR_RETURN(auto next, store_.Find(kEvents, Doc("ing", Doc("$gte", from, "$lt", to)),
                                          {.projection = Doc("ing", 1),
                                           .sort = Doc("ing", 1),
                                           .skip = options_.batch,
                                           .limit = 1}));
  return next.empty() ? to : std::max(next[0]["ing"].AsDate(), Date{from.millis + 1});
}

Result<JobReport> Rollups::Work::CatchUp(Turn* turn) const {
  JobReport report;
  const Date cutoff = store_.Ago(options_.delay);
  while (turn->last_run < cutoff) {
    ASSIGN_OR_RETURN(const Date end, BatchEnd(turn->last_run, cutoff));
    const Document window = Doc("$gte", turn->last_run, "$lt", end);
    ASSIGN_OR_RETURN(Dirty hours, DirtyHours(Doc("ing", window)));
    ASSIGN_OR_RETURN(auto late,
                     store_.Find(kEvents, Doc("ing", window, "ts", Doc("$lt", turn->closed))));
    for (const Document& event : late) {
      RETURN_IF_ERROR(AddLate(event, turn->lease->token()));
    }
    ASSIGN_OR_RETURN(JobReport batch, Cascade(*turn, hours, {}));
    report += batch;
    turn->last_run = end;
    RETURN_IF_ERROR(Save(*turn));
    RETURN_IF_ERROR(store_.seams().After(turn->operation, 7));
  }
  return report;
}

Result<JobReport> Rollups::Work::Run() const {
  return TakeTurn("rollups.run", [&](Turn* turn) { return CatchUp(turn); });
}

// What is younger than the delay comes to a later run as late: the hours that close must be without
// it.
Result<JobReport> Rollups::Work::Close(Date before) const {
  return TakeTurn("rollups.close", [&](Turn* turn) -> Result<JobReport> {
    ASSIGN_OR_RETURN(JobReport report, CatchUp(turn));
    const Date closing = std::max(turn->closed, BucketStart(before, Level::kHour));
    ASSIGN_OR_RETURN(Dirty young, DirtyHours(Doc("ing", Doc("$gte", turn->last_run))));
    ASSIGN_OR_RETURN(JobReport closed,
                     Cascade(*turn, young, {.before = closing, .known = turn->last_run}));
    turn->closed = closing;
    RETURN_IF_ERROR(Save(*turn));
    RETURN_IF_ERROR(store_.seams().After(turn->operation, 8));
    return report += closed;
  });
}

// The first hour of everything stored that overlaps [from, to): as dirty, it makes its interval so
// at every level.
Status Rollups::Work::AddStored(Date from, Date to, Dirty* hours) const {
  for (const Row& row : kRows) {
    const Date first = BucketStart(from, row.level, options_.week);
    ASSIGN_OR_RETURN(auto stored,
                     store_.Find(row.collection, Doc("_id.d", Doc("$gte", first, "$lt", to)),
                                 {.projection = Doc("_id", 1)}));
    for (const Document& one : stored) {
      hours->emplace(TextAt(one, "_id.u"), At(one, "_id.d").AsDate().millis);
    }
  }
  return Status::Ok();
}

Result<JobReport> Rollups::Work::Repair(Date from, Date to) const {
  return TakeTurn("rollups.repair", [&](Turn* turn) -> Result<JobReport> {
    const Date first = BucketStart(from, Level::kHour);
    ASSIGN_OR_RETURN(Dirty hours, DirtyHours(Doc("ts", Doc("$gte", first, "$lt", to))));
    RETURN_IF_ERROR(AddStored(from, to, &hours));
    return Cascade(*turn, hours, {});
  });
}

Result<std::vector<RollupValue>> Rollups::Work::Query(std::string_view user, Level level, Date from,
                                                      Date to) const {
  ASSIGN_OR_RETURN(auto found, store_.ForReports().Find(
                                   RowOf(level).collection,
                                   Doc("_id.u", user, "_id.d", Doc("$gte", from, "$lt", to)),
                                   {.sort = Doc("_id.u", 1, "_id.d", 1)}));
  std::vector<RollupValue> values;
  for (const Document& one : found) {
    values.push_back({At(one, "_id.d").AsDate(), DoubleAt(one, "value.total"),
                      IntegerAt(one, "value.count"), DoubleAt(one, "value.mean"),
                      DoubleAt(one, "value.min"), DoubleAt(one, "value.max")});
  }
  return values;
}

Result<std::vector<std::string>> Rollups::Work::CheckInvariants() const {
  ASSIGN_OR_RETURN(auto job, store_.FindOne("jobs", Doc("_id", kJob)));
  const bson::Value kept = job ? (*job)["state"] : bson::Value();
  const Document state = kept.is_document() ? Document(kept.AsDocument()) : Document();
  const Date closed = ClosedBefore(state);
  std::vector<std::string> wrong;
  ASSIGN_OR_RETURN(Dirty hours, DirtyHours(Doc("ing", Doc("$lt", LastRun(state)))));
  for (const Row& row : kRows) {
    const bool raw = row.level == Level::kHour;
    Dirty missing = Raised(hours, row.level);
    auto check = [&](const Document& interval) -> Status {
      const std::string user(TextAt(interval, "_id.u"));
      const Date start = At(interval, "_id.d").AsDate();
      missing.erase({user, start.millis});
      if (raw) {
        hours.emplace(user, start.millis);
      }
      if (raw && start < closed) {
        return Status::Ok();  // its events may be gone
      }
      ASSIGN_OR_RETURN(auto sum, SumUp(user, start, row.level, Date{INT64_MAX}));
      if (!sum || !SameSums(*sum, interval)) {
        wrong.push_back(LineOf(row, user, start));
      }
      return Status::Ok();
    };
    RETURN_IF_ERROR(Walk(store_, row.collection, check));
    for (const auto& [user, start] : missing) {
      wrong.push_back(LineOf(row, user, Date{start}));
    }
  }
  return wrong;
}

}  // namespace quire::patterns
