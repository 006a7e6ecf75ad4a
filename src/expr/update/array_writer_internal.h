// SPDX-License-Identifier: Apache-2.0
//
// Builds the array an operator makes: elements numbered from 0, the bytes handed to an arena.
#pragma once

#include <charconv>
#include <string>

#include "base/arena.h"
#include "quire/bson.h"

namespace quire::expr::update {

class ArrayWriter {
 public:
  explicit ArrayWriter(size_t size_hint) {
    bytes_.reserve(size_hint);
    bytes_.append(4, '\0');
  }

  void Add(const bson::Value& value) {
    char name[12];
    char* end = std::to_chars(name, name + sizeof name, count_++).ptr;
    bytes_.push_back(static_cast<char>(value.type()));
    bytes_.append(name, end);
    bytes_.push_back('\0');
    value.AppendTo(&bytes_);
  }

  // Every element of `array`, as one copy. REQUIRES: nothing was added yet.
  void AddWhole(bson::View array) {
    bytes_.append(array.data() + 4, array.size() - 5);
    count_ = static_cast<uint32_t>(array.Count());
  }

  uint32_t count() const { return count_; }

  // The array, valid while `arena` is. Nothing can be added afterwards.
  bson::Value Finish(Arena* arena) {
    bytes_.push_back('\0');
    auto size = static_cast<uint32_t>(bytes_.size());
    memcpy(bytes_.data(), &size, sizeof size);
    return bson::Value::Array(bson::View(arena->Adopt(std::move(bytes_)).data()));
  }

 private:
  std::string bytes_;
  uint32_t count_ = 0;
};

}  // namespace quire::expr::update
