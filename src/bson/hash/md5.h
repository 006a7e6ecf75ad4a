// SPDX-License-Identifier: Apache-2.0
//
// MD5 (RFC 1321), for compatibility only: MongoDB's hashed index keys and database hashes are made
// of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace quire::bson {

class Md5 {
 public:
  void Add(std::string_view bytes);
  // Ends the message. Nothing may be added after it.
  std::array<uint8_t, 16> Finish();

 private:
  void Block(const char* block);

  std::array<uint32_t, 4> state_ = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  uint64_t size_ = 0;
  std::array<char, 64> pending_;
};

}  // namespace quire::bson
