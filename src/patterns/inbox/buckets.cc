// SPDX-License-Identifier: Apache-2.0
//
// Fifty messages of a recipient per document. The recipient's own count numbers its messages, and
// the number says which document a message goes to.
#include <algorithm>
#include <set>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/inbox/storage.h"
#include "patterns/walk.h"
#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::ObjectId;

constexpr char kUsers[] = "users";
constexpr char kOutbox[] = "outbox";
constexpr char kBuckets[] = "inbox_bucket";
constexpr int kAttempts = 5;

int64_t SequenceOf(int64_t number) { return (number - 1) / Inbox::kBucketSize; }

class Buckets : public OutboxStorage {
 public:
  using OutboxStorage::OutboxStorage;

  Result<InboxPage> Read(std::string_view user, const PageRequest& page) const override;
  Status MarkRead(std::string_view user, const ObjectId& message) const override;
  Status Remove(std::string_view user, const ObjectId& message) const override;
  Result<int64_t> UnreadCount(std::string_view user) const override;
  Result<std::vector<std::string>> CheckInvariants() const override;

 protected:
  Status Deliver(const Document& record, std::string_view recipient, int* step) const override;
  Result<bool> Delivered(const Document& record, std::string_view recipient) const override;
  Result<JobReport> PurgeRemoved(bson::Date before, int64_t batch) const override;

 private:
  Result<int64_t> NumberFor(const Document& record, std::string_view recipient, int* step) const;
  Status Push(const Document& record, std::string_view recipient, int64_t number) const;
  Status Change(std::string_view user, const Document& message, const Document& update) const;
};

// The number is drawn, then fixed in the record: of several that go on with one delivery all use
// the number that was fixed first. What a crash in between has drawn is wasted. 0: the record is
// gone, so everything is delivered.
Result<int64_t> Buckets::NumberFor(const Document& record, std::string_view recipient,
                                   int* step) const {
  ASSIGN_OR_RETURN(std::string name, EncodeName(recipient));
  const std::string path = "n." + name;
  if (int64_t known = IntegerAt(record, path); known != 0) {
    return known;
  }
  ASSIGN_OR_RETURN(auto user, store_.FindAndUpdate(kUsers, Doc("user_name", recipient),
                                                   Doc("$inc", Doc("msg_count", int64_t{1}))));
  if (!user) {
    return MakeError(Error::kUnknownRecipient, recipient);
  }
  RETURN_IF_ERROR(After(step));
  const int64_t drawn = IntegerAt(*user, "msg_count");
  ASSIGN_OR_RETURN(int64_t fixed,
                   store_.UpdateOne(kOutbox, Doc("_id", record["_id"], path, Doc("$exists", false)),
                                    Doc("$set", Doc(path, drawn))));
  RETURN_IF_ERROR(After(step));
  if (fixed == 1) {
    return drawn;
  }
  ASSIGN_OR_RETURN(auto now, store_.FindOne(kOutbox, Doc("_id", record["_id"])));
  return now ? IntegerAt(*now, path) : 0;
}

Status Buckets::Deliver(const Document& record, std::string_view recipient, int* step) const {
  ASSIGN_OR_RETURN(int64_t number, NumberFor(record, recipient, step));
  if (number == 0) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(Push(record, recipient, number));
  return After(step);
}

// A bucket that exists though the upsert found none: another message made it, or it has this one.
Status Buckets::Push(const Document& record, std::string_view recipient, int64_t number) const {
  const bson::Value id = record["_id"];
  const int64_t sequence = SequenceOf(number);
  const Document message = Doc("id", id, "n", number, "from", record["from"], "to", record["to"],
                               "sent", record["sent"], "message", record["message"], "read", false);
  for (int i = 0; i < kAttempts; ++i) {
    Status status =
        store_
            .UpdateOne(kBuckets,
                       Doc("owner", recipient, "sequence", sequence, "messages.id", Doc("$ne", id)),
                       Doc("$push", Doc("messages", message)), true)
            .status();
    if (!IsDuplicateKey(status)) {
      return status;
    }
    ASSIGN_OR_RETURN(bool delivered, Delivered(record, recipient));
    if (delivered) {
      return Status::Ok();
    }
  }
  return MakeError(Error::kContention, recipient);
}

Result<bool> Buckets::Delivered(const Document& record, std::string_view recipient) const {
  ASSIGN_OR_RETURN(int64_t buckets,
                   store_.Count(kBuckets, Doc("owner", recipient, "messages.id", record["_id"])));
  return buckets == 1;
}

Result<InboxPage> Buckets::Read(std::string_view user, const PageRequest& page) const {
  Document filter = Doc("owner", user);
  int64_t below = INT64_MAX;  // numbers still to come
  if (!page.after.empty()) {
    ASSIGN_OR_RETURN(Document after, DecodePageEnd(page.after, {"sequence", "n"}));
    below = IntegerAt(after, "n");
    filter = Doc("owner", user, "sequence", Doc("$lte", after["sequence"]));
  }
  InboxPage result;
  for (bool more = page.limit > 0; more;) {
    const auto room = page.limit - static_cast<int64_t>(result.messages.size());
    const int64_t asked = room / Inbox::kBucketSize + 2;
    ASSIGN_OR_RETURN(auto buckets,
                     store_.Find(kBuckets, filter, {.sort = Doc("sequence", -1), .limit = asked}));
    for (const Document& bucket : buckets) {
      std::vector<bson::View> messages;
      for (const bson::Element& element : bucket["messages"].AsArray()) {
        bson::View message = element.value().AsDocument();
        if (IntegerAt(message, "n") < below && !message.Has("removed")) {
          messages.push_back(message);
        }
      }
      std::sort(messages.begin(), messages.end(),
                [](bson::View a, bson::View b) { return IntegerAt(a, "n") > IntegerAt(b, "n"); });
      for (bson::View message : messages) {
        result.messages.push_back(MessageOf(message, "id"));
        if (static_cast<int64_t>(result.messages.size()) == page.limit) {
          result.next = EncodePageEnd(Doc("sequence", bucket["sequence"], "n", message["n"]));
          return result;
        }
      }
    }
    more = static_cast<int64_t>(buckets.size()) == asked;
    if (more) {
      filter = Doc("owner", user, "sequence", Doc("$lt", buckets.back()["sequence"]));
    }
  }
  return result;
}

Status Buckets::Change(std::string_view user, const Document& message,
                       const Document& update) const {
  ASSIGN_OR_RETURN(int64_t matched,
                   store_.UpdateOne(kBuckets,
                                    Doc("owner", user, "messages.id", message["id"], "messages",
                                        Doc("$elemMatch", message)),
                                    update));
  return matched == 1 ? Status::Ok() : MakeError(Error::kNotFound, bson::ToJson(message["id"]));
}

Status Buckets::MarkRead(std::string_view user, const ObjectId& message) const {
  return Change(user, Doc("id", message, "removed", Doc("$exists", false)),
                Doc("$set", Doc("messages.$.read", true)));
}

Status Buckets::Remove(std::string_view user, const ObjectId& message) const {
  return Change(
      user, Doc("id", message),
      Doc("$set", Doc("messages.$.read", true), "$min", Doc("messages.$.removed", store_.Now())));
}

Result<int64_t> Buckets::UnreadCount(std::string_view user) const {
  const Document unread =
      Doc("$filter", Doc("input", "$messages", "cond", Doc("$eq", List("$$this.read", false))));
  ASSIGN_OR_RETURN(
      auto sums,
      store_.Aggregate(kBuckets,
                       {Doc("$match", Doc("owner", user)),
                        Doc("$group", Doc("_id", 1, "n", Doc("$sum", Doc("$size", unread))))}));
  return sums.empty() ? 0 : IntegerAt(sums.front(), "n");
}

Result<JobReport> Buckets::PurgeRemoved(bson::Date before, int64_t batch) const {
  JobReport report;
  ASSIGN_OR_RETURN(auto buckets, store_.Find(kBuckets, Doc("messages.removed", Doc("$lt", before)),
                                             {.limit = batch}));
  for (const Document& bucket : buckets) {
    report.examined += 1;
    std::vector<bson::Value> ids;
    for (const bson::Element& element : bucket["messages"].AsArray()) {
      bson::View message = element.value().AsDocument();
      if (message.Has("removed") && message["removed"].AsDate() < before) {
        ASSIGN_OR_RETURN(bool forgotten, Forgotten(message["id"]));
        if (forgotten) {
          ids.push_back(message["id"]);
        }
      }
    }
    if (ids.empty()) {
      report.skipped += 1;
      continue;
    }
    RETURN_IF_ERROR(
        store_
            .UpdateOne(kBuckets, Doc("_id", bucket["_id"]),
                       Doc("$pull", Doc("messages", Doc("id", Doc("$in", ListOf(ids))))))
            .status());
    RETURN_IF_ERROR(store_.seams().After("inbox.purge.c2"));
    report.changed += static_cast<int64_t>(ids.size());
  }
  return report;
}

Result<std::vector<std::string>> Buckets::CheckInvariants() const {
  ASSIGN_OR_RETURN(std::vector<std::string> wrong, OutboxStorage::CheckInvariants());
  std::set<std::pair<std::string, std::string>> delivered;
  std::set<std::pair<std::string, int64_t>> numbers;
  auto check = [&](const Document& bucket) {
    const std::string owner(TextAt(bucket, "owner"));
    for (const bson::Element& element : bucket["messages"].AsArray()) {
      bson::View message = element.value().AsDocument();
      const int64_t number = IntegerAt(message, "n");
      const std::string id = bson::ToJson(message["id"]);
      if (SequenceOf(number) != IntegerAt(bucket, "sequence")) {
        wrong.push_back("message " + id + " of " + owner + " in the wrong bucket");
      }
      if (!delivered.emplace(owner, id).second) {
        wrong.push_back("message " + id + " twice to " + owner);
      }
      if (!numbers.emplace(owner, number).second) {
        wrong.push_back("number " + std::to_string(number) + " twice to " + owner);
      }
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kBuckets, check));
  return wrong;
}

}  // namespace

std::unique_ptr<InboxStorage> MakeInboxBuckets(const Store& store) {
  return std::make_unique<Buckets>(store);
}

}  // namespace quire::patterns
