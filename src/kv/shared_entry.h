// SPDX-License-Identifier: Apache-2.0
//
// A key and its value in one piece of memory, kept as long as anybody who reads them needs it.
// Copies share the piece, which never changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace quire::kv {

struct SharedEntry {
  SharedEntry() = default;
  SharedEntry(std::string_view key, std::string_view value)
      : bytes(std::make_shared_for_overwrite<char[]>(key.size() + value.size())),
        key_size(static_cast<uint32_t>(key.size())),
        value_size(static_cast<uint32_t>(value.size())) {
    std::copy(value.begin(), value.end(), std::copy(key.begin(), key.end(), bytes.get()));
  }

  std::string_view key() const { return {bytes.get(), key_size}; }
  std::string_view value() const { return {bytes.get() + key_size, value_size}; }
  size_t size() const { return size_t{key_size} + value_size; }

  std::shared_ptr<char[]> bytes;
  uint32_t key_size = 0;
  uint32_t value_size = 0;
};

}  // namespace quire::kv
