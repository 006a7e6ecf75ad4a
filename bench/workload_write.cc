// SPDX-License-Identifier: Apache-2.0
#include "workload_internal.h"

namespace quire::bench {
namespace {

constexpr const char* kOneIndex = R"([{"key":{"path":1},"name":"path"}])";
constexpr const char* kFiveIndexes =
    R"([{"key":{"host":1,"time":1},"name":"host_time"},{"key":{"path":1},"name":"path"},
        {"key":{"time":1},"name":"time"},{"key":{"user":1},"name":"user"},
        {"key":{"status":1,"bytes":-1},"name":"status_bytes"}])";

// An event of the sample with a new _id.
Bson NewEvent(Connection& c) {
  const auto n = static_cast<size_t>(c.shared.next.fetch_add(1, std::memory_order_relaxed));
  Bson event(bson_new());
  bson_oid_t id;
  bson_oid_init(&id, nullptr);
  BSON_APPEND_OID(event.get(), "_id", &id);
  bson_concat(event.get(), c.shared.events[n % c.shared.events.size()].get());
  return event;
}

int64_t InsertOne(Connection& c, const bson_t* options) {
  Bson event = NewEvent(c);
  bool ok =
      mongoc_collection_insert_one(c.collection.get(), event.get(), options, nullptr, &c.error);
  return ok ? 1 : -1;
}

int64_t Insert(Connection& c) { return InsertOne(c, nullptr); }

int64_t InsertJournaled(Connection& c) {
  static const Bson journaled = FromJson(R"({"writeConcern":{"w":1,"j":true}})");
  return InsertOne(c, journaled.get());
}

template <size_t kBatch>
int64_t InsertMany(Connection& c) {
  std::vector<Bson> events;
  std::vector<const bson_t*> pointers;
  for (size_t i = 0; i < kBatch; ++i) {
    events.push_back(NewEvent(c));
    pointers.push_back(events.back().get());
  }
  bool ok = mongoc_collection_insert_many(c.collection.get(), pointers.data(), pointers.size(),
                                          nullptr, nullptr, &c.error);
  return ok ? static_cast<int64_t>(kBatch) : -1;
}

int64_t InsertDelete(Connection& c) {
  Bson event = NewEvent(c);
  bson_t filter = BSON_INITIALIZER;
  bson_iter_t id;
  bson_iter_init_find(&id, event.get(), "_id");
  BSON_APPEND_OID(&filter, "_id", bson_iter_oid(&id));
  bool ok =
      mongoc_collection_insert_one(c.collection.get(), event.get(), nullptr, nullptr, &c.error) &&
      mongoc_collection_delete_one(c.collection.get(), &filter, nullptr, nullptr, &c.error);
  bson_destroy(&filter);
  return ok ? 1 : -1;
}

struct SessionFree {
  void operator()(mongoc_client_session_t* session) const {
    mongoc_client_session_destroy(session);
  }
};

// One transaction of that many inserts, each its own command.
template <int kWrites>
int64_t Transaction(Connection& c) {
  std::unique_ptr<mongoc_client_session_t, SessionFree> session(
      mongoc_client_start_session(c.client.get(), nullptr, &c.error));
  if (session == nullptr ||
      !mongoc_client_session_start_transaction(session.get(), nullptr, &c.error)) {
    return -1;
  }
  Bson options(bson_new());
  bool ok = mongoc_client_session_append(session.get(), options.get(), &c.error);
  for (int i = 0; ok && i < kWrites; ++i) {
    ok = InsertOne(c, options.get()) == 1;
  }
  ok = ok && mongoc_client_session_commit_transaction(session.get(), nullptr, &c.error);
  return ok ? kWrites : -1;
}

int64_t BuildIndexes(Connection& c) {
  const std::string name = mongoc_collection_get_name(c.collection.get());
  const bool ok =
      RunJson(c.client.get(), kDatabase, R"({"dropIndexes":")" + name + R"(","index":"*"})",
              &c.error) &&
      RunJson(c.client.get(), kDatabase,
              R"({"createIndexes":")" + name + R"(","indexes":)" + kTwoIndexes + "}", &c.error);
  return ok ? c.shared.size : -1;
}

int64_t IncUpsert(Connection& c) {
  static const Bson upsert = FromJson(R"({"upsert":true})");
  const std::string hour = std::to_string(RandomBelow(c, 24));
  const std::string minute = std::to_string(RandomBelow(c, 60));
  bson_t filter = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&filter, "_id", ("page-" + std::to_string(RandomBelow(c, 200))).c_str());
  bson_t update = BSON_INITIALIZER;
  bson_t inc;
  BSON_APPEND_DOCUMENT_BEGIN(&update, "$inc", &inc);
  BSON_APPEND_INT32(&inc, "daily", 1);
  BSON_APPEND_INT32(&inc, ("hourly." + hour).c_str(), 1);
  BSON_APPEND_INT32(&inc, ("minute." + hour + "." + minute).c_str(), 1);
  bson_append_document_end(&update, &inc);
  bool ok = mongoc_collection_update_one(c.collection.get(), &filter, &update, upsert.get(),
                                         nullptr, &c.error);
  bson_destroy(&filter);
  bson_destroy(&update);
  return ok ? 1 : -1;
}

int64_t FindAndModify(Connection& c) {
  bson_t command = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&command, "findAndModify", mongoc_collection_get_name(c.collection.get()));
  bson_t query;
  BSON_APPEND_DOCUMENT_BEGIN(&command, "query", &query);
  BSON_APPEND_UTF8(&query, "_id", ("counter-" + std::to_string(RandomBelow(c, 100))).c_str());
  bson_append_document_end(&command, &query);
  bson_t update;
  BSON_APPEND_DOCUMENT_BEGIN(&command, "update", &update);
  bson_t inc;
  BSON_APPEND_DOCUMENT_BEGIN(&update, "$inc", &inc);
  BSON_APPEND_INT64(&inc, "n", 1);
  bson_append_document_end(&update, &inc);
  bson_append_document_end(&command, &update);
  BSON_APPEND_BOOL(&command, "new", true);
  BSON_APPEND_BOOL(&command, "upsert", true);
  bool ok =
      mongoc_client_command_simple(c.client.get(), kDatabase, &command, nullptr, nullptr, &c.error);
  bson_destroy(&command);
  return ok ? 1 : -1;
}

constexpr Workload kRows[] = {
    {"insert-1", "one event, two indexes, w:1", "insert", kTwoIndexes, false, Insert},
    {"insert-1idx", "one event, one index", "insert", kOneIndex, false, Insert},
    {"insert-5idx", "one event, five indexes", "insert", kFiveIndexes, false, Insert},
    {"insert-j", "one event, two indexes, j:true", "insert", kTwoIndexes, false, InsertJournaled},
    {"bulk-100", "insertMany of 100 events, two indexes (documents)", "insert", kTwoIndexes, false,
     InsertMany<100>},
    {"bulk-1000", "insertMany of 1000 events, five indexes (documents)", "insert", kFiveIndexes,
     false, InsertMany<1000>},
    {"insert-delete", "one event in and out again, two indexes", "insert", kTwoIndexes, false,
     InsertDelete},
    {"txn-2", "transactions of 2 inserts, two indexes (documents)", "insert", kTwoIndexes, false,
     Transaction<2>},
    {"txn-1000", "transactions of 1000 inserts, two indexes (documents)", "insert", kTwoIndexes,
     false, Transaction<1000>},
    {"load-bulk", "insertMany of 1000, no secondary index (documents)", "insert", kNoIndexes, true,
     InsertMany<1000>},
    {"build-index", "two indexes over the events (documents)", "events", nullptr, true,
     BuildIndexes},
    {"inc-upsert", "$inc of daily, hourly.H, minute.H.M with upsert on 200 documents", "counters",
     kNoIndexes, false, IncUpsert},
    {"findandmodify", "counter, upsert, new", "counters", kNoIndexes, false, FindAndModify},
};

}  // namespace

std::span<const Workload> WriteWorkloads() { return kRows; }

}  // namespace quire::bench
