// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "bson/compare.h"
#include "quire/bson.h"

namespace quire::bson {

// The key of a hashed index, and $toHashedIndexKey: MongoDB's numbers. Equal values have equal
// hashes (under the same `strings`); numbers count by their whole part only, so 1.5 and 1 share
// theirs. Stored: DO NOT CHANGE.
int64_t IndexHash(const Value& value, const StringCompare* strings = nullptr);

}  // namespace quire::bson
