// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/crc32c.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace quire::kv {
namespace {

// The definition: a polynomial division, bit by bit.
uint32_t BitByBit(uint32_t crc, std::string_view bytes) {
  constexpr uint32_t kReversedPolynomial = 0x82F63B78;
  crc = ~crc;
  for (char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    }
  }
  return ~crc;
}

// By our functions, and by RocksDB's.
class Crc32c : public testing::TestWithParam<bool> {
 protected:
  Crc32c() { UseOwnChecksums(GetParam()); }
  ~Crc32c() override { UseOwnChecksums(true); }
};
INSTANTIATE_TEST_SUITE_P(Functions, Crc32c, testing::Bool(),
                         [](const auto& own) { return own.param ? "own" : "rocksdb"; });

TEST_P(Crc32c, IsThatOfTheDefinitionForEveryLengthAndAlignment) {
  EXPECT_TRUE(ChecksumsAreRight());
  std::mt19937 random(7);
  std::string bytes(100, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; begin + size <= bytes.size(); ++size) {
      std::string_view part = std::string_view(bytes).substr(begin, size);
      EXPECT_EQ(rocksdb::crc32c::Extend(0xABCDEF, part.data(), size), BitByBit(0xABCDEF, part));
    }
  }
}

TEST_P(Crc32c, OfTwoPartsIsThatOfTheWhole) {
  const std::string bytes(100'000, 'q');
  for (size_t second : {0, 1, 2, 3, 4, 5, 7, 1300, 32'761, 65'536, 99'999}) {
    const size_t first = bytes.size() - second;
    const uint32_t whole = BitByBit(0, bytes);
    EXPECT_EQ(rocksdb::crc32c::Crc32cCombine(BitByBit(0, bytes.substr(0, first)),
                                             BitByBit(0, bytes.substr(first)), second),
              whole)
        << second;
  }
}

#if defined(__x86_64__)
TEST(Crc32cNames, TheFunctionsOfTheLibraryAreOurs) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "_ZN7rocksdb6crc32c6ExtendEjPKcm"),
            reinterpret_cast<void*>(&rocksdb::crc32c::Extend));
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "_ZN7rocksdb6crc32c13Crc32cCombineEjjm"),
            reinterpret_cast<void*>(&rocksdb::crc32c::Crc32cCombine));
}
#endif

}  // namespace
}  // namespace quire::kv
