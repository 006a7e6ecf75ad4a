// SPDX-License-Identifier: Apache-2.0
//
// How much memory caches and write buffers take, and how it is divided among them.
#pragma once

#include <cstdint>

#include "base/machine_memory.h"

namespace quire::kv {

// What they may take where nobody said it, of which they hold `held` bytes now: half of what the
// machine would have free without them, and no more than half of all it has but one gigabyte. At
// least 64 MB, with which everything works.
uint64_t CacheBytesFor(const MachineMemory& memory, uint64_t held);

// Whether caches of `present` bytes are worth changing when `wanted` would be right.
bool IsWorthChanging(uint64_t present, uint64_t wanted);

// The parts of a whole.
struct CacheSizes {
  uint64_t values;   // the table of values that are read by key
  uint64_t blocks;   // RocksDB's cache, in which its write buffers count
  uint64_t buffers;  // all write buffers together

  explicit CacheSizes(uint64_t whole);
};

}  // namespace quire::kv
