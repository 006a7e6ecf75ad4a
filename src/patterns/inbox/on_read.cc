// SPDX-License-Identifier: Apache-2.0
//
// One document per message, found by its list of recipients.
#include <set>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/inbox/storage.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::ObjectId;

constexpr char kInbox[] = "inbox_read";
constexpr char kFlags[] = "inbox_flags";  // one for every message that a user read or removed

class OnRead : public InboxStorage {
 public:
  explicit OnRead(const Store& store) : store_(store) {}

  Status Send(const Document& message) const override;
  Result<InboxPage> Read(std::string_view user, const PageRequest& page) const override;
  Status MarkRead(std::string_view user, const ObjectId& message) const override;
  Status Remove(std::string_view user, const ObjectId& message) const override;
  Result<int64_t> UnreadCount(std::string_view user) const override;
  Result<JobReport> Resume(bson::Date, int64_t) const override { return JobReport(); }
  Result<JobReport> Purge(bson::Date before, int64_t batch) const override;
  Result<std::vector<std::string>> CheckInvariants() const override;

 private:
  Status Flag(std::string_view user, const ObjectId& message, const Document& guard,
              const Document& update) const;
  Result<std::vector<InboxMessage>> Shown(std::string_view user,
                                          const std::vector<Document>& found) const;

  Store store_;
};

Status OnRead::Send(const Document& message) const {
  Status status = store_.Insert(kInbox, message);
  if (!IsDuplicateKey(status)) {
    RETURN_IF_ERROR(status);
  }
  return store_.seams().After("inbox.send.c1");
}

Result<std::vector<InboxMessage>> OnRead::Shown(std::string_view user,
                                                const std::vector<Document>& found) const {
  std::vector<bson::Value> ids;
  for (const Document& message : found) {
    ids.push_back(message["_id"]);
  }
  ASSIGN_OR_RETURN(auto flags,
                   store_.Find(kFlags, Doc("user", user, "msg", Doc("$in", ListOf(ids)))));
  std::set<std::array<uint8_t, 12>> read;
  std::set<std::array<uint8_t, 12>> removed;
  for (const Document& flag : flags) {
    (flag.view().Has("removed") ? removed : read).insert(flag["msg"].AsObjectId().bytes);
  }
  std::vector<InboxMessage> messages;
  for (const Document& one : found) {
    InboxMessage message = MessageOf(one, "_id");
    message.read = read.contains(message.id.bytes);
    if (!removed.contains(message.id.bytes)) {
      messages.push_back(std::move(message));
    }
  }
  return messages;
}

Result<InboxPage> OnRead::Read(std::string_view user, const PageRequest& page) const {
  return ReadBySent(
      Doc("to", user), "_id", page,
      [&](const Document& filter, int64_t limit) {
        return store_.Find(kInbox, filter, {.sort = Doc("sent", -1, "_id", -1), .limit = limit});
      },
      [&](const std::vector<Document>& found) { return Shown(user, found); });
}

// A flag that is there though its upsert found none: made by another call, or the guard failed.
Status OnRead::Flag(std::string_view user, const ObjectId& message, const Document& guard,
                    const Document& update) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kInbox, Doc("_id", message, "to", user),
                                              {.projection = Doc("_id", 1)}));
  if (!found) {
    return MakeError(Error::kNotFound, message.ToHex());
  }
  bson::Builder filter;
  filter.Append("user", user).Append("msg", message).AppendFields(guard);
  const Document guarded = filter.Finish();
  Status status = store_.UpdateOne(kFlags, guarded, update, true).status();
  if (!IsDuplicateKey(status)) {
    return status;
  }
  ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(kFlags, guarded, update));
  return matched == 1 ? Status::Ok() : MakeError(Error::kNotFound, message.ToHex());
}

Status OnRead::MarkRead(std::string_view user, const ObjectId& message) const {
  return Flag(user, message, Doc("removed", Doc("$exists", false)), Doc("$set", Doc("read", true)));
}

Status OnRead::Remove(std::string_view user, const ObjectId& message) const {
  return Flag(user, message, Doc(),
              Doc("$set", Doc("read", true), "$min", Doc("removed", store_.Now())));
}

Result<int64_t> OnRead::UnreadCount(std::string_view user) const {
  ASSIGN_OR_RETURN(int64_t all, store_.Count(kInbox, Doc("to", user)));
  ASSIGN_OR_RETURN(int64_t seen, store_.Count(kFlags, Doc("user", user)));
  return std::max<int64_t>(all - seen, 0);
}

// The message goes when all of its recipients removed it, its flags after it.
Result<JobReport> OnRead::Purge(bson::Date before, int64_t batch) const {
  JobReport report;
  ASSIGN_OR_RETURN(auto flags, store_.Find(kFlags, Doc("removed", Doc("$lt", before)),
                                           {.sort = Doc("removed", 1), .limit = batch}));
  for (const Document& flag : flags) {
    report.examined += 1;
    const Document by_id = Doc("_id", flag["msg"]);
    ASSIGN_OR_RETURN(auto message, store_.FindOne(kInbox, by_id));
    if (message) {
      ASSIGN_OR_RETURN(int64_t removed, store_.Count(kFlags, Doc("msg", flag["msg"], "removed",
                                                                 Doc("$lt", before))));
      if (removed < static_cast<int64_t>((*message)["to"].AsArray().Count())) {
        report.skipped += 1;
        continue;
      }
      RETURN_IF_ERROR(store_.DeleteOne(kInbox, by_id).status());
      RETURN_IF_ERROR(store_.seams().After("inbox.purge.c1"));
    }
    ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(kFlags, Doc("_id", flag["_id"])));
    RETURN_IF_ERROR(store_.seams().After("inbox.purge.c2"));
    report.changed += deleted;
  }
  return report;
}

Result<std::vector<std::string>> OnRead::CheckInvariants() const {
  std::vector<std::string> wrong;
  RETURN_IF_ERROR(Walk(store_, kInbox, [&](const Document& message) {
    std::set<std::string_view> distinct;
    for (const bson::Element& recipient : message["to"].AsArray()) {
      if (!distinct.insert(recipient.value().AsString()).second) {
        wrong.push_back("a recipient twice in " + bson::ToJson(message["_id"]));
      }
    }
    return Status::Ok();
  }));
  RETURN_IF_ERROR(Walk(store_, kFlags, [&](const Document& flag) -> Status {
    ASSIGN_OR_RETURN(auto message, store_.FindOne(kInbox, Doc("_id", flag["msg"])));
    if (message && !Holds((*message)["to"], flag["user"])) {
      wrong.push_back("a flag of no recipient " + bson::ToJson(flag["msg"]));
    }
    return Status::Ok();
  }));
  return wrong;
}

}  // namespace

std::unique_ptr<InboxStorage> MakeInboxOnRead(const Store& store) {
  return std::make_unique<OnRead>(store);
}

}  // namespace quire::patterns
