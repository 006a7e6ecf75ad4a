// SPDX-License-Identifier: Apache-2.0
#include "expr/wrong_type.h"

#include <string>

#include "base/error_codes.h"

namespace quire::expr {

Status WrongType(std::string_view where, const bson::Value& value, std::string_view expected) {
  return Status(kTypeMismatch, "BSON field '" + std::string(where) + "' is the wrong type '" +
                                   std::string(bson::TypeName(value.type())) +
                                   "', expected type '" + std::string(expected) + "'");
}

}  // namespace quire::expr
