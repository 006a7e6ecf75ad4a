// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/group_commit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace quire::kv {
namespace {

// The keys that a batch puts.
class Keys final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t /*section*/, const rocksdb::Slice& key,
                        const rocksdb::Slice& /*value*/) override {
    seen.push_back(key.ToString());
    return rocksdb::Status::OK();
  }
  std::vector<std::string> seen;
};

std::vector<std::string> KeysOf(const rocksdb::WriteBatch& batch) {
  Keys keys;
  EXPECT_TRUE(batch.Iterate(&keys).ok());
  return keys.seen;
}

rocksdb::WriteBatch Putting(const std::vector<std::string>& keys) {
  rocksdb::WriteBatch batch;
  for (const std::string& key : keys) {
    EXPECT_TRUE(batch.Put(key, "value").ok());
  }
  return batch;
}

TEST(GroupCommit, JoinsBatchesInTheirOrder) {
  rocksdb::WriteBatch one = Putting({"a", "b"});
  rocksdb::WriteBatch none;
  rocksdb::WriteBatch other = Putting({"c"});
  const rocksdb::WriteBatch joined = JoinedBatch({&one, &none, &other});
  EXPECT_EQ(joined.Count(), 3U);
  EXPECT_EQ(KeysOf(joined), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(joined.Data(), Putting({"a", "b", "c"}).Data());
}

TEST(GroupCommit, WritesEachBatchOnceBeforeItsCommitterGoesOn) {
  GroupCommit commits;
  std::atomic<int> running = 0;
  std::vector<std::string> written;  // by one at a time
  auto write = [&](rocksdb::WriteBatch* batch) {
    EXPECT_EQ(running.fetch_add(1), 0);
    for (std::string& key : KeysOf(*batch)) {
      written.push_back(std::move(key));
    }
    running.fetch_sub(1);
    return rocksdb::Status::OK();
  };
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int n = 0; n < kEach; ++n) {
        rocksdb::WriteBatch batch = Putting({std::to_string(thread) + "/" + std::to_string(n)});
        ASSERT_TRUE(commits.Commit(&batch, write).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_EQ(written.size(), size_t{kThreads} * kEach);
  std::vector<int> next(kThreads, 0);  // each one's in its order
  for (const std::string& key : written) {
    const size_t thread = static_cast<size_t>(key[0] - '0');
    EXPECT_EQ(key, std::to_string(thread) + "/" + std::to_string(next[thread]++));
  }
}

TEST(GroupCommit, WhoComesWhileOneIsWrittenIsInTheNext) {
  GroupCommit commits;
  std::binary_semaphore begun{0};
  std::binary_semaphore go_on{0};
  std::vector<size_t> sizes;
  auto write = [&](rocksdb::WriteBatch* batch) {
    sizes.push_back(batch->Count());
    if (sizes.size() == 1) {
      begun.release();
      go_on.acquire();
    }
    return rocksdb::Status::OK();
  };
  auto commit = [&](const std::string& key) {
    rocksdb::WriteBatch batch = Putting({key});
    EXPECT_TRUE(commits.Commit(&batch, write).ok());
  };
  std::thread first(commit, "a");
  begun.acquire();
  std::thread second(commit, "b");
  std::thread third(commit, "c");
  go_on.release();
  first.join();
  second.join();
  third.join();
  ASSERT_GE(sizes.size(), 2U);
  EXPECT_EQ(sizes[0], 1U);
  size_t rest = 0;
  for (size_t i = 1; i < sizes.size(); ++i) {
    rest += sizes[i];
  }
  EXPECT_EQ(rest, 2U);
}

TEST(GroupCommit, TellsOfAFailureAndGoesOn) {
  GroupCommit commits;
  rocksdb::WriteBatch batch = Putting({"a"});
  auto fail = [](rocksdb::WriteBatch*) { return rocksdb::Status::IOError("played"); };
  auto succeed = [](rocksdb::WriteBatch*) { return rocksdb::Status::OK(); };
  EXPECT_TRUE(commits.Commit(&batch, fail).IsIOError());
  EXPECT_TRUE(commits.Commit(&batch, succeed).ok());
}

}  // namespace
}  // namespace quire::kv
