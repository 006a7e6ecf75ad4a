// SPDX-License-Identifier: Apache-2.0
//
// An inbox in three designs: a message is stored once and looked for by its recipients (fan out on
// read), once per recipient (fan out on write), or in buckets of 50 per recipient.
#include "workload_internal.h"

namespace quire::bench {
namespace {

constexpr int kUsers = 1000;
constexpr int kRecipients = 10;
constexpr int kBucket = 50;
constexpr int kMessages = 2000;  // in the inboxes that are shown
constexpr const char* kText =
    "See you tomorrow at the station, the train leaves at a quarter past nine. Bring the book.";

std::string UserName(int64_t user) { return "user-" + std::to_string(user); }

// Ten different recipients.
std::vector<std::string> Recipients(int64_t first) {
  std::vector<std::string> names;
  for (int i = 0; i < kRecipients; ++i) {
    names.push_back(UserName((first + i * 97) % kUsers));
  }
  return names;
}

void AppendMessage(bson_t* out, int64_t n) {
  BSON_APPEND_UTF8(out, "from", UserName(n % kUsers).c_str());
  BSON_APPEND_DATE_TIME(out, "sent", kFirstEventMs + n);
  BSON_APPEND_UTF8(out, "message", kText);
}

Bson ReadMessage(int64_t n) {
  Bson message(bson_new());
  bson_t to;
  BSON_APPEND_ARRAY_BEGIN(message.get(), "to", &to);
  const std::vector<std::string> names = Recipients(n * 31);
  for (size_t i = 0; i < names.size(); ++i) {
    BSON_APPEND_UTF8(&to, std::to_string(i).c_str(), names[i].c_str());
  }
  bson_append_array_end(message.get(), &to);
  AppendMessage(message.get(), n);
  return message;
}

std::vector<Bson> WriteMessages(int64_t n) {
  std::vector<Bson> copies;
  for (const std::string& name : Recipients(n * 31)) {
    copies.emplace_back(bson_new());
    BSON_APPEND_UTF8(copies.back().get(), "recipient", name.c_str());
    AppendMessage(copies.back().get(), n);
  }
  return copies;
}

// The recipient's message number, counted in the same collection as the buckets.
int64_t NextNumber(Connection& c, const std::string& name) {
  const Bson command = FromJson(R"({"findAndModify":"inbox_bucket","query":{"_id":")" + name +
                                R"("},"update":{"$inc":{"count":1}},"new":true,"upsert":true})");
  bson_t reply;
  int64_t number = -1;
  if (mongoc_client_command_simple(c.client.get(), kDatabase, command.get(), nullptr, &reply,
                                   &c.error)) {
    bson_iter_t iter;
    bson_iter_t count;
    if (bson_iter_init(&iter, &reply) && bson_iter_find_descendant(&iter, "value.count", &count)) {
      number = bson_iter_as_int64(&count);
    }
  }
  bson_destroy(&reply);
  return number;
}

bool PushToBucket(Connection& c, const std::string& name, int64_t number, int64_t n) {
  static const Bson upsert = FromJson(R"({"upsert":true})");
  Bson filter(bson_new());
  BSON_APPEND_UTF8(filter.get(), "owner", name.c_str());
  BSON_APPEND_INT64(filter.get(), "sequence", (number - 1) / kBucket);
  Bson update(bson_new());
  bson_t push;
  bson_t message;
  BSON_APPEND_DOCUMENT_BEGIN(update.get(), "$push", &push);
  BSON_APPEND_DOCUMENT_BEGIN(&push, "messages", &message);
  AppendMessage(&message, n);
  bson_append_document_end(&push, &message);
  bson_append_document_end(update.get(), &push);
  return mongoc_collection_update_one(c.collection.get(), filter.get(), update.get(), upsert.get(),
                                      nullptr, &c.error);
}

int64_t SendRead(Connection& c) {
  const Bson message = ReadMessage(c.shared.next.fetch_add(1));
  return mongoc_collection_insert_one(c.collection.get(), message.get(), nullptr, nullptr, &c.error)
             ? 1
             : -1;
}

int64_t SendWrite(Connection& c) {
  return InsertAll(c.collection.get(), WriteMessages(c.shared.next.fetch_add(1)), &c.error) ? 1
                                                                                            : -1;
}

int64_t SendBucket(Connection& c) {
  const int64_t n = c.shared.next.fetch_add(1);
  for (const std::string& name : Recipients(n * 31)) {
    const int64_t number = NextNumber(c, name);
    if (number < 0 || !PushToBucket(c, name, number, n)) {
      return -1;
    }
  }
  return 1;
}

int64_t Show(Connection& c, const char* field, const char* options_json) {
  const Bson options = FromJson(options_json);
  Bson filter(bson_new());
  BSON_APPEND_UTF8(filter.get(), field, UserName(RandomBelow(c, kUsers)).c_str());
  return Find(c, filter.get(), options.get());
}

int64_t ShowRead(Connection& c) { return Show(c, "to", R"({"sort":{"sent":-1},"limit":50})"); }

int64_t ShowWrite(Connection& c) {
  return Show(c, "recipient", R"({"sort":{"sent":-1},"limit":50})");
}

int64_t ShowBucket(Connection& c) {
  return Show(c, "owner", R"({"sort":{"sequence":-1},"limit":1})");
}

bool FillRead(mongoc_client_t* client, bson_error_t* error) {
  Collection collection(mongoc_client_get_collection(client, kDatabase, "inbox_read"));
  std::vector<Bson> messages;
  for (int64_t n = 0; n < kMessages; ++n) {
    messages.push_back(ReadMessage(n));
  }
  return InsertAll(collection.get(), messages, error);
}

bool FillWrite(mongoc_client_t* client, bson_error_t* error) {
  Collection collection(mongoc_client_get_collection(client, kDatabase, "inbox_write"));
  for (int64_t n = 0; n < kMessages; ++n) {
    if (!InsertAll(collection.get(), WriteMessages(n), error)) {
      return false;
    }
  }
  return true;
}

// As many messages for each user as the other designs hold, in one bucket.
bool FillBucket(mongoc_client_t* client, bson_error_t* error) {
  Collection collection(mongoc_client_get_collection(client, kDatabase, "inbox_bucket"));
  std::vector<Bson> buckets;
  for (int user = 0; user < kUsers; ++user) {
    buckets.emplace_back(bson_new());
    BSON_APPEND_UTF8(buckets.back().get(), "owner", UserName(user).c_str());
    BSON_APPEND_INT64(buckets.back().get(), "sequence", 0);
    bson_t messages;
    BSON_APPEND_ARRAY_BEGIN(buckets.back().get(), "messages", &messages);
    for (int i = 0; i < kMessages * kRecipients / kUsers; ++i) {
      bson_t message;
      BSON_APPEND_DOCUMENT_BEGIN(&messages, std::to_string(i).c_str(), &message);
      AppendMessage(&message, i);
      bson_append_document_end(&messages, &message);
    }
    bson_append_array_end(buckets.back().get(), &messages);
  }
  return InsertAll(collection.get(), buckets, error);
}

constexpr const char* kReadIndex = R"([{"key":{"to":1,"sent":-1},"name":"to_sent"}])";
constexpr const char* kWriteIndex =
    R"([{"key":{"recipient":1,"sent":-1},"name":"recipient_sent"}])";
constexpr const char* kBucketIndex =
    R"([{"key":{"owner":1,"sequence":-1},"name":"owner_sequence"}])";

constexpr Workload kRows[] = {
    {"inbox-read-send", "a message to 10 users, stored once", "inbox_read", kReadIndex, false,
     SendRead},
    {"inbox-read-show", "an inbox of such messages, newest first", "inbox_read", kReadIndex, false,
     ShowRead, FillRead},
    {"inbox-write-send", "a message to 10 users, a copy for each", "inbox_write", kWriteIndex,
     false, SendWrite},
    {"inbox-write-show", "an inbox of such copies, newest first", "inbox_write", kWriteIndex, false,
     ShowWrite, FillWrite},
    {"inbox-bucket-send", "a message to 10 users, into buckets of 50", "inbox_bucket", kBucketIndex,
     false, SendBucket},
    {"inbox-bucket-show", "the newest bucket of an inbox", "inbox_bucket", kBucketIndex, false,
     ShowBucket, FillBucket},
};

}  // namespace

std::span<const Workload> InboxWorkloads() { return kRows; }

}  // namespace quire::bench
