// SPDX-License-Identifier: Apache-2.0
//
// What every coordination store does: the one in memory, and a real etcd.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error_codes.h"
#include "coord/coord.h"
#include "coord/etcd/etcd_store.h"
#include "coord/testing/etcd_process.h"
#include "coord/testing/memory_store.h"

namespace quire::coord {
namespace {

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

std::unique_ptr<Store> OpenMemory() { return std::make_unique<MemoryStore>(); }

// All tests share one etcd and keep to keys of their own.
std::unique_ptr<Store> OpenSharedEtcd() {
  static EtcdProcess etcd;
  auto store = OpenEtcd({.servers = etcd.url()});
  EXPECT_TRUE(store.ok());
  EXPECT_TRUE(EtcdProcess::Await(**store));
  return *std::move(store);
}

struct BackendRow {
  const char* name;
  std::unique_ptr<Store> (*open)();
};

class CoordConformance : public testing::TestWithParam<BackendRow> {
 protected:
  CoordConformance()
      : store_(GetParam().open()),
        prefix_(std::string("/") + testing::UnitTest::GetInstance()->current_test_info()->name() +
                "/") {}

  std::string Key(std::string_view name) const { return prefix_ + std::string(name); }
  Answer Do(const Transaction& transaction) {
    auto answer = store_->Transact(transaction, Soon());
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    return answer.ok() ? *std::move(answer) : Answer{};
  }
  Revision PutNew(const std::string& key, const std::string& value) {
    const Answer answer = Do({.compares = {{key, 0}}, .writes = {Put(key, value)}});
    EXPECT_TRUE(answer.done);
    return answer.position.revision;
  }
  std::vector<std::string> Keys(const Range& range) {
    auto listing = store_->List(range, Soon());
    EXPECT_TRUE(listing.ok()) << listing.status().ToString();
    std::vector<std::string> keys;
    for (const Entry& entry : listing.ok() ? listing->entries : std::vector<Entry>()) {
      keys.push_back(entry.key);
    }
    return keys;
  }

  std::unique_ptr<Store> store_;
  std::string prefix_;
};

TEST_P(CoordConformance, AbsentKeyIsComparedWithZero) {
  const std::string key = Key("a");
  const Answer made = Do({.compares = {{key, 0}}, .writes = {Put(key, "1")}});
  ASSERT_TRUE(made.done);
  ASSERT_EQ(made.entries.size(), 1U);
  EXPECT_EQ(made.entries[0], (Entry{key, "1", made.position.revision, made.position.revision}));

  const Answer again = Do({.compares = {{key, 0}}, .writes = {Put(key, "2")}});
  EXPECT_FALSE(again.done);
  ASSERT_NE(again.Find(key), nullptr);
  EXPECT_EQ(again.Find(key)->value, "1");
  EXPECT_EQ(again.position.cluster, made.position.cluster);
  EXPECT_EQ(again.position.revision, made.position.revision);
}

TEST_P(CoordConformance, SwapNeedsTheLastRevision) {
  const std::string key = Key("a");
  const Revision first = PutNew(key, "1");
  const Answer swapped = Do({.compares = {{key, first}}, .writes = {Put(key, "2")}});
  ASSERT_TRUE(swapped.done);
  EXPECT_EQ(swapped.Find(key)->created, first);
  EXPECT_EQ(swapped.Find(key)->modified, swapped.position.revision);
  EXPECT_GT(swapped.position.revision, first);
  EXPECT_FALSE(Do({.compares = {{key, first}}, .writes = {Put(key, "3")}}).done);
}

TEST_P(CoordConformance, OneFailedComparisonStopsAllWrites) {
  const std::string a = Key("a");
  const std::string b = Key("b");
  const Revision revision = PutNew(a, "1");
  const Answer refused =
      Do({.compares = {{a, revision}, {b, revision}}, .writes = {Put(a, "2"), Put(b, "2")}});
  EXPECT_FALSE(refused.done);
  EXPECT_EQ(refused.Find(a)->value, "1");
  EXPECT_EQ(refused.Find(b), nullptr);
  EXPECT_EQ(Keys({.prefix = prefix_}), std::vector<std::string>{a});
}

TEST_P(CoordConformance, WritesOfOneTransactionShareARevision) {
  const std::string a = Key("a");
  const std::string b = Key("b");
  const Answer done = Do({.compares = {{a, 0}, {b, 0}}, .writes = {Put(b, "2"), Put(a, "1")}});
  ASSERT_EQ(done.entries.size(), 2U);
  EXPECT_EQ(done.entries[0].key, a);
  EXPECT_EQ(done.entries[0].modified, done.entries[1].modified);
}

TEST_P(CoordConformance, WritingTheSameValueIsAChange) {
  const std::string key = Key("a");
  const Revision first = PutNew(key, "1");
  const Answer same = Do({.writes = {Put(key, "1")}, .reads = {key}});
  ASSERT_TRUE(same.done);
  EXPECT_GT(same.Find(key)->modified, first);
}

TEST_P(CoordConformance, DeletesAndForgets) {
  const std::string key = Key("a");
  const Revision first = PutNew(key, "1");
  EXPECT_TRUE(Do({.compares = {{key, first}}, .writes = {Delete(key)}}).done);
  EXPECT_TRUE(Keys({.prefix = prefix_}).empty());
  EXPECT_TRUE(Do({.compares = {{key, 0}}, .writes = {Delete(key)}}).done);
  const Revision second = PutNew(key, "2");
  EXPECT_GT(second, first);
}

TEST_P(CoordConformance, ReadsShowTheStateAfterTheWrites) {
  const std::string a = Key("a");
  const std::string b = Key("b");
  PutNew(a, "1");
  const Answer answer = Do({.writes = {Put(b, "2"), Put(a, "3")}, .reads = {a, b, Key("none")}});
  ASSERT_EQ(answer.entries.size(), 2U);
  EXPECT_EQ(answer.Find(a)->value, "3");
  EXPECT_EQ(answer.Find(b)->value, "2");
}

TEST_P(CoordConformance, AnyBytes) {
  std::string value;
  for (int i = 0; i < 256; ++i) {
    value.push_back(static_cast<char>(i));
  }
  const std::string key = Key(std::string("\0\n\xff\"\\", 5));
  PutNew(key, value);
  const Answer answer = Do({.writes = {Put(Key("b"), "")}, .reads = {key, Key("b")}});
  ASSERT_NE(answer.Find(key), nullptr);
  EXPECT_EQ(answer.Find(key)->value, value);
  EXPECT_EQ(answer.Find(Key("b"))->value, "");
}

TEST_P(CoordConformance, ListsInOrderAndInPages) {
  for (int i = 0; i < 5; ++i) {
    PutNew(Key("k" + std::to_string(i)), std::to_string(i));
  }
  PutNew(Key("l"), "");
  auto page = store_->List({.prefix = Key("k"), .most = 2}, Soon());
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->more);
  ASSERT_EQ(page->entries.size(), 2U);
  EXPECT_EQ(page->entries[1].key, Key("k1"));
  EXPECT_EQ(Keys({.prefix = Key("k"), .after = Key("k1"), .most = 2}),
            (std::vector<std::string>{Key("k2"), Key("k3")}));
  page = store_->List({.prefix = Key("k"), .after = Key("k3"), .most = 2}, Soon());
  EXPECT_FALSE(page->more);
  EXPECT_EQ(page->entries.size(), 1U);
}

TEST_P(CoordConformance, ListsAnEarlierState) {
  const std::string key = Key("a");
  const Revision first = PutNew(key, "1");
  Do({.writes = {Put(key, "2")}});
  Do({.writes = {Put(Key("b"), "2")}});
  auto listing = store_->List({.prefix = prefix_, .at = first}, Soon());
  ASSERT_TRUE(listing.ok()) << listing.status().ToString();
  ASSERT_EQ(listing->entries.size(), 1U);
  EXPECT_EQ(listing->entries[0].value, "1");
  EXPECT_EQ(listing->position.revision, first);
  listing = store_->List({.prefix = prefix_, .at = first + 1'000'000}, Soon());
  ASSERT_FALSE(listing.ok());
  EXPECT_EQ(listing.status().code(), kSnapshotTooOld);
}

TEST_P(CoordConformance, ListsWhatChangedSince) {
  PutNew(Key("a"), "1");
  const Revision since = PutNew(Key("b"), "1");
  PutNew(Key("c"), "1");
  EXPECT_EQ(Keys({.prefix = prefix_, .modified_since = since}),
            (std::vector<std::string>{Key("b"), Key("c")}));
}

TEST_P(CoordConformance, RefusesWhatCanNeverBeTaken) {
  const std::string key = Key("a");
  Transaction many{.writes = {}};
  for (size_t i = 0; i <= Transaction::kMostOperations; ++i) {
    many.writes.push_back(Put(Key(std::to_string(i)), ""));
  }
  const Transaction bad[] = {
      {.compares = {{key, 0}}},
      {.writes = {Put(key, "1"), Delete(key)}},
      {.writes = {Put("", "1")}},
      {.writes = {Put(key, std::string(Transaction::kMostBytes + 1, 'x'))}},
      many,
  };
  for (const Transaction& transaction : bad) {
    auto answer = store_->Transact(transaction, Soon());
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.status().code(), kBadValue) << answer.status().ToString();
  }
}

TEST_P(CoordConformance, TakesTheLargestTransaction) {
  Transaction large;
  for (size_t i = 0; i < Transaction::kMostOperations / 2; ++i) {
    const std::string key = Key(std::to_string(i));
    large.compares.push_back({key, 0});
    large.writes.push_back(Put(key, std::string(8000, 'x')));
  }
  EXPECT_TRUE(Do(large).done);
  EXPECT_EQ(Keys({.prefix = prefix_}).size(), large.writes.size());
}

TEST_P(CoordConformance, OneOfManyWins) {
  const std::string key = Key("a");
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      auto answer = store_->Transact(
          {.compares = {{key, 0}}, .writes = {Put(key, std::to_string(i))}}, Soon());
      won += answer.ok() && answer->done ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(won, 1);
}

TEST_P(CoordConformance, WatchTellsOfItsBeginningAndOfChanges) {
  std::atomic<int> told{0};
  auto watcher = store_->Watch(prefix_, [&] { ++told; });
  ASSERT_TRUE(watcher.ok());
  auto await = [&](int count) {
    for (int i = 0; i < 1000 && told < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return told.load();
  };
  EXPECT_GE(await(1), 1);
  const int before = told;
  PutNew(Key("a"), "1");
  EXPECT_GT(await(before + 1), before);
  watcher->reset();
  const int after = told;
  PutNew(Key("b"), "1");
  EXPECT_EQ(told, after);
}

INSTANTIATE_TEST_SUITE_P(Backends, CoordConformance,
                         testing::Values(BackendRow{"Memory", OpenMemory},
                                         BackendRow{"Etcd", OpenSharedEtcd}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace quire::coord
