// SPDX-License-Identifier: Apache-2.0
//
// How a RocksDB store is opened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kv/kv.h"

namespace rocksdb {
class Env;
}

namespace quire::kv {

struct RocksOptions {
  // The data folder, created when missing (its parent must exist). Not used when ephemeral.
  std::string path;
  // Keep everything in memory; nothing is written to disk and nothing survives the store.
  bool ephemeral = false;
  // Bound of caches and write buffers together; 0: half of what the machine has free, less while
  // others need it.
  uint64_t cache_bytes = 0;
  // In the order of their keys, the first beginning with the empty one, the last being the largest;
  // none: a single section. For a folder the same whenever it is opened.
  std::vector<Section> sections = {};
  // Most files the store has open at once; 0: no limit.
  int max_open_files = 0;
  // Without the parts that were written for one version of RocksDB (rocks_version.h): for another
  // version, and to measure what they bring. The folder is the same.
  bool plain = false;
  // The file system to use instead of the machine's (tests); outlives the store.
  rocksdb::Env* env = nullptr;
};

}  // namespace quire::kv
