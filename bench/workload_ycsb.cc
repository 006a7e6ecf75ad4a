// SPDX-License-Identifier: Apache-2.0
//
// The six mixes of the Yahoo! Cloud Serving Benchmark.
#include <algorithm>

#include "workload_internal.h"

namespace quire::bench {
namespace {

int64_t UpdateRecord(Connection& c, int64_t record) {
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

int64_t InsertRecord(Connection& c) {
  const Bson record = MakeYcsbRecord(c.shared.records.fetch_add(1));
  bool ok =
      mongoc_collection_insert_one(c.collection.get(), record.get(), nullptr, nullptr, &c.error);
  return ok ? 1 : -1;
}

template <int kUpdatePercent>
int64_t ReadOrUpdate(Connection& c) {
  const int64_t record = c.shared.zipfian.Next(c.random);
  return RandomBelow(c, 100) < kUpdatePercent ? UpdateRecord(c, record) : FindRecord(c, record);
}

int64_t ReadLatest(Connection& c) {
  if (RandomBelow(c, 100) < 5) {
    return InsertRecord(c);
  }
  const int64_t newest = c.shared.records.load() - 1;
  return FindRecord(c, std::max<int64_t>(newest - c.shared.zipfian.NextRank(c.random), 0));
}

int64_t ShortRange(Connection& c) {
  if (RandomBelow(c, 100) < 5) {
    return InsertRecord(c);
  }
  Bson filter(bson_new());
  bson_t from;
  BSON_APPEND_DOCUMENT_BEGIN(filter.get(), "_id", &from);
  BSON_APPEND_UTF8(&from, "$gte", YcsbKey(c.shared.zipfian.Next(c.random)).c_str());
  bson_append_document_end(filter.get(), &from);
  const std::string limit = std::to_string(1 + RandomBelow(c, 100));
  const Bson options =
      FromJson(R"({"sort":{"_id":1},"limit":)" + limit + R"(,"batchSize":)" + limit + "}");
  return Find(c, filter.get(), options.get());
}

int64_t ReadModifyWrite(Connection& c) {
  const int64_t record = c.shared.zipfian.Next(c.random);
  const int64_t read = FindRecord(c, record);
  return read < 0 || RandomBelow(c, 100) < 50 ? read : UpdateRecord(c, record);
}

constexpr Workload kRows[] = {
    {"ycsb-a", "zipfian reads with 50 % updates of one field", "ycsb", nullptr, false,
     ReadOrUpdate<50>},
    {"ycsb-b", "zipfian reads with 5 % updates of one field", "ycsb", nullptr, false,
     ReadOrUpdate<5>},
    {"ycsb-c", "zipfian reads", "ycsb", nullptr, false, ReadOrUpdate<0>},
    {"ycsb-d", "reads of the newest records with 5 % inserts", "ycsb", nullptr, false, ReadLatest},
    {"ycsb-e", "ranges of 1 to 100 records by _id with 5 % inserts", "ycsb", nullptr, false,
     ShortRange},
    {"ycsb-f", "zipfian reads, every second one followed by an update", "ycsb", nullptr, false,
     ReadModifyWrite},
};

}  // namespace

std::span<const Workload> YcsbWorkloads() { return kRows; }

}  // namespace quire::bench
