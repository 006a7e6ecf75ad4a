// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// TypeMismatch: "BSON field '<where>' is the wrong type 'int', expected type 'string'".
Status WrongType(std::string_view where, const bson::Value& value, std::string_view expected);

}  // namespace quire::expr
