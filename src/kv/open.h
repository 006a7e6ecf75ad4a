// SPDX-License-Identifier: Apache-2.0
//
// Opens a store by its address. The only place outside of the backends that knows which there are:
//
//   rocks:FOLDER  RocksDB in a folder, created when missing (its parent must exist)
//   rocks:        RocksDB with its files in memory; nothing survives the store
//   memory:       the tree of kv/memory; nothing survives the store
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kv/kv.h"
#include "quire/status.h"

namespace quire::kv {

// What a backend has no use for it leaves alone.
struct OpenOptions {
  // Bound of caches and write buffers together; 0 chooses by the machine's memory.
  uint64_t cache_bytes = 0;
  // In the order of their keys, the first beginning with the empty one, the last being the largest;
  // none: a single section. For a folder the same whenever it is opened.
  std::vector<Section> sections = {};
  // Most files the store has open at once; 0: no limit.
  int max_open_files = 0;
  // Without the parts that were written for one version of RocksDB
  // (rocks/versioned/rocks_version.h).
  bool plain = false;
};

// Errors: BadValue when there is no such backend, DBPathInUse when another store has the folder
// open, UnsupportedFormat when it holds something else or another format, DataCorruptionDetected,
// InternalError (I/O). The folder is left as it was on any of the first four.
Result<std::unique_ptr<Store>> Open(std::string_view uri, const OpenOptions& options);

}  // namespace quire::kv
