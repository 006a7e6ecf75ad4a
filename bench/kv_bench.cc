// SPDX-License-Identifier: Apache-2.0
//
// The cost of the storage seam: each operation through kv.h and the same straight on RocksDB with
// the same settings. Compare the pairs seam/raw.
#include <benchmark/benchmark.h>
#include <rocksdb/db.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kv/rocks/rocks_config.h"
#include "kv/rocks/rocks_store.h"

namespace quire::kv {
namespace {

constexpr int kKeys = 200'000;
constexpr uint64_t kCache = uint64_t{512} << 20;

std::string Key(int n) {
  std::string key = "table001........";
  for (int i = 0; i < 8; ++i) {
    key[8 + static_cast<size_t>(i)] = static_cast<char>(n >> (56 - 8 * i >= 32 ? 31 : 56 - 8 * i));
  }
  return key;
}

std::string TempPath() {
  std::string pattern = (std::filesystem::temp_directory_path() / "quire-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    abort();
  }
  return pattern;
}

// Both databases, filled once with the same data.
struct Fixture {
  std::string path = TempPath();
  std::unique_ptr<Store> store;
  RocksConfig config = MakeRocksConfig(kCache, nullptr);
  std::unique_ptr<rocksdb::DB> db;

  Fixture() {
    store = *OpenRocks({.path = path + "/seam", .ephemeral = false, .cache_bytes = kCache});
    rocksdb::DB* raw = nullptr;
    if (!rocksdb::DB::Open(config.options, path + "/raw", &raw).ok()) {
      abort();
    }
    db.reset(raw);
    const std::string value(400, 'v');
    for (int i = 0; i < kKeys; i += 100) {
      auto txn = *store->Begin({});
      rocksdb::WriteBatch batch;
      for (int j = i; j < i + 100; ++j) {
        (void)txn->Put(Key(j), value);
        (void)batch.Put(Key(j), value);
      }
      (void)txn->Commit(Durability::kProcess);
      (void)db->Write({}, &batch);
    }
    (void)store->Compact({});
    (void)db->CompactRange({}, nullptr, nullptr);
  }
  ~Fixture() {
    store.reset();
    db.reset();
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
};

Fixture& Shared() {
  static Fixture fixture;
  return fixture;
}

int RandomKey(std::mt19937& random) { return static_cast<int>(random() % kKeys); }

void SeamBegin(benchmark::State& state) {
  Store& store = *Shared().store;
  for (auto _ : state) {
    benchmark::DoNotOptimize(store.Begin({.read_only = true}));
  }
}

void RawSnapshot(benchmark::State& state) {
  rocksdb::DB* db = Shared().db.get();
  for (auto _ : state) {
    db->ReleaseSnapshot(db->GetSnapshot());
  }
}

void SeamGet(benchmark::State& state) {
  Store& store = *Shared().store;
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  for (auto _ : state) {
    auto txn = *store.Begin({.read_only = true});
    ReadValue value;
    benchmark::DoNotOptimize(*txn->Get(Key(RandomKey(random)), &value));
  }
}

void RawGet(benchmark::State& state) {
  rocksdb::DB* db = Shared().db.get();
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  for (auto _ : state) {
    rocksdb::PinnableSlice value;
    benchmark::DoNotOptimize(
        db->Get({}, db->DefaultColumnFamily(), Key(RandomKey(random)), &value));
  }
}

void SeamMultiGet100(benchmark::State& state) {
  Store& store = *Shared().store;
  std::mt19937 random(1);
  std::vector<ReadValue> values;
  std::vector<bool> found;
  for (auto _ : state) {
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) {
      keys.push_back(Key(RandomKey(random)));
    }
    std::vector<std::string_view> views(keys.begin(), keys.end());
    auto txn = *store.Begin({.read_only = true});
    (void)txn->MultiGet(views, &values, &found, kv::Reads::kByRange);
  }
}

void SeamGet100(benchmark::State& state) {
  Store& store = *Shared().store;
  std::mt19937 random(1);
  for (auto _ : state) {
    auto txn = *store.Begin({.read_only = true});
    ReadValue value;
    for (int i = 0; i < 100; ++i) {
      benchmark::DoNotOptimize(*txn->Get(Key(RandomKey(random)), &value));
    }
  }
}

void SeamScan(benchmark::State& state) {
  Store& store = *Shared().store;
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  for (auto _ : state) {
    auto txn = *store.Begin({.read_only = true});
    auto cursor = *txn->Scan({Key(RandomKey(random)), "table002"}, Direction::kForward);
    for (int64_t i = 0; i < state.range(0) && *cursor->Next(); ++i) {
      benchmark::DoNotOptimize(cursor->value());
    }
  }
}

void RawScan(benchmark::State& state) {
  rocksdb::DB* db = Shared().db.get();
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  for (auto _ : state) {
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
    it->Seek(Key(RandomKey(random)));
    for (int64_t i = 0; i < state.range(0) && it->Valid(); ++i, it->Next()) {
      benchmark::DoNotOptimize(it->value());
    }
  }
}

// One document with two index entries and two counters, as an insert does.
void SeamInsert(benchmark::State& state) {
  Store& store = *Shared().store;
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  const std::string value(400, 'v');
  for (auto _ : state) {
    const std::string key = Key(RandomKey(random));
    auto txn = *store.Begin({});
    (void)txn->Claim("u" + key);
    (void)txn->Put("d" + key, value);
    (void)txn->Put("i" + key, "");
    (void)txn->Put("j" + key, "");
    (void)txn->Add("count", 1);
    (void)txn->Add("size", 400);
    (void)txn->Commit(Durability::kProcess);
  }
}

void RawInsert(benchmark::State& state) {
  rocksdb::DB* db = Shared().db.get();
  std::mt19937 random(static_cast<unsigned>(state.thread_index()));
  const std::string value(400, 'v');
  for (auto _ : state) {
    const std::string key = Key(RandomKey(random));
    rocksdb::WriteBatch batch;
    (void)batch.Put("d" + key, value);
    (void)batch.Put("i" + key, "");
    (void)batch.Put("j" + key, "");
    (void)batch.Put("count", "12345678");
    (void)batch.Put("size", "12345678");
    if (!db->Write({}, &batch).ok()) {
      state.SkipWithError("the write failed");
      break;
    }
  }
}

// A counter read after many additions.
void SeamCounter(benchmark::State& state) {
  Store& store = *Shared().store;
  for (int64_t i = 0; i < state.range(0); ++i) {
    auto txn = *store.Begin({});
    (void)txn->Add("counter", 1);
    (void)txn->Commit(Durability::kProcess);
  }
  for (auto _ : state) {
    auto txn = *store.Begin({.read_only = true});
    benchmark::DoNotOptimize(*txn->ReadCounter("counter"));
  }
}

BENCHMARK(SeamBegin)->ThreadRange(1, 4);
BENCHMARK(RawSnapshot)->ThreadRange(1, 4);
BENCHMARK(SeamGet)->ThreadRange(1, 4);
BENCHMARK(RawGet)->ThreadRange(1, 4);
BENCHMARK(SeamGet100);
BENCHMARK(SeamMultiGet100);
BENCHMARK(SeamScan)->Arg(1)->Arg(10)->Arg(100)->Arg(10000);
BENCHMARK(RawScan)->Arg(1)->Arg(10)->Arg(100)->Arg(10000);
BENCHMARK(SeamInsert)->ThreadRange(1, 4);
BENCHMARK(RawInsert)->ThreadRange(1, 4);
BENCHMARK(SeamCounter)->Arg(10000)->Iterations(1000);

}  // namespace
}  // namespace quire::kv

BENCHMARK_MAIN();
