// SPDX-License-Identifier: Apache-2.0
#include "engine/read/shard_rows.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "quire/doc.h"

namespace quire::engine {
namespace {

// Rows with all there may be beside a document.
class OneRow final : public run::RowSource {
 public:
  explicit OneRow(exec::Row row) : row_(row) {}
  Result<bool> Next(OpContext&, exec::Row* row) override {
    *row = row_;
    return !std::exchange(given_, true);
  }
  Status Refresh(OpContext&) override { return Status::Ok(); }
  Status Check() const override { return Status::Ok(); }
  std::string PlanSummary() const override { return ""; }
  exec::Counters Totals() const override { return {}; }

 private:
  exec::Row row_;
  bool given_ = false;
};

// What arrives of the row.
exec::Row Sent(const exec::Row& row, bool metadata, bson::Document* kept) {
  auto rows = MakeShardRows(std::make_unique<OneRow>(row), metadata);
  OpContext op;
  exec::Row sent;
  EXPECT_TRUE(*rows->Next(op, &sent));
  *kept = bson::Document(sent.document);
  EXPECT_FALSE(*rows->Next(op, &sent));
  exec::Row arrived;
  EXPECT_TRUE(ReadShardRow(*kept, &arrived).ok());
  return arrived;
}

TEST(ShardRows, CarryDocumentAndKey) {
  const bson::Document document = Doc("_id", 1, "a", "x");
  exec::Row row;
  row.document = document;
  row.sort_key = std::string_view("\x01\x00\x02", 3);
  row.meta.text_score = 2.5;
  row.meta.has_text_score = true;
  bson::Document kept;
  exec::Row arrived = Sent(row, false, &kept);
  EXPECT_EQ(bson::ToJson(arrived.document), R"({"_id":1,"a":"x"})");
  EXPECT_EQ(arrived.sort_key, row.sort_key);
  EXPECT_FALSE(arrived.meta.has_text_score);

  arrived = Sent(row, true, &kept);
  EXPECT_TRUE(arrived.meta.has_text_score);
  EXPECT_EQ(arrived.meta.text_score, 2.5);
  EXPECT_FALSE(arrived.meta.has_geo_distance);
}

TEST(ShardRows, RowsByDistanceSortByIt) {
  const bson::Document document = Doc("_id", 1);
  std::string before;
  for (const double distance : {0.0, 0.5, 3.0, 1e9}) {
    exec::Row row;
    row.document = document;
    row.meta.geo_distance = distance;
    row.meta.has_geo_distance = true;
    bson::Document kept;
    const std::string key(Sent(row, false, &kept).sort_key);
    EXPECT_LT(before, key);
    before = key;
  }
}

Result<ShardRowsWish> WishOf(const char* command) {
  const bson::Document parsed = bson::TestDocument(command);
  return ShardRowsWish::Read(parsed);
}

TEST(ShardRows, WhatARouterAsksFor) {
  auto wish = WishOf("{find: 'c'}");
  ASSERT_TRUE(wish.ok());
  EXPECT_FALSE(wish->given);
  wish = WishOf("{find: 'c', shardRows: {keys: false}}");
  ASSERT_TRUE(wish.ok());
  EXPECT_TRUE(wish->given);
  EXPECT_FALSE(wish->rows);
  wish = WishOf("{find: 'c', shardRows: {meta: true}}");
  ASSERT_TRUE(wish.ok());
  EXPECT_TRUE(wish->rows && wish->metadata);
  wish = WishOf("{aggregate: 'c', partialGroup: true}");
  ASSERT_TRUE(wish.ok());
  EXPECT_TRUE(wish->given && wish->partials);
  EXPECT_FALSE(WishOf("{find: 'c', shardRows: 1}").ok());
}

}  // namespace
}  // namespace quire::engine
