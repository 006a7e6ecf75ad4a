// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "quire/bson.h"

namespace quire::expr {

// Whether {$meta: <name>} stands somewhere in the value.
bool AsksForMeta(const bson::Value& value, std::string_view name);

}  // namespace quire::expr
