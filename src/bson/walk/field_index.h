// SPDX-License-Identifier: Apache-2.0
//
// Looking for several fields of one document, one after the other: what was walked over once is
// known by the first eight bytes of its name, so that a later look passes it in a few instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
    explicit Name(std::string_view name) : field_(name), key_(KeyOf(name)) {}
    const FieldName& field() const { return field_; }

   private:
    friend class FieldIndex;
    FieldName field_;
    uint64_t key_;
  };

  // Makes `document` the one that is looked into.
  void Start(View document) {
    document_ = document.data();
    next_ = document.data() + sizeof(int32_t);
    end_ = document.data() + document.size() - 1;
    known_ = 0;
  }
  // Whether `document` is that one; none is before the first Start.
  bool IsOf(View document) const { return document.data() == document_; }

  // As FindValue in the document.
  Value Find(const Name& name) { return Find(name.field_.name(), name.key_); }
  Value Find(std::string_view name) { return Find(name, KeyOf(name)); }

 private:
  static constexpr size_t kMost = 24;  // fields that are remembered
  struct Field {
    uint64_t key;
    const char* value;
    uint32_t name_size;
  };

  // The name's first eight bytes, zeros after its end.
  static uint64_t KeyOf(std::string_view name) {
    uint64_t key = 0;
    if (name.size() >= sizeof key) {
      memcpy(&key, name.data(), sizeof key);
      return key;
    }
    for (size_t i = name.size(); i > 0; --i) {
      key = key << 8 | static_cast<uint8_t>(name[i - 1]);
    }
    return key;
  }
  Value Find(std::string_view wanted, uint64_t wanted_key);

  Form::Facts FactsOf(const char* field, size_t place) {
    const Form::Facts* known = form_.Known(field, end_, place);
    return known != nullptr ? *known : form_.Learn(field, place);
  }

  static std::string_view NameOf(const Field& field) {
    return {field.value - 1 - field.name_size, field.name_size};
  }
  static Type TypeOf(const Field& field) {
    return static_cast<Type>(static_cast<uint8_t>(*(field.value - 2 - field.name_size)));
  }

  const char* document_ = nullptr;
  Form form_;
  const char* next_ = nullptr;  // the first field that is not known
  const char* end_ = nullptr;   // of the document
  size_t known_ = 0;            // of fields_
  std::array<Field, kMost> fields_;
};

}  // namespace quire::bson
