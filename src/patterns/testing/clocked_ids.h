// SPDX-License-Identifier: Apache-2.0
//
// ObjectIds whose time is the tests' clock's, for jobs that look at the age of an id.
#pragma once

#include <atomic>

#include "quire/patterns/seams.h"

namespace quire::patterns {

class ClockedIds : public IdSource {
 public:
  explicit ClockedIds(Clock* clock) : clock_(clock) {}

  bson::ObjectId Next() override {
    bson::ObjectId id = bson::ObjectId::Generate();
    const auto seconds = static_cast<uint32_t>(clock_->Now().millis / 1000);
    for (size_t i = 0; i < 4; ++i) {
      id.bytes[i] = static_cast<uint8_t>(seconds >> (24 - 8 * i));
    }
    return id;
  }

 private:
  Clock* clock_;
};

}  // namespace quire::patterns
