// SPDX-License-Identifier: Apache-2.0
#include "shard/state/name_table.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/error_codes.h"

namespace quire::shard {
namespace {

using engine::NamespaceVersion;
using placement::ShardVersion;

ShardVersion Version(uint32_t time, uint32_t major) {
  ShardVersion version;
  version.sharded = true;
  version.generation.timestamp.seconds = time;
  version.major = major;
  return version;
}

NameRecord Sharded(const std::string& ns, uint32_t time, uint32_t major) {
  NameRecord record;
  record.id = CollectionId(ns);
  record.known = AfterAdoption({}, {.version = Version(time, major)});
  record.key = bson::Builder().Append("x", 1).Finish();
  return record;
}

engine::Sharding::Admission Ask(NameTable& table, NamespaceVersion name, bool writes = true,
                                bool direct = false) {
  std::vector<NameTable::Unknown> unknown;
  return table.Admit({&name, 1}, writes, direct, &unknown);
}

TEST(NameTableTest, WhoeverWantsANameThatIsHeldWaitsSoLong) {
  constexpr std::chrono::milliseconds kNoTime{0};
  NameTable table;
  auto hold = table.Take({"c:d.a", "c:d.b"}, kNoTime);
  ASSERT_NE(hold, nullptr);
  EXPECT_EQ(table.Take({"c:d.b"}, kNoTime), nullptr);
  hold.reset();
  EXPECT_NE(table.Take({"c:d.b"}, kNoTime), nullptr);
}

TEST(NameDocument, KeepsWhatAChangeHasBegun) {
  NameRecord record;
  record.id = "c:d.a";
  record.known.stamp = {6, 1};
  record.begun = 7;
  record.kept = bson::Builder().Append("made", true).Finish();
  const bson::Document document = Encode(record);
  const auto read = DecodeName(document);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->begun, 7U);
  EXPECT_TRUE(read->kept["made"].AsBool());
}

TEST(NameTableTest, RefusesWithBothVersions) {
  NameTable table;
  table.SetShard("s0");
  table.Put(Sharded("a.b", 5, 2));
  const auto admission = Ask(table, {.ns = "a.b", .shard = Version(5, 1)});
  EXPECT_EQ(admission.refused.code(), kStaleConfig);
  const bson::View extra(admission.refused.extra().data());
  EXPECT_EQ(extra["ns"].AsString(), "a.b");
  EXPECT_EQ(extra["shardId"].AsString(), "s0");
  EXPECT_EQ(extra["vReceived"].AsDocument()["v"].AsTimestamp().seconds, 1U);
  EXPECT_EQ(extra["vWanted"].AsDocument()["v"].AsTimestamp().seconds, 2U);
  EXPECT_NE(Ask(table, {.ns = "a.b", .shard = Version(5, 2)}).pass, nullptr);
}

TEST(NameTableTest, DirectWritesOfShardedNamesNeedARole) {
  NameTable table;
  table.Put(Sharded("a.b", 5, 2));
  EXPECT_EQ(Ask(table, {.ns = "a.b"}).refused.code(), kUnauthorized);
  EXPECT_NE(Ask(table, {.ns = "a.b"}, true, true).pass, nullptr);
  EXPECT_TRUE(Ask(table, {.ns = "a.b"}, false).refused.ok());
  EXPECT_NE(Ask(table, {.ns = "a.other"}).pass, nullptr);
}

TEST(NameTableTest, DirectWritesOfADatabaseWithShardedCollectionsNeedARole) {
  NameTable table;
  table.Put(Sharded("shop.b", 5, 2));
  const auto ask = [&](const std::string& database, bool direct) {
    return Ask(table, {.ns = database, .writes = true, .whole_database = true}, true, direct);
  };
  EXPECT_EQ(ask("shop", false).refused.code(), kUnauthorized);
  EXPECT_NE(ask("shop", true).pass, nullptr);
  EXPECT_NE(ask("sho", false).pass, nullptr);
  EXPECT_NE(ask("shop2", false).pass, nullptr);
}

TEST(NameTableTest, WhatIsNotKnownIsAskedForOnce) {
  NameTable table;
  const NamespaceVersion name{.ns = "a.b", .shard = Version(7, 1)};
  std::vector<NameTable::Unknown> unknown;
  EXPECT_TRUE(table.Admit({&name, 1}, true, false, &unknown).waits);
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown[0].id, "c:a.b");
  // The store does not know it either.
  table.Refute(unknown[0].id, unknown[0].version);
  EXPECT_EQ(Ask(table, name).refused.code(), kStaleConfig);
  EXPECT_TRUE(Ask(table, {.ns = "a.b", .shard = Version(8, 1)}).waits);
}

TEST(NameTableTest, ClosingWaitsForWritesAndLetsNobodyIn) {
  NameTable table;
  auto under_way = Ask(table, {.ns = "a.b", .shard = ShardVersion::Unsharded()});
  ASSERT_NE(under_way.pass, nullptr);
  EXPECT_FALSE(table.Close("c:a.b", std::chrono::milliseconds(1)));
  // Given up: it is open again.
  EXPECT_NE(Ask(table, {.ns = "a.b", .shard = ShardVersion::Unsharded()}).pass, nullptr);
  auto closed =
      std::async(std::launch::async, [&] { return table.Close("c:a.b", std::chrono::minutes(1)); });
  while (!Ask(table, {.ns = "a.b", .shard = ShardVersion::Unsharded()}).waits) {
    std::this_thread::yield();
  }
  under_way.pass.reset();
  EXPECT_TRUE(closed.get());
  EXPECT_TRUE(Ask(table, {.ns = "a.b"}).waits);
  table.Open("c:a.b");
  EXPECT_FALSE(Ask(table, {.ns = "a.b"}).waits);
}

TEST(NameTableTest, ABlockedNameStaysBlockedWhenItsLogIsReadAgain) {
  NameTable table;
  NameRecord record = Sharded("a.b", 5, 2);
  record.known = AfterStep(record.known, {.stamp = {1, 1}, .blocks = true});
  const bson::Document stored = Encode(record);
  const auto decoded = DecodeName(stored);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->known, record.known);
  table.Reset({*decoded});
  EXPECT_TRUE(Ask(table, {.ns = "a.b", .shard = Version(5, 2)}).waits);
}

TEST(NameTableTest, ADatabaseIsItsPrimaryShards) {
  NameTable table;
  placement::DatabaseVersion version;
  version.timestamp.seconds = 3;
  NameRecord record;
  record.id = DatabaseId("Shop");
  record.known = AfterAdoption({}, {.version = AsVersion(version)});
  table.Put(record);
  NamespaceVersion name{.ns = "shop.b", .shard = ShardVersion::Unsharded(), .database = version};
  EXPECT_NE(Ask(table, name).pass, nullptr);
  name.database->timestamp.seconds = 2;
  EXPECT_EQ(Ask(table, name).refused.code(), kStaleDbVersion);
  name.database->timestamp.seconds = 4;
  EXPECT_TRUE(Ask(table, name).waits);
}

}  // namespace
}  // namespace quire::shard
