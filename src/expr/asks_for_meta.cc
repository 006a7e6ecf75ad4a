// SPDX-License-Identifier: Apache-2.0
#include "expr/asks_for_meta.h"

namespace quire::expr {

bool AsksForMeta(const bson::Value& value, std::string_view name) {
  if (!value.is_document() && !value.is_array()) {
    return false;
  }
  for (const bson::Element& element : value.AsDocument()) {
    bson::Value inner = element.value();
    bool asks = element.name() == "$meta" && inner.is_string() && inner.AsString() == name;
    if (asks || AsksForMeta(inner, name)) {
      return true;
    }
  }
  return false;
}

}  // namespace quire::expr
