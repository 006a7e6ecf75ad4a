// SPDX-License-Identifier: Apache-2.0
//
// The textbook's event log: the order of an index's fields decides how many keys a query reads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/testing/test_collection.h"

namespace quire::plan {
namespace {

constexpr int32_t kEvents = 200000;
constexpr int32_t kHosts = 100;

bson::Document Event(int32_t i) {
  std::string host = i % kHosts == 1 ? "127.0.0.1" : "10.0.0." + std::to_string(i % kHosts);
  return bson::Builder().Append("_id", i).Append("host", host).Append("time", i).Finish();
}

uint64_t KeysExamined(TestCollection& collection, const std::string& hint) {
  // Eleven events of the host: times 50001, 50101 ... 51001.
  bson::Document spec =
      Json(R"({"filter": {"host": "127.0.0.1", "time": {"$gte": 50000, "$lt": 51100}}, "hint": ")" +
           hint + "\"}");
  auto txn = *store::Transaction::Begin(collection.store(), true);
  TestQuery query(collection.info(), spec);
  auto rows = query.Run(*txn);
  EXPECT_TRUE(rows.ok());
  EXPECT_EQ(rows->size(), 11U);
  return query.plan().Totals().keys_examined;
}

TEST(TextbookTest, EqualityBeforeRange) {
  TestCollection collection;
  bson::Document host_first = Json(R"({"key": {"host": 1, "time": 1}, "name": "host_time"})");
  bson::Document time_first = Json(R"({"key": {"time": 1, "host": 1}, "name": "time_host"})");
  collection.CreateIndex(host_first);
  collection.CreateIndex(time_first);
  std::vector<bson::Document> batch;
  for (int32_t i = 0; i < kEvents; ++i) {
    batch.push_back(Event(i));
    if (batch.size() == 10000) {
      ASSERT_TRUE(collection.Insert(batch).ok());
      batch.clear();
    }
  }
  EXPECT_EQ(KeysExamined(collection, "host_time"), 11U);
  EXPECT_EQ(KeysExamined(collection, "time_host"), 1100U);
}

}  // namespace
}  // namespace quire::plan
