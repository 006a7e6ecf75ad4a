// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/inbox.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/inbox/storage.h"
#include "quire/patterns/lease.h"
#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kUsers[] = "users";
// Fifty of these fit in one document.
constexpr size_t kMaxMessageBytes = 256 << 10;

std::vector<std::string> Distinct(const std::vector<std::string>& names) {
  std::vector<std::string> distinct;
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) {
      distinct.push_back(name);
    }
  }
  return distinct;
}

std::unique_ptr<InboxStorage> MakeStorage(InboxDesign design, const Store& store) {
  switch (design) {
    case InboxDesign::kFanOutOnRead:
      return MakeInboxOnRead(store);
    case InboxDesign::kFanOutOnWrite:
      return MakeInboxOnWrite(store);
    case InboxDesign::kBuckets:
      break;
  }
  return MakeInboxBuckets(store);
}

}  // namespace

Inbox::Inbox(const Client& client, std::string_view database, InboxOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "inbox"),
      storage_(MakeStorage(options_.design, store_)) {}

Inbox::~Inbox() = default;

std::vector<IndexSpec> Inbox::Indexes(InboxDesign design) {
  static constexpr IndexSpec kNames{kUsers, R"({"user_name": 1})", true};
  static constexpr IndexSpec kOutbox{"outbox", R"({"state": 1, "sent": 1})"};
  switch (design) {
    case InboxDesign::kFanOutOnRead:
      return {kNames,
              Idempotency::Index(),
              {"inbox_read", R"({"to": 1, "sent": -1, "_id": -1})"},
              {"inbox_flags", R"({"user": 1, "msg": 1})", true},
              {"inbox_flags", R"({"msg": 1, "removed": 1})"},
              {"inbox_flags", R"({"removed": 1})"}};
    case InboxDesign::kFanOutOnWrite:
      return {kNames,
              Idempotency::Index(),
              kOutbox,
              {"inbox_write", R"({"recipient": 1, "sent": 1, "msg": 1})", true},
              {"inbox_write", R"({"recipient": 1, "msg": 1})"},
              {"inbox_write", R"({"recipient": 1, "read": 1})"},
              {"inbox_write", R"({"removed": 1})"}};
    case InboxDesign::kBuckets:
      break;
  }
  return {kNames,
          Idempotency::Index(),
          kOutbox,
          {"inbox_bucket", R"({"owner": 1, "sequence": -1})", true},
          {"inbox_bucket", R"({"owner": 1, "messages.id": 1})"},
          {"inbox_bucket", R"({"messages.removed": 1})"}};
}

std::vector<ShardKeySpec> Inbox::ShardKeys(InboxDesign design) {
  static constexpr ShardKeySpec kNames{kUsers, R"({"user_name": "hashed"})"};
  static constexpr ShardKeySpec kOutbox{"outbox", R"({"_id": "hashed"})"};
  switch (design) {
    case InboxDesign::kFanOutOnRead:
      return {kNames,
              Idempotency::ShardKey(),
              {"inbox_read", R"({"from": 1, "sent": 1})"},
              {"inbox_flags", R"({"user": 1, "msg": 1})"}};
    case InboxDesign::kFanOutOnWrite:
      return {kNames,
              Idempotency::ShardKey(),
              kOutbox,
              {"inbox_write", R"({"recipient": 1, "sent": 1})"}};
    case InboxDesign::kBuckets:
      break;
  }
  return {
      kNames, Idempotency::ShardKey(), kOutbox, {"inbox_bucket", R"({"owner": 1, "sequence": 1})"}};
}

Status Inbox::AddUser(std::string_view name, const CallKey& key) const {
  RETURN_IF_ERROR(EncodeName(name).status());
  auto add = [&](const Claim& claim) -> Status {
    Status added =
        store_.Insert(kUsers, Doc("_id", claim.id, "user_name", name, "msg_count", int64_t{0}));
    if (IsDuplicateKey(added)) {
      ASSIGN_OR_RETURN(int64_t mine, store_.Count(kUsers, Doc("_id", claim.id)));
      added = mine == 1 ? Status::Ok() : added;
    }
    RETURN_IF_ERROR(added);
    return store_.seams().After("inbox.add_user.c1");
  };
  return calls_.DoOnce("inbox.add_user", key, Doc("name", name), add);
}

Status Inbox::CheckRecipients(const std::vector<std::string>& to) const {
  ASSIGN_OR_RETURN(auto known, store_.Find(kUsers, Doc("user_name", Doc("$in", ListOf(to))),
                                           {.projection = Doc("_id", 0, "user_name", 1)}));
  std::set<std::string> unknown(to.begin(), to.end());
  for (const Document& user : known) {
    unknown.erase(std::string(TextAt(user, "user_name")));
  }
  if (unknown.empty()) {
    return Status::Ok();
  }
  std::string names;
  for (const std::string& name : unknown) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return MakeError(Error::kUnknownRecipient, names);
}

Result<bson::ObjectId> Inbox::Send(std::string_view from, const std::vector<std::string>& to,
                                   std::string_view text, const CallKey& key) const {
  const std::vector<std::string> recipients = Distinct(to);
  if (recipients.empty()) {
    return MakeError(Error::kNoRecipients, "a message goes to somebody");
  }
  if (recipients.size() > options_.max_recipients) {
    return MakeError(Error::kTooManyRecipients, std::to_string(recipients.size()));
  }
  const Document content = Doc("from", from, "to", ListOf(recipients), "message", text);
  if (text.size() > kMaxTextBytes || content.bytes().size() > kMaxMessageBytes) {
    return MakeError(Error::kMessageTooLarge, std::to_string(content.bytes().size()) + " bytes");
  }
  auto send = [&](const Claim& claim) -> Result<Document> {
    RETURN_IF_ERROR(CheckRecipients(recipients));
    bson::Builder message;
    message.Append("_id", claim.id).AppendFields(content).Append("sent", store_.Now());
    RETURN_IF_ERROR(storage_->Send(message.Finish()));
    return Doc("id", claim.id);
  };
  ASSIGN_OR_RETURN(Document sent, calls_.Once("inbox.send", key, content, send));
  return sent["id"].AsObjectId();
}

Result<InboxPage> Inbox::Read(std::string_view user, const PageRequest& page) const {
  return storage_->Read(user, page);
}

// Nothing makes a message unread, or brings it back: a repeat finds the same.
Status Inbox::MarkRead(std::string_view user, const bson::ObjectId& message,
                       const CallKey& key) const {
  auto mark = [&](const Claim&) -> Status {
    RETURN_IF_ERROR(storage_->MarkRead(user, message));
    return store_.seams().After("inbox.mark_read.c1");
  };
  return calls_.DoOnce("inbox.mark_read", key, Doc("user", user, "message", message), mark);
}

Status Inbox::Remove(std::string_view user, const bson::ObjectId& message,
                     const CallKey& key) const {
  auto remove = [&](const Claim&) -> Status {
    RETURN_IF_ERROR(storage_->Remove(user, message));
    return store_.seams().After("inbox.remove.c1");
  };
  return calls_.DoOnce("inbox.remove", key, Doc("user", user, "message", message), remove);
}

Result<int64_t> Inbox::UnreadCount(std::string_view user) const {
  return storage_->UnreadCount(user);
}

Result<JobReport> Inbox::Resume(int64_t batch) const {
  return RunLeased(Lease(store_, "inbox.resume", options_.worker, options_.lease),
                   [&] { return storage_->Resume(store_.Ago(options_.grace), batch); });
}

Result<JobReport> Inbox::Purge(int64_t batch) const {
  return RunLeased(
      Lease(store_, "inbox.purge", options_.worker, options_.lease), [&]() -> Result<JobReport> {
        ASSIGN_OR_RETURN(JobReport report, calls_.Purge({options_.tombstone_retention,
                                                         options_.worker, options_.lease}));
        ASSIGN_OR_RETURN(JobReport stored,
                         storage_->Purge(store_.Ago(options_.tombstone_retention), batch));
        return report += stored;
      });
}

Result<std::vector<std::string>> Inbox::CheckInvariants() const {
  return storage_->CheckInvariants();
}

InboxMessage MessageOf(bson::View stored, std::string_view id_name) {
  InboxMessage message;
  message.id = stored[id_name].AsObjectId();
  message.from = TextAt(stored, "from");
  for (const bson::Element& recipient : stored["to"].AsArray()) {
    message.to.emplace_back(recipient.value().AsString());
  }
  message.sent = stored["sent"].AsDate();
  message.text = TextAt(stored, "message");
  bson::Value read = stored["read"];
  message.read = read.type() == bson::Type::kBool && read.AsBool();
  return message;
}

Result<InboxPage> ReadBySent(const Document& whose, std::string_view id_name,
                             const PageRequest& page, const FetchFunction& fetch,
                             const ShownFunction& shown) {
  Document after;
  if (!page.after.empty()) {
    ASSIGN_OR_RETURN(after, DecodePageEnd(page.after, {"sent", "id"}));
    if (after["sent"].type() != bson::Type::kDate) {
      return MakeError(Error::kBadCursor, page.after);
    }
  }
  InboxPage result;
  for (bool more = page.limit > 0; more;) {
    bson::Builder filter;
    filter.AppendFields(whose);
    if (!after.empty()) {
      filter.Append("sent", Doc("$lte", after["sent"]));
      Put(&filter, "$or",
          List(Doc("sent", Doc("$lt", after["sent"])), Doc(id_name, Doc("$lt", after["id"]))));
    }
    const int64_t room = page.limit - static_cast<int64_t>(result.messages.size());
    ASSIGN_OR_RETURN(auto found, fetch(filter.Finish(), room));
    ASSIGN_OR_RETURN(auto messages, shown(found));
    std::move(messages.begin(), messages.end(), std::back_inserter(result.messages));
    if (static_cast<int64_t>(found.size()) < room) {
      return result;
    }
    after = Doc("sent", found.back()["sent"], "id", found.back()[id_name]);
    more = static_cast<int64_t>(result.messages.size()) < page.limit;
  }
  result.next = after.empty() ? "" : EncodePageEnd(after);
  return result;
}

}  // namespace quire::patterns
