// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/concerns.h"

#include "patterns/doc.h"

namespace quire::patterns {

Concerns KeptByMajority() { return {.writes = Doc("w", "majority")}; }
Concerns KeptByPrimary() { return {.writes = Doc("w", 1)}; }

}  // namespace quire::patterns
