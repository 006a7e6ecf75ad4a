// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/cache_size.h"

#include <algorithm>

namespace quire::kv {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

}  // namespace

uint64_t CacheBytesFor(const MachineMemory& memory, uint64_t held) {
  constexpr uint64_t kForOthers = 1024 * kMiB;
  constexpr uint64_t kLeast = 64 * kMiB;
  constexpr uint64_t kUnknown = 256 * kMiB;
  if (memory.limit <= 0) {
    return kUnknown;
  }
  const auto limit = static_cast<uint64_t>(memory.limit);
  const uint64_t most = limit > 2 * kForOthers ? (limit - kForOthers) / 2 : limit / 4;
  const uint64_t free = static_cast<uint64_t>(std::max<int64_t>(memory.available, 0)) + held;
  return std::max(std::min(most, free / 2), kLeast);
}

bool IsWorthChanging(uint64_t present, uint64_t wanted) {
  const uint64_t step = present / 8;
  return wanted + step < present || wanted > present + step;
}

CacheSizes::CacheSizes(uint64_t whole)
    : values(whole / 4),
      blocks(whole - values),
      buffers(std::clamp(blocks / 4, 8 * kMiB, 256 * kMiB)) {}

}  // namespace quire::kv
