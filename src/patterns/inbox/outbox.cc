// SPDX-License-Identifier: Apache-2.0
//
// The record of a delivery to several recipients.
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/inbox/storage.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kOutbox[] = "outbox";

}  // namespace

OutboxStorage::OutboxStorage(Store store) : store_(std::move(store)) {}

// The record that is there decides when the message was sent: a repeat comes later.
Status OutboxStorage::Send(const Document& message) const {
  bson::Builder builder;
  builder.AppendFields(message).Append("state", "new");
  Document record = builder.Finish();
  Status status = store_.Insert(kOutbox, record);
  if (IsDuplicateKey(status)) {
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kOutbox, Doc("_id", message["_id"])));
    if (!found || TextAt(*found, "state") == "done") {
      return Status::Ok();
    }
    record = *std::move(found);
  } else {
    RETURN_IF_ERROR(status);
  }
  RETURN_IF_ERROR(store_.seams().After("inbox.send.c1"));
  return Finish(record);
}

Status OutboxStorage::Finish(const Document& record) const {
  int step = 1;
  for (const bson::Element& recipient : record["to"].AsArray()) {
    RETURN_IF_ERROR(Deliver(record, recipient.value().AsString(), &step));
  }
  RETURN_IF_ERROR(store_
                      .UpdateOne(kOutbox, Doc("_id", record["_id"], "state", "new"),
                                 Doc("$set", Doc("state", "done", "ended", store_.Now())))
                      .status());
  return After(&step);
}

Result<JobReport> OutboxStorage::Resume(bson::Date before, int64_t batch) const {
  JobReport report;
  ASSIGN_OR_RETURN(auto records,
                   store_.Find(kOutbox, Doc("state", "new", "sent", Doc("$lt", before)),
                               {.sort = Doc("sent", 1), .limit = batch}));
  for (const Document& record : records) {
    report.examined += 1;
    Status status = Finish(record);
    if (Is(status, Error::kCrashed)) {
      return status;
    }
    (status.ok() ? report.changed : report.errors) += 1;
  }
  return report;
}

Result<bool> OutboxStorage::Forgotten(const bson::Value& message) const {
  ASSIGN_OR_RETURN(auto record, store_.FindOne(kOutbox, Doc("_id", message)));
  return !record;
}

// `sent` is indexed and never later than `ended`, which decides.
Result<JobReport> OutboxStorage::Purge(bson::Date before, int64_t batch) const {
  JobReport report;
  ASSIGN_OR_RETURN(auto records, store_.Find(kOutbox,
                                             Doc("state", "done", "sent", Doc("$lt", before),
                                                 "ended", Doc("$lt", before)),
                                             {.sort = Doc("sent", 1), .limit = batch}));
  for (const Document& record : records) {
    report.examined += 1;
    ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(kOutbox, Doc("_id", record["_id"])));
    RETURN_IF_ERROR(store_.seams().After("inbox.purge.c1"));
    report.changed += deleted;
  }
  ASSIGN_OR_RETURN(JobReport removed, PurgeRemoved(before, batch));
  return report += removed;
}

Result<std::vector<std::string>> OutboxStorage::CheckInvariants() const {
  std::vector<std::string> wrong;
  auto check = [&](const Document& record) -> Status {
    if (TextAt(record, "state") != "done") {
      return Status::Ok();
    }
    for (const bson::Element& recipient : record["to"].AsArray()) {
      const std::string_view name = recipient.value().AsString();
      ASSIGN_OR_RETURN(bool delivered, Delivered(record, name));
      if (!delivered) {
        wrong.push_back("not delivered: " + bson::ToJson(record["_id"]) + " to " +
                        std::string(name));
      }
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kOutbox, check));
  return wrong;
}

}  // namespace quire::patterns
