// SPDX-License-Identifier: Apache-2.0
//
// Strings that users choose, as field names.
#pragma once

#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::patterns {

// The name with `%`, `.`, `$` and NUL percent-encoded: safe as a field name and inside a path.
// Error: InvalidName when it is empty.
Result<std::string> EncodeName(std::string_view name);

// What was encoded. Text that EncodeName does not make comes back as it is.
std::string DecodeName(std::string_view encoded);

}  // namespace quire::patterns
