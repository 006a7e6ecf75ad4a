// SPDX-License-Identifier: Apache-2.0
#include "store/definition_memory.h"

#include <string>

#include "base/error_codes.h"

namespace quire::store {

namespace {

// What shorter ones hold is little beside their collection.
constexpr size_t kShort = 1024;
// Text and what it is parsed into hold about so many times its length.
constexpr int64_t kTimes = 3;

int64_t HeldBy(size_t bytes) { return bytes <= kShort ? 0 : kTimes * static_cast<int64_t>(bytes); }

}  // namespace

DefinitionLimits& DefinitionMemory() {
  static DefinitionLimits limits;
  return limits;
}

Status CheckDefinitionRoom(size_t bytes, size_t before) {
  const DefinitionLimits& limits = DefinitionMemory();
  if (bytes <= before || HeldBy(bytes) == 0 || HeldBy(bytes) <= limits.most - limits.held) {
    return Status::Ok();
  }
  return {kExceededMemoryLimit,
          "The views, validators and partial indexes of all collections may hold " +
              std::to_string(limits.most) + " bytes of memory (internalMaxDefinitionMemoryBytes)"};
}

DefinitionCharge::DefinitionCharge(size_t bytes) : held_(HeldBy(bytes)) {
  DefinitionMemory().held += held_;
}

DefinitionCharge::DefinitionCharge(const DefinitionCharge& other) : held_(other.held_) {
  DefinitionMemory().held += held_;
}

DefinitionCharge& DefinitionCharge::operator=(const DefinitionCharge& other) {
  DefinitionMemory().held += other.held_ - held_;
  held_ = other.held_;
  return *this;
}

DefinitionCharge::~DefinitionCharge() { DefinitionMemory().held -= held_; }

}  // namespace quire::store
