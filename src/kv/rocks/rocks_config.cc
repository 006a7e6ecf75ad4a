// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_config.h"

#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <thread>

#include "base/machine_memory.h"
#include "kv/rocks/cache_size.h"
#include "kv/rocks/versioned/memtable.h"

namespace quire::kv {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

void SetTables(rocksdb::Options& options, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = 16 << 10;
  table.block_restart_interval = 4;  // point reads walk at most this many keys
  table.format_version = 5;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // Index and filter blocks count against the cache but stay in it: bounded and still fast.
  table.cache_index_and_filter_blocks = true;
  table.metadata_cache_options.unpartitioned_pinning = rocksdb::PinningTier::kAll;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
}

void SetWriteBuffers(rocksdb::Options& options, const CacheSizes& sizes,
                     const std::shared_ptr<rocksdb::Cache>& cache, bool plain) {
  options.write_buffer_size = std::clamp(sizes.blocks / 16, 4 * kMiB, 64 * kMiB);
  options.max_write_buffer_number = 3;
  options.arena_block_size = 256 << 10;
  options.write_buffer_manager =
      std::make_shared<rocksdb::WriteBufferManager>(sizes.buffers, cache);
  if (!plain) {
    options.memtable_factory = NewMemtableFactory();
    options.allow_concurrent_memtable_write = false;
  }
  options.memtable_whole_key_filtering = true;
  options.memtable_prefix_bloom_size_ratio = 0.02;
}

void SetLevels(rocksdb::Options& options) {
  // What is flushed is soon merged into the next level, which compresses it for good.
  options.compression_per_level = {rocksdb::kNoCompression, rocksdb::kLZ4Compression};
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = 64 * kMiB;
  options.max_bytes_for_level_base = 256 * kMiB;
  options.max_background_jobs = 2;
  options.bytes_per_sync = kMiB;
}

// After a failed append the log is lost to RocksDB 7.8, but its own recovery may go on with it and
// end the process at the next write. RocksDatabase recovers instead.
class NoRecoveryOfTheLog final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status /*error*/,
                            bool* auto_recovery) override {
    *auto_recovery = *auto_recovery && reason != rocksdb::BackgroundErrorReason::kWriteCallback;
  }
};

// After a crash: everything up to the first torn record. What was synced or acknowledged to have
// reached the system stands before it; a log that lost its end while closed is an error.
void SetLog(rocksdb::Options& options) {
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.track_and_verify_wals_in_manifest = true;
  options.manual_wal_flush = false;
  options.max_bgerror_resume_count = 0;  // as above, for errors that pass
  options.max_total_wal_size = 4 * options.write_buffer_size;
  options.listeners.push_back(std::make_shared<NoRecoveryOfTheLog>());
  // With few cores a waiting writer that yields takes the time of the one it waits for.
  constexpr unsigned kFewCores = 4;
  options.enable_write_thread_adaptive_yield = std::thread::hardware_concurrency() > kFewCores;
}

void SetQuiet(rocksdb::Options& options) {
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.max_log_file_size = kMiB;
  options.keep_log_file_num = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  options.max_manifest_file_size = 16 * kMiB;
}

}  // namespace

rocksdb::ColumnFamilyOptions SectionOptions(const rocksdb::Options& options, Section::Use use) {
  rocksdb::ColumnFamilyOptions section(options);
  switch (use) {
    case Section::Use::kAny:
      break;
    case Section::Use::kAppended:
      // Its files follow each other: they are moved down the levels as they are.
      section.compression_per_level.clear();
      section.compression = options.compression_per_level.back();
      section.memtable_whole_key_filtering = false;
      section.memtable_prefix_bloom_size_ratio = 0;
      break;
    case Section::Use::kSmall:
      // Kept short, as the log is kept until it is written to files.
      section.write_buffer_size = options.write_buffer_size / 8;
      break;
  }
  return section;
}

uint64_t DefaultCacheBytes() { return CacheBytesFor(ReadMachineMemory(), 0); }

RocksConfig MakeRocksConfig(uint64_t cache_bytes, rocksdb::Env* memory_env, bool plain) {
  if (cache_bytes == 0) {
    cache_bytes = DefaultCacheBytes();
  }
  const CacheSizes sizes(cache_bytes);
  RocksConfig config;
  config.value_cache_bytes = sizes.values;
  config.cache = rocksdb::NewLRUCache(sizes.blocks);
  rocksdb::Options& options = config.options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  SetTables(options, config.cache);
  SetWriteBuffers(options, sizes, config.cache, plain);
  SetLevels(options);
  SetLog(options);
  SetQuiet(options);
  if (memory_env != nullptr) {
    options.env = memory_env;
    options.avoid_flush_during_shutdown = true;  // it would only be thrown away
    options.compression_per_level = {rocksdb::kNoCompression};
  }
  return config;
}

}  // namespace quire::kv
