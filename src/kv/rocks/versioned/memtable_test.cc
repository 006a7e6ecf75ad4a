// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/memtable.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace quire::kv {
namespace {

// A database that never flushes by itself: everything stays in the write buffer.
class MemtableTest : public testing::Test {
 protected:
  MemtableTest() : env_(rocksdb::NewMemEnv(rocksdb::Env::Default())) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.env = env_.get();
    options.memtable_factory = NewMemtableFactory();
    options.allow_concurrent_memtable_write = false;
    options.write_buffer_size = 256 << 20;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, "/memtable", &db).ok());
    db_.reset(db);
  }

  std::optional<std::string> Get(const std::string& key, const rocksdb::Snapshot* at = nullptr) {
    rocksdb::ReadOptions read;
    read.snapshot = at;
    std::string value;
    return db_->Get(read, key, &value).ok() ? std::optional(value) : std::nullopt;
  }

  // Compares every way to read with the model.
  void ExpectEqual(const std::map<std::string, std::string>& model,
                   const rocksdb::Snapshot* at = nullptr) {
    rocksdb::ReadOptions read;
    read.snapshot = at;
    std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read));
    it->SeekToFirst();
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(it->Valid());
      ASSERT_EQ(it->key().ToString(), key);
      ASSERT_EQ(it->value().ToString(), value);
      it->Next();
    }
    EXPECT_FALSE(it->Valid());
    it->SeekToLast();
    for (auto entry = model.rbegin(); entry != model.rend(); ++entry) {
      ASSERT_TRUE(it->Valid());
      ASSERT_EQ(it->key().ToString(), entry->first);
      it->Prev();
    }
    EXPECT_FALSE(it->Valid());
  }

  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
};

TEST_F(MemtableTest, OrdersKeysThatShareTheirFirstSixteenBytes) {
  const std::string same(16, 'x');
  std::map<std::string, std::string> model;
  for (const std::string& key :
       {same + "b", same, same + "a", same + std::string("\0", 1), same.substr(0, 15),
        same.substr(0, 15) + std::string("\0", 1), std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
        std::string(1, '\0'), std::string("a"), same + std::string(300, 'y')}) {
    model[key] = "of " + key;
    ASSERT_TRUE(db_->Put({}, key, model[key]).ok());
  }
  ExpectEqual(model);
  for (const auto& [key, value] : model) {
    EXPECT_EQ(Get(key), value);
  }
  EXPECT_EQ(Get(same + "c"), std::nullopt);
}

TEST_F(MemtableTest, OrdersKeysThatDifferAnywhere) {
  std::map<std::string, std::string> model;
  for (size_t same = 0; same <= 42; ++same) {
    for (const std::string& rest : {std::string(), std::string("\0", 1), std::string("a"),
                                    std::string("\xFF"), std::string("ab"), std::string(9, 'x')}) {
      const std::string key = std::string(same, 'x') + rest;
      if (!key.empty()) {
        model[key] = std::to_string(same) + rest;
        ASSERT_TRUE(db_->Put({}, key, model[key]).ok());
      }
    }
  }
  ExpectEqual(model);
  for (const auto& [key, value] : model) {
    EXPECT_EQ(Get(key), value);
    EXPECT_EQ(Get(key + "?").has_value(), model.contains(key + "?"));
  }
}

// Keys that begin alike for longer than a node remembers, come in no order, and end before, at and
// behind the eight bytes they are compared by; some are written over and over.
TEST_F(MemtableTest, OrdersKeysThatBeginAlikeAtAnyLength) {
  std::mt19937 random(11);
  std::map<std::string, std::string> model;
  for (int step = 0; step < 30000; ++step) {
    std::string key = "table" + std::string(random() % 4 * 25, 'p');
    if (random() % 3 == 0) {
      key += std::to_string(random() % 30) + std::string(random() % 2 * 50, 'q');
    }
    key += std::string(random() % 3, '\0');
    key += random() % 8 == 0 ? "" : std::to_string(random() % 4000);
    model[key] = std::to_string(step);
    ASSERT_TRUE(db_->Put({}, key, model[key]).ok());
    ASSERT_TRUE(db_->Put({}, "counter", std::to_string(step)).ok());
    model["counter"] = std::to_string(step);
    if (step % 5000 == 4999) {
      ExpectEqual(model);
    }
  }
  for (const auto& [key, value] : model) {
    ASSERT_EQ(Get(key), value);
    ASSERT_EQ(Get(key + "~").has_value(), model.contains(key + "~"));
  }
}

TEST_F(MemtableTest, HoldsWhatAMapHolds) {
  std::mt19937 random(7);
  auto key = [&] {
    // Tables whose keys come in order beside others that come at random.
    const char table = static_cast<char>('a' + random() % 5);
    std::string name(4, table);
    std::string number = std::to_string(random() % 2000);
    return name + std::string(random() % 3 == 0 ? 14 : 0, 'k') + number;
  };
  std::map<std::string, std::string> model;
  int next = 0;
  for (int step = 0; step < 20000; ++step) {
    std::string k = step % 2 == 0 ? "seq" + std::to_string(10'000'000 + next++) : key();
    if (random() % 5 == 0) {
      ASSERT_TRUE(db_->Delete({}, k).ok());
      model.erase(k);
    } else {
      model[k] = std::to_string(step);
      ASSERT_TRUE(db_->Put({}, k, model[k]).ok());
    }
  }
  ExpectEqual(model);
  std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
  for (int i = 0; i < 2000; ++i) {
    const std::string target = key();
    auto expected = model.lower_bound(target);
    it->Seek(target);
    ASSERT_EQ(it->Valid(), expected != model.end());
    if (it->Valid()) {
      ASSERT_EQ(it->key().ToString(), expected->first);
    }
    auto after = model.upper_bound(target);
    it->SeekForPrev(target);
    ASSERT_EQ(it->Valid(), after != model.begin());
    if (it->Valid()) {
      ASSERT_EQ(it->key().ToString(), std::prev(after)->first);
    }
  }
  // What a flush writes is the same.
  it.reset();
  ASSERT_TRUE(db_->Flush({}).ok());
  ExpectEqual(model);
}

// Keys of many groups, each group's in falling order, as of an index {host: 1, time: -1}: they do
// not take a node each.
TEST_F(MemtableTest, FallingKeysTakeNoMoreMemoryThanOthers) {
  auto used = [&](const std::function<int(int)>& number) {
    uint64_t before = 0;
    uint64_t after = 0;
    EXPECT_TRUE(db_->GetIntProperty("rocksdb.size-all-mem-tables", &before));
    for (int i = 0; i < 50'000; ++i) {
      const std::string key = std::to_string(i % 10) + std::to_string(1'000'000 + number(i));
      EXPECT_TRUE(db_->Put({}, key, "").ok());
    }
    EXPECT_TRUE(db_->GetIntProperty("rocksdb.size-all-mem-tables", &after));
    EXPECT_TRUE(db_->Flush({}).ok());
    return after - before;
  };
  const uint64_t rising = used([](int i) { return i; });
  const uint64_t falling = used([](int i) { return 50'000 - i; });
  EXPECT_LT(falling, 3 * rising);
}

TEST_F(MemtableTest, SnapshotsSeeOlderVersions) {
  ASSERT_TRUE(db_->Put({}, "k", "1").ok());
  const rocksdb::Snapshot* first = db_->GetSnapshot();
  ASSERT_TRUE(db_->Put({}, "k", "2").ok());
  const rocksdb::Snapshot* second = db_->GetSnapshot();
  ASSERT_TRUE(db_->Delete({}, "k").ok());
  EXPECT_EQ(Get("k", first), "1");
  EXPECT_EQ(Get("k", second), "2");
  EXPECT_EQ(Get("k"), std::nullopt);
  ExpectEqual({{"k", "1"}}, first);
  db_->ReleaseSnapshot(first);
  db_->ReleaseSnapshot(second);
}

TEST_F(MemtableTest, ADeletedRangeIsGoneWhereverItBegins) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(db_->Put({}, "tabl" + std::to_string(1000 + i), "v").ok());
  }
  ASSERT_TRUE(db_->DeleteRange({}, db_->DefaultColumnFamily(), "tabl1010", "tabl1090").ok());
  EXPECT_EQ(Get("tabl1009"), "v");
  EXPECT_EQ(Get("tabl1010"), std::nullopt);
  EXPECT_EQ(Get("tabl1089"), std::nullopt);
  EXPECT_EQ(Get("tabl1090"), "v");
}

TEST_F(MemtableTest, EstimatesHowManyEntriesARangeHas) {
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(db_->Put({}, "key" + std::to_string(100000 + i), "value").ok());
  }
  auto entries = [&](const std::string& begin, const std::string& end) {
    uint64_t count = 0;
    uint64_t bytes = 0;
    db_->GetApproximateMemTableStats(rocksdb::Range(begin, end), &count, &bytes);
    return count;
  };
  EXPECT_EQ(entries("a", "b"), 0u);
  EXPECT_NEAR(static_cast<double>(entries("key", "kez")), 20000, 10000);
  EXPECT_NEAR(static_cast<double>(entries("key110000", "kez")), 10000, 8000);
}

// One writer and readers in both directions: what a reader's snapshot has is there, in order.
TEST_F(MemtableTest, ReadersNeedNoLocks) {
  std::atomic<int> written = 0;
  std::atomic<bool> done = false;
  auto key = [](int i) { return "key" + std::to_string((i * 7919) % 100003 + 200000); };
  auto read = [&] {
    while (!done) {
      const int sure = written.load();
      rocksdb::ReadOptions options;
      options.snapshot = db_->GetSnapshot();
      std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options));
      int forwards = 0;
      std::string last;
      for (it->SeekToFirst(); it->Valid(); it->Next(), ++forwards) {
        ASSERT_LT(last, it->key().ToString());
        last = it->key().ToString();
      }
      int backwards = 0;
      for (it->SeekToLast(); it->Valid(); it->Prev()) {
        ++backwards;
      }
      ASSERT_EQ(forwards, backwards);
      ASSERT_GE(forwards, sure);
      if (sure > 0) {
        ASSERT_TRUE(Get(key(sure - 1), options.snapshot).has_value());
      }
      it.reset();
      db_->ReleaseSnapshot(options.snapshot);
    }
  };
  std::vector<std::thread> readers;
  readers.emplace_back(read);
  readers.emplace_back(read);
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(db_->Put({}, key(i), "v").ok());
    written = i + 1;
  }
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
}

// Readers look for keys between others while leaves fill, are halved and give way: what a snapshot
// has is found from wherever a reader had come.
TEST_F(MemtableTest, ReadersFindTheNextKeyWhileLeavesAreHalved) {
  constexpr int kFixed = 512;
  auto fixed = [](int i) { return "table" + std::to_string(10'000 + i); };
  for (int i = 0; i < kFixed; ++i) {
    ASSERT_TRUE(db_->Put({}, fixed(i), "v").ok());
  }
  std::atomic<bool> done = false;
  auto read = [&](uint32_t seed) {
    std::mt19937 random(seed);
    while (!done) {
      rocksdb::ReadOptions options;
      options.snapshot = db_->GetSnapshot();
      std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options));
      for (int step = 0; step < 200; ++step) {
        const int i = static_cast<int>(random() % (kFixed - 1));
        it->Seek(fixed(i) + "~");  // behind all that the writer puts there
        ASSERT_TRUE(it->Valid());
        ASSERT_EQ(it->key().ToString(), fixed(i + 1));
        it->SeekForPrev(fixed(i + 1) + std::string(1, '\0'));
        ASSERT_TRUE(it->Valid());
        ASSERT_EQ(it->key().ToString(), fixed(i + 1));
        ASSERT_TRUE(Get(fixed(i), options.snapshot).has_value());
      }
      it.reset();
      db_->ReleaseSnapshot(options.snapshot);
    }
  };
  std::vector<std::thread> readers;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    readers.emplace_back(read, seed);
  }
  std::mt19937 random(5);
  for (int i = 0; i < 100'000; ++i) {
    const std::string rest = std::string(random() % 3 * 12, 'p') + std::to_string(random());
    ASSERT_TRUE(db_->Put({}, fixed(static_cast<int>(random() % kFixed)) + rest, "v").ok());
  }
  done = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
}

}  // namespace
}  // namespace quire::kv
