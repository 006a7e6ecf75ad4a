// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/value_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kv/rocks/rocks_store.h"

namespace quire::kv {
namespace {

std::optional<std::string> Shown(ValueCache& cache, std::string_view key, uint64_t snapshot) {
  ReadValue value;
  if (!cache.Get(key, snapshot, &value)) {
    return std::nullopt;
  }
  return std::string(value.view());
}

TEST(ValueCache, ShowsAReadersFindToSnapshotsAsNew) {
  ValueCache cache(1 << 20);
  cache.Offer("k", 10, "v");
  EXPECT_EQ(Shown(cache, "k", 10), "v");
  EXPECT_EQ(Shown(cache, "k", 11), "v");
  EXPECT_EQ(Shown(cache, "k", 9), std::nullopt);
  EXPECT_EQ(Shown(cache, "l", 10), std::nullopt);
}

TEST(ValueCache, AWriterHidesItsKeysUntilItsBatchIsVisible) {
  ValueCache cache(1 << 20);
  cache.Offer("k", 10, "old");
  ValueCache::Changes changes(cache, 10);
  changes.Put("k", "new");
  changes.Hide();
  EXPECT_EQ(Shown(cache, "k", 10), std::nullopt);
  cache.Offer("k", 10, "old");
  EXPECT_EQ(Shown(cache, "k", 10), std::nullopt);
  changes.Finish(true, 12);
  EXPECT_EQ(Shown(cache, "k", 11), std::nullopt);
  EXPECT_EQ(Shown(cache, "k", 12), "new");
}

TEST(ValueCache, ASmallerBoundFreesMemoryAtOnce) {
  ValueCache cache(8 << 20);
  const std::string value(1000, 'v');
  for (int i = 0; i < 4000; ++i) {
    cache.Offer("key" + std::to_string(i), 10, value);
  }
  EXPECT_GT(cache.bytes(), size_t{3} << 20);
  cache.SetCapacity(1 << 20);
  EXPECT_LE(cache.bytes(), size_t{1} << 20);
  for (int i = 0; i < 100; ++i) {
    const std::string another = "another" + std::to_string(i);
    cache.Offer(another, 10, value);
    EXPECT_EQ(Shown(cache, another, 10), value);
  }
  EXPECT_LE(cache.bytes(), size_t{1} << 20);
}

TEST(ValueCache, WhatIsLargerThanItsRoomIsNotKept) {
  ValueCache cache(64 << 10);
  cache.Offer("small", 10, "v");
  cache.Offer("large", 10, std::string(2000, 'v'));
  EXPECT_FALSE(cache.Holds("large"));
}

TEST(ValueCache, AFindFromBeforeADeleteIsRefused) {
  ValueCache cache(1 << 20);
  {
    ValueCache::Changes changes(cache, 10);
    changes.Delete("k");
    changes.Hide();
    changes.Finish(true, 12);
  }
  EXPECT_FALSE(cache.Holds("k"));
  cache.Offer("k", 11, "old");
  EXPECT_EQ(Shown(cache, "k", 13), std::nullopt);
  cache.Offer("k", 12, "again");
  EXPECT_EQ(Shown(cache, "k", 13), "again");
}

TEST(ValueCache, ABatchThatWasNotWrittenLeavesNothing) {
  ValueCache cache(1 << 20);
  {
    ValueCache::Changes changes(cache, 10);
    changes.Put("k", "v");
    changes.PutNew("m", "v");
    changes.Hide();
    changes.Finish(false, 12);
  }
  {
    ValueCache::Changes changes(cache, 10);
    changes.Put("l", "v");
    changes.PutNew("n", "v");
    changes.Hide();
  }
  EXPECT_FALSE(cache.Holds("k"));
  EXPECT_FALSE(cache.Holds("l"));
  EXPECT_FALSE(cache.Holds("m"));
  EXPECT_FALSE(cache.Holds("n"));
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ValueCache, OfTwoBatchesUnderWayNeitherIsKept) {
  ValueCache cache(1 << 20);
  ValueCache::Changes first(cache, 5);
  ValueCache::Changes second(cache, 5);
  first.Put("k", "1");
  first.Hide();
  second.Put("k", "2");
  second.Hide();
  second.Finish(true, 10);
  EXPECT_EQ(Shown(cache, "k", 20), std::nullopt);
  first.Finish(true, 11);
  EXPECT_FALSE(cache.Holds("k"));
}

TEST(ValueCache, ANewKeyIsShownOnceItIsVisible) {
  ValueCache cache(1 << 20);
  ValueCache::Changes changes(cache, 10);
  changes.PutNew("k", "v");
  const std::string large(100 << 10, 'x');
  changes.PutNew("large", large);
  changes.Hide();
  EXPECT_FALSE(cache.Holds("k"));
  changes.Finish(true, 12);
  EXPECT_EQ(Shown(cache, "k", 11), std::nullopt);
  EXPECT_EQ(Shown(cache, "k", 12), "v");
  EXPECT_FALSE(cache.Holds("large"));
}

TEST(ValueCache, ANewKeyThatWasChangedMeanwhileIsNotKept) {
  ValueCache cache(1 << 20);
  auto insert_while = [&](std::string_view key, const auto& change) {
    ValueCache::Changes inserted(cache, 10);
    inserted.PutNew(key, "inserted");
    inserted.Hide();
    change();
    inserted.Finish(true, 20);
  };
  insert_while("deleted", [&] {
    ValueCache::Changes deleted(cache, 11);
    deleted.Delete("deleted");
    deleted.Hide();
    deleted.Finish(true, 12);
  });
  EXPECT_FALSE(cache.Holds("deleted"));
  insert_while("updated", [&] {
    ValueCache::Changes updated(cache, 11);
    updated.Put("updated", "later");
    updated.Hide();
    updated.Finish(true, 12);
  });
  EXPECT_EQ(Shown(cache, "updated", 20), "later");
  ValueCache::Changes under_way(cache, 11);
  insert_while("being deleted", [&] {
    under_way.Delete("being deleted");
    under_way.Hide();
  });
  EXPECT_EQ(Shown(cache, "being deleted", 20), std::nullopt);
  under_way.Finish(true, 21);
  EXPECT_FALSE(cache.Holds("being deleted"));
}

TEST(ValueCache, OfSeveralChangesOfAKeyTheLastOneCounts) {
  ValueCache cache(1 << 20);
  cache.Offer("replaced", 10, "old");
  cache.Offer("back", 10, "old");
  cache.Offer("gone", 10, "old");
  ValueCache::Changes changes(cache, 10);
  changes.Put("replaced", "1");
  changes.PutNew("new", "1");
  changes.Delete("back");
  changes.Put("gone", "1");
  changes.Put("replaced", "2");
  changes.PutNew("back", "2");
  changes.Delete("gone");
  changes.Put("new", "2");
  changes.Hide();
  for (const char* key : {"replaced", "back", "gone"}) {
    EXPECT_EQ(Shown(cache, key, 10), std::nullopt) << key;
  }
  changes.Finish(true, 20);
  EXPECT_EQ(Shown(cache, "replaced", 20), "2");
  EXPECT_EQ(Shown(cache, "back", 20), "2");
  EXPECT_EQ(Shown(cache, "new", 20), "2");
  EXPECT_FALSE(cache.Holds("gone"));
}

TEST(ValueCache, KeepsEveryNewKeyOfALargeBatch) {
  ValueCache cache(64 << 20);
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) {
    keys.push_back("key" + std::to_string(i));
  }
  ValueCache::Changes changes(cache, 10);
  for (const std::string& key : keys) {
    changes.PutNew(key, key);
  }
  changes.Hide();
  changes.Finish(true, 5010);
  for (const std::string& key : keys) {
    EXPECT_EQ(Shown(cache, key, 5010), key);
  }
}

TEST(ValueCache, StaysWithinItsCapacityAndKeepsWhatIsRead) {
  constexpr size_t kCapacity = 1 << 20;
  ValueCache cache(kCapacity);
  const std::string value(1000, 'v');
  cache.Offer("hot", 1, value);
  for (int i = 0; i < 5000; ++i) {
    cache.Offer("k" + std::to_string(i), 1, value);
    ASSERT_TRUE(Shown(cache, "hot", 1).has_value()) << i;
  }
  EXPECT_LE(cache.bytes(), kCapacity);
  EXPECT_GT(cache.bytes(), kCapacity / 2);
  cache.Offer("large", 1, std::string(100 << 10, 'x'));
  EXPECT_FALSE(cache.Holds("large"));
}

TEST(ValueCache, FindsEveryKeyAfterManyErasures) {
  ValueCache cache(64 << 20);
  auto key = [](int i) { return "key" + std::to_string(i); };
  for (int i = 0; i < 20000; ++i) {
    cache.Offer(key(i), 1, key(i));
  }
  for (int i = 0; i < 20000; i += 3) {
    ValueCache::Changes changes(cache, 10);
    const std::string gone = key(i);
    changes.Delete(gone);
    changes.Hide();
    changes.Finish(true, 2);
  }
  for (int i = 0; i < 20000; ++i) {
    EXPECT_EQ(Shown(cache, key(i), 2).has_value(), i % 3 != 0) << i;
  }
}

// Writers raise numbers by read, claim and write; readers see no number fall and no two numbers of
// one transaction differ.
TEST(ValueCache, ReadersOfAStoreSeeWhatTheirSnapshotHas) {
  auto opened = OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 16 << 20});
  ASSERT_TRUE(opened.ok());
  Store& store = **opened;
  constexpr int kPairs = 4;
  auto left = [](int pair) { return "left" + std::to_string(pair); };
  auto right = [](int pair) { return "right" + std::to_string(pair); };
  auto number = [](Txn& txn, const std::string& key) {
    ReadValue value;
    return *txn.Get(key, &value, Reads::kByKey) ? std::stoi(std::string(value.view())) : 0;
  };
  std::atomic<bool> done = false;
  std::atomic<int> written = 0;
  auto write = [&](unsigned seed) {
    for (int i = 0; i < 3000; ++i) {
      seed = seed * 1103515245 + 12345;
      const int pair = static_cast<int>(seed >> 16) % kPairs;
      auto txn = *store.Begin({});
      if (!txn->Claim(left(pair)).ok()) {
        continue;
      }
      const std::string next = std::to_string(number(*txn, left(pair)) + 1);
      if (i % 50 == 0) {  // gone and back between two snapshots
        ASSERT_TRUE(txn->Delete(right(pair), Reads::kByKey).ok());
      }
      ASSERT_TRUE(txn->Put(left(pair), next, {.reads = Reads::kByKey}).ok());
      ASSERT_TRUE(txn->Put(right(pair), next, {.reads = Reads::kByKey}).ok());
      ASSERT_TRUE(txn->Commit(Durability::kProcess).ok());
      ++written;
    }
  };
  auto read = [&] {
    std::vector<int> last(kPairs);
    while (!done) {
      for (int pair = 0; pair < kPairs; ++pair) {
        auto txn = *store.Begin({.read_only = true});
        const int a = number(*txn, left(pair));
        const int b = number(*txn, right(pair));
        ASSERT_EQ(a, b);
        ASSERT_GE(a, last[static_cast<size_t>(pair)]);
        last[static_cast<size_t>(pair)] = a;
      }
    }
  };
  std::vector<std::thread> readers;
  readers.emplace_back(read);
  readers.emplace_back(read);
  std::thread one(write, 1u);
  std::thread two(write, 2u);
  one.join();
  two.join();
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  auto txn = *store.Begin({.read_only = true});
  int total = 0;
  for (int pair = 0; pair < kPairs; ++pair) {
    total += number(*txn, left(pair));
  }
  EXPECT_EQ(total, written.load());
}

}  // namespace
}  // namespace quire::kv
