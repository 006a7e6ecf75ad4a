// SPDX-License-Identifier: Apache-2.0
#include "router/catalog/catalog.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/error_codes.h"
#include "coord/testing/memory_store.h"
#include "placement/layout.h"
#include "quire/doc.h"

namespace quire::router {
namespace {

template <typename T>
Result<T> Await(const std::shared_ptr<Lookup<T>>& lookup) {
  while (!lookup->ready()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return lookup->Get();
}

class CatalogTest : public ::testing::Test {
 protected:
  CatalogTest() {
    CatalogOptions options;
    options.store = &store_;
    options.cluster = "test";
    options.self = "r:1";
    options.now = [] { return bson::Timestamp{100, 1}; };
    auto started = Catalog::Start(std::move(options));
    EXPECT_TRUE(started.ok());
    catalog_ = *std::move(started);
    for (const char* name : {"s0", "s1"}) {
      placement::ShardRecord shard;
      shard.name = name;
      shard.host = std::string(name) + "/h:1";
      Put(placement::KeyOfShard(name), Encode(shard));
    }
    Put(ClusterRecord::kKey, ClusterRecord{bson::ObjectId::Generate(), "s0"}.Encode());
  }

  void Put(std::string_view key, std::string value) {
    coord::Transaction transaction;
    transaction.writes = {coord::Put(catalog_->Key(key), std::move(value))};
    auto done = store_.Transact(transaction, coord::Deadline::max());
    ASSERT_TRUE(done.ok() && done->done);
  }

  void Hint() {
    coord::Transaction transaction;
    transaction.writes = {catalog_->Changed()};
    ASSERT_TRUE(store_.Transact(transaction, coord::Deadline::max()).ok());
  }

  // A collection of one chunk on the shard.
  void Shard(const std::string& ns, const placement::ShardName& shard, uint32_t seconds) {
    const bson::Document key = Doc("x", 1);
    auto pattern = placement::ShardKeyPattern::Parse(key);
    placement::CollectionRecord record;
    record.ns = ns;
    record.key = key;
    record.generation = {bson::ObjectId::Generate(), {seconds, 1}};
    record.majors[shard] = 1;
    auto chunk = std::make_shared<placement::Chunk>();
    chunk->range = pattern->Everything();
    chunk->shard = shard;
    chunk->version = {1, 0};
    const placement::ChunkBlock block{{chunk}};
    Put(placement::KeyOfBlock(record.generation, block.min()), Encode(block));
    Put(placement::KeyOfCollection(ns), Encode(record));
  }

  coord::MemoryStore store_;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(CatalogTest, ADatabaseIsMadeOnTheShardThatHasTheFewest) {
  EXPECT_EQ(Await(catalog_->Find("one.c")).status().code(), kNamespaceNotFound);
  auto one = Await(catalog_->FindOrCreate("one.c"));
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  auto two = Await(catalog_->FindOrCreate("two.c"));
  ASSERT_TRUE(two.ok());
  EXPECT_NE((*one)->database.primary, (*two)->database.primary);
  EXPECT_FALSE((*one)->sharded());
  auto again = Await(catalog_->Find("one.c"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->database.primary, (*one)->database.primary);
}

// Also of whoever asks again.
TEST_F(CatalogTest, DatabasesDoNotDifferInCaseAlone) {
  ASSERT_TRUE(Await(catalog_->FindOrCreate("one.c")).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Await(catalog_->FindOrCreate("ONE.c")).status().code(), kDatabaseDifferCase);
    EXPECT_EQ(Await(catalog_->Find("ONE.c")).status().code(), kNamespaceNotFound);
    EXPECT_EQ(catalog_->Cached("ONE.c"), nullptr);
  }
}

// A store far away.
class SlowStore final : public coord::Store {
 public:
  Result<coord::Answer> Transact(const coord::Transaction& transaction,
                                 coord::Deadline deadline) override {
    ++transactions;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return store_.Transact(transaction, deadline);
  }
  Result<coord::Listing> List(const coord::Range& range, coord::Deadline deadline) override {
    return store_.List(range, deadline);
  }
  Result<std::unique_ptr<coord::Watcher>> Watch(std::string prefix,
                                                std::function<void()> changed) override {
    return store_.Watch(std::move(prefix), std::move(changed));
  }

  std::atomic<int> transactions{0};

 private:
  coord::MemoryStore store_;
};

// One transaction serves all who have asked before it begins.
TEST(CatalogOfASlowStoreTest, ManyWhoAskForWhatIsNotThereDoNotFloodIt) {
  SlowStore store;
  CatalogOptions options;
  options.store = &store;
  options.cluster = "test";
  options.self = "r:1";
  options.now = [] { return bson::Timestamp{100, 1}; };
  auto catalog = Catalog::Start(std::move(options));
  ASSERT_TRUE(catalog.ok());
  std::vector<std::shared_ptr<Lookup<RoutePtr>>> lookups;
  constexpr int kMany = 200;
  for (int i = 0; i < kMany; ++i) {
    lookups.push_back((*catalog)->Find("none.c" + std::to_string(i % 7)));
  }
  for (const auto& lookup : lookups) {
    EXPECT_EQ(Await(lookup).status().code(), kNamespaceNotFound);
  }
  EXPECT_LE(store.transactions, 5);  // two, unless this thread was kept waiting
  const int before = store.transactions;
  EXPECT_EQ(Await((*catalog)->Find("none.c")).status().code(), kNamespaceNotFound);
  EXPECT_EQ(store.transactions, before + 1);  // what was absent may be there now
}

TEST_F(CatalogTest, TheDatabaseAdminLiesWhereTheAccountsAre) {
  auto admin = Await(catalog_->Find("admin.c"));
  ASSERT_TRUE(admin.ok());
  EXPECT_EQ((*admin)->database.primary, "s0");
  EXPECT_FALSE((*admin)->versioned);
}

TEST_F(CatalogTest, ARefusalIsFollowedByWhatIsTrueNow) {
  ASSERT_TRUE(Await(catalog_->FindOrCreate("db.c")).ok());
  RoutePtr before = catalog_->Cached("db.c");
  ASSERT_NE(before, nullptr);
  Shard("db.c", "s1", 200);
  auto after = Await(catalog_->Refresh(before, std::nullopt));
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  ASSERT_TRUE((*after)->sharded());
  EXPECT_EQ((*after)->chunks->shards(), (std::set<placement::ShardName>{"s1"}));
  Shard("db.c", "s0", 300);
  auto later = Await(catalog_->Refresh(*after, std::nullopt));
  ASSERT_TRUE(later.ok());
  EXPECT_EQ((*later)->chunks->shards(), (std::set<placement::ShardName>{"s0"}));
}

// What is used is read again beside that.
TEST_F(CatalogTest, WhatIsKnownIsUsedAfterAHintAlsoWhileTheStoreIsAway) {
  ASSERT_TRUE(Await(catalog_->FindOrCreate("db.c")).ok());
  ASSERT_TRUE(Await(catalog_->ReloadShards()).ok());
  Hint();
  store_.SetAway(true);
  for (int i = 0; i < 20; ++i) {
    ASSERT_NE(catalog_->Cached("db.c"), nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(Await(catalog_->Find("db.c")).status().code(), kHostUnreachable);
  store_.SetAway(false);
  Shard("db.c", "s1", 200);
  Hint();
  RoutePtr route = catalog_->Cached("db.c");
  for (int i = 0; i < 10'000 && route != nullptr && !route->sharded(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    route = catalog_->Cached("db.c");
  }
  ASSERT_NE(route, nullptr);
  EXPECT_TRUE(route->sharded());
}

TEST_F(CatalogTest, WhatLiesOnARemovedShardIsReadAgainFirst) {
  auto route = Await(catalog_->FindOrCreate("db.c"));
  ASSERT_TRUE(route.ok());
  coord::Transaction transaction;
  transaction.writes = {
      coord::Delete(catalog_->Key(placement::KeyOfShard((*route)->database.primary))),
      catalog_->Changed()};
  ASSERT_TRUE(store_.Transact(transaction, coord::Deadline::max()).ok());
  ASSERT_TRUE(Await(catalog_->ReloadShards()).ok());
  EXPECT_EQ(catalog_->Cached("db.c"), nullptr);
}

// Whoever may read a database may ask for any name in it.
TEST_F(CatalogTest, NamesWithoutChunksAreForgottenWhenTheyAreMany) {
  ASSERT_TRUE(Await(catalog_->FindOrCreate("db.c")).ok());
  Shard("db.sharded", "s1", 200);
  ASSERT_TRUE(Await(catalog_->Find("db.sharded")).ok());
  std::shared_ptr<Lookup<RoutePtr>> last;
  for (size_t i = 0; i < Catalog::kMostRoutes; ++i) {
    last = catalog_->Find("db.c" + std::to_string(i));
  }
  ASSERT_TRUE(Await(last).ok());
  EXPECT_EQ(catalog_->Cached("db.c0"), nullptr);
  EXPECT_NE(catalog_->Cached("db.sharded"), nullptr);
}

TEST_F(CatalogTest, WhatIsForgottenIsAskedForAgain) {
  ASSERT_TRUE(Await(catalog_->FindOrCreate("db.c")).ok());
  catalog_->Forget("db");
  EXPECT_EQ(catalog_->Cached("db.c"), nullptr);
}

TEST_F(CatalogTest, RequestsCarryTheVersionsOfTheShard) {
  ASSERT_TRUE(Await(catalog_->FindOrCreate("db.c")).ok());
  bson::Builder unsharded;
  AppendVersions(*catalog_->Cached("db.c"), "s0", &unsharded);
  const bson::Document plain = unsharded.Finish();
  EXPECT_EQ(plain["shardVersion"].AsDocument()["t"].AsTimestamp(), bson::Timestamp());
  EXPECT_TRUE(plain["databaseVersion"].is_document());
  Shard("db.c", "s1", 200);
  auto route = Await(catalog_->Refresh(catalog_->Cached("db.c"), std::nullopt));
  ASSERT_TRUE(route.ok());
  bson::Builder sharded;
  AppendVersions(**route, "s1", &sharded);
  const bson::Document versioned = sharded.Finish();
  EXPECT_EQ(versioned["shardVersion"].AsDocument()["t"].AsTimestamp(), (bson::Timestamp{200, 1}));
  EXPECT_EQ(versioned["shardVersion"].AsDocument()["v"].AsTimestamp(), (bson::Timestamp{1, 0}));
  EXPECT_TRUE(versioned["databaseVersion"].missing());
}

}  // namespace
}  // namespace quire::router
