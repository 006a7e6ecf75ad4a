// SPDX-License-Identifier: Apache-2.0
//
// Counts the memory that definitions of collections hold for as long as they are there: pipelines
// of views, validators and filters of partial indexes, as text and parsed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "quire/status.h"

namespace quire::store {

// Of the process.
struct DefinitionLimits {
  std::atomic<int64_t> most{int64_t{256} << 20};
  std::atomic<int64_t> held{0};
};
DefinitionLimits& DefinitionMemory();

// Before a definition of so many bytes takes the place of one of `before`. Those that are short, or
// become shorter, may always. Error: ExceededMemoryLimit.
Status CheckDefinitionRoom(size_t bytes, size_t before = 0);

// What one definition holds. A copy counts, too.
class DefinitionCharge {
 public:
  DefinitionCharge() = default;
  explicit DefinitionCharge(size_t bytes);
  DefinitionCharge(const DefinitionCharge& other);
  DefinitionCharge& operator=(const DefinitionCharge& other);
  ~DefinitionCharge();

 private:
  int64_t held_ = 0;
};

}  // namespace quire::store
