// SPDX-License-Identifier: Apache-2.0
//
// The parts that the records of the log are put together from: little-endian numbers and documents.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "quire/bson.h"

namespace quire::store {

template <typename T>
void AppendNumber(T value, std::string* out) {
  char bytes[sizeof value];
  memcpy(bytes, &value, sizeof value);
  out->append(bytes, sizeof value);
}

// The functions that take give false when the bytes end before.
template <typename T>
bool TakeNumber(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof *value) {
    return false;
  }
  memcpy(value, bytes->data(), sizeof *value);
  bytes->remove_prefix(sizeof *value);
  return true;
}

inline bool TakeBytes(std::string_view* bytes, size_t size, std::string_view* taken) {
  if (bytes->size() < size) {
    return false;
  }
  *taken = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return true;
}

inline bool TakeDocument(std::string_view* bytes, bson::View* document) {
  if (bytes->size() < 5) {
    return false;
  }
  *document = bson::View(bytes->data());
  std::string_view taken;
  return TakeBytes(bytes, document->size(), &taken);
}

}  // namespace quire::store
