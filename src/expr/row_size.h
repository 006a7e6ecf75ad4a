// SPDX-License-Identifier: Apache-2.0
//
// How large a document between two stages may become. It is made of values that may be the same one
// again and again, so that a short pipeline could ask for any number of bytes.
#pragma once

#include <cstddef>

#include "quire/status.h"

namespace quire::expr {

constexpr size_t kLargestRow = size_t{256} << 20;

// What CheckRowSize says of one that is not small.
Status CheckLargeRow(size_t bytes);

// For whoever writes a document value by value, after each: ExceededMemoryLimit when it has become
// too large, and the reason to stop when the thread's operation is to end.
inline Status CheckRowSize(size_t bytes) {
  constexpr size_t kSmall = size_t{1} << 20;
  return bytes < kSmall ? Status::Ok() : CheckLargeRow(bytes);
}

}  // namespace quire::expr
