// SPDX-License-Identifier: Apache-2.0
//
// The names of error codes. The table of them is quire/error.h; codes without a name (five-digit
// "locations") are written as numbers where they are raised.
#pragma once

#include <string>

#include "quire/error.h"

namespace quire {

// The code's MongoDB name, or "Location<code>" for a number without one.
std::string ErrorName(int code);

}  // namespace quire
