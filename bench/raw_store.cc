// SPDX-License-Identifier: Apache-2.0
#include "raw_store.h"

#include <rocksdb/db.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "dataset.h"
#include "kv/rocks/rocks_config.h"

namespace quire::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kCache = uint64_t{1} << 30;

// Of a table: its number, then the document's.
std::string Key(char table, int64_t number) {
  std::string key(3, '\0');
  key.push_back(table);
  for (int shift = 56; shift >= 0; shift -= 8) {
    key.push_back(static_cast<char>(number >> shift));
  }
  return key;
}

std::string BytesOf(const Bson& document) {
  return {reinterpret_cast<const char*>(bson_get_data(document.get())), document->len};
}

// Of this thread: what others do on the machine does not count.
double ProcessorNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

Status FromRocks(const rocksdb::Status& status) {
  return status.ok() ? Status::Ok() : Status(kInternalError, "RocksDB: " + status.ToString());
}

constexpr char kRecords = 1;
constexpr char kIds = 2;
constexpr char kCounters = 3;
constexpr char kLog = 4;

}  // namespace

Result<std::unique_ptr<RawStore>> RawStore::Open(int64_t documents) {
  std::unique_ptr<RawStore> store(new RawStore);
  store->folder_ = (std::filesystem::temp_directory_path() / "quire-raw-XXXXXX").string();
  if (mkdtemp(store->folder_.data()) == nullptr) {
    return Status(kInternalError, "cannot make a temporary folder");
  }
  const kv::RocksConfig config = kv::MakeRocksConfig(kCache, nullptr);
  rocksdb::DB* db = nullptr;
  RETURN_IF_ERROR(FromRocks(rocksdb::DB::Open(config.options, store->folder_ + "/data", &db)));
  store->db_.reset(db);
  RETURN_IF_ERROR(store->Fill(documents));
  return store;
}

RawStore::~RawStore() {
  db_.reset();
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

Status RawStore::Fill(int64_t documents) {
  constexpr int64_t kBatch = 128;
  while (next_ < documents) {
    rocksdb::WriteBatch batch;
    for (const int64_t end = std::min(next_ + kBatch, documents); next_ < end; ++next_) {
      const std::string id = Key(kRecords, next_);
      RETURN_IF_ERROR(FromRocks(batch.Put(id, BytesOf(MakeEvent(next_)))));
      RETURN_IF_ERROR(FromRocks(batch.Put(Key(kIds, next_), id.substr(4))));
    }
    RETURN_IF_ERROR(FromRocks(db_->Write({}, &batch)));
  }
  return FromRocks(db_->CompactRange({}, nullptr, nullptr));
}

double RawStore::ScanNs() {
  constexpr auto kTime = std::chrono::milliseconds(200);
  std::vector<double> passes;
  const Clock::time_point begin = Clock::now();
  while (passes.size() < 3 || Clock::now() - begin < kTime) {
    const double start = ProcessorNs();
    int64_t documents = 0;
    size_t bytes = 0;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
    const std::string end = Key(kIds, 0);
    for (it->Seek(Key(kRecords, 0)); it->Valid() && it->key().compare(end) < 0; it->Next()) {
      bytes += it->value().size();
      ++documents;
    }
    const double took = ProcessorNs() - start;
    passes.push_back(bytes == 0 ? 0 : took / static_cast<double>(documents));
  }
  std::nth_element(passes.begin(), passes.begin() + static_cast<ptrdiff_t>(passes.size() / 2),
                   passes.end());
  return passes[passes.size() / 2];
}

bool RawStore::Get(int64_t document) {
  rocksdb::PinnableSlice id;
  rocksdb::PinnableSlice record;
  return db_->Get({}, db_->DefaultColumnFamily(), Key(kIds, document), &id).ok() &&
         db_->Get({}, db_->DefaultColumnFamily(), Key(kRecords, 0).substr(0, 4) + id.ToString(),
                  &record)
             .ok();
}

bool RawStore::Insert(std::string_view event) {
  const std::string id = Key(kRecords, next_);
  const rocksdb::Slice bytes(event.data(), event.size());
  rocksdb::WriteBatch batch;
  const bool noted = batch.Put(id, bytes).ok() && batch.Put(Key(kIds, next_), id.substr(4)).ok() &&
                     batch.Put(Key(kCounters, 0), id.substr(4)).ok() &&
                     batch.Put(Key(kCounters, 1), id.substr(4)).ok() &&
                     batch.Put(Key(kLog, next_), bytes).ok();
  ++next_;
  return noted && db_->Write({}, &batch).ok();
}

}  // namespace quire::bench
