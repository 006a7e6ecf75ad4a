// SPDX-License-Identifier: Apache-2.0
//
// Values as commands read and write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "quire/bson.h"

namespace quire::command {

// Appends n as an int, or as a long when it has to be.
void AppendCount(bson::Builder* out, std::string_view name, int64_t n);
// Milliseconds since 1970.
bson::Date WallClock();
// MongoDB's reading of a value as a switch: anything but false, 0, null, undefined and missing.
bool Truthy(const bson::Value& value);

}  // namespace quire::command
