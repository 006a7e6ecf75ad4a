// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/crc32c.h"

#include <atomic>

#include "kv/rocks/versioned/rocks_version.h"

#if defined(__x86_64__) && QUIRE_KNOWN_ROCKSDB
#include <dlfcn.h>
#include <immintrin.h>

#include <array>
#include <cstring>
#endif

namespace quire::kv {
namespace {

std::atomic<bool> own_checksums = true;

}  // namespace

void UseOwnChecksums(bool own) { own_checksums = own; }

bool ChecksumsAreRight() {
  constexpr char kText[] = "123456789";
  constexpr uint32_t kChecksum = 0xE3069283;
  const uint32_t first = rocksdb::crc32c::Extend(0, kText, 4);
  const uint32_t second = rocksdb::crc32c::Extend(0, kText + 4, 5);
  return rocksdb::crc32c::Extend(0, kText, 9) == kChecksum &&
         rocksdb::crc32c::Crc32cCombine(first, second, 5) == kChecksum;
}

}  // namespace quire::kv

#if defined(__x86_64__) && QUIRE_KNOWN_ROCKSDB
namespace rocksdb::crc32c {
namespace {

using ExtendFunction = uint32_t (*)(uint32_t crc, const char* data, size_t size);
using CombineFunction = uint32_t (*)(uint32_t first, uint32_t second, size_t second_size);

constexpr const char* kExtendName = "_ZN7rocksdb6crc32c6ExtendEjPKcm";
constexpr const char* kCombineName = "_ZN7rocksdb6crc32c13Crc32cCombineEjjm";

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

// Polynomials over GF(2) modulo that of CRC-32C, with the highest bit for x^0 as checksums have it.
constexpr uint32_t kPolynomial = 0x82F63B78;
constexpr uint32_t kOne = uint32_t{1} << 31;

constexpr uint32_t TimesX(uint32_t a) { return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0); }

constexpr uint32_t DividedByX(uint32_t a) {
  return (a & kOne) != 0 ? ((a ^ kPolynomial) << 1) | 1 : a << 1;
}

constexpr uint32_t Product(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1, b = TimesX(b)) {
    product ^= (a & bit) != 0 ? b : 0;
  }
  return product;
}

// Product and reduction by one instruction each leave x^33 too many.
constexpr int kExcess = 33;

// kShifts[k] puts 2^k bytes after those of a checksum: x^(8 * 2^k), less the excess.
constexpr auto kShifts = [] {
  std::array<uint32_t, 64> shifts{};
  uint32_t power = kOne >> 8;
  for (uint32_t& shift : shifts) {
    shift = power;
    for (int i = 0; i < kExcess; ++i) {
      shift = DividedByX(shift);
    }
    power = Product(power, power);
  }
  return shifts;
}();

[[gnu::target("sse4.2,pclmul")]] uint32_t CombineByInstruction(uint32_t first, uint32_t second,
                                                               size_t second_size) {
  for (size_t bits = second_size; bits != 0; bits &= bits - 1) {
    const uint32_t shift = kShifts[static_cast<size_t>(__builtin_ctzll(bits))];
    const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(first)),
                                                 _mm_cvtsi32_si128(static_cast<int>(shift)), 0);
    first =
        static_cast<uint32_t>(_mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(product))));
  }
  return first ^ second;
}

bool Own() { return quire::kv::own_checksums.load(std::memory_order_relaxed); }

template <typename Function>
Function OfRocksDb(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

[[gnu::weak]] uint32_t Extend(uint32_t crc, const char* data, size_t size) {
  static const auto kTheirs = OfRocksDb<ExtendFunction>(kExtendName);
  static const auto kExtend = __builtin_cpu_supports("sse4.2") ? ExtendByInstruction : kTheirs;
  return (Own() ? kExtend : kTheirs)(crc, data, size);
}

[[gnu::weak]] uint32_t Crc32cCombine(uint32_t first, uint32_t second, size_t second_size) {
  static const auto kTheirs = OfRocksDb<CombineFunction>(kCombineName);
  static const auto kCombine = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")
                                   ? CombineByInstruction
                                   : kTheirs;
  return (Own() ? kCombine : kTheirs)(first, second, second_size);
}

}  // namespace rocksdb::crc32c
#endif
