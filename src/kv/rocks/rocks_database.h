// SPDX-License-Identifier: Apache-2.0
//
// What the store and its transactions share: the open RocksDB database, the claims, and the one
// way to write.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/shared_gate.h"
#include "kv/claim_table.h"
#include "kv/kv.h"
#include "kv/rocks/counter_stripes.h"
#include "kv/rocks/data_folder.h"
#include "kv/rocks/disk_budget.h"
#include "kv/rocks/rocks_options.h"
#include "kv/rocks/sections.h"
#include "kv/rocks/value_cache.h"
#include "kv/rocks/versioned/group_commit.h"
#include "quire/status.h"

namespace quire::kv {

class LogFileSystem;

// Safe for concurrent use.
class RocksDatabase {
 public:
  static Result<std::unique_ptr<RocksDatabase>> Open(const RocksOptions& options);
  ~RocksDatabase();
  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;

  rocksdb::DB* db() const { return db_.get(); }
  const Sections& sections() const { return sections_; }
  rocksdb::Env* env() const { return db_->GetEnv(); }
  rocksdb::Cache* cache() const { return cache_.get(); }
  const rocksdb::Options& options() const { return options_; }
  ClaimTable& claims() { return claims_; }
  CounterStripes& counters() { return counters_; }
  ValueCache& values() { return *values_; }
  const std::string& data_folder() const { return data_folder_; }
  // Whether it goes without the parts that were written for one version of RocksDB.
  bool plain() const { return plain_; }

  // See Store::Health.
  Status Health();
  // Applies the batch atomically. OutOfDiskSpace without touching RocksDB while the disk is full or
  // the log is broken; a broken log is replaced once there is space.
  Status Write(rocksdb::WriteBatch* batch, Durability durability, Purpose purpose);
  Status Sync();
  Status SyncBehind();
  Status Checkpoint(const std::string& folder);
  // Whether the disk has room for `bytes` written past the log.
  Status Admit(uint64_t bytes) { return budget_.Admit(bytes, Purpose::kKeep); }
  // Takes finished files of loaders in, all at once.
  Status Ingest(const std::vector<rocksdb::IngestExternalFileArg>& files);
  Status Compact(const rocksdb::CompactRangeOptions& how, const Range& range);
  // The name of a new file for a loader.
  std::string NewLoadFile();

 private:
  RocksDatabase() = default;
  Status Start(const RocksOptions& options);
  Status ChooseParts(bool plain);
  Status OpenSections(const RocksOptions& options);
  // Makes the caches as large as the machine's memory allows now.
  void FitCaches();
  // What RocksDB may be asked to write to. Only a whole log is written to.
  enum class Log { kWhole, kWithoutSpace, kFailed };
  // Between attempts to replace a broken log.
  static constexpr int64_t kFirstPause = 1000;
  static constexpr int64_t kLongestPause = 10'000;

  // Runs `write` unless the log is broken; an I/O error of it breaks the log. Whether RocksDB lost
  // its log or only a flush failed cannot be seen from outside: both count as broken.
  template <typename Action>
  rocksdb::Status Guarded(Action write);
  void Break(const rocksdb::Status& error);
  rocksdb::Status Refusal();
  // Tries, at most once a second and less often the longer it lasts, to replace the broken log;
  // false while it is broken.
  bool Repair();
  void NoteRepair(const rocksdb::Status& status);
  rocksdb::Status ReplaceLog();
  uint64_t LogNumber() const;

  DataFolder folder_;
  bool ephemeral_ = false;
  bool plain_ = false;
  bool fits_caches_ = false;  // nobody said how large they are to be
  std::string data_folder_;
  std::string load_folder_;
  std::unique_ptr<rocksdb::Env> memory_env_;  // when ephemeral
  std::shared_ptr<LogFileSystem> log_files_;  // else, unless plain
  std::unique_ptr<rocksdb::Env> log_env_;     // of those
  rocksdb::Options options_;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::unique_ptr<rocksdb::DB> db_;
  Sections sections_;  // after db_: they end before it
  ClaimTable claims_;
  CounterStripes counters_;
  std::unique_ptr<ValueCache> values_;
  DiskBudget budget_;
  GroupCommit synced_commits_;
  SharedGate writers_;  // closed while the log is replaced
  std::atomic<Log> log_{Log::kWhole};
  std::atomic<uint64_t> broken_log_{0};  // its number
  std::atomic<int64_t> next_repair_{0};
  std::atomic<int64_t> repair_pause_{kFirstPause};
  Mutex error_mutex_;
  rocksdb::Status error_ QUIRE_GUARDED_BY(error_mutex_);  // that broke the log
  bool gave_up_ QUIRE_GUARDED_BY(error_mutex_) = false;   // was logged
  std::atomic<uint64_t> load_files_{0};
};

}  // namespace quire::kv
