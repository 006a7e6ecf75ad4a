// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <ctime>
#include <random>

#include "quire/bson.h"

namespace quire::bson {

namespace {

struct Process {
  std::array<uint8_t, 5> random;
  std::atomic<uint32_t> counter;

  Process() {
    std::random_device device;
    for (uint8_t& byte : random) {
      byte = static_cast<uint8_t>(device());
    }
    counter = device();
  }
};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

ObjectId ObjectId::Generate() {
  static Process process;
  auto seconds = static_cast<uint32_t>(std::time(nullptr));
  uint32_t count = process.counter.fetch_add(1, std::memory_order_relaxed);
  ObjectId id;
  for (int i = 0; i < 4; ++i) {
    id.bytes[i] = static_cast<uint8_t>(seconds >> (24 - 8 * i));
  }
  std::copy(process.random.begin(), process.random.end(), id.bytes.begin() + 4);
  for (int i = 0; i < 3; ++i) {
    id.bytes[9 + i] = static_cast<uint8_t>(count >> (16 - 8 * i));
  }
  return id;
}

std::optional<ObjectId> ObjectId::FromHex(std::string_view hex) {
  ObjectId id;
  if (hex.size() != 2 * id.bytes.size()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < id.bytes.size(); ++i) {
    int high = HexDigit(hex[2 * i]);
    int low = HexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    id.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return id;
}

std::string ObjectId::ToHex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace quire::bson
