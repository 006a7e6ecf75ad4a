// SPDX-License-Identifier: Apache-2.0
//
// The part of the conformance suite about the whole store: range deletes, loading, durability and
// many threads.
#include <atomic>
#include <random>
#include <thread>

#include "base/error_codes.h"
#include "kv/testing/conformance.h"

namespace quire::kv {

TEST_P(Conformance, DeleteRange) {
  PutAll({{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}});
  auto before = Begin(true);
  ASSERT_TRUE(store_->DeleteRange({"b", "d"}).ok());
  EXPECT_EQ(Collect(*Begin(true), {}), (Entries{{"a", "1"}, {"d", "1"}}));
  EXPECT_EQ(Read("b"), std::nullopt);
  EXPECT_EQ(Collect(*before, {}).size(), 4u);
  ASSERT_TRUE(store_->DeleteRange({"b", "d"}).ok());
  ASSERT_TRUE(store_->DeleteRange({"d", "b"}).ok());
  PutAll({{"c", "2"}});
  EXPECT_EQ(Read("c"), "2");
  before.reset();
  ASSERT_TRUE(store_->DeleteRange({}).ok());
  EXPECT_TRUE(Collect(*Begin(true), {}).empty());
  ASSERT_TRUE(store_->DeleteRange({}).ok());
}

TEST_P(Conformance, WritesAroundRangeDeletesOfTheSamePrefix) {
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 20; ++i) {
      PutAll({{"tabl" + Number((i * 7 + round) % 20), "1"}});
    }
    ASSERT_TRUE(store_->DeleteRange({"tabl" + Number(round % 20), "tabm"}).ok());
    ASSERT_TRUE(store_->DeleteRange({"tabl", "tabl" + Number(5)}).ok());
  }
  PutAll({{"tabl" + Number(3), "2"}});
  EXPECT_EQ(Read("tabl" + Number(3)), "2");
}

TEST_P(Conformance, LoadMakesAllVisibleAtFinish) {
  PutAll({{"a", "1"}, {Number(7), "old"}, {"z", "1"}});
  auto loader = *store_->Load();
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(loader->Add(Number(i), "loaded").ok());
  }
  auto before = Begin(true);
  EXPECT_EQ(Read(Number(0)), std::nullopt);
  Status status = loader->Finish();
  ASSERT_TRUE(status.ok()) << status.ToString();
  loader.reset();
  EXPECT_EQ(Collect(*before, {}).size(), 3u);
  Entries all = Collect(*Begin(true), {});
  EXPECT_EQ(all.size(), 20002u);
  EXPECT_EQ(Read(Number(7)), "loaded");
  PutAll({{Number(8), "newer"}});
  EXPECT_EQ(Read(Number(8)), "newer");
}

TEST_P(Conformance, AnUnfinishedLoadLeavesNothing) {
  {
    auto loader = *store_->Load();
    ASSERT_TRUE(loader->Add("a", "1").ok());
  }
  auto empty = *store_->Load();
  EXPECT_TRUE(empty->Finish().ok());
  EXPECT_TRUE(Collect(*Begin(true), {}).empty());
}

TEST_P(Conformance, CommittedDataSurvivesReopening) {
  if (!backend_->persistent()) {
    GTEST_SKIP() << "keeps nothing";
  }
  PutAll({{"a", "1"}});
  auto disk = Begin();
  ASSERT_TRUE(disk->Put("b", "2").ok());
  ASSERT_TRUE(disk->Add("n", 4).ok());
  ASSERT_TRUE(disk->Commit(Durability::kDisk).ok());
  disk.reset();
  auto loader = *store_->Load();
  ASSERT_TRUE(loader->Add("l", "loaded").ok());
  ASSERT_TRUE(loader->Finish().ok());
  loader.reset();
  PutAll({{"gone1", ""}, {"gone2", ""}});
  ASSERT_TRUE(store_->DeleteRange({"gone", "h"}).ok());
  Reopen();
  auto add = Begin();
  ASSERT_TRUE(add->Add("n", 5).ok());
  ASSERT_TRUE(add->Commit(Durability::kProcess).ok());
  add.reset();
  ASSERT_TRUE(store_->Sync().ok());
  Reopen();
  EXPECT_EQ(Read("a"), "1");
  EXPECT_EQ(Read("b"), "2");
  EXPECT_EQ(Read("l"), "loaded");
  EXPECT_EQ(ReadCounter("n"), 9);
  EXPECT_EQ(Collect(*Begin(true), {}).size(), 4u);
}

TEST_P(Conformance, CompactAndSizes) {
  std::map<std::string, std::string> entries;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string& value = entries[Number(i)];
    for (int j = 0; j < 500; ++j) {
      value.push_back(static_cast<char>(random()));
    }
  }
  PutAll(entries);
  uint64_t size = store_->ApproximateSize({});
  EXPECT_GT(size, 50'000u);
  EXPECT_LT(size, 20'000'000u);
  ASSERT_TRUE(store_->DeleteRange({Number(0), Number(1900)}).ok());
  ASSERT_TRUE(store_->Compact({}).ok());
  EXPECT_LT(store_->ApproximateSize({}), 300'000u);
  EXPECT_EQ(Collect(*Begin(true), {}).size(), 100u);
  StoreStats stats = store_->Stats();
  EXPECT_GT(stats.memory_bytes, 0u);
  if (backend_->persistent()) {
    EXPECT_GT(stats.cache_capacity, 0u);
    EXPECT_GT(stats.disk_bytes, 0u);
  }
  ASSERT_TRUE(store_->Compact({Number(1), Number(5)}).ok());
}

// Money moves between accounts in many threads: conflicts are retried, nothing is lost, and every
// snapshot shows the same total.
TEST_P(Conformance, TransfersKeepTheTotal) {
  constexpr int kAccounts = 10;
  constexpr int kThreads = 4;
  constexpr int kTransfers = 300;
  constexpr int kStart = 1000;
  std::map<std::string, std::string> accounts;
  for (int i = 0; i < kAccounts; ++i) {
    accounts[Number(i)] = std::to_string(kStart);
  }
  PutAll(accounts);
  std::atomic<int> conflicts = 0;
  std::atomic<bool> done = false;

  auto transfer = [&](const std::string& from, const std::string& to) {
    auto txn = Begin();
    for (const std::string& key : {from, to}) {
      if (Status claimed = txn->Claim(key); !claimed.ok()) {
        EXPECT_EQ(claimed.code(), kWriteConflict);
        return false;
      }
    }
    int from_amount = std::stoi(*Get(*txn, from));
    int to_amount = std::stoi(*Get(*txn, to));
    EXPECT_TRUE(txn->Put(from, std::to_string(from_amount - 1)).ok());
    EXPECT_TRUE(txn->Put(to, std::to_string(to_amount + 1)).ok());
    EXPECT_TRUE(txn->Add("transfers", 1).ok());
    EXPECT_TRUE(txn->Commit(Durability::kProcess).ok());
    return true;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < kTransfers;) {
        int from = static_cast<int>(random() % kAccounts);
        int to = (from + 1 + static_cast<int>(random() % (kAccounts - 1))) % kAccounts;
        if (transfer(Number(from), Number(to))) {
          ++i;
        } else {
          ++conflicts;
          std::this_thread::yield();
        }
      }
    });
  }
  std::thread auditor([&] {
    while (!done) {
      auto txn = Begin(true);
      int total = 0;
      for (const auto& entry : Collect(*txn, {Number(0), Number(kAccounts)})) {
        total += std::stoi(entry.second);
      }
      EXPECT_EQ(total, kAccounts * kStart);
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  done = true;
  auditor.join();
  EXPECT_EQ(ReadCounter("transfers"), kThreads * kTransfers);
}

TEST_P(Conformance, ConcurrentCountersNeverConflict) {
  constexpr int kThreads = 4;
  constexpr int kAdds = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kAdds; ++i) {
        auto txn = Begin();
        EXPECT_TRUE(txn->Add("n", 1).ok());
        EXPECT_TRUE(txn->Add("m", -2).ok());
        EXPECT_TRUE(txn->Commit(Durability::kProcess).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(ReadCounter("n"), kThreads * kAdds);
  EXPECT_EQ(ReadCounter("m"), -2 * kThreads * kAdds);
}

}  // namespace quire::kv
