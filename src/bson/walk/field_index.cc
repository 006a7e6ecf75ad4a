// SPDX-License-Identifier: Apache-2.0
#include "bson/walk/field_index.h"

namespace quire::bson {

Value FieldIndex::Find(std::string_view wanted, uint64_t wanted_key) {
  const bool is_short = wanted.size() < sizeof wanted_key;  // then its key is all of it
  for (size_t i = 0; i < known_; ++i) {
    if (fields_[i].key == wanted_key && (is_short || NameOf(fields_[i]) == wanted)) {
      return Value::FromBytes(TypeOf(fields_[i]), fields_[i].value);
    }
  }
  while (next_ != end_ && known_ < kMost) {
    const Form::Facts facts = FactsOf(next_, known_);
    const Field& field = fields_[known_++] = {facts.key, next_ + facts.value, facts.value - 2};
    next_ = facts.After(next_);
    if (field.key == wanted_key && (is_short || NameOf(field) == wanted)) {
      return Value::FromBytes(TypeOf(field), field.value);
    }
  }
  const char* next = next_;
  for (size_t place = known_; next != end_; ++place) {
    const Form::Facts facts = FactsOf(next, place);
    const Field field{facts.key, next + facts.value, facts.value - 2};
    next = facts.After(next);
    if (field.key == wanted_key && NameOf(field) == wanted) {
      return Value::FromBytes(TypeOf(field), field.value);
    }
  }
  return {};
}

}  // namespace quire::bson
