// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/update/limits_internal.h"

namespace quire::expr::update {

Status CheckSize(size_t size, bool inserting) {
  if (size <= kMaxDocumentSize) {
    return Status::Ok();
  }
  return inserting ? Status(17420, "Document to upsert is larger than 16777216")
                   : Status(17419, "Resulting document after update is larger than 16777216");
}

Status CheckDepth(const bson::Value& value, int depth) {
  if (depth > kMaxDepth) {
    return Status(kOverflow, "Document exceeds maximum nesting depth of 180");
  }
  if (value.is_document() || value.is_array()) {
    for (const bson::Element& element : value.AsDocument()) {
      bson::Type type = element.type();
      if (type == bson::Type::kDocument || type == bson::Type::kArray) {
        RETURN_IF_ERROR(CheckDepth(element.value(), depth + 1));
      }
    }
  }
  return Status::Ok();
}

}  // namespace quire::expr::update
