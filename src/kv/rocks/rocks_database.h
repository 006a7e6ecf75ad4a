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

#include "kv/claim_table.h"
#include "kv/kv.h"
#include "kv/rocks/counter_stripes.h"
#include "kv/rocks/data_folder.h"
#include "kv/rocks/rocks_store.h"
#include "quire/status.h"

namespace quire::kv {

// Safe for concurrent use.
class RocksDatabase {
 public:
  static Result<std::unique_ptr<RocksDatabase>> Open(const RocksOptions& options);
  ~RocksDatabase();
  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;

  rocksdb::DB* db() const { return db_.get(); }
  rocksdb::Env* env() const { return db_->GetEnv(); }
  rocksdb::Cache* cache() const { return cache_.get(); }
  const rocksdb::Options& options() const { return options_; }
  ClaimTable& claims() { return claims_; }
  CounterStripes& counters() { return counters_; }
  const std::string& data_folder() const { return data_folder_; }

  // Applies the batch atomically. After an earlier I/O error (a full disk) it first tries to bring
  // the database back to work.
  Status Write(rocksdb::WriteBatch* batch, Durability durability);
  Status Sync();
  // The name of a new file for a loader.
  std::string NewLoadFile();

 private:
  RocksDatabase() = default;
  Status Start(const RocksOptions& options);
  // Tries, at most once a second, to leave the state in which RocksDB refuses writes.
  bool TryResume();

  DataFolder folder_;
  bool ephemeral_ = false;
  std::string data_folder_;
  std::string load_folder_;
  std::unique_ptr<rocksdb::Env> memory_env_;
  rocksdb::Options options_;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::unique_ptr<rocksdb::DB> db_;
  ClaimTable claims_;
  CounterStripes counters_;
  std::atomic<int64_t> next_resume_{0};
  std::atomic<uint64_t> load_files_{0};
};

}  // namespace quire::kv
