// SPDX-License-Identifier: Apache-2.0
//
// A bump allocator for the short-lived bytes of one evaluation: values computed for a document
// live here until Reset.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_charge.h"

namespace quire {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `size` uninitialised bytes, aligned to 8, valid until Reset.
  char* Allocate(size_t size);
  std::string_view Copy(std::string_view bytes) {
    char* p = Allocate(bytes.size());
    memcpy(p, bytes.data(), bytes.size());
    return {p, bytes.size()};
  }
  // Keeps a finished buffer alive until Reset without copying its characters.
  std::string_view Adopt(std::string&& bytes);

  // Frees everything handed out. The first block is kept for reuse.
  void Reset();
  // Bytes held.
  size_t memory() const { return memory_; }

 private:
  static constexpr size_t kBlock = 4096;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::deque<std::string> adopted_;
  char* at_ = nullptr;
  size_t left_ = 0;
  size_t memory_ = 0;
  MemoryCharge charge_;
};

}  // namespace quire
