// SPDX-License-Identifier: Apache-2.0
//
// A disk that fills up and is given space again: seen in time, and met by surprise in the log.
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error_codes.h"
#include "kv/rocks/disk_budget.h"
#include "kv/rocks/rocks_store.h"
#include "kv/testing/conformance.h"

namespace quire::kv {
namespace {

struct Disk {
  std::atomic<bool> log_fails{false};
  std::atomic<int64_t> free{int64_t{1} << 40};
};

// A log file whose disk is full when asked to be.
class LogFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LogFile(std::unique_ptr<rocksdb::FSWritableFile> file, const Disk& disk)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (!disk_.log_fails) {
      return FSWritableFileOwnerWrapper::Append(data, options, debug);
    }
    // What a full disk took of it.
    rocksdb::Slice part(data.data(), data.size() / 2);
    FSWritableFileOwnerWrapper::Append(part, options, debug).PermitUncheckedError();
    return rocksdb::IOStatus::NoSpace("played");
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& /*info*/,
                           rocksdb::IODebugContext* debug) override {
    return Append(data, options, debug);
  }

 private:
  const Disk& disk_;
};

class PlayedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit PlayedFileSystem(const Disk& disk)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(disk) {}
  const char* Name() const override { return "PlayedFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (status.ok() && name.ends_with(".log")) {
      *file = std::make_unique<LogFile>(std::move(*file), disk_);
    }
    return status;
  }
  rocksdb::IOStatus GetFreeSpace(const std::string& /*path*/, const rocksdb::IOOptions& /*options*/,
                                 uint64_t* bytes, rocksdb::IODebugContext* /*debug*/) override {
    *bytes = static_cast<uint64_t>(disk_.free.load());
    return rocksdb::IOStatus::OK();
  }

 private:
  const Disk& disk_;
};

// With the parts of our own, and plain.
class FullDisk : public testing::TestWithParam<bool> {
 protected:
  FullDisk() { Open(); }

  void Open() {
    store_.reset();
    auto store = OpenRocks({.path = folder_.path(),
                            .cache_bytes = 32 << 20,
                            .sections = {{.name = "numbers", .begin = ""},
                                         {.name = "a", .begin = "a", .use = Section::Use::kSmall},
                                         {.name = "rest", .begin = "b"}},
                            .plain = GetParam(),
                            .env = env_.get()});
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = std::move(*store);
  }
  Status Put(const std::string& key, const std::string& value = "value") {
    auto txn = *store_->Begin({});
    EXPECT_TRUE(txn->Put(key, value).ok());
    EXPECT_TRUE(txn->Add("count", 1).ok());
    return txn->Commit(Durability::kProcess);
  }
  Status Delete(const std::string& key) {
    auto txn = *store_->Begin({});
    EXPECT_TRUE(txn->Delete(key).ok());
    return txn->Commit(Durability::kProcess);
  }
  bool Has(const std::string& key) {
    auto txn = *store_->Begin({.read_only = true});
    ReadValue value;
    return *txn->Get(key, &value);
  }
  // Once there is space writes work again, after the store has noticed.
  void PutAgain(const std::string& key) {
    for (int attempt = 0; attempt < 600; ++attempt) {
      Status status = Put(key);
      if (status.ok()) {
        return;
      }
      ASSERT_EQ(status.code(), kOutOfDiskSpace) << status.ToString();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    FAIL() << "no write in a minute";
  }

  TempFolder folder_;
  Disk disk_;
  std::unique_ptr<rocksdb::Env> env_ =
      rocksdb::NewCompositeEnv(std::make_shared<PlayedFileSystem>(disk_));
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Storage, FullDisk, testing::Bool(),
                         [](const auto& plain) { return plain.param ? "plain" : "own"; });

TEST_P(FullDisk, IsRefusedBeforeItIsFull) {
  ASSERT_TRUE(Put("a").ok());
  disk_.free = DiskBudget::kReserve;
  EXPECT_EQ(Put("b", std::string(65 << 20, 'x')).code(), kOutOfDiskSpace);
  EXPECT_EQ(Put("b").code(), kOutOfDiskSpace);
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("b"));
  disk_.free = int64_t{1} << 40;
  EXPECT_TRUE(Put("b").ok());
}

TEST_P(FullDisk, WhatFreesSpaceMayUseTheReserve) {
  ASSERT_TRUE(Put("a").ok());
  disk_.free = DiskBudget::kReserve;
  EXPECT_EQ(Put("b", std::string(65 << 20, 'x')).code(), kOutOfDiskSpace);
  EXPECT_TRUE(Delete("a").ok());
  EXPECT_FALSE(Has("a"));
  EXPECT_TRUE(store_->DeleteRange({"a", "z"}).ok());
  EXPECT_TRUE(store_->Sync().ok());
  disk_.free = DiskBudget::kLastReserve;
  EXPECT_EQ(Delete("a").code(), kOutOfDiskSpace);
}

TEST_P(FullDisk, AnIndexBuildIsRefusedToo) {
  disk_.free = DiskBudget::kReserve;
  auto loader = *store_->Load();
  Status status;
  for (int i = 100; i < 200 && status.ok(); ++i) {
    status = loader->Add(std::to_string(i), std::string(100 << 10, 'x'));
  }
  EXPECT_EQ(status.code(), kOutOfDiskSpace);
}

TEST_P(FullDisk, AFailedLogIsReplaced) {
  ASSERT_TRUE(Put("before").ok());
  disk_.log_fails = true;
  EXPECT_EQ(Put("refused").code(), kOutOfDiskSpace);
  EXPECT_EQ(Put("refused too").code(), kOutOfDiskSpace);
  EXPECT_TRUE(Has("before"));
  EXPECT_FALSE(Has("refused"));
  disk_.log_fails = false;
  PutAgain("after");
  ASSERT_TRUE(Put("and on").ok());
  Open();
  for (const char* key : {"before", "after", "and on"}) {
    EXPECT_TRUE(Has(key)) << key;
  }
  EXPECT_FALSE(Has("refused"));
  EXPECT_EQ(*(*store_->Begin({.read_only = true}))->ReadCounter("count"), 3);
}

// With nothing in the write buffer, RocksDB's own recovery keeps the failed log.
TEST_P(FullDisk, AFailedLogIsReplacedWhenNothingWasWrittenToIt) {
  ASSERT_TRUE(Put("before").ok());
  ASSERT_TRUE(store_->Compact({}).ok());
  disk_.log_fails = true;
  EXPECT_EQ(Put("refused").code(), kOutOfDiskSpace);
  disk_.log_fails = false;
  PutAgain("after");
  ASSERT_TRUE(Put("and on").ok());
  Open();
  for (const char* key : {"before", "after", "and on"}) {
    EXPECT_TRUE(Has(key)) << key;
  }
  EXPECT_FALSE(Has("refused"));
}

TEST_P(FullDisk, AFailedLogIsNoObstacleToClosing) {
  ASSERT_TRUE(Put("before").ok());
  disk_.log_fails = true;
  EXPECT_EQ(Put("refused").code(), kOutOfDiskSpace);
  EXPECT_EQ(store_->Sync().code(), kOutOfDiskSpace);
  store_.reset();
  disk_.log_fails = false;
  Open();
  EXPECT_TRUE(Has("before"));
}

TEST_P(FullDisk, ConcurrentWritersLoseNothingAcknowledged) {
  constexpr int kThreads = 4;
  std::atomic<bool> stop{false};
  std::latch all_wrote(kThreads);
  std::vector<std::set<std::string>> acknowledged(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int number = 0; !stop; ++number) {
        std::string key = std::to_string(thread) + "/" + std::to_string(number);
        Status status = Put(key);
        if (status.ok()) {
          auto& keys = acknowledged[static_cast<size_t>(thread)];
          keys.insert(key);
          if (keys.size() == 1) {
            all_wrote.count_down();
          }
        } else {
          EXPECT_EQ(status.code(), kOutOfDiskSpace) << status.ToString();
          std::this_thread::yield();
        }
      }
    });
  }
  all_wrote.wait();
  for (int round = 0; round < 3; ++round) {
    PutAgain("round" + std::to_string(round));
    disk_.log_fails = true;
    while (Put("x").ok()) {
    }
    disk_.log_fails = false;
  }
  PutAgain("last");
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  Open();
  for (const auto& keys : acknowledged) {
    EXPECT_FALSE(keys.empty());
    for (const std::string& key : keys) {
      ASSERT_TRUE(Has(key)) << key;
    }
  }
}

}  // namespace
}  // namespace quire::kv
