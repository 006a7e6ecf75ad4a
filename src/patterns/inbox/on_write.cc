// SPDX-License-Identifier: Apache-2.0
//
// One document per message and recipient.
#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/inbox/storage.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::ObjectId;

constexpr char kInbox[] = "inbox_write";

class OnWrite : public OutboxStorage {
 public:
  using OutboxStorage::OutboxStorage;

  Result<InboxPage> Read(std::string_view user, const PageRequest& page) const override;
  Status MarkRead(std::string_view user, const ObjectId& message) const override;
  Status Remove(std::string_view user, const ObjectId& message) const override;
  Result<int64_t> UnreadCount(std::string_view user) const override;

 protected:
  Status Deliver(const Document& record, std::string_view recipient, int* step) const override;
  Result<bool> Delivered(const Document& record, std::string_view recipient) const override;
  Result<JobReport> PurgeRemoved(bson::Date before, int64_t batch) const override;

 private:
  Status Change(const Document& filter, const Document& update) const;
};

// The unique index refuses a copy that is there, be it removed.
Status OnWrite::Deliver(const Document& record, std::string_view recipient, int* step) const {
  Status status =
      store_.Insert(kInbox, Doc("msg", record["_id"], "recipient", recipient, "from",
                                record["from"], "to", record["to"], "sent", record["sent"],
                                "message", record["message"], "read", false));
  if (!IsDuplicateKey(status)) {
    RETURN_IF_ERROR(status);
  }
  return After(step);
}

Result<bool> OnWrite::Delivered(const Document& record, std::string_view recipient) const {
  ASSIGN_OR_RETURN(int64_t copies,
                   store_.Count(kInbox, Doc("recipient", recipient, "msg", record["_id"])));
  return copies == 1;
}

Result<InboxPage> OnWrite::Read(std::string_view user, const PageRequest& page) const {
  return ReadBySent(
      Doc("recipient", user), "msg", page,
      [&](const Document& filter, int64_t limit) {
        return store_.Find(kInbox, filter, {.sort = Doc("sent", -1, "msg", -1), .limit = limit});
      },
      [](const std::vector<Document>& found) -> Result<std::vector<InboxMessage>> {
        std::vector<InboxMessage> messages;
        for (const Document& one : found) {
          if (!one.view().Has("removed")) {
            messages.push_back(MessageOf(one, "msg"));
          }
        }
        return messages;
      });
}

Status OnWrite::Change(const Document& filter, const Document& update) const {
  ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(kInbox, filter, update));
  return matched == 1 ? Status::Ok() : MakeError(Error::kNotFound, bson::ToJson(filter.view()));
}

Status OnWrite::MarkRead(std::string_view user, const ObjectId& message) const {
  return Change(Doc("recipient", user, "msg", message, "removed", Doc("$exists", false)),
                Doc("$set", Doc("read", true)));
}

Status OnWrite::Remove(std::string_view user, const ObjectId& message) const {
  return Change(Doc("recipient", user, "msg", message),
                Doc("$set", Doc("read", true), "$min", Doc("removed", store_.Now())));
}

Result<int64_t> OnWrite::UnreadCount(std::string_view user) const {
  return store_.Count(kInbox, Doc("recipient", user, "read", false));
}

Result<JobReport> OnWrite::PurgeRemoved(bson::Date before, int64_t batch) const {
  JobReport report;
  ASSIGN_OR_RETURN(auto copies, store_.Find(kInbox, Doc("removed", Doc("$lt", before)),
                                            {.sort = Doc("removed", 1), .limit = batch}));
  for (const Document& copy : copies) {
    report.examined += 1;
    ASSIGN_OR_RETURN(bool forgotten, Forgotten(copy["msg"]));
    if (!forgotten) {
      report.skipped += 1;
      continue;
    }
    ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(kInbox, Doc("_id", copy["_id"])));
    RETURN_IF_ERROR(store_.seams().After("inbox.purge.c2"));
    report.changed += deleted;
  }
  return report;
}

}  // namespace

std::unique_ptr<InboxStorage> MakeInboxOnWrite(const Store& store) {
  return std::make_unique<OnWrite>(store);
}

}  // namespace quire::patterns
