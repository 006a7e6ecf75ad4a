// SPDX-License-Identifier: Apache-2.0
#include "workload.h"

#include <algorithm>

#include "workload_internal.h"

namespace quire::bench {
namespace {

constexpr int64_t kSample = 10'000;

bool Fill(mongoc_client_t* client, const char* name, int64_t size, Bson (*make)(int64_t),
          bson_error_t* error) {
  Collection collection(mongoc_client_get_collection(client, kDatabase, name));
  constexpr int64_t kBatch = 1000;
  for (int64_t n = 0; n < size; n += kBatch) {
    std::vector<Bson> documents;
    for (int64_t i = n; i < std::min(size, n + kBatch); ++i) {
      documents.push_back(make(i));
    }
    if (!InsertAll(collection.get(), documents, error)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Shared::Shared(int64_t documents) : size(documents), zipfian(documents), records(documents) {
  for (int64_t n = 0; n < std::min(size, kSample); ++n) {
    events.push_back(MakeEvent(n));
  }
}

std::vector<Workload> Workloads() {
  std::vector<Workload> all;
  for (std::span<const Workload> family :
       {ReadWorkloads(), YcsbWorkloads(), WriteWorkloads(), ScanWorkloads(), InboxWorkloads()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

int64_t RandomBelow(Connection& c, int64_t end) {
  return static_cast<int64_t>(c.random() % static_cast<uint64_t>(end));
}

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

int64_t FindRecord(Connection& c, int64_t record) {
  static const Bson one = FromJson(R"({"limit":1,"singleBatch":true})");
  bson_t filter = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&filter, "_id", YcsbKey(record).c_str());
  int64_t done = Find(c, &filter, one.get());
  bson_destroy(&filter);
  return done;
}

bool InsertAll(mongoc_collection_t* collection, const std::vector<Bson>& documents,
               bson_error_t* error) {
  std::vector<const bson_t*> pointers;
  for (const Bson& document : documents) {
    pointers.push_back(document.get());
  }
  return mongoc_collection_insert_many(collection, pointers.data(), pointers.size(), nullptr,
                                       nullptr, error);
}

bool RunJson(mongoc_client_t* client, const char* database, const std::string& json,
             bson_error_t* error) {
  Bson command = FromJson(json);
  return mongoc_client_command_simple(client, database, command.get(), nullptr, nullptr, error);
}

bool SpreadOverShards(mongoc_client_t* client, const std::string& collection, bson_error_t* error) {
  static const Bson hello = FromJson(R"({"hello":1})");
  bson_t reply;
  if (!mongoc_client_command_simple(client, "admin", hello.get(), nullptr, &reply, error)) {
    bson_destroy(&reply);
    return false;
  }
  bson_iter_t iter;
  const bool routed = bson_iter_init_find(&iter, &reply, "msg");  // "isdbgrid"
  bson_destroy(&reply);
  return !routed || RunJson(client, "admin",
                            R"({"shardCollection":")" + std::string(kDatabase) + "." + collection +
                                R"(","key":{"_id":"hashed"}})",
                            error);
}

bool LoadData(mongoc_client_t* client, const Shared& shared, bson_error_t* error) {
  return RunJson(client, kDatabase, R"({"dropDatabase":1})", error) &&
         SpreadOverShards(client, "events", error) && SpreadOverShards(client, "ycsb", error) &&
         Fill(client, "events", shared.size, MakeEvent, error) &&
         Fill(client, "ycsb", shared.size, MakeYcsbRecord, error) &&
         RunJson(client, kDatabase,
                 std::string(R"({"createIndexes":"events","indexes":)") + kTwoIndexes + "}", error);
}

}  // namespace quire::bench
