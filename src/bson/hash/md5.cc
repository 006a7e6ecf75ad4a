// SPDX-License-Identifier: Apache-2.0
#include "bson/hash/md5.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace quire::bson {

namespace {

// The RFC's table: the whole part of 2^32 * |sin(i + 1)|.
const std::array<uint32_t, 64>& Sines() {
  static const std::array<uint32_t, 64> kSines = [] {
    std::array<uint32_t, 64> sines;
    for (int i = 0; i < 64; ++i) {
      sines[static_cast<size_t>(i)] =
          static_cast<uint32_t>(std::floor(std::fabs(std::sin(i + 1.0)) * 4294967296.0));
    }
    return sines;
  }();
  return kSines;
}

constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

}  // namespace

void Md5::Add(std::string_view bytes) {
  size_t used = size_ % 64;
  size_ += bytes.size();
  if (used > 0) {
    size_t n = std::min(bytes.size(), 64 - used);
    std::copy_n(bytes.begin(), n, pending_.begin() + static_cast<std::ptrdiff_t>(used));
    bytes.remove_prefix(n);
    if (used + n < 64) {
      return;
    }
    Block(pending_.data());
  }
  for (; bytes.size() >= 64; bytes.remove_prefix(64)) {
    Block(bytes.data());
  }
  std::copy(bytes.begin(), bytes.end(), pending_.begin());
}

std::array<uint8_t, 16> Md5::Finish() {
  uint64_t bits = size_ * 8;
  constexpr char kPadding[64] = {'\x80'};
  Add({kPadding, (119 - size_ % 64) % 64 + 1});
  Add({reinterpret_cast<const char*>(&bits), sizeof bits});
  std::array<uint8_t, 16> digest;
  memcpy(digest.data(), state_.data(), digest.size());
  return digest;
}

void Md5::Block(const char* block) {
  std::array<uint32_t, 16> words;
  memcpy(words.data(), block, 64);
  auto [a, b, c, d] = state_;
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t f = 0;
    uint32_t g = 0;
    switch (i / 16) {
      case 0:
        f = (b & c) | (~b & d);
        g = i;
        break;
      case 1:
        f = (d & b) | (~d & c);
        g = (5 * i + 1) % 16;
        break;
      case 2:
        f = b ^ c ^ d;
        g = (3 * i + 5) % 16;
        break;
      default:
        f = c ^ (b | ~d);
        g = (7 * i) % 16;
        break;
    }
    uint32_t next = b + std::rotl(a + f + Sines()[i] + words[g], kShifts[i / 16][i % 4]);
    a = d;
    d = c;
    c = b;
    b = next;
  }
  state_[0] += a;
  state_[1] += b;
  state_[2] += c;
  state_[3] += d;
}

}  // namespace quire::bson
