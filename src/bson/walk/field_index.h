// SPDX-License-Identifier: Apache-2.0
//
// Looking for several fields of one document, one after the other: what was walked over once is
// known by the first eight bytes of its name, so that a later look passes it in a few instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "bson/walk/field_walk.h"
#include "bson/walk/form_walk.h"
#include "quire/bson.h"

namespace quire::bson {

// Not safe for concurrent use. REQUIRES: the document is not changed until the next Start.
class FieldIndex {
 public:
  FieldIndex() = default;
  FieldIndex(const FieldIndex&) = delete;
  FieldIndex& operator=(const FieldIndex&) = delete;

  // A name to look for. REQUIRES: the bytes it was made of outlive it.
  class Name {
   public:
    explicit Name(std::string_view name) : field_(name) {
      memcpy(&key_, name.data(), std::min(name.size(), sizeof key_));
    }
    const FieldName& field() const { return field_; }

   private:
    friend class FieldIndex;
    FieldName field_;
    uint64_t key_ = 0;  // its first eight bytes, zeros after its end
  };

  // Makes `document` the one that is looked into.
  void Start(View document) {
    document_ = document.data();
    walk_.emplace(document, &form_);
    known_ = 0;
  }
  // Whether `document` is that one; none is before the first Start.
  bool IsOf(View document) const { return document.data() == document_; }

  // As FindValue in the document.
  Value Find(const Name& name);

 private:
  static constexpr size_t kMost = 24;  // fields that are remembered
  struct Field {
    uint64_t key;
    const char* value;
    uint32_t name_size;
  };

  static std::string_view NameOf(const Field& field) {
    return {field.value - 1 - field.name_size, field.name_size};
  }
  static Type TypeOf(const Field& field) {
    return static_cast<Type>(static_cast<uint8_t>(*(field.value - 2 - field.name_size)));
  }

  const char* document_ = nullptr;
  Form form_;
  std::optional<FormWalk> walk_;  // at the first field that is not known
  size_t known_ = 0;
  std::array<Field, kMost> fields_;
};

}  // namespace quire::bson
