// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/event_log.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/batch_size.h"
#include "patterns/doc.h"
#include "patterns/event_log/work.h"
#include "patterns/line_id.h"
#include "quire/error.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr bson::Date kEver{std::numeric_limits<int64_t>::min()};
constexpr bson::Date kNever{std::numeric_limits<int64_t>::max()};
constexpr size_t kImportLines = 1000;

std::string LineId(std::string_view source, int64_t line, std::string_view text) {
  const std::string whole =
      std::string(source) + '\0' + std::to_string(line) + '\0' + std::string(text);
  return HashId(whole);
}

Result<Document> ParseLine(std::string_view line, ImportOptions::Format format) {
  return format == ImportOptions::Format::kApache ? ParseApacheLine(line)
                                                  : ParseMonitorCsvLine(line);
}

bson::Date TimeOf(bson::View event) {
  bson::Value time = event["time"];
  if (time.missing()) {
    time = event["GeneratedOn"];
  }
  return time.type() == bson::Type::kDate ? time.AsDate() : kEver;
}

bool Unacknowledged(const Document& concern) {
  return concern.view().Has("w") && concern["w"].is_number() && IntegerAt(concern, "w") == 0;
}

}  // namespace

EventLog::Work::Work(const Client& client, std::string_view database, EventLogOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      units_(client, std::string(database), options_) {}

std::vector<IndexSpec> EventLog::Work::Indexes() const {
  return units_.Indexes({"", "events", {}, {}});
}

Status EventLog::Work::CreateIndexes() const { return units_.Prepare(units_.For(store_.Now())); }

Result<std::vector<std::string>> EventLog::Work::MissingIndexes() const {
  const EventUnit unit = units_.For(store_.Now());
  return units_.In(unit).MissingIndexes(units_.Indexes(unit));
}

// With an _id, its hash, and the fields of the profile.
Document EventLog::Work::Shaped(const Document& event) const {
  bson::Builder out;
  bson::OwnedValue id(event.view().Has("_id") ? event["_id"]
                                              : bson::Value(store_.seams().ids->Next()));
  std::string encoded;
  id.value().AppendTo(&encoded);
  out.Append("_id", id.value());
  for (const bson::Element& field : event.view()) {
    const std::string_view name = field.name();
    const bool minimal = name == "host" || name == "time" || name == "path" || name == "referrer" ||
                         name == "user_agent";
    const bool raw = name == "time" || name == "line";
    const bool kept = options_.profile == Profile::kFull      ? name != "line"
                      : options_.profile == Profile::kMinimal ? minimal
                                                              : raw;
    if (kept && name != "_id" && name != "ssk") {
      out.Append(field);
    }
  }
  if (!event.view().Has("time") && event.view().Has("GeneratedOn")) {
    out.Append("time", event["GeneratedOn"]);
  }
  out.Append("ssk", static_cast<int64_t>(HashBytes(encoded, 3)));
  return out.Finish();
}

Result<InsertReport> EventLog::Work::InsertMany(const std::vector<Document>& events,
                                                const EventInsertOptions& options) const {
  const bool ordered = options.ordered;
  InsertReport report;
  std::vector<Document> shaped;
  std::vector<Batch> batches;
  std::map<EventUnit, size_t> open;  // the batch that takes a unit's next event
  for (size_t i = 0; i < events.size(); ++i) {
    shaped.push_back(Shaped(events[i]));
    const bson::Date time = TimeOf(events[i]);
    if (time.millis == kEver.millis) {
      return MakeError(Error::kBadTime, "event " + std::to_string(i) + " has no time");
    }
    EventUnit unit = units_.For(time);
    if (units_.Expired(unit, time)) {
      report.dropped_late += 1;
      continue;
    }
    auto found = open.find(unit);
    const bool taken = found != open.end() && (!ordered || found->second + 1 == batches.size()) &&
                       batches[found->second].size.Take(shaped[i]);
    if (!taken) {
      batches.push_back({unit, {}, {}});
      batches.back().size.Take(shaped[i]);
      found = open.insert_or_assign(unit, batches.size() - 1).first;
    }
    batches[found->second].indexes.push_back(i);
  }
  int step = 0;
  for (Batch& batch : batches) {
    std::vector<InsertError> archived;
    RETURN_IF_ERROR(LeaveArchived(&batch, shaped, ordered, &archived));
    RETURN_IF_ERROR(Send(batch, shaped, options, &report));
    const bool stopped = ordered && !report.errors.empty();
    if (!stopped && !Unacknowledged(options.concern)) {
      report.errors.insert(report.errors.end(), archived.begin(), archived.end());
    }
    RETURN_IF_ERROR(store_.seams().After("event_log.insert", ++step));
    if (ordered && !report.errors.empty()) {
      break;
    }
  }
  return report;
}

Status EventLog::Work::LeaveArchived(Batch* batch, const std::vector<Document>& events,
                                     bool ordered, std::vector<InsertError>* found) const {
  if (options_.retention != Retention::kRenamedCollections) {
    return Status::Ok();
  }
  bson::Date first = kNever;
  bson::Date last = kEver;
  std::vector<bson::OwnedValue> ids;
  for (size_t index : batch->indexes) {
    first = std::min(first, TimeOf(events[index]));
    last = std::max(last, TimeOf(events[index]));
    ids.emplace_back(events[index]["_id"]);
  }
  std::set<std::string> archived;
  ASSIGN_OR_RETURN(auto archives, units_.Archives(first, bson::Date{last.millis + 1}));
  for (const EventUnit& archive : archives) {
    ASSIGN_OR_RETURN(auto there,
                     store_.Find(archive.collection, Doc("_id", Doc("$in", ListOf(ids))),
                                 {.projection = Doc("_id", 1)}));
    for (const Document& event : there) {
      archived.insert(std::string(event.bytes()));
    }
  }
  std::vector<size_t> left;
  for (size_t index : batch->indexes) {
    if (!archived.contains(std::string(Doc("_id", events[index]["_id"]).bytes()))) {
      left.push_back(index);
      continue;
    }
    found->push_back({index, kDuplicateKey, "E11000 duplicate key: an archive has the event"});
    if (ordered) {
      break;
    }
  }
  batch->indexes = std::move(left);
  return Status::Ok();
}

Status EventLog::Work::Send(const Batch& batch, const std::vector<Document>& events,
                            const EventInsertOptions& options, InsertReport* report) const {
  RETURN_IF_ERROR(units_.Prepare(batch.unit));
  if (batch.indexes.empty()) {
    return Status::Ok();
  }
  std::vector<Document> documents;
  for (size_t index : batch.indexes) {
    documents.push_back(events[index]);
  }
  ASSIGN_OR_RETURN(Document reply, units_.In(batch.unit)
                                       .InsertBatch(batch.unit.collection, documents,
                                                    options.ordered, options.concern));
  if (Unacknowledged(options.concern)) {
    return Status::Ok();
  }
  report->inserted += IntegerAt(reply, "n");
  if (bson::Value errors = reply["writeErrors"]; errors.is_array()) {
    for (const bson::Element& element : errors.AsArray()) {
      bson::View error = element.value().AsDocument();
      report->errors.push_back({batch.indexes.at(static_cast<size_t>(IntegerAt(error, "index"))),
                                static_cast<int>(IntegerAt(error, "code")),
                                std::string(TextAt(error, "errmsg"))});
    }
  }
  if (bson::Value unmet = reply["writeConcernError"]; unmet.is_document()) {
    report->confirmation =
        MakeError(Error::kAppliedButNotConfirmed, TextAt(unmet.AsDocument(), "errmsg"));
  }
  return Status::Ok();
}

Result<ImportReport> EventLog::Work::Import(std::string_view source, std::istream* stream,
                                            const ImportOptions& options) const {
  ImportReport report;
  report.resume_offset = options.offset;
  report.resume_line = options.line;
  stream->clear();
  stream->seekg(options.offset);
  std::string line;
  bool more = true;
  while (more) {
    std::vector<Document> events;
    ImportReport next = report;
    while (events.size() < kImportLines &&
           (more = static_cast<bool>(std::getline(*stream, line)))) {
      const bool whole = !stream->eof();  // ended by its newline
      if (!whole && !options.final) {
        more = false;
        break;
      }
      next.lines += 1;
      next.resume_line += 1;
      next.resume_offset += static_cast<int64_t>(line.size()) + (whole ? 1 : 0);
      if (line.ends_with('\r')) {
        line.pop_back();
      }
      Result<Document> event = ParseLine(line, options.format);
      if (!event.ok()) {
        next.rejected.push_back({next.resume_line, event.status().message()});
        continue;
      }
      const std::string id = LineId(source, next.resume_line, line);
      bson::Builder with_id;
      with_id.Append("_id", bson::Value::Binary(id, 0)).AppendFields(*event);
      if (options_.profile == Profile::kRaw) {
        with_id.Append("line", line);
      }
      events.push_back(with_id.Finish());
    }
    ASSIGN_OR_RETURN(InsertReport stored, InsertMany(events, {}));
    RETURN_IF_ERROR(store_.seams().After("event_log.import.c1"));
    next.inserted += stored.inserted;
    next.dropped_late += stored.dropped_late;
    for (const InsertError& error : stored.errors) {
      Status status(error.code, error.message);
      if (!IsDuplicateKey(status)) {
        return status;
      }
      next.duplicates += 1;
    }
    report = std::move(next);
  }
  return report;
}

Result<JobReport> EventLog::Work::Rotate() const { return units_.Rotate(); }

Result<JobReport> EventLog::Work::DropExpired() const {
  auto drop = [&](const EventUnit& unit) -> Result<int64_t> {
    if (!units_.Droppable(unit)) {
      return 0;
    }
    RETURN_IF_ERROR(units_.Drop(unit));
    RETURN_IF_ERROR(store_.seams().After("event_log.drop.c1"));
    return 1;
  };
  return RunLeased(Lease(store_, "event_log.drop", options_.worker, options_.lease),
                   [&]() -> Result<JobReport> {
                     JobReport report;
                     ASSIGN_OR_RETURN(std::vector<EventUnit> units, units_.Existing(kEver, kNever));
                     for (const EventUnit& unit : units) {
                       RETURN_IF_ERROR(report.Count(drop(unit)));
                     }
                     return report;
                   });
}

Result<std::vector<std::pair<std::string, int64_t>>> EventLog::Work::IndexSizes() const {
  std::map<std::string, int64_t> sizes;
  ASSIGN_OR_RETURN(std::vector<EventUnit> units, units_.Existing(kEver, kNever));
  for (const EventUnit& unit : units) {
    ASSIGN_OR_RETURN(Document stats, units_.In(unit).Run(Doc("collStats", unit.collection)));
    bson::Value indexes = stats["indexSizes"];
    if (!indexes.is_document()) {
      continue;
    }
    for (const bson::Element& index : indexes.AsDocument()) {
      sizes[std::string(index.name())] += IntegerAt(indexes.AsDocument(), index.name());
    }
  }
  return std::vector<std::pair<std::string, int64_t>>(sizes.begin(), sizes.end());
}

Result<std::vector<std::string>> EventLog::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  ASSIGN_OR_RETURN(std::vector<EventUnit> units, units_.Existing(kEver, kNever));
  for (size_t i = 0; i < units.size(); ++i) {
    const EventUnit& unit = units[i];
    if (unit.from.millis != kEver.millis) {
      for (const Document& outside :
           {Doc("time", Doc("$lt", unit.from)), Doc("time", Doc("$gte", unit.to))}) {
        ASSIGN_OR_RETURN(auto event, units_.In(unit).FindOne(unit.collection, outside));
        if (event) {
          wrong.push_back("events of another time: " + unit.database + "." + unit.collection);
        }
      }
    }
    if (options_.retention == Retention::kRenamedCollections) {
      const std::vector<EventUnit> others(units.begin() + static_cast<ptrdiff_t>(i) + 1,
                                          units.end());
      RETURN_IF_ERROR(units_.Doubles(unit, others, [&](const Document& event) {
        wrong.push_back("in two collections: " + bson::ToJson(event["_id"]));
        return Status::Ok();
      }));
    }
  }
  return wrong;
}

// ------------------------------------------------------------------ the calls
EventLog::EventLog(const Client& client, std::string_view database, EventLogOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

std::vector<IndexSpec> EventLog::Indexes() const { return work_->Indexes(); }
const std::vector<ShardKeySpec>& EventLog::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{"events", R"({"path": 1, "ssk": 1})"}};
  return kKeys;
}
Status EventLog::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> EventLog::MissingIndexes() const {
  return work_->MissingIndexes();
}
Result<InsertReport> EventLog::InsertMany(const std::vector<Document>& events,
                                          const EventInsertOptions& options) const {
  return work_->InsertMany(events, options);
}
Result<ImportReport> EventLog::Import(std::string_view source, std::istream* stream,
                                      const ImportOptions& options) const {
  return work_->Import(source, stream, options);
}
Result<Page> EventLog::ByPath(std::string_view path, const PageRequest& page) const {
  return work_->ByPath(path, page);
}
Result<Page> EventLog::ByTime(bson::Date from, bson::Date to, const PageRequest& page) const {
  return work_->ByTime(from, to, page);
}
Result<Page> EventLog::ByHost(std::string_view host, bson::Date from, bson::Date to,
                              const PageRequest& page) const {
  return work_->ByHost(host, from, to, page);
}
Result<std::vector<DailyHits>> EventLog::CountByDayAndPath(bson::Date from, bson::Date to) const {
  return work_->CountByDayAndPath(from, to);
}
Result<JobReport> EventLog::Rotate() const { return work_->Rotate(); }
Result<JobReport> EventLog::DropExpired() const { return work_->DropExpired(); }
Result<std::vector<std::pair<std::string, int64_t>>> EventLog::IndexSizes() const {
  return work_->IndexSizes();
}
Result<std::vector<std::string>> EventLog::CheckInvariants() const {
  return work_->CheckInvariants();
}

}  // namespace quire::patterns
