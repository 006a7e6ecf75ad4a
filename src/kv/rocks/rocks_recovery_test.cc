// SPDX-License-Identifier: Apache-2.0
//
// Errors that go away: a lack of file descriptors, a disk that fails for a while.
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/error_codes.h"
#include "kv/rocks/rocks_store.h"
#include "kv/testing/conformance.h"

namespace quire::kv {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// What fails while it is set.
struct Trouble {
  std::atomic<bool> opens{false};  // of new files, and of files to read
  std::atomic<bool> appends{false};
  std::atomic<bool> syncs{false};
  std::atomic<int> met{0};

  IOStatus Meet(const std::atomic<bool>& what) {
    if (!what) {
      return IOStatus::OK();
    }
    ++met;
    return IOStatus::IOError("played: Input/output error");
  }
};

class TroubledFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  TroubledFile(std::unique_ptr<rocksdb::FSWritableFile> file, Trouble& trouble)
      : FSWritableFileOwnerWrapper(std::move(file)), trouble_(trouble) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    IOStatus status = trouble_.Meet(trouble_.appends);
    return status.ok() ? target()->Append(data, options, debug) : status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*info*/, IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = trouble_.Meet(trouble_.syncs);
    return status.ok() ? target()->Sync(options, debug) : status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  Trouble& trouble_;
};

class TroubledDisk final : public rocksdb::FileSystemWrapper {
 public:
  explicit TroubledDisk(Trouble& trouble)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), trouble_(trouble) {}
  const char* Name() const override { return "TroubledDisk"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    IOStatus status = trouble_.Meet(trouble_.opens);
    if (status.ok()) {
      status = target()->NewWritableFile(name, options, file, debug);
    }
    if (status.ok()) {
      *file = std::make_unique<TroubledFile>(std::move(*file), trouble_);
    }
    return status;
  }
  IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    IOStatus status = trouble_.Meet(trouble_.opens);
    return status.ok() ? target()->NewRandomAccessFile(name, options, file, debug) : status;
  }

 private:
  Trouble& trouble_;
};

class Recovery : public testing::Test {
 protected:
  Recovery() { Open(); }

  void Open() {
    store_.reset();
    auto store =
        OpenRocks({.path = folder_.path(),
                   .cache_bytes = 32 << 20,
                   .sections = {{.name = "numbers", .begin = ""}, {.name = "rest", .begin = "b"}},
                   .env = env_.get()});
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = std::move(*store);
  }
  Status Put(const std::string& key, Durability durability = Durability::kProcess,
             size_t size = 10) {
    auto txn = *store_->Begin({});
    EXPECT_TRUE(txn->Put(key, std::string(size, 'x')).ok());
    return txn->Commit(durability);
  }
  bool Has(const std::string& key) {
    auto txn = *store_->Begin({.read_only = true});
    ReadValue value;
    return *txn->Get(key, &value);
  }
  // Without a write: whoever looks after the store asks how it is.
  void WaitWell() {
    for (int attempt = 0; attempt < 600; ++attempt) {
      if (store_->Health().ok()) {
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    FAIL() << "not well in a minute";
  }
  // What was acknowledged is there, now and after a new start, and writing goes on.
  void CheckGoesOn() {
    WaitWell();
    EXPECT_TRUE(Put("after", Durability::kDisk).ok());
    Open();
    for (const char* key : {"before", "after"}) {
      EXPECT_TRUE(Has(key)) << key;
    }
    EXPECT_TRUE(Put("last").ok());
  }

  TempFolder folder_;
  Trouble trouble_;
  std::unique_ptr<rocksdb::Env> env_ =
      rocksdb::NewCompositeEnv(std::make_shared<TroubledDisk>(trouble_));
  std::unique_ptr<Store> store_;
};

TEST_F(Recovery, OfTheLog) {
  ASSERT_TRUE(Put("before").ok());
  EXPECT_TRUE(store_->Health().ok());
  trouble_.appends = true;
  EXPECT_EQ(Put("refused").code(), kInternalError);
  EXPECT_EQ(Put("refused too").code(), kInternalError);
  EXPECT_EQ(store_->Health().code(), kInternalError);
  EXPECT_TRUE(Has("before"));
  EXPECT_FALSE(Has("refused"));
  trouble_.appends = false;
  CheckGoesOn();
  EXPECT_FALSE(Has("refused"));
}

TEST_F(Recovery, OfASyncOfTheLog) {
  ASSERT_TRUE(Put("before").ok());
  trouble_.syncs = true;
  EXPECT_FALSE(Put("refused", Durability::kDisk).ok());
  trouble_.syncs = false;
  CheckGoesOn();
}

TEST_F(Recovery, OfAFlush) {
  ASSERT_TRUE(Put("before").ok());
  trouble_.opens = true;
  EXPECT_FALSE(store_->Compact({}).ok());
  EXPECT_GT(trouble_.met, 0);
  EXPECT_TRUE(Has("before"));
  trouble_.opens = false;
  CheckGoesOn();
}

// Write buffers fill up and no file can be opened for them.
TEST_F(Recovery, OfAFlushInTheBackground) {
  ASSERT_TRUE(Put("before").ok());
  trouble_.opens = true;
  Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) {
    status = Put("b" + std::to_string(i), Durability::kProcess, 1 << 20);
  }
  EXPECT_FALSE(status.ok());
  trouble_.opens = false;
  CheckGoesOn();
  EXPECT_TRUE(Has("b0"));
}

TEST_F(Recovery, OfALoad) {
  ASSERT_TRUE(Put("before").ok());
  trouble_.opens = true;
  auto loader = store_->Load();
  Status status = loader.ok() ? (*loader)->Add("c", "1") : loader.status();
  if (status.ok()) {
    status = (*loader)->Finish();
  }
  EXPECT_FALSE(status.ok());
  loader->reset();
  trouble_.opens = false;
  CheckGoesOn();
  EXPECT_FALSE(Has("c"));
}

TEST_F(Recovery, AgainAndAgain) {
  ASSERT_TRUE(Put("before").ok());
  for (std::atomic<bool>* what : {&trouble_.appends, &trouble_.opens, &trouble_.syncs}) {
    *what = true;
    for (int i = 0; i < 100 && Put("x", Durability::kDisk, 1 << 20).ok(); ++i) {
    }
    *what = false;
    WaitWell();
    ASSERT_TRUE(Put("between", Durability::kDisk).ok());
  }
  CheckGoesOn();
}

}  // namespace
}  // namespace quire::kv
