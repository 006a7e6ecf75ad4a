// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "base/error_codes.h"
#include "kv/rocks/cache_size.h"
#include "kv/rocks/data_folder.h"
#include "kv/rocks/rocks_config.h"
#include "kv/rocks/rocks_status.h"
#include "kv/testing/conformance.h"

namespace quire::kv {
namespace {

namespace fs = std::filesystem;

Result<std::unique_ptr<Store>> OpenAt(const std::string& path) {
  return OpenRocks({.path = path, .ephemeral = false, .cache_bytes = 32 << 20});
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Every file below a folder with its content.
std::map<std::string, std::string> Content(const std::string& path) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    files[entry.path().string()] = entry.is_regular_file() ? ReadFile(entry.path().string()) : "";
  }
  return files;
}

void PutOne(Store& store, const std::string& key, const std::string& value) {
  auto txn = *store.Begin({});
  ASSERT_TRUE(txn->Put(key, value).ok());
  ASSERT_TRUE(txn->Commit(Durability::kProcess).ok());
}

size_t Count(Store& store) {
  auto txn = *store.Begin({.read_only = true});
  auto cursor = *txn->Scan({}, Direction::kForward);
  size_t n = 0;
  for (Result<bool> moved = cursor->Next(); moved.ok() && *moved; moved = cursor->Next()) {
    ++n;
  }
  return n;
}

TEST(RocksStore, MakesTheFolderAndItsVersionFile) {
  TempFolder parent;
  const std::string path = parent.path() + "/new";
  auto store = OpenAt(path);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(ReadFile(path + "/QUIRE"), "quire data folder\nformat 5\nfilled\n");
  EXPECT_EQ(ReadFile(path + "/quire.lock"), std::to_string(getpid()) + "\n");
}

TEST(RocksStore, NobodyElseMayReadTheFolder) {
  TempFolder parent;
  const std::string path = parent.path() + "/new";
  ASSERT_TRUE(OpenAt(path).ok());
  auto mode = [](const std::string& name) {
    return static_cast<unsigned>(fs::status(name).permissions());
  };
  for (const char* folder : {"", "/data", "/load"}) {
    EXPECT_EQ(mode(path + folder), 0700U) << folder;
    fs::permissions(path + folder, fs::perms(0755));  // as an older version left it
  }
  for (const char* file : {"/QUIRE", "/quire.lock"}) {
    EXPECT_EQ(mode(path + file), 0600U) << file;
    fs::permissions(path + file, fs::perms(0644));
  }
  ASSERT_TRUE(OpenAt(path).ok());
  for (const char* folder : {"", "/data", "/load"}) {
    EXPECT_EQ(mode(path + folder), 0700U) << folder;
  }
  for (const char* file : {"/QUIRE", "/quire.lock"}) {
    EXPECT_EQ(mode(path + file), 0600U) << file;
  }
}

TEST(RocksStore, AFolderThatLostItsDataIsRefused) {
  for (bool all : {true, false}) {
    TempFolder folder;
    PutOne(**OpenAt(folder.path()), "a", "1");
    if (all) {
      fs::remove_all(folder.path() + "/data");
    } else {
      for (const auto& file : fs::directory_iterator(folder.path() + "/data")) {
        fs::remove_all(file);
      }
    }
    auto before = Content(folder.path());
    auto store = OpenAt(folder.path());
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.status().code(), kDataCorruptionDetected);
    EXPECT_NE(store.status().message().find("is missing"), std::string::npos);
    EXPECT_EQ(Content(folder.path()), before);
  }
}

TEST(RocksStore, AFolderWhoseMakingWasCutOffIsMade) {
  for (bool named : {false, true}) {
    TempFolder folder;
    fs::create_directory(folder.path() + "/data");
    if (named) {
      WriteFile(folder.path() + "/QUIRE", "quire data folder\nformat 4\n");
    }
    EXPECT_TRUE(OpenAt(folder.path()).ok());
  }
}

TEST(RocksStore, AMissingParentIsAClearError) {
  TempFolder parent;
  auto store = OpenAt(parent.path() + "/no/such");
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.status().message().find("no/such"), std::string::npos);
}

TEST(RocksStore, AFolderIsOpenedOnce) {
  TempFolder folder;
  auto first = OpenAt(folder.path());
  ASSERT_TRUE(first.ok());
  auto second = OpenAt(folder.path());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), kDBPathInUse);
  EXPECT_EQ(second.status().message(), "The data folder " + folder.path() +
                                           " is in use by this process (pid " +
                                           std::to_string(getpid()) + ")");
  first->reset();
  EXPECT_TRUE(OpenAt(folder.path()).ok());
}

TEST(RocksStore, AnotherProcessIsNamedByItsId) {
  TempFolder folder;
  int ready[2];
  int leave[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(leave), 0);
  pid_t child = fork();
  if (child == 0) {
    auto locked = DataFolder::Open(folder.path());
    char byte = locked.ok() ? 'y' : 'n';
    bool told = write(ready[1], &byte, 1) == 1 && read(leave[0], &byte, 1) == 1;
    _exit(told ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  auto second = OpenAt(folder.path());
  EXPECT_FALSE(second.ok());
  EXPECT_EQ(second.status().message(), "The data folder " + folder.path() +
                                           " is in use by another process (pid " +
                                           std::to_string(child) + ")");
  ASSERT_EQ(write(leave[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(OpenAt(folder.path()).ok());
}

TEST(RocksStore, AFileIsNoFolder) {
  TempFolder folder;
  WriteFile(folder.path() + "/file", "precious");
  auto store = OpenAt(folder.path() + "/file");
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.status().message().find("Not a directory"), std::string::npos)
      << store.status().message();
}

TEST(RocksStore, AForeignFolderIsRefusedAndLeftAlone) {
  for (const char* name : {"WiredTiger", "photo.jpg", "CURRENT"}) {
    TempFolder folder;
    WriteFile(folder.path() + "/" + name, "precious");
    auto before = Content(folder.path());
    auto store = OpenAt(folder.path());
    ASSERT_FALSE(store.ok()) << name;
    EXPECT_EQ(store.status().code(), kUnsupportedFormat);
    EXPECT_EQ(Content(folder.path()), before);
  }
}

TEST(RocksStore, LogsAndHiddenFilesDoNotMakeAFolderForeign) {
  TempFolder folder;
  WriteFile(folder.path() + "/quire.log", "");
  WriteFile(folder.path() + "/quire.pid", "1");
  WriteFile(folder.path() + "/.keep", "");
  EXPECT_TRUE(OpenAt(folder.path()).ok());
}

TEST(RocksStore, AnotherFormatIsRefusedAndLeftAlone) {
  for (const char* format : {"format 2", "format 6"}) {
    TempFolder folder;
    WriteFile(folder.path() + "/QUIRE", "quire data folder\n" + std::string(format) + "\n");
    auto before = Content(folder.path());
    auto store = OpenAt(folder.path());
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.status().code(), kUnsupportedFormat);
    EXPECT_NE(store.status().message().find(format), std::string::npos);
    EXPECT_EQ(Content(folder.path()), before);
  }
}

TEST(RocksStore, AnUnreadableVersionFileIsCorruption) {
  for (const char* text : {"", "garbage", "quire data folder\nformat x\n"}) {
    TempFolder folder;
    WriteFile(folder.path() + "/QUIRE", text);
    auto store = OpenAt(folder.path());
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.status().code(), kDataCorruptionDetected);
  }
}

TEST(RocksStore, ALostRootFileIsCorruptionAndDeletesNothing) {
  TempFolder folder;
  {
    auto store = OpenAt(folder.path());
    PutOne(**store, "a", "1");
    ASSERT_TRUE((*store)->Compact({}).ok());
  }
  fs::remove(folder.path() + "/data/CURRENT");
  auto before = Content(folder.path());
  auto store = OpenAt(folder.path());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), kDataCorruptionDetected);
  EXPECT_EQ(Content(folder.path()), before);
}

// The newest write-ahead log of a store.
fs::path LastLog(const std::string& path) {
  fs::path last;
  for (const auto& entry : fs::directory_iterator(path + "/data")) {
    if (entry.path().extension() == ".log" && entry.path() > last) {
      last = entry.path();
    }
  }
  return last;
}

TEST(RocksStore, ATornLogEndLosesNothingBeforeIt) {
  TempFolder folder;
  {
    auto store = OpenAt(folder.path());
    for (int i = 0; i < 100; ++i) {
      PutOne(**store, "key" + std::to_string(i), std::string(100, 'v'));
    }
  }
  fs::path log = LastLog(folder.path());
  fs::resize_file(log, fs::file_size(log) - 30);
  {
    auto store = OpenAt(folder.path());
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_EQ(Count(**store), 99u);
    PutOne(**store, "more", "x");
  }
  std::ofstream(LastLog(folder.path()), std::ios::binary | std::ios::app) << std::string(50, 'g');
  auto store = OpenAt(folder.path());
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(Count(**store), 100u);
}

TEST(RocksStore, ADamagedBlockIsReportedNotReturned) {
  TempFolder folder;
  {
    auto store = OpenAt(folder.path());
    for (int i = 0; i < 1000; ++i) {
      PutOne(**store, "key" + std::to_string(i), std::string(100, static_cast<char>('a' + i % 26)));
    }
    ASSERT_TRUE((*store)->Compact({}).ok());
  }
  for (const auto& entry : fs::directory_iterator(folder.path() + "/data")) {
    if (entry.path().extension() == ".sst") {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(2000);
      file << "damage";
    }
  }
  auto store = OpenAt(folder.path());
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  auto txn = *(*store)->Begin({.read_only = true});
  auto cursor = *txn->Scan({}, Direction::kForward);
  Result<bool> moved = cursor->Next();
  while (moved.ok() && *moved) {
    moved = cursor->Next();
  }
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.status().code(), kDataCorruptionDetected);
}

TEST(RocksStore, AnInterruptedLoadIsCleanedUpAtStart) {
  TempFolder folder;
  { ASSERT_TRUE(OpenAt(folder.path()).ok()); }
  WriteFile(folder.path() + "/load/0.sst", "half");
  auto store = OpenAt(folder.path());
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(fs::is_empty(folder.path() + "/load"));
}

TEST(RocksStore, EphemeralStoresAreApart) {
  auto first = OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 0});
  auto second = OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 0});
  ASSERT_TRUE(first.ok() && second.ok());
  PutOne(**first, "a", "1");
  EXPECT_EQ(Count(**first), 1u);
  EXPECT_EQ(Count(**second), 0u);
}

TEST(RocksStore, TheCacheSizeIsTheBound) {
  auto store = OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 48 << 20});
  EXPECT_EQ((*store)->Stats().cache_capacity, uint64_t{48} << 20);
  EXPECT_GE(DefaultCacheBytes(), uint64_t{64} << 20);
}

TEST(RocksStore, WhatIsReadOnceIsNotKeptInCaches) {
  auto store = *OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 48 << 20});
  constexpr int kKeys = 1000;
  auto key_of = [](int i) { return "k" + std::to_string(i); };
  std::mt19937_64 random(1);
  for (int i = 0; i < kKeys; ++i) {
    std::string value(4096, ' ');
    std::generate(value.begin(), value.end(), [&] { return static_cast<char>(random()); });
    PutOne(*store, key_of(i), value);
  }
  ASSERT_TRUE(store->Compact({}).ok());
  auto read = [&](TxnOptions options) {
    auto txn = *store->Begin(std::move(options));
    for (int i = 0; i < kKeys; ++i) {
      ReadValue value;
      EXPECT_TRUE(*txn->Get(key_of(i), &value, i % 2 == 0 ? Reads::kByKey : Reads::kByRange));
    }
  };
  const uint64_t before = store->Stats().cache_bytes;
  constexpr uint64_t kSome = 1 << 20;
  read({.reads_once = true});
  read({.read_only = true, .reads_once = true});
  EXPECT_LT(store->Stats().cache_bytes, before + kSome);
  read({.read_only = true});
  EXPECT_GT(store->Stats().cache_bytes, before + kSome);
}

TEST(RocksStore, CachesTakeHalfOfWhatIsFreeAndGiveItBack) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  EXPECT_EQ(CacheBytesFor({16 * kGiB, 12 * kGiB}, 0), 6 * kGiB);
  EXPECT_EQ(CacheBytesFor({16 * kGiB, 16 * kGiB}, 0), 15 * kGiB / 2);
  // What they hold is theirs: filling them does not make them smaller, others do.
  EXPECT_EQ(CacheBytesFor({16 * kGiB, 8 * kGiB}, 4 * kGiB), 6 * kGiB);
  EXPECT_EQ(CacheBytesFor({16 * kGiB, 2 * kGiB}, 4 * kGiB), 3 * kGiB);
  EXPECT_EQ(CacheBytesFor({kGiB, kGiB / 16}, 0), kGiB / 16);
  EXPECT_EQ(CacheBytesFor({kGiB, kGiB}, 0), kGiB / 4);
  EXPECT_GT(CacheBytesFor({}, 0), 0u);
  EXPECT_FALSE(IsWorthChanging(800, 750));
  EXPECT_TRUE(IsWorthChanging(800, 600));
  EXPECT_TRUE(IsWorthChanging(800, 1000));

  auto sized = OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 48 << 20});
  EXPECT_TRUE((*sized)->Health().ok());
  EXPECT_EQ((*sized)->Stats().cache_capacity, uint64_t{48} << 20);
}

TEST(RocksStatus, EveryErrorHasItsCode) {
  const struct {
    rocksdb::Status rocks;
    int code;
  } kCases[] = {
      {rocksdb::Status::OK(), 0},
      {rocksdb::Status::Busy(), kWriteConflict},
      {rocksdb::Status::TimedOut(), kWriteConflict},
      {rocksdb::Status::TryAgain(), kWriteConflict},
      {rocksdb::Status::NoSpace(), kOutOfDiskSpace},
      {rocksdb::Status::SpaceLimit(), kOutOfDiskSpace},
      {rocksdb::Status::Incomplete(), kOutOfDiskSpace},
      {rocksdb::Status::Corruption(), kDataCorruptionDetected},
      {rocksdb::Status::IOError(), kInternalError},
      {rocksdb::Status::ShutdownInProgress(), kShutdownInProgress},
      {rocksdb::Status::NotFound(), kInternalError},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(FromRocks(c.rocks).code(), c.code) << c.rocks.ToString();
  }
}

}  // namespace
}  // namespace quire::kv
