// SPDX-License-Identifier: Apache-2.0
#include "placement/shard_key.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "bson/hash/index_hash.h"
#include "bson/json/value_text.h"
#include "bson/number.h"
#include "bson/ordered.h"
#include "quire/error.h"

namespace quire::placement {

namespace {

using bson::Type;
using bson::Value;

constexpr size_t kMostBorderBytes = size_t{16} << 10;

// The fields of a DBRef may stand below another field.
bool IsReferenceField(std::string_view part) {
  return part == "$id" || part == "$ref" || part == "$db";
}

Status CheckName(const bson::FieldPath& path) {
  const std::string field = "Field " + path.text();
  if (path.text().empty()) {
    return Status(kBadValue, field + " is empty");
  }
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i].empty()) {
      return Status(kBadValue, field + " contains empty parts");
    }
    if (path[i].front() == '$' && !(i > 0 && IsReferenceField(path[i]))) {
      return Status(kBadValue, field + " contains parts that start with '$'");
    }
  }
  return Status::Ok();
}

// MongoDB cuts the fraction off before it compares.
bool IsAscending(const Value& value) {
  if (!value.is_number() || bson::IsNan(value)) {
    return false;
  }
  return bson::CompareNumbers(value, Value(1)) >= 0 && bson::CompareNumbers(value, Value(2)) < 0;
}

bool IsHashed(const Value& value) { return value.is_string() && value.AsString() == "hashed"; }

// What a path reaches in a document; nothing when an array is on the way or at its end.
std::optional<Value> SingleValue(bson::View document, const bson::FieldPath& path) {
  size_t next = 0;
  Value value = bson::GetPathOrArray(document, path, &next);
  if (value.is_array()) {
    return std::nullopt;
  }
  return value.missing() ? Value::Null() : value;
}

}  // namespace

ShardKey ShardKey::Of(bson::View values) {
  ShardKey key;
  key.values = bson::Document(values);
  for (const bson::Element& element : values) {
    bson::AppendOrdered(element.value(), bson::Direction::kAscending, nullptr, &key.order, nullptr);
  }
  return key;
}

std::string ShardKey::ToString() const { return bson::DocumentText(values.view()); }

std::string KeyRange::ToString() const {
  return "[" + min.ToString() + ", " + max.ToString() + ")";
}

Result<ShardKeyPattern> ShardKeyPattern::Parse(bson::View pattern) {
  if (pattern.empty()) {
    return Status(kBadValue, "Shard key is empty");
  }
  ShardKeyPattern parsed;
  parsed.document_ = bson::Document(pattern);
  for (const bson::Element& element : pattern) {
    ASSIGN_OR_RETURN(bson::FieldPath path, bson::FieldPath::Parse(element.name()));
    RETURN_IF_ERROR(CheckName(path));
    const bool hashed = IsHashed(element.value());
    if (hashed ? parsed.is_hashed() : !IsAscending(element.value())) {
      return Status(kBadValue, "Shard key " + bson::DocumentText(pattern) +
                                   " can contain at most one 'hashed' field, and/or multiple "
                                   "numerical fields set to a value of 1. Failed to parse field " +
                                   std::string(element.name()));
    }
    if (hashed) {
      parsed.hashed_part_ = parsed.parts_.size();
    }
    parsed.parts_.push_back({std::move(path), hashed});
  }
  return parsed;
}

std::string ShardKeyPattern::ToString() const { return bson::DocumentText(document_.view()); }

namespace {

ShardKey Filled(const std::vector<ShardKeyPattern::Part>& parts, const Value& value) {
  bson::Builder out;
  for (const auto& part : parts) {
    out.Append(part.name(), value);
  }
  bson::Document values = out.Finish();
  return ShardKey::Of(values.view());
}

}  // namespace

ShardKey ShardKeyPattern::Lowest() const { return Filled(parts_, Value::MinKey()); }
ShardKey ShardKeyPattern::Highest() const { return Filled(parts_, Value::MaxKey()); }

Result<ShardKey> ShardKeyPattern::KeyOf(bson::View document) const {
  std::vector<Value> values;
  for (const Part& part : parts_) {
    std::optional<Value> value = SingleValue(document, part.path);
    if (!value.has_value()) {
      return Status(kShardKeyNotFound,
                    "Shard key cannot contain array values or array descendants.");
    }
    values.push_back(*value);
  }
  return KeyOfValues(values);
}

ShardKey ShardKeyPattern::KeyOfValues(const std::vector<Value>& values) const {
  bson::Builder out;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Value value = parts_[i].hashed ? Value(bson::IndexHash(values[i])) : values[i];
    out.Append(parts_[i].name(), value);
  }
  bson::Document key = out.Finish();
  return ShardKey::Of(key.view());
}

std::optional<ShardKey> ShardKeyPattern::BorderOf(bson::View border) const {
  return border.Count() == parts_.size() ? ExtendBorder(border) : std::nullopt;
}

std::optional<ShardKey> ShardKeyPattern::ExtendBorder(bson::View prefix) const {
  bson::Builder out;
  size_t named = 0;
  bool highest = true;
  for (const bson::Element& element : prefix) {
    if (named == parts_.size() || element.name() != parts_[named].name()) {
      return std::nullopt;
    }
    highest = highest && element.type() == Type::kMaxKey;
    out.Append(element);
    ++named;
  }
  if (named == 0) {
    return std::nullopt;
  }
  for (; named < parts_.size(); ++named) {
    out.Append(parts_[named].name(), highest ? Value::MaxKey() : Value::MinKey());
  }
  bson::Document extended = out.Finish();
  return ShardKey::Of(extended.view());
}

bool ShardKeyPattern::AllowsUnique(bson::View index_key) const {
  // What starts with _id is unique wherever _id is; that holds per shard only, as for _id itself.
  if (!index_key.empty() && index_key.front().name() == "_id") {
    return true;
  }
  size_t same = 0;
  for (const bson::Element& element : index_key) {
    if (same == parts_.size() || element.name() != parts_[same].name()) {
      break;
    }
    ++same;
  }
  return same == parts_.size();
}

Status CheckStorable(const ShardKey& border) {
  if (border.values.bytes().size() > kMostBorderBytes) {
    return Status(kBadValue, "a border of a chunk or zone may have 16384 bytes at most");
  }
  auto read = bson::Document::FromJson(bson::ToCanonicalJson(border.values));
  if (!read.ok() || read->bytes() != border.values.bytes()) {
    return Status(kBadValue, "a border of a chunk or zone cannot hold " + border.ToString());
  }
  return Status::Ok();
}

}  // namespace quire::placement
