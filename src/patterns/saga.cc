// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/saga.h"

#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::OwnedValue;

OwnedValue IdOf(const Document& record) { return OwnedValue(record["_id"]); }

bool Resumed(const Document& record) { return record.view().Has("resumed"); }

// The fields of a record that its caller gave.
bool SameFields(const Document& record, const Document& fields) {
  for (const bson::Element& field : fields.view()) {
    if (!record[field.name()].BinaryEquals(field.value())) {
      return false;
    }
  }
  return true;
}

// The filter of a participant that has nothing of the record yet and does not refuse it.
Document UntouchedBy(const OwnedValue& record_id, const Participant& part) {
  bson::Builder filter;
  filter.Append("_id", part.id.value()).AppendFields(part.guard);
  filter.Append("txns", Doc("$ne", record_id)).Append("voided", Doc("$ne", record_id));
  return filter.Finish();
}

// The error that a rolled back record tells its caller.
Status Outcome(const Document& record) {
  std::string_view name = TextAt(record, "error");
  Error error = ErrorOfName(name);
  return MakeError(error == Error{} ? Error::kTransactionExpired : error, "rolled back");
}

}  // namespace

// All of a Saga: its calls, and the steps they are made of.
class Saga::Work {
 public:
  Work(Store store, SagaOptions options) : store_(std::move(store)), options_(std::move(options)) {}
  Result<Document> Run(const Document& fields) const;
  Result<Document> RunInTransaction(const Document& fields) const;
  Result<JobReport> Cleanup() const;
  Result<JobReport> Purge(const Idempotency& calls) const;

 private:
  enum class Prepared { kYes, kDecided };
  struct Chore {
    Document filter;
    std::function<Result<int64_t>(const Document&)> work;
  };
  Result<Document> Attempt(const Document& record) const;
  Result<Document> Continue(const Document& fields) const;
  Result<Document> Conclude(const OwnedValue& id) const;
  Result<Prepared> Prepare(const OwnedValue& record_id, const Participant& part) const;
  Result<Document> Commit(const OwnedValue& id) const;
  Result<Document> Retire(const Document& record) const;
  Result<Document> GiveUp(const OwnedValue& id, const Status& why) const;
  Status Rollback(const Document& record) const;
  Status ApplyAll(const Store& inside, const Document& record, Status* refusal) const;
  Status RollbackPart(const OwnedValue& record_id, const Participant& part) const;
  Status Expire(const Document& record) const;
  Result<int64_t> Forget(const Document& record) const;
  Result<JobReport> RunJob(const std::string& job, const std::vector<Chore>& chores) const;
  Status After(int step) const { return store_.seams().After(options_.name, step); }

  Store store_;
  SagaOptions options_;
};

Result<Document> Saga::Work::Run(const Document& fields) const {
  bson::Builder builder;
  builder.AppendFields(fields).Append("state", "new").Append("ts", store_.Now());
  Document record = builder.Finish();
  Status inserted = store_.Insert(options_.records, record);
  if (IsDuplicateKey(inserted)) {
    return Continue(fields);
  }
  RETURN_IF_ERROR(inserted);
  RETURN_IF_ERROR(After(1));
  return Attempt(record);
}

// The mark `resumed` comes before any further prepare: who commits sees it, and leaves tombstones
// against prepares of the other attempt that are still on their way.
Result<Document> Saga::Work::Continue(const Document& fields) const {
  OwnedValue id = IdOf(fields);
  ASSIGN_OR_RETURN(auto found, store_.FindOne(options_.records, Doc("_id", id)));
  if (!found) {
    return MakeError(Error::kTransactionExpired, "its record was purged");
  }
  if (!SameFields(*found, fields)) {
    return MakeError(Error::kIdempotencyKeyReuse, "the key belongs to another request");
  }
  ASSIGN_OR_RETURN(auto resumed,
                   store_.FindAndUpdate(options_.records, Doc("_id", id, "state", "new"),
                                        Doc("$set", Doc("resumed", true))));
  RETURN_IF_ERROR(store_.seams().After(options_.name + "_resume", 1));
  return resumed ? Attempt(*resumed) : Conclude(id);
}

// From the state that others decided to the end.
Result<Document> Saga::Work::Conclude(const OwnedValue& id) const {
  ASSIGN_OR_RETURN(auto record, store_.FindOne(options_.records, Doc("_id", id)));
  std::string_view state = record ? TextAt(*record, "state") : "";
  if (state == "commit") {
    return Retire(*record);
  }
  if (state == "done") {
    return *std::move(record);
  }
  if (state == "rollback") {
    RETURN_IF_ERROR(Rollback(*record));
  }
  return record ? Outcome(*record) : MakeError(Error::kTransactionExpired, "purged");
}

Result<Document> Saga::Work::Attempt(const Document& record) const {
  OwnedValue id = IdOf(record);
  const std::vector<Participant> parts = options_.plan(record);
  int step = 1;
  for (const Participant& part : parts) {
    Result<Prepared> prepared = Prepare(id, part);
    if (!prepared.ok()) {
      return ErrorOfName(ErrorName(prepared.status())) == Error{}
                 ? Result<Document>(prepared.status())
                 : GiveUp(id, prepared.status());
    }
    if (*prepared == Prepared::kDecided) {
      return Conclude(id);
    }
    RETURN_IF_ERROR(After(++step));
  }
  return Commit(id);
}

// Reads the participant before the record: while the record is still new nobody has retired it, so
// an untouched participant means that its guard failed.
Result<Saga::Work::Prepared> Saga::Work::Prepare(const OwnedValue& record_id,
                                                 const Participant& part) const {
  Document update = MergeUpdates(part.prepare, Doc("$push", Doc("txns", record_id)));
  ASSIGN_OR_RETURN(int64_t matched,
                   store_.UpdateOne(part.collection, UntouchedBy(record_id, part), update));
  if (matched == 1) {
    return Prepared::kYes;
  }
  ASSIGN_OR_RETURN(auto found, store_.FindOne(part.collection, Doc("_id", part.id)));
  if (found && Holds((*found)["txns"], record_id.value())) {
    return Prepared::kYes;
  }
  ASSIGN_OR_RETURN(auto record, store_.FindOne(options_.records, Doc("_id", record_id)));
  if (!record || TextAt(*record, "state") != "new") {
    return Prepared::kDecided;
  }
  if (!found) {
    return MakeError(part.absent, "no document " + bson::ToJson(part.id.value()));
  }
  if (Holds((*found)["voided"], record_id.value())) {
    return MakeError(Error::kTransactionExpired, "it was rolled back meanwhile");
  }
  return MakeError(part.refused, "the guard failed on " + bson::ToJson(part.id.value()));
}

Result<Document> Saga::Work::Commit(const OwnedValue& id) const {
  ASSIGN_OR_RETURN(auto committed,
                   store_.FindAndUpdate(options_.records, Doc("_id", id, "state", "new"),
                                        Doc("$set", Doc("state", "commit"))));
  if (!committed) {
    return Conclude(id);
  }
  const int parts = static_cast<int>(options_.plan(*committed).size());
  RETURN_IF_ERROR(After(2 + parts));
  return Retire(*committed);
}

Result<Document> Saga::Work::Retire(const Document& record) const {
  OwnedValue id = IdOf(record);
  const std::vector<Participant> parts = options_.plan(record);
  int step = 2 + static_cast<int>(parts.size());
  Document finish = Doc("$pull", Doc("txns", id));
  if (Resumed(record)) {
    finish = MergeUpdates(finish, Doc("$addToSet", Doc("voided", id)));
  }
  for (const Participant& part : parts) {
    RETURN_IF_ERROR(store_
                        .UpdateOne(part.collection, Doc("_id", part.id, "txns", id),
                                   MergeUpdates(part.retire, finish))
                        .status());
    RETURN_IF_ERROR(After(++step));
  }
  ASSIGN_OR_RETURN(auto done,
                   store_.FindAndUpdate(options_.records, Doc("_id", id, "state", "commit"),
                                        Doc("$set", Doc("state", "done", "ended", store_.Now()))));
  RETURN_IF_ERROR(After(++step));
  return done ? *std::move(done) : record;
}

Result<Document> Saga::Work::GiveUp(const OwnedValue& id, const Status& why) const {
  ASSIGN_OR_RETURN(
      auto record,
      store_.FindAndUpdate(options_.records, Doc("_id", id, "state", "new"),
                           Doc("$set", Doc("state", "rollback", "error", ErrorName(why)))));
  if (!record) {
    return Conclude(id);
  }
  RETURN_IF_ERROR(store_.seams().After(options_.name + "_rollback", 1));
  RETURN_IF_ERROR(Rollback(*record));
  return why;
}

Status Saga::Work::Rollback(const Document& record) const {
  OwnedValue id = IdOf(record);
  const std::string point = options_.name + "_rollback";
  int step = 1;
  for (const Participant& part : options_.plan(record)) {
    RETURN_IF_ERROR(RollbackPart(id, part));
    RETURN_IF_ERROR(store_.seams().After(point, ++step));
  }
  RETURN_IF_ERROR(store_
                      .UpdateOne(options_.records, Doc("_id", id, "state", "rollback"),
                                 Doc("$set", Doc("state", "rolled_back", "ended", store_.Now())))
                      .status());
  return store_.seams().After(point, ++step);
}

// A prepare of a late client may come between the two writes: then neither matches, and the loop
// takes it back.
Status Saga::Work::RollbackPart(const OwnedValue& record_id, const Participant& part) const {
  const Document undo = MergeUpdates(
      part.rollback, Doc("$pull", Doc("txns", record_id), "$addToSet", Doc("voided", record_id)));
  const Document refuse = Doc("$addToSet", Doc("voided", record_id));
  for (;;) {
    ASSIGN_OR_RETURN(
        int64_t undone,
        store_.UpdateOne(part.collection, Doc("_id", part.id, "txns", record_id), undo));
    if (undone == 1) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(int64_t refused,
                     store_.UpdateOne(part.collection,
                                      Doc("_id", part.id, "txns", Doc("$ne", record_id)), refuse));
    if (refused == 1) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(auto found, store_.FindOne(part.collection, Doc("_id", part.id)));
    if (!found) {
      return Status::Ok();
    }
  }
}

// A refusal is kept too, so that repeating the call finds it.
Result<Document> Saga::Work::RunInTransaction(const Document& fields) const {
  const Document by_id = Doc("_id", fields["_id"]);
  ASSIGN_OR_RETURN(auto before, store_.FindOne(options_.records, by_id));
  if (before) {
    return Continue(fields);
  }
  const std::string point = options_.name + "_transact";
  auto record = [&](const char* state) {
    bson::Builder out;
    out.AppendFields(fields).Append("state", state).Append("ts", store_.Now());
    out.Append("ended", store_.Now());
    return out.Finish();
  };
  const Document done = record("done");
  Status refusal;
  Status status = store_.Transact([&](const Store& inside) {
    refusal = Status::Ok();
    return ApplyAll(inside, done, &refusal);
  });
  if (!refusal.ok()) {
    bson::Builder out;
    const Document undone = record("rolled_back");
    out.AppendFields(undone).Append("error", ErrorName(refusal));
    status = store_.Insert(options_.records, out.Finish());
  }
  if (IsDuplicateKey(status)) {
    return Continue(fields);
  }
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(store_.seams().After(point, 2));
  return refusal.ok() ? Result<Document>(done) : refusal;
}

Status Saga::Work::ApplyAll(const Store& inside, const Document& record, Status* refusal) const {
  const std::vector<Participant> parts = options_.plan(record);
  for (const Participant& part : parts) {
    bson::Builder guarded;
    guarded.Append("_id", part.id.value()).AppendFields(part.guard);
    // An update without operators is a replacement: what is not changed is only looked at.
    ASSIGN_OR_RETURN(auto found, inside.FindOne(part.collection, guarded.Finish()));
    if (!found) {
      ASSIGN_OR_RETURN(auto there, inside.FindOne(part.collection, Doc("_id", part.id)));
      *refusal = MakeError(there ? part.refused : part.absent, bson::ToJson(part.id.value()));
      return *refusal;
    }
    for (const Document* update : {&part.prepare, &part.retire}) {
      if (!update->empty()) {
        RETURN_IF_ERROR(inside.UpdateOne(part.collection, Doc("_id", part.id), *update).status());
      }
    }
  }
  RETURN_IF_ERROR(inside.Insert(options_.records, record));
  return inside.seams().After(options_.name + "_transact", 1);
}

// What a job does with the records of one kind; how many of them it changed.

Result<JobReport> Saga::Work::RunJob(const std::string& job,
                                     const std::vector<Chore>& chores) const {
  size_t next = 0;
  OldestFirst records(store_, options_.records, chores[next].filter, "ts");
  auto work_on_batch = [&](JobReport* report) -> Result<bool> {
    for (int64_t room = options_.batch; room > 0;) {
      ASSIGN_OR_RETURN(auto batch, records.Next(room));
      for (const Document& record : batch) {
        RETURN_IF_ERROR(report->Count(chores[next].work(record)));
      }
      room -= static_cast<int64_t>(batch.size());
      if (!records.more()) {
        if (++next == chores.size()) {
          return false;
        }
        records = OldestFirst(store_, options_.records, chores[next].filter, "ts");
      }
    }
    return true;
  };
  return RepeatLeased(Lease(store_, options_.system + "." + job, options_.worker, options_.lease),
                      work_on_batch);
}

Result<JobReport> Saga::Work::Cleanup() const {
  auto one = [](const Status& done) { return done.ok() ? Result<int64_t>(1) : done; };
  const Document overdue = Doc("state", "new", "ts", Doc("$lt", store_.Ago(options_.max_time)));
  return RunJob("cleanup", {{Doc("state", "commit"),
                             [&](const Document& record) { return one(Retire(record).status()); }},
                            {overdue, [&](const Document& record) { return one(Expire(record)); }},
                            {Doc("state", "rollback"),
                             [&](const Document& record) { return one(Rollback(record)); }}});
}

Status Saga::Work::Expire(const Document& record) const {
  RETURN_IF_ERROR(
      store_
          .UpdateOne(options_.records, Doc("_id", record["_id"], "state", "new"),
                     Doc("$set", Doc("state", "rollback", "error", "TransactionExpired")))
          .status());
  return store_.seams().After(options_.name + "_rollback", 1);
}

// `ts` is indexed and never later than `ended`, which decides.
Result<JobReport> Saga::Work::Purge(const Idempotency& calls) const {
  const Document old = Doc("$lt", store_.Ago(options_.tombstone_retention));
  std::vector<Chore> chores;
  for (const char* state : {"rolled_back", "done"}) {
    chores.push_back({Doc("state", state, "ts", old, "ended", old),
                      [&](const Document& record) { return Forget(record); }});
  }
  ASSIGN_OR_RETURN(JobReport report, RunJob("purge", chores));
  ASSIGN_OR_RETURN(JobReport keys,
                   calls.Purge({options_.tombstone_retention, options_.worker, options_.lease}));
  return report += keys;
}

Result<int64_t> Saga::Work::Forget(const Document& record) const {
  const OwnedValue id = IdOf(record);
  const std::string point = options_.name + "_purge";
  int step = 0;
  for (const Participant& part : options_.plan(record)) {
    RETURN_IF_ERROR(
        store_.UpdateOne(part.collection, Doc("_id", part.id), Doc("$pull", Doc("voided", id)))
            .status());
    RETURN_IF_ERROR(store_.seams().After(point, ++step));
  }
  ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(options_.records, Doc("_id", id)));
  RETURN_IF_ERROR(store_.seams().After(point, ++step));
  return deleted;
}

// ------------------------------------------------------------------ the calls
Saga::Saga(Store store, SagaOptions options)
    : work_(std::make_shared<const Work>(std::move(store), std::move(options))) {}

Result<Document> Saga::Run(const Document& fields) const { return work_->Run(fields); }
Result<Document> Saga::RunInTransaction(const Document& fields) const {
  return work_->RunInTransaction(fields);
}
Result<JobReport> Saga::Cleanup() const { return work_->Cleanup(); }
Result<JobReport> Saga::Purge(const Idempotency& calls) const { return work_->Purge(calls); }

}  // namespace quire::patterns
