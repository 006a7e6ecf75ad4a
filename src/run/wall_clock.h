// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "quire/bson.h"

namespace quire::run {

// Milliseconds since 1970.
inline bson::Date WallClock() {
  return {std::chrono::duration_cast<std::chrono::milliseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()};
}

}  // namespace quire::run
