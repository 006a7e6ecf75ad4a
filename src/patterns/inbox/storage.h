// SPDX-License-Identifier: Apache-2.0
//
// How each design of the inbox keeps messages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/inbox.h"

namespace quire::patterns {

// The calls are those of Inbox, whose checks came before.
class InboxStorage {
 public:
  virtual ~InboxStorage() = default;

  // `message` {_id, from, to, message, sent}. One that was sent already is gone on with.
  virtual Status Send(const bson::Document& message) const = 0;
  virtual Result<InboxPage> Read(std::string_view user, const PageRequest& page) const = 0;
  virtual Status MarkRead(std::string_view user, const bson::ObjectId& message) const = 0;
  virtual Status Remove(std::string_view user, const bson::ObjectId& message) const = 0;
  virtual Result<int64_t> UnreadCount(std::string_view user) const = 0;
  virtual Result<JobReport> Resume(bson::Date before, int64_t batch) const = 0;
  virtual Result<JobReport> Purge(bson::Date before, int64_t batch) const = 0;
  virtual Result<std::vector<std::string>> CheckInvariants() const = 0;
};

// Of both designs that fan out on write: a record of the whole in `outbox`, done once every
// recipient has the message.
class OutboxStorage : public InboxStorage {
 public:
  explicit OutboxStorage(Store store);
  Status Send(const bson::Document& message) const override;
  Result<JobReport> Resume(bson::Date before, int64_t batch) const override;
  Result<JobReport> Purge(bson::Date before, int64_t batch) const override;
  Result<std::vector<std::string>> CheckInvariants() const override;

 protected:
  // Gives one recipient the message of a record unless it has it. `step` counts the writes.
  virtual Status Deliver(const bson::Document& record, std::string_view recipient,
                         int* step) const = 0;
  // Whether the recipient has the message, or had and removed it.
  virtual Result<bool> Delivered(const bson::Document& record,
                                 std::string_view recipient) const = 0;
  // Forgets removed messages whose delivery is forgotten.
  virtual Result<JobReport> PurgeRemoved(bson::Date before, int64_t batch) const = 0;

  // Whether no client can still be about to deliver the message.
  Result<bool> Forgotten(const bson::Value& message) const;
  Status After(int* step) const { return store_.seams().After("inbox.send", ++*step); }

  Store store_;

 private:
  Status Finish(const bson::Document& record) const;
};

std::unique_ptr<InboxStorage> MakeInboxOnRead(const Store& store);
std::unique_ptr<InboxStorage> MakeInboxOnWrite(const Store& store);
std::unique_ptr<InboxStorage> MakeInboxBuckets(const Store& store);

// Of a stored message with the text in `message`; the id is the field of that name.
InboxMessage MessageOf(bson::View stored, std::string_view id_name);

// The page of a list sorted by (sent, `id_name`), newest first. `fetch` gives up to so many
// documents of a filter in that order; `shown` makes messages of those of them that are not
// removed.
using FetchFunction =
    std::function<Result<std::vector<bson::Document>>(const bson::Document& filter, int64_t limit)>;
using ShownFunction =
    std::function<Result<std::vector<InboxMessage>>(const std::vector<bson::Document>& documents)>;
Result<InboxPage> ReadBySent(const bson::Document& whose, std::string_view id_name,
                             const PageRequest& page, const FetchFunction& fetch,
                             const ShownFunction& shown);

}  // namespace quire::patterns
