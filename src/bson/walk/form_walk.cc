// SPDX-License-Identifier: Apache-2.0
#include "bson/walk/form_walk.h"

#include <algorithm>

namespace quire::bson {

Form::Facts Form::Learn(const char* at, size_t place) {
  const Element element(at);
  const std::string_view name = element.name();
  Facts facts;
  facts.bit = FieldName(name).bit();
  memcpy(&facts.key, name.data(), std::min(name.size(), sizeof facts.key));
  facts.value = static_cast<uint32_t>(name.size() + 2);
  uint32_t number = 0;
  switch (element.type()) {
    case Type::kString:
    case Type::kCode:
    case Type::kSymbol:
    case Type::kBinary:
    case Type::kDbPointer:
    case Type::kDocument:
    case Type::kArray:
    case Type::kCodeWithScope:
      memcpy(&number, element.value_data(), sizeof number);
      facts.has_size = true;
      break;
    default:
      break;
  }
  facts.fixed = element.value_size() - number;
  const bool alike = element.type() != Type::kRegex;  // the size of those only a look at each tells
  if (alike && facts.value <= kStart && place < kMostFields) {
    Field& field = fields_[place];
    memcpy(field.start, at, facts.value);
    field.wanted = (uint32_t{1} << facts.value) - 1;
    field.facts = facts;
  }
  return facts;
}

}  // namespace quire::bson
