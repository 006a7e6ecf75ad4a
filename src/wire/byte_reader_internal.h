// SPDX-License-Identifier: Apache-2.0
//
// Checked reading of little-endian fields from borrowed bytes.
#pragma once

#include <cstring>
#include <string_view>
#include <type_traits>

namespace quire::wire {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::string_view rest() const { return rest_; }
  // REQUIRES: count <= rest().size().
  void Skip(size_t count) { rest_.remove_prefix(count); }

  // False, and nothing read, when too few bytes are left.
  template <typename T>
  bool Read(T* out) {
    static_assert(std::is_integral_v<T>);
    if (rest_.size() < sizeof *out) {
      return false;
    }
    memcpy(out, rest_.data(), sizeof *out);
    Skip(sizeof *out);
    return true;
  }
  bool Take(size_t count, std::string_view* out) {
    if (rest_.size() < count) {
      return false;
    }
    *out = rest_.substr(0, count);
    Skip(count);
    return true;
  }
  bool ReadCString(std::string_view* out) {
    size_t end = rest_.find('\0');
    if (end == std::string_view::npos) {
      return false;
    }
    *out = rest_.substr(0, end);
    Skip(end + 1);
    return true;
  }

 private:
  std::string_view rest_;
};

}  // namespace quire::wire
