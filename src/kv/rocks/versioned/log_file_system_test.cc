// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/log_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "kv/rocks/rocks_store.h"
#include "kv/testing/conformance.h"

namespace quire::kv {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// A file on a disk that takes nothing ahead of the records.
class FullAhead final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  using FSWritableFileOwnerWrapper::PositionedAppend;
  rocksdb::IOStatus PositionedAppend(const rocksdb::Slice& data, uint64_t offset,
                                     const rocksdb::IOOptions& options,
                                     rocksdb::IODebugContext* debug) override {
    rocksdb::Slice part(data.data(), data.size() / 2);
    FSWritableFileOwnerWrapper::PositionedAppend(part, offset, options, debug)
        .PermitUncheckedError();
    return rocksdb::IOStatus::NoSpace("played");
  }
};

class LogFiles : public testing::Test {
 protected:
  std::unique_ptr<rocksdb::FSWritableFile> Create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(system_->NewWritableFile(Path(name), {}, &file, nullptr).ok());
    return file;
  }
  static void Append(rocksdb::FSWritableFile& file, const std::string& bytes) {
    ASSERT_TRUE(file.Append(bytes, {}, nullptr).ok());
  }
  static void Sync(rocksdb::FSWritableFile& file) { ASSERT_TRUE(file.Sync({}, nullptr).ok()); }
  static void Close(rocksdb::FSWritableFile& file) { ASSERT_TRUE(file.Close({}, nullptr).ok()); }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Bytes(const std::string& name) const { return ReadFile(Path(name)); }

  TempFolder folder_;
  std::shared_ptr<LogFileSystem> system_ =
      std::make_shared<LogFileSystem>(rocksdb::FileSystem::Default());
};

TEST_F(LogFiles, AreExtendedAheadOfSmallSyncsAndCutWhenClosed) {
  auto log = Create("1.log");
  Append(*log, "one");
  EXPECT_EQ(Bytes("1.log"), "one");
  Sync(*log);
  std::string bytes = Bytes("1.log");
  EXPECT_GT(bytes.size(), 60000U);
  EXPECT_EQ(bytes.substr(0, 3), "one");
  EXPECT_EQ(bytes.find_first_not_of('\xff', 3), std::string::npos);
  EXPECT_EQ(log->GetFileSize({}, nullptr), 3U);

  const size_t extended = bytes.size();
  Append(*log, "two");
  Sync(*log);
  EXPECT_EQ(Bytes("1.log").size(), extended);
  EXPECT_EQ(Bytes("1.log").substr(0, 6), "onetwo");
  Close(*log);
  EXPECT_EQ(Bytes("1.log"), "onetwo");
}

TEST_F(LogFiles, KeepWhatIsAppendedAcrossExtensions) {
  auto log = Create("1.log");
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string record = std::to_string(i) + std::string(static_cast<size_t>(i % 1500), 'x');
    Append(*log, record);
    Sync(*log);
    expected += record;
  }
  EXPECT_EQ(Bytes("1.log").substr(0, expected.size()), expected);
  Close(*log);
  EXPECT_EQ(Bytes("1.log"), expected);
}

TEST_F(LogFiles, AreNotExtendedByLargeWrites) {
  auto log = Create("1.log");
  const std::string large(1 << 20, 'x');
  Append(*log, large);
  Sync(*log);
  EXPECT_EQ(Bytes("1.log"), large);
}

TEST_F(LogFiles, EndWhereTheNextBegins) {
  auto first = Create("1.log");
  Append(*first, "one");
  Sync(*first);
  auto second = Create("2.log");
  EXPECT_EQ(Bytes("1.log"), "one");
  Sync(*first);
  EXPECT_EQ(Bytes("1.log"), "one");
  first.reset();
  Append(*second, "two");
  Sync(*second);
  EXPECT_GT(Bytes("2.log").size(), 60000U);
  second.reset();
  auto third = Create("3.log");  // the one before is gone
  Append(*third, "three");
}

TEST_F(LogFiles, OthersAreLeftAlone) {
  auto table = Create("1.sst");
  Append(*table, "one");
  Sync(*table);
  EXPECT_EQ(Bytes("1.sst"), "one");
}

TEST_F(LogFiles, ADiskWithoutRoomAheadTakesRecords) {
  std::unique_ptr<rocksdb::FSWritableFile> plain;
  ASSERT_TRUE(
      rocksdb::FileSystem::Default()->NewWritableFile(Path("1.log"), {}, &plain, nullptr).ok());
  LogFile log(std::make_unique<FullAhead>(std::move(plain)));
  for (const char* record : {"one", "two", "three"}) {
    Append(log, record);
    Sync(log);
  }
  EXPECT_EQ(Bytes("1.log"), "onetwothree");
}

// What kill -9 leaves: the folder as it is while the store is open.
TEST(LogOfAStore, IsReadUpToItsLastRecordAfterACrash) {
  TempFolder folder;
  TempFolder crashed;
  auto store = *OpenRocks({.path = folder.path(), .cache_bytes = 32 << 20});
  constexpr int kWrites = 500;
  for (int i = 0; i < kWrites; ++i) {
    auto txn = *store->Begin({});
    ASSERT_TRUE(txn->Put("key" + std::to_string(i), std::string(300, 'v')).ok());
    ASSERT_TRUE(txn->Commit(i % 3 == 0 ? Durability::kProcess : Durability::kDisk).ok());
  }
  fs::copy(folder.path(), crashed.path(),
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  bool extended = false;
  for (const auto& entry : fs::directory_iterator(crashed.path() + "/data")) {
    extended |= entry.path().extension() == ".log" && ReadFile(entry.path()).back() == '\xff';
  }
  EXPECT_TRUE(extended);

  auto opened = OpenRocks({.path = crashed.path(), .cache_bytes = 32 << 20});
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  auto txn = *(*opened)->Begin({.read_only = true});
  for (int i = 0; i < kWrites; ++i) {
    ReadValue value;
    EXPECT_TRUE(*txn->Get("key" + std::to_string(i), &value)) << i;
  }
}

}  // namespace
}  // namespace quire::kv
