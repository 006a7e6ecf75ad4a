// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/crc32c.h"

#if defined(__x86_64__)
#include <dlfcn.h>
#include <nmmintrin.h>

#include <cstring>
#endif

namespace quire::kv {

bool ChecksumsAreRight() {
  constexpr char kText[] = "123456789";
  constexpr uint32_t kChecksum = 0xE3069283;
  return rocksdb::crc32c::Extend(0, kText, 9) == kChecksum;
}

}  // namespace quire::kv

#if defined(__x86_64__)
namespace rocksdb::crc32c {
namespace {

using ExtendFunction = uint32_t (*)(uint32_t crc, const char* data, size_t size);

[[gnu::target("sse4.2")]] uint32_t ExtendByInstruction(uint32_t crc, const char* data,
                                                       size_t size) {
  uint64_t inverted = crc ^ UINT32_MAX;
  for (; size >= sizeof(uint64_t); data += sizeof(uint64_t), size -= sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, data, sizeof(word));
    inverted = _mm_crc32_u64(inverted, word);
  }
  for (; size > 0; ++data, --size) {
    inverted = _mm_crc32_u8(static_cast<uint32_t>(inverted), static_cast<uint8_t>(*data));
  }
  return static_cast<uint32_t>(inverted) ^ UINT32_MAX;
}

ExtendFunction Choose() {
  if (__builtin_cpu_supports("sse4.2")) {
    return ExtendByInstruction;
  }
  return reinterpret_cast<ExtendFunction>(dlsym(RTLD_NEXT, "_ZN7rocksdb6crc32c6ExtendEjPKcm"));
}

}  // namespace

[[gnu::weak]] uint32_t Extend(uint32_t crc, const char* data, size_t size) {
  static const ExtendFunction kExtend = Choose();
  return kExtend(crc, data, size);
}

}  // namespace rocksdb::crc32c
#endif
