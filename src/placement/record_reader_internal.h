// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a stored record and remembers the first that is not as it should be.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bson/number.h"
#include "quire/bson.h"
#include "quire/error.h"
#include "quire/status.h"

namespace quire::placement {

class RecordReader {
 public:
  RecordReader(std::string_view what, bson::View record) : what_(what), record_(record) {}
  // Of a value that should be a document.
  RecordReader(std::string_view what, const bson::Value& value)
      : what_(what), record_(value.is_document() ? value.AsDocument() : bson::View()) {}

  // The first error of all fields read so far.
  const Status& status() const { return status_; }
  Status Malformed(std::string_view field) const {
    return Status(kFailedToParse, "stored " + std::string(what_) + " without a proper field '" +
                                      std::string(field) + "'");
  }

  std::string String(std::string_view field) {
    const bson::Value value = Typed(field, bson::Type::kString);
    return value.missing() ? std::string() : std::string(value.AsString());
  }
  bson::View Document(std::string_view field) {
    const bson::Value value = Typed(field, bson::Type::kDocument);
    return value.missing() ? bson::View() : value.AsDocument();
  }
  bson::View Array(std::string_view field) {
    const bson::Value value = Typed(field, bson::Type::kArray);
    return value.missing() ? bson::View() : value.AsArray();
  }
  bson::Timestamp Timestamp(std::string_view field) {
    const bson::Value value = Typed(field, bson::Type::kTimestamp);
    return value.missing() ? bson::Timestamp() : value.AsTimestamp();
  }
  bson::ObjectId ObjectId(std::string_view field) {
    const bson::Value value = Typed(field, bson::Type::kObjectId);
    return value.missing() ? bson::ObjectId() : value.AsObjectId();
  }
  std::array<uint8_t, 16> Uuid(std::string_view field) {
    std::array<uint8_t, 16> uuid{};
    const bson::Value value = Typed(field, bson::Type::kBinary);
    if (!value.missing() && value.AsBinary().size() == uuid.size()) {
      std::copy(value.AsBinary().begin(), value.AsBinary().end(), uuid.begin());
    } else {
      Fail(field);
    }
    return uuid;
  }
  int64_t Integer(std::string_view field) {
    const bson::Value value = record_[field];
    if (value.type() == bson::Type::kInt32 || value.type() == bson::Type::kInt64) {
      return value.AsInt64();
    }
    Fail(field);
    return 0;
  }
  bool OptionalBool(std::string_view field, bool otherwise) {
    const bson::Value value = record_[field];
    return value.missing() ? otherwise : Typed(field, bson::Type::kBool).AsBool();
  }
  // The place of the text among the names.
  size_t OneOf(std::string_view field, std::span<const std::string_view> names) {
    const std::string text = String(field);
    auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
      Fail(field);
      return 0;
    }
    return static_cast<size_t>(found - names.begin());
  }

 private:
  bson::Value Typed(std::string_view field, bson::Type type) {
    const bson::Value value = record_[field];
    if (value.type() == type) {
      return value;
    }
    Fail(field);
    return {};
  }
  void Fail(std::string_view field) {
    if (status_.ok()) {
      status_ = Malformed(field);
    }
  }

  std::string_view what_;
  bson::View record_;
  Status status_;
};

}  // namespace quire::placement
