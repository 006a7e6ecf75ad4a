// SPDX-License-Identifier: Apache-2.0
//
// The wrapper objects of extended JSON: {"$oid": ...} and the like.
#pragma once

#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::bson {

// Whether an object starting with this key stands for a value rather than itself. Keys that are
// also query operators ($regex, $type, $gt...) do not.
bool IsJsonWrapper(std::string_view first_key);

// Appends to `out` as `name` the value that the wrapper object stands for; what is inside it has
// been converted already. Error: FailedToParse. REQUIRES: IsJsonWrapper(its first key).
Status AppendUnwrapped(View wrapper, std::string_view name, Builder* out);

}  // namespace quire::bson
