// SPDX-License-Identifier: Apache-2.0
#include "workload.h"

#include <algorithm>

namespace quire::bench {
namespace {

constexpr const char* kTwoIndexes =
    R"([{"key":{"host":1,"time":1},"name":"host_time"},{"key":{"path":1},"name":"path"}])";
constexpr const char* kOneIndex = R"([{"key":{"path":1},"name":"path"}])";
constexpr const char* kFiveIndexes =
    R"([{"key":{"host":1,"time":1},"name":"host_time"},{"key":{"path":1},"name":"path"},
        {"key":{"time":1},"name":"time"},{"key":{"user":1},"name":"user"},
        {"key":{"status":1,"bytes":-1},"name":"status_bytes"}])";
constexpr const char* kNoIndexes = "[]";

int64_t RandomBelow(Connection& c, int64_t end) {
  return static_cast<int64_t>(c.random() % static_cast<uint64_t>(end));
}

// Reads all of a cursor; 1, or -1 when it failed.
int64_t Drain(Connection& c, mongoc_cursor_t* cursor) {
  const bson_t* document;
  while (mongoc_cursor_next(cursor, &document)) {
  }
  const bool failed = mongoc_cursor_error(cursor, &c.error);
  mongoc_cursor_destroy(cursor);
  return failed ? -1 : 1;
}

int64_t Find(Connection& c, const bson_t* filter, const bson_t* options) {
  return Drain(c, mongoc_collection_find_with_opts(c.collection.get(), filter, options, nullptr));
}

int64_t Ping(Connection& c) {
  static const Bson ping = FromJson(R"({"ping":1})");
  bool ok =
      mongoc_client_command_simple(c.client.get(), "admin", ping.get(), nullptr, nullptr, &c.error);
  return ok ? 1 : -1;
}

const bson_t* LimitOne() {
  static const Bson one = FromJson(R"({"limit":1,"singleBatch":true})");
  return one.get();
}

int64_t FindYcsb(Connection& c, int64_t record) {
  bson_t filter = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&filter, "_id", YcsbKey(record).c_str());
  int64_t done = Find(c, &filter, LimitOne());
  bson_destroy(&filter);
  return done;
}

int64_t FindId(Connection& c) { return FindYcsb(c, RandomBelow(c, c.shared.size)); }

int64_t UpdateYcsb(Connection& c, int64_t record) {
  bson_t filter = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&filter, "_id", YcsbKey(record).c_str());
  bson_t update = BSON_INITIALIZER;
  bson_t set;
  BSON_APPEND_DOCUMENT_BEGIN(&update, "$set", &set);
  const std::string field = "field" + std::to_string(RandomBelow(c, 10));
  BSON_APPEND_UTF8(&set, field.c_str(), YcsbValue(c.random).c_str());
  bson_append_document_end(&update, &set);
  bool ok = mongoc_collection_update_one(c.collection.get(), &filter, &update, nullptr, nullptr,
                                         &c.error);
  bson_destroy(&filter);
  bson_destroy(&update);
  return ok ? 1 : -1;
}

template <int kUpdatePercent>
int64_t Ycsb(Connection& c) {
  const int64_t record = c.shared.zipfian->Next(c.random);
  return RandomBelow(c, 100) < kUpdatePercent ? UpdateYcsb(c, record) : FindYcsb(c, record);
}

int64_t FindHostTime(Connection& c) {
  const int64_t total = c.shared.size * kEventStepMs;
  const int64_t span = std::min(total, 11 * kHosts * kEventStepMs);  // about 11 events of a host
  const int64_t from = kFirstEventMs + RandomBelow(c, total - span + 1);
  bson_t filter = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&filter, "host", HostName(static_cast<int>(RandomBelow(c, kHosts))).c_str());
  bson_t range;
  BSON_APPEND_DOCUMENT_BEGIN(&filter, "time", &range);
  BSON_APPEND_DATE_TIME(&range, "$gte", from);
  BSON_APPEND_DATE_TIME(&range, "$lt", from + span);
  bson_append_document_end(&filter, &range);
  int64_t done = Find(c, &filter, nullptr);
  bson_destroy(&filter);
  return done;
}

Bson HostFilter(Connection& c) {
  Bson filter(bson_new());
  BSON_APPEND_UTF8(filter.get(), "host",
                   HostName(static_cast<int>(RandomBelow(c, kHosts))).c_str());
  return filter;
}

int64_t SortedByIndex(Connection& c) {
  static const Bson newest = FromJson(R"({"sort":{"time":-1},"limit":50})");
  return Find(c, HostFilter(c).get(), newest.get());
}

int64_t CoveredByIndex(Connection& c) {
  static const Bson keys =
      FromJson(R"({"projection":{"_id":0,"host":1,"time":1},"limit":100,"batchSize":100})");
  return Find(c, HostFilter(c).get(), keys.get());
}

int64_t CountByIndex(Connection& c) {
  const Bson filter = HostFilter(c);
  return mongoc_collection_count_documents(c.collection.get(), filter.get(), nullptr, nullptr,
                                           nullptr, &c.error) < 0
             ? -1
             : 1;
}

int64_t FindPath100(Connection& c) {
  static const Bson hundred = FromJson(R"({"limit":100,"batchSize":100})");
  bson_t filter = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&filter, "path", PathName(static_cast<int>(RandomBelow(c, kPaths))).c_str());
  int64_t done = Find(c, &filter, hundred.get());
  bson_destroy(&filter);
  return done;
}

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

int64_t ScanFilter(Connection& c) {
  static const Bson filter = FromJson(R"({"status":500,"bytes":{"$gt":97000}})");
  return Find(c, filter.get(), nullptr);
}

int64_t CountFilter(Connection& c) {
  static const Bson filter = FromJson(R"({"status":500,"bytes":{"$gt":50000}})");
  return mongoc_collection_count_documents(c.collection.get(), filter.get(), nullptr, nullptr,
                                           nullptr, &c.error) < 0
             ? -1
             : 1;
}

int64_t SortLimit(Connection& c) {
  static const Bson filter = FromJson(R"({"method":"POST"})");
  static const Bson options = FromJson(R"({"sort":{"bytes":-1},"limit":20})");
  return Find(c, filter.get(), options.get());
}

int64_t AggregateGroup(Connection& c) {
  const int64_t from = kFirstEventMs + c.shared.size * kEventStepMs / 20;
  const std::string pipeline =
      R"({"pipeline":[{"$match":{"time":{"$gte":{"$date":{"$numberLong":")" + std::to_string(from) +
      R"("}}}}},{"$group":{"_id":{"path":"$path","day":{"$dateToString":{"format":"%Y-%m-%d",)" +
      R"("date":"$time"}}},"hits":{"$sum":1},"bytes":{"$sum":"$bytes"},)" +
      R"("slowest":{"$max":"$seconds"}}},{"$sort":{"hits":-1,"_id":1}},{"$limit":20}]})";
  Bson command = FromJson(pipeline);
  return Drain(c, mongoc_collection_aggregate(c.collection.get(), MONGOC_QUERY_NONE, command.get(),
                                              nullptr, nullptr));
}

int64_t Aggregate(Connection& c, const Bson& command) {
  return Drain(c, mongoc_collection_aggregate(c.collection.get(), MONGOC_QUERY_NONE, command.get(),
                                              nullptr, nullptr));
}

// What the pipelines below are to be compared with: every document read, none kept.
int64_t AggregateScan(Connection& c) {
  static const Bson command = FromJson(R"({"pipeline":[{"$match":{"bytes":{"$lt":0}}}]})");
  return Aggregate(c, command);
}

int64_t AggregateTop(Connection& c) {
  static const Bson command =
      FromJson(R"({"pipeline":[{"$sort":{"bytes":-1,"_id":1}},{"$limit":20}]})");
  return Aggregate(c, command);
}

int64_t AggregateUnwind(Connection& c) {
  static const Bson command = FromJson(
      R"({"pipeline":[{"$project":{"part":{"$split":["$path","/"]}}},{"$unwind":"$part"},
          {"$group":{"_id":"$part","n":{"$sum":1}}}]})");
  return Aggregate(c, command);
}

int64_t AggregateLookup(Connection& c) {
  static const Bson command = FromJson(
      R"({"pipeline":[{"$limit":1000},{"$lookup":{"from":"events","localField":"_id",
          "foreignField":"_id","as":"same"}},{"$unwind":"$same"},{"$match":{"same.status":500}},
          {"$count":"n"}]})");
  return Aggregate(c, command);
}

int64_t AggregateFacet(Connection& c) {
  static const Bson command = FromJson(
      R"({"pipeline":[{"$facet":{"paths":[{"$group":{"_id":"$path","n":{"$sum":1}}}],
          "statuses":[{"$group":{"_id":"$status","n":{"$sum":1}}}],
          "largest":[{"$sort":{"bytes":-1}},{"$limit":10}]}}]})");
  return Aggregate(c, command);
}

int64_t AggregateDistinct(Connection& c) {
  static const Bson command = FromJson(R"({"pipeline":[{"$group":{"_id":"$path"}}]})");
  return Aggregate(c, command);
}

int64_t MapReduce(Connection& c) {
  static const std::string command =
      R"({"mapReduce":"events","map":"function() { emit(this.path, this.bytes); }",)"
      R"("reduce":"function(key, values) { return Array.sum(values); }","out":{"inline":1}})";
  return RunJson(c.client.get(), kDatabase, command, &c.error) ? 1 : -1;
}

constexpr Workload kWorkloads[] = {
    {"ping", "the floor: driver, socket, dispatch", "events", nullptr, false, Ping},
    {"find-id", "find by _id, one document", "ycsb", nullptr, false, FindId},
    {"ycsb-c", "zipfian reads", "ycsb", nullptr, false, Ycsb<0>},
    {"ycsb-b", "zipfian reads with 5 % updates of one field", "ycsb", nullptr, false, Ycsb<5>},
    {"ycsb-a", "zipfian reads with 50 % updates of one field", "ycsb", nullptr, false, Ycsb<50>},
    {"find-hosttime", "{host, time range}, about 11 documents", "events", nullptr, false,
     FindHostTime},
    {"find-path-100", "{path} limit 100", "events", nullptr, false, FindPath100},
    {"find-sorted", "{host} newest 50, sorted by the index", "events", nullptr, false,
     SortedByIndex},
    {"find-covered", "{host} limit 100, answered from the index alone", "events", nullptr, false,
     CoveredByIndex},
    {"count-host", "countDocuments of a {host}, from the index", "events", nullptr, false,
     CountByIndex},
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
    {"scan-filter", "unindexed filter over the events", "events", nullptr, false, ScanFilter},
    {"count-filter", "countDocuments, unindexed", "events", nullptr, false, CountFilter},
    {"sort-limit", "filter, top 20 by an unindexed field", "events", nullptr, false, SortLimit},
    {"agg-group", "match by time, group by (path, day), three accumulators, sort, limit", "events",
     nullptr, false, AggregateGroup},
    {"agg-scan", "a pipeline that reads every event and keeps none: the yardstick", "events",
     nullptr, false, AggregateScan},
    {"agg-top", "top 20 of all events by an unindexed field", "events", nullptr, false,
     AggregateTop},
    {"agg-unwind", "split, unwind, group", "events", nullptr, false, AggregateUnwind},
    {"agg-lookup", "1000 events, each looked up by _id, unwound and filtered", "events", nullptr,
     false, AggregateLookup},
    {"agg-facet", "two groups and a top 10 over all events in one $facet", "events", nullptr, false,
     AggregateFacet},
    {"agg-distinct", "the distinct values of an indexed field", "events", nullptr, false,
     AggregateDistinct},
    {"map-reduce", "bytes by path, in JavaScript", "events", nullptr, false, MapReduce},
};

bool Fill(mongoc_client_t* client, const char* name, int64_t size, Bson (*make)(int64_t),
          bson_error_t* error) {
  Collection collection(mongoc_client_get_collection(client, kDatabase, name));
  constexpr int64_t kBatch = 1000;
  for (int64_t n = 0; n < size; n += kBatch) {
    std::vector<Bson> documents;
    std::vector<const bson_t*> pointers;
    for (int64_t i = n; i < std::min(size, n + kBatch); ++i) {
      documents.push_back(make(i));
      pointers.push_back(documents.back().get());
    }
    if (!mongoc_collection_insert_many(collection.get(), pointers.data(), pointers.size(), nullptr,
                                       nullptr, error)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::span<const Workload> Workloads() { return kWorkloads; }

bool RunJson(mongoc_client_t* client, const char* database, const std::string& json,
             bson_error_t* error) {
  Bson command = FromJson(json);
  return mongoc_client_command_simple(client, database, command.get(), nullptr, nullptr, error);
}

bool LoadData(mongoc_client_t* client, Shared& shared, bson_error_t* error) {
  for (int64_t n = 0; n < std::min<int64_t>(shared.size, 10'000); ++n) {
    shared.events.push_back(MakeEvent(n));
  }
  shared.zipfian = std::make_unique<Zipfian>(shared.size);
  return RunJson(client, kDatabase, R"({"dropDatabase":1})", error) &&
         Fill(client, "events", shared.size, MakeEvent, error) &&
         Fill(client, "ycsb", shared.size, MakeYcsbRecord, error) &&
         RunJson(client, kDatabase,
                 std::string(R"({"createIndexes":"events","indexes":)") + kTwoIndexes + "}", error);
}

}  // namespace quire::bench
