// SPDX-License-Identifier: Apache-2.0
#include "placement/target/target.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expr/collation/collator.h"
#include "placement/testing/maps.h"
#include "quire/error.h"

namespace quire::placement {
namespace {

struct Case {
  const char* filter;
  const char* shards;  // their numbers
};

std::string ShardsOf(const Targets& targets) {
  std::string text;
  for (const ShardName& shard : targets.shards) {
    text += shard.substr(1);
  }
  return text;
}

std::string Target(const ChunkMapPtr& map, std::string_view filter,
                   const expr::Collator* collator = nullptr) {
  expr::Context context;
  context.collator = collator;
  bson::Document document = bson::TestDocument(filter);
  auto parsed = expr::match::Filter::Parse(document.view(), &context);
  EXPECT_TRUE(parsed.ok()) << filter << parsed.status().ToString();
  return parsed.ok() ? ShardsOf(TargetFilter(*map, (*parsed)->root(), context)) : "";
}

void Check(const ChunkMapPtr& map, const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    EXPECT_EQ(Target(map, one.filter), one.shards) << one.filter;
  }
}

// MongoDB's router asks these shards, too.
TEST(TargetFilter, RangeKey) {
  Check(TestMap("{x: 1}", {"{x: 0}"}),
        {
            {"{x: 5}", "1"},
            {"{x: -5}", "0"},
            {"{x: 0}", "1"},
            {"{y: 1, x: -7}", "0"},
            {"{x: {$eq: 3}}", "1"},
            {"{}", "01"},
            {"{y: 1}", "01"},
            {"{_id: 16}", "01"},
            {"{x: {$gt: 5}}", "1"},
            {"{x: {$gte: 0}}", "1"},
            {"{x: {$lt: 0}}", "01"},
            {"{x: {$lt: -1}}", "0"},
            {"{x: {$gt: -5, $lt: -1}}", "0"},
            {"{x: {$in: [1, 2, 3]}}", "1"},
            {"{x: {$in: [-1, 1]}}", "01"},
            {"{x: {$in: [null, 5]}}", "01"},
            {"{x: {$exists: true}}", "01"},
            {"{x: {$exists: false}}", "0"},
            {"{x: {$type: 'int'}}", "01"},
            {"{x: {$type: 'string'}}", "1"},
            {"{x: {$mod: [2, 0]}}", "01"},
            {"{x: {$size: 1}}", "01"},
            {"{x: {$all: [5]}}", "1"},
            {"{x: {$all: [5, -5]}}", "0"},
            {"{x: {$elemMatch: {$gt: 5}}}", "1"},
            {"{x: {$regex: '^abc'}}", "1"},
            {"{x: {$regex: '^abc', $options: 'i'}}", "1"},
            {"{x: null}", "0"},
            {"{x: {$gte: null}}", "0"},
            {"{$expr: {$eq: ['$x', 5]}}", "1"},
            {"{$expr: {$gt: ['$x', 5]}}", "1"},
            {"{x: 5, $expr: {$eq: ['$y', 1]}}", "1"},
            {"{$jsonSchema: {properties: {x: {minimum: 1}}}}", "01"},
            {"{x: 5, $comment: 'hi'}", "1"},
            {"{x: {$bitsAllSet: 1}}", "01"},
            {"{$or: [{x: 1}, {x: 2}]}", "1"},
            {"{$or: [{x: 1}, {x: -2}]}", "01"},
            {"{$or: [{x: 1}, {y: 2}]}", "01"},
            {"{y: 1, $or: [{x: 1}, {x: 2, z: 1}]}", "1"},
            {"{x: {$gt: 5}, $or: [{y: 1}, {z: 1}]}", "1"},
            {"{$and: [{$or: [{x: 1}, {x: -1}]}, {$or: [{x: 1}, {x: 2}]}]}", "1"},
            {"{x: {$ne: 5}}", "01"},
            {"{x: {$not: {$lt: 5}}}", "01"},
            {"{x: 5, $text: {$search: 'a'}}", "1"},
            {"{x: {$gt: 5}, $text: {$search: 'a'}}", "01"},
            {"{$or: [{x: 5, $text: {$search: 'a'}}]}", "1"},
        });
}

TEST(TargetFilter, CompoundKey) {
  Check(TestMap("{a: 1, b: 1}", {"{a: 5, b: {$minKey: 1}}", "{a: 5, b: 5}"}, {"s0", "s1", "s0"}),
        {
            {"{a: 5, b: 1}", "1"},
            {"{a: 5, b: 9}", "0"},
            {"{a: 1}", "0"},
            {"{a: 5}", "01"},
            {"{a: 9}", "0"},
            {"{b: 1}", "01"},
            {"{a: {$lt: 5}}", "01"},
            {"{a: {$gt: 5}}", "01"},
            {"{a: 5, b: {$lt: 5}}", "01"},
            {"{a: 5, b: {$gte: 5}}", "0"},
            {"{a: {$in: [1, 9]}}", "0"},
            {"{a: {$in: [1, 5]}, b: 1}", "01"},
            {"{a: {$in: [5]}, b: {$in: [1, 9]}}", "01"},
            {"{b: 9, a: 5}", "0"},
            {"{a: 5, b: null}", "1"},
            {"{a: {$gt: 1}, b: 1}", "01"},
            {"{$and: [{a: 5}, {b: 2}]}", "1"},
            {"{$or: [{a: 5, b: 1}, {a: 5, b: 2}]}", "1"},
            {"{$or: [{a: 1, b: 1}, {a: 9, b: 9}]}", "0"},
            {"{$or: [{a: 1, b: 1}, {a: 5, b: 9}]}", "01"},  // as if it were {a: 5, b: 1}, too
            {"{a: 5, $or: [{b: 1}, {b: 2}]}", "1"},
        });
}

TEST(TargetFilter, NestedPaths) {
  Check(TestMap("{'a.b': 1, 'a.c': 1}", {"{'a.b': 0, 'a.c': {$minKey: 1}}"}),
        {
            {"{'a.b': 1, 'a.c': 1}", "1"},
            {"{a: {b: 1, c: 1}}", "1"},
            {"{a: {c: 1, b: 1}}", "1"},
            {"{a: {b: 1}}", "01"},
            {"{'a.b': 1}", "1"},
        });
}

TEST(TargetFilter, HashedKey) {
  Check(TestMap("{h: 'hashed'}", {"{h: 0}"}), {
                                                  {"{h: 1}", "1"},
                                                  {"{h: 2}", "1"},
                                                  {"{h: 3}", "0"},
                                                  {"{h: {$numberLong: '3'}}", "0"},
                                                  {"{h: 3.7}", "0"},
                                                  {"{h: 'a'}", "1"},
                                                  {"{h: null}", "1"},
                                                  {"{h: {$gt: 1}}", "01"},
                                                  {"{h: {$gte: 1, $lte: 1}}", "01"},
                                                  {"{h: {$in: [1]}}", "1"},
                                                  {"{h: {$in: [1, 2, 3, 4, 5, 6]}}", "01"},
                                                  {"{h: {$exists: true}}", "01"},
                                                  {"{$or: [{h: 1}, {h: 1, y: 2}]}", "1"},
                                                  {"{h: {$oid: '000000000000000000000001'}}", "0"},
                                                  {"{h: {$date: '2000-01-01T00:00:00Z'}}", "0"},
                                                  {"{h: {a: 1}}", "0"},
                                              });
  Check(TestMap("{a: 1, h: 'hashed'}", {"{a: 5, h: {$minKey: 1}}", "{a: 5, h: 0}"},
                {"s0", "s1", "s0"}),
        {
            {"{a: 1}", "0"},
            {"{a: 5}", "01"},
            {"{a: 5, h: 1}", "0"},
            {"{a: 5, h: {$gt: 1}}", "01"},
            {"{h: 1}", "01"},
            {"{a: {$gt: 6}}", "0"},
            {"{a: {$in: [5]}, h: {$in: [1, 2]}}", "0"},
            {"{a: 1, h: 1}", "0"},
        });
  Check(TestMap("{h: 'hashed', a: 1}", {"{h: 0, a: {$minKey: 1}}"}),
        {
            {"{h: 1}", "1"},
            {"{h: 1, a: 5}", "1"},
            {"{h: 1, a: {$gt: 5}}", "1"},
            {"{a: 5}", "01"},
            {"{h: {$gt: 1}, a: 5}", "01"},
        });
}

TEST(TargetFilter, StringsAndCollations) {
  ChunkMapPtr map = TestMap("{s: 1}", {"{s: 'm'}"});
  Check(map, {
                 {"{s: 'a'}", "0"},
                 {"{s: 'z'}", "1"},
                 {"{s: {$lt: 'm'}}", "01"},
                 {"{s: {$gte: 'm'}}", "1"},
                 {"{s: {$regex: '^a'}}", "01"},
                 {"{s: {$regex: '^z'}}", "1"},
                 {"{s: {$regex: '^m'}}", "1"},
             });
  bson::Document spec = bson::TestDocument("{locale: 'en', strength: 2}");
  auto collator = expr::Collator::Parse(spec.view());
  ASSERT_TRUE(collator.ok());
  EXPECT_EQ(Target(map, "{s: 'a'}", collator->get()), "01");
  EXPECT_EQ(Target(map, "{s: {$lt: 'b'}}", collator->get()), "01");
  EXPECT_EQ(Target(map, "{s: {$in: ['a', 'b']}}", collator->get()), "01");
  EXPECT_EQ(Target(map, "{s: {x: 'a'}}", collator->get()), "01");
  EXPECT_EQ(Target(map, "{s: 5}", collator->get()), "0");
  EXPECT_EQ(Target(map, "{s: {$gt: 5}}", collator->get()), "0");
}

TEST(TargetFilter, OnlyShardsWithChunks) {
  ChunkMapPtr map = TestMap("{x: 1}", {}, {"s1"});
  Check(map, {{"{}", "1"}, {"{x: 5}", "1"}, {"{x: {$in: []}}", "1"}});
}

TEST(TargetFilter, SaysWhy) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}"});
  auto by = [&](std::string_view filter) {
    expr::Context context;
    bson::Document document = bson::TestDocument(filter);
    auto parsed = expr::match::Filter::Parse(document.view(), &context);
    return std::string(NameOf(TargetFilter(*map, (*parsed)->root(), context).by));
  };
  EXPECT_EQ(by("{x: 1}"), "key");
  EXPECT_EQ(by("{x: {$in: [7]}}"), "key");
  EXPECT_EQ(by("{x: {$gt: 1}}"), "spans");
  EXPECT_EQ(by("{y: 1}"), "everything");
  EXPECT_EQ(by("{x: {$in: []}}"), "nothing");
  EXPECT_EQ(ReadStage({{"s0"}, TargetedBy::kKey, {}}, true), "SINGLE_SHARD");
  EXPECT_EQ(ReadStage({{"s0", "s1"}, TargetedBy::kEverything, {}}, true), "SHARD_MERGE_SORT");
}

TEST(TargetInsert, ByTheDocument) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}"});
  bson::Document document = bson::TestDocument("{_id: 1, x: 7}");
  EXPECT_EQ(*TargetInsert(*map, document.view()), "s1");
  bson::Document none = bson::TestDocument("{_id: 1}");
  EXPECT_EQ(*TargetInsert(*map, none.view()), "s0");
  bson::Document array = bson::TestDocument("{_id: 1, x: [1]}");
  EXPECT_EQ(TargetInsert(*map, array.view()).status().code(), kShardKeyNotFound);
}

TEST(TargetWrite, Ways) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}"});
  auto way = [&](std::string_view filter, WriteWish wish) -> std::string {
    expr::Context context;
    bson::Document document = bson::TestDocument(filter);
    auto parsed = expr::match::Filter::Parse(document.view(), &context);
    auto write = TargetWrite(*map, (*parsed)->root(), context, wish);
    if (!write.ok()) {
      return std::to_string(write.status().code());
    }
    const char* names[] = {"direct", "each", "two-phase"};
    return names[static_cast<int>(write->way)] + std::string(" ") + ShardsOf(write->targets);
  };
  const WriteWish one{}, many{true, false}, upsert{false, true}, upsert_many{true, true};
  EXPECT_EQ(way("{x: 5, y: 1}", one), "direct 1");
  EXPECT_EQ(way("{x: {$gt: 5}}", one), "direct 1");
  EXPECT_EQ(way("{_id: 5}", one), "two-phase 01");
  EXPECT_EQ(way("{y: 5}", one), "two-phase 01");
  EXPECT_EQ(way("{y: 5}", many), "each 01");
  EXPECT_EQ(way("{x: {$gte: 0}}", many), "direct 1");
  EXPECT_EQ(way("{x: 5}", upsert), "direct 1");
  EXPECT_EQ(way("{x: {$gt: 5}}", upsert), "two-phase 1");
  EXPECT_EQ(way("{$and: [{x: 70}, {_id: 70}]}", upsert), "direct 1");
  EXPECT_EQ(way("{x: {$in: [72]}, _id: 72}", upsert), "direct 1");
  EXPECT_EQ(way("{x: 95}", upsert_many), "direct 1");
  EXPECT_EQ(way("{x: {$lt: 0}}", upsert_many), "61");
}

}  // namespace
}  // namespace quire::placement
