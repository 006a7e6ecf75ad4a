// SPDX-License-Identifier: Apache-2.0
#include "bson/walk/field_index.h"

namespace quire::bson {

Value FieldIndex::Find(const Name& name) {
  const std::string_view wanted = name.field_.name();
  const bool is_short = wanted.size() < sizeof name.key_;  // then its key is all of it
  for (size_t i = 0; i < known_; ++i) {
    if (fields_[i].key == name.key_ && (is_short || NameOf(fields_[i]) == wanted)) {
      return Value::FromBytes(TypeOf(fields_[i]), fields_[i].value);
    }
  }
  FormWalk walk = *walk_;
  while (walk.valid() && known_ < kMost) {
    const std::string_view field = walk.name();
    const Type type = walk.type();
    const char* value = walk.value_data();
    const uint64_t key = walk.key();
    walk.Next();
    fields_[known_++] = {key, value, static_cast<uint32_t>(field.size())};
    if (key == name.key_ && (is_short || field == wanted)) {
      walk_.emplace(walk);
      return Value::FromBytes(type, value);
    }
  }
  walk_.emplace(walk);
  for (; walk.valid(); walk.Next()) {
    if (walk.key() == name.key_ && walk.name() == wanted) {
      return walk.value();
    }
  }
  return {};
}

}  // namespace quire::bson
