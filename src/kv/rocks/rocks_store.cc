// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_store.h"

#include <rocksdb/options.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/try.h"
#include "kv/rocks/rocks_database.h"
#include "kv/rocks/rocks_loader.h"
#include "kv/rocks/rocks_status.h"
#include "kv/rocks/rocks_txn.h"

namespace quire::kv {
namespace {

class RocksStore final : public Store {
 public:
  explicit RocksStore(std::unique_ptr<RocksDatabase> database) : database_(std::move(database)) {}

  Result<std::unique_ptr<Txn>> Begin(TxnOptions options) override {
    return NewTxn(*database_, std::move(options));
  }
  Status DeleteRange(const Range& range) override;
  Result<std::unique_ptr<SortedLoader>> Load() override { return NewRocksLoader(*database_); }
  Status Sync() override { return database_->Sync(); }
  Status SyncBehind() override { return database_->SyncBehind(); }
  Status Checkpoint(const std::string& folder) override { return database_->Checkpoint(folder); }
  Status Compact(const Range& range) override;
  uint64_t ApproximateSize(const Range& range) override;
  StoreStats Stats() override;
  Status Health() override { return database_->Health(); }

 private:
  std::unique_ptr<RocksDatabase> database_;
};

// The end of the range in a section as a key: past the last one when the range is open.
std::string EndKey(rocksdb::DB* db, Sections::Handle section, const Range& range) {
  if (!range.end.empty()) {
    return range.end;
  }
  std::unique_ptr<rocksdb::Iterator> last(db->NewIterator({}, section));
  last->SeekToLast();
  return last->Valid() ? last->key().ToString() + '\0' : range.begin;
}

Status RocksStore::DeleteRange(const Range& range) {
  rocksdb::WriteBatch batch;
  for (Sections::Handle section : database_->sections().Touching(range)) {
    const std::string end = EndKey(database_->db(), section, range);
    if (range.begin < end) {
      RETURN_IF_ERROR(FromRocks(batch.DeleteRange(section, range.begin, end)));
    }
  }
  RETURN_IF_ERROR(database_->Write(&batch, Durability::kProcess, Purpose::kFree));
  database_->counters().Forget();
  return Status::Ok();
}

Status RocksStore::Compact(const Range& range) {
  rocksdb::CompactRangeOptions how;
  how.exclusive_manual_compaction = false;
  how.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  return database_->Compact(how, range);
}

uint64_t RocksStore::ApproximateSize(const Range& range) {
  rocksdb::SizeApproximationOptions how;
  how.include_memtables = true;
  how.files_size_error_margin = 0.1;
  uint64_t sum = 0;
  for (Sections::Handle section : database_->sections().Touching(range)) {
    const std::string end = EndKey(database_->db(), section, range);
    rocksdb::Range asked(range.begin, end);
    uint64_t size = 0;
    if (database_->db()->GetApproximateSizes(how, section, &asked, 1, &size).ok()) {
      sum += size;
    }
  }
  return sum;
}

StoreStats RocksStore::Stats() {
  StoreStats stats;
  rocksdb::Env* env = database_->env();
  std::vector<rocksdb::Env::FileAttributes> files;
  if (env->GetChildrenFileAttributes(database_->data_folder(), &files).ok()) {
    for (const auto& file : files) {
      stats.disk_bytes += file.size_bytes;
    }
  }
  const auto& buffers = database_->options().write_buffer_manager;
  stats.memory_bytes = database_->cache()->GetUsage() + database_->values().bytes();
  stats.cache_bytes =
      stats.memory_bytes -
      std::min<uint64_t>(stats.memory_bytes, buffers->dummy_entries_in_cache_usage());
  stats.cache_capacity = database_->cache()->GetCapacity() + database_->values().capacity();
  return stats;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenRocks(const RocksOptions& options) {
  ASSIGN_OR_RETURN(auto database, RocksDatabase::Open(options));
  return std::unique_ptr<Store>(new RocksStore(std::move(database)));
}

}  // namespace quire::kv
