// SPDX-License-Identifier: Apache-2.0
#include "expr/row_size.h"

#include <string>

#include "base/current_op.h"
#include "base/error_codes.h"

namespace quire::expr {

Status CheckLargeRow(size_t bytes) {
  if (bytes > kLargestRow) {
    return {kExceededMemoryLimit, "a document would use too much memory (" + std::to_string(bytes) +
                                      " bytes). Memory limit: " + std::to_string(kLargestRow) +
                                      " bytes"};
  }
  return CheckCurrentOpNow();
}

}  // namespace quire::expr
