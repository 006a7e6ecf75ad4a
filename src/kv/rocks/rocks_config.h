// SPDX-License-Identifier: Apache-2.0
//
// The settings RocksDB runs with, and why each is what it is.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/options.h>

#include <cstdint>
#include <memory>

#include "kv/kv.h"

namespace quire::kv {

// What caches may take where nobody said it, as the machine is now (cache_size.h).
uint64_t DefaultCacheBytes();

struct RocksConfig {
  rocksdb::Options options;
  std::shared_ptr<rocksdb::Cache> cache;
  uint64_t value_cache_bytes = 0;
};

// The settings of a section with this use.
rocksdb::ColumnFamilyOptions SectionOptions(const rocksdb::Options& options, Section::Use use);

// `memory_env`: the environment of an ephemeral store, or null for one on disk. `plain`: with
// RocksDB's own memtable.
RocksConfig MakeRocksConfig(uint64_t cache_bytes, rocksdb::Env* memory_env, bool plain = false);

}  // namespace quire::kv
