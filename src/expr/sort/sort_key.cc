// SPDX-License-Identifier: Apache-2.0
#include "expr/sort/sort_key.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/decimal.h"
#include "bson/key_tuples.h"
#include "bson/number.h"
#include "bson/ordered.h"
#include "expr/collation/collator.h"

namespace quire::expr {

namespace {

using bson::Direction;
using bson::Value;

// A piece of metadata that sorts, always from high to low.
struct MetaRow {
  std::string_view name;
  Value (*value)(const Metadata&);
};

constexpr MetaRow kMetaRows[] = {
    {"textScore",
     [](const Metadata& m) { return m.has_text_score ? Value(m.text_score) : Value::Null(); }},
    {"randVal", [](const Metadata&) { return Value(0.0); }},
    {"geoNearDistance",
     [](const Metadata& m) { return m.has_geo_distance ? Value(m.geo_distance) : Value::Null(); }},
    {"score", [](const Metadata& m) { return m.has_score ? Value(m.score) : Value::Null(); }},
    {"searchScore", [](const Metadata&) { return Value::Null(); }},
    {"vectorSearchScore", [](const Metadata&) { return Value::Null(); }},
};

const MetaRow* FindMeta(std::string_view name) {
  for (const MetaRow& row : kMetaRows) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

Result<const MetaRow*> ParseMeta(bson::View spec) {
  if (spec.empty() || spec.front().name() != "$meta") {
    return Status(17312, "$meta is the only expression supported by $sort right now");
  }
  if (spec.Count() > 1) {
    return Status(kFailedToParse, "Cannot have additional keys in a $meta sort specification");
  }
  Value name = spec["$meta"];
  const MetaRow* row = name.is_string() ? FindMeta(name.AsString()) : nullptr;
  if (row == nullptr) {
    return Status(31138, "Illegal $meta sort: $meta: " + bson::ToJson(name));
  }
  return row;
}

// 1 or -1: doubles are cut, decimals rounded to even, as MongoDB does.
Result<bool> ParseAscending(const bson::Element& element) {
  Value order = element.value();
  if (!order.is_number()) {
    return Status(15974, "Illegal key in $sort specification: " + std::string(element.name()) +
                             ": " + bson::ToJson(order));
  }
  std::optional<int64_t> direction =
      order.type() == bson::Type::kDecimal128
          ? bson::decimal::ToInt64(order.AsDecimal(), bson::decimal::Rounding::kNearestEven)
          : bson::TruncatedInt64(order);
  if (direction != 1 && direction != -1) {
    return Status(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
  }
  return direction == 1;
}

Direction DirectionOf(bool ascending) {
  return ascending ? Direction::kAscending : Direction::kDescending;
}

}  // namespace

Status SortPattern::AddPart(const bson::Element& element) {
  RETURN_IF_ERROR(CheckCurrentOp());  // any number of $meta is compared with all before it
  Part part;
  part.path = element.name();
  if (element.type() == bson::Type::kDocument) {
    ASSIGN_OR_RETURN(const MetaRow* meta, ParseMeta(element.value().AsDocument()));
    part.ascending = false;
    part.meta = meta->name;
  } else {
    ASSIGN_OR_RETURN(part.ascending, ParseAscending(element));
    ASSIGN_OR_RETURN(bson::FieldPath path, bson::FieldPath::ParseStrict(element.name()));
    paths_.push_back(std::move(path));
    if (paths_.size() > kMaxParts) {
      return Status(13103, "too many compound keys");
    }
  }
  auto same = [&](const Part& other) { return other.path == part.path; };
  if (std::any_of(parts_.begin(), parts_.end(), same)) {
    return Status(7472500,
                  "$sort key must not contain duplicate keys (duplicate: '" + part.path + "')");
  }
  parts_.push_back(std::move(part));
  return Status::Ok();
}

Result<SortPattern> SortPattern::Parse(bson::View spec) {
  SortPattern pattern;
  for (const bson::Element& element : spec) {
    RETURN_IF_ERROR(pattern.AddPart(element));
  }
  return pattern;
}

Status SortPattern::AppendKey(bson::View document, const Metadata* metadata, const Context& context,
                              std::string* out, std::string* type_bits) const {
  size_t start = out->size();
  auto encode = [&](std::span<const Value> values, std::string* key, std::string* bits) {
    size_t next = 0;
    for (const Part& part : parts_) {
      Value value = Value::Null();
      if (part.meta.empty()) {
        value = values[next++];
      } else if (metadata != nullptr) {
        value = FindMeta(part.meta)->value(*metadata);
      }
      bson::AppendOrdered(value, DirectionOf(part.ascending), context.collator, key, bits);
    }
  };
  bool first = true;
  std::string other;
  std::string other_bits;
  auto keep_least = [&](std::span<const Value> values, bool) {
    if (first) {
      first = false;
      if (type_bits != nullptr) {
        type_bits->clear();
      }
      encode(values, out, type_bits);
      return;
    }
    other.clear();
    other_bits.clear();
    encode(values, &other, type_bits != nullptr ? &other_bits : nullptr);
    if (std::string_view(other) < std::string_view(*out).substr(start)) {
      out->replace(start, std::string::npos, other);
      if (type_bits != nullptr) {
        type_bits->swap(other_bits);
      }
    }
  };
  uint64_t array_parts = 0;
  Status status = bson::ForEachKeyTuple(paths_, document, &array_parts, keep_least);
  if (status.code() == kCannotIndexParallelArrays) {
    return Status(kBadValue, "cannot sort with keys that are parallel arrays");
  }
  return status;
}

bson::Document SortPattern::KeyValues(std::string_view key, std::string_view type_bits) const {
  bson::Builder out;
  bson::OrderedReader reader(key, type_bits);
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!reader.Read(DirectionOf(parts_[i].ascending), std::to_string(i), &out)) {
      return bson::Document();
    }
  }
  return out.Finish();
}

}  // namespace quire::expr
