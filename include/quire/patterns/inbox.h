// SPDX-License-Identifier: Apache-2.0
//
// Messages to many recipients, in three designs with one interface and the same answers.
//
//   patterns::Inbox inbox(client, "social", {.design = patterns::InboxDesign::kBuckets});
//   inbox.CreateIndexes();
//   inbox.AddUser("mike");
//   inbox.AddUser("billie");
//   auto id = inbox.Send("john", {"mike", "billie"}, "hello", "form-17");   // repeatable
//   auto newest = inbox.Read("mike", {.limit = 30});
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

enum class InboxDesign {
  kFanOutOnRead,   // one document per message: cheap to send, read on every shard
  kFanOutOnWrite,  // one document per message and recipient: read on one shard
  kBuckets,        // 50 messages of a recipient per document: a page is one or two reads
};

struct InboxOptions {
  InboxDesign design = InboxDesign::kBuckets;
  size_t max_recipients = 1000;
  // A message not delivered to all by then is gone on with by Resume.
  std::chrono::milliseconds grace = std::chrono::minutes(1);
  // How long removed messages and ended deliveries are kept: longer than any write may be delayed.
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::chrono::milliseconds lease = std::chrono::minutes(1);  // of the jobs
  std::string worker = "worker";  // a name of its own for every process that runs jobs
  Concerns concerns = {};
  Seams seams = {};
};

struct InboxMessage {
  bson::ObjectId id;
  std::string from;
  std::vector<std::string> to;
  bson::Date sent;
  std::string text;
  bool read = false;
};

struct InboxPage {
  std::vector<InboxMessage> messages;
  std::string next;  // PageRequest::after of the next page; empty: this was the last
};

class InboxStorage;

// Documents: users {_id, user_name, msg_count} and, by design,
// - inbox_read {_id, from, to, sent, message}, inbox_flags {_id, user, msg, read, removed};
// - inbox_write {_id, msg, recipient, from, to, sent, message, read, removed}, outbox;
// - inbox_bucket {_id, owner, sequence, messages: [{id, n, from, to, sent, message, read,
//   removed}]}, outbox {_id, from, to, message, sent, state, n: {recipient: number}, ended}.
// A database holds one design. Safe for concurrent use.
class Inbox {
 public:
  // In every design, whatever the recipients are called.
  static constexpr size_t kMaxTextBytes = 64 << 10;
  static constexpr int64_t kBucketSize = 50;

  Inbox(const Client& client, std::string_view database, InboxOptions options = {});
  ~Inbox();

  static std::vector<IndexSpec> Indexes(InboxDesign design);
  static std::vector<ShardKeySpec> ShardKeys(InboxDesign design);
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes(options_.design)); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes(options_.design));
  }

  // Errors: InvalidName, DuplicateKey, IdempotencyKeyReuse.
  Status AddUser(std::string_view name, const CallKey& key = std::nullopt) const;

  // Delivers to every recipient once, however often the list names one. With a key, repeating the
  // call delivers nothing new and returns the same id. Errors: NoRecipients, TooManyRecipients,
  // MessageTooLarge, UnknownRecipient (names them all), IdempotencyKeyReuse: nothing is sent. After
  // any other error some may have it; Resume, or the call repeated with its key, sees to the rest.
  Result<bson::ObjectId> Send(std::string_view from, const std::vector<std::string>& to,
                              std::string_view text, const CallKey& key = std::nullopt) const;

  // Newest first: by (sent, id), in buckets by the recipient's own count. Error: BadCursor.
  Result<InboxPage> Read(std::string_view user, const PageRequest& page) const;
  // Errors: NotFound (also when it was removed), IdempotencyKeyReuse.
  Status MarkRead(std::string_view user, const bson::ObjectId& message,
                  const CallKey& key = std::nullopt) const;
  // Out of that user's inbox alone; again is ok. Errors: NotFound, IdempotencyKeyReuse.
  Status Remove(std::string_view user, const bson::ObjectId& message,
                const CallKey& key = std::nullopt) const;
  // kFanOutOnRead: less while a Purge that crashed has not been run again.
  Result<int64_t> UnreadCount(std::string_view user) const;

  // Goes on with deliveries that stopped, up to `batch` of them, oldest first.
  Result<JobReport> Resume(int64_t batch = 100) const;
  // Forgets ended deliveries and removed messages after the retention.
  Result<JobReport> Purge(int64_t batch = 1000) const;

  // What is wrong, a line each; nothing in a sound database that no delivery is under way in.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Status CheckRecipients(const std::vector<std::string>& to) const;

  InboxOptions options_;
  Store store_;
  Idempotency calls_;
  std::unique_ptr<InboxStorage> storage_;
};

}  // namespace quire::patterns
