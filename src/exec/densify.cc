// SPDX-License-Identifier: Apache-2.0
#include "exec/densify.h"

#include <algorithm>
#include <map>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "expr/collation/collator.h"

namespace quire::exec {

Status Densify::CheckKey(const bson::Value& key) const {
  bool date = key.type() == bson::Type::kDate;
  if (!date && !key.is_number()) {
    return Status(5733201, "Densify field type must be numeric or a date");
  }
  if (date && !options_.unit) {
    return Status(6053600,
                  "Encountered date densify value in collection when step does not have a "
                  "date unit.");
  }
  if (!date && options_.unit) {
    return Status(6053601,
                  "Encountered non-date densify value in collection when step has a date "
                  "unit.");
  }
  return Status::Ok();
}

bson::Document Densify::IdOf(bson::View row) const {
  std::string id = bson::Document().bytes();
  for (const FieldPath& path : options_.partition_fields) {
    std::string next;
    SetNested(bson::View(id.data()), path, GetNested(row, path), &next);
    id.swap(next);
  }
  return bson::Document::FromTrusted(std::move(id));
}

Result<bson::Value> Densify::At(const bson::Value& start, int64_t k) const {
  bson::Value amount = bson::Multiply(options_.step.value(), bson::NarrowInt(k));
  if (!options_.unit) {
    return bson::Add(start, amount);
  }
  auto moved = expr::date::Add(start.AsDate().millis, *options_.unit, bson::ClampedInt64(amount),
                               expr::date::TimeZone());
  if (!moved) {
    return Status(5166406, "dateAdd overflowed");
  }
  return bson::Value(bson::Date{*moved});
}

Status Densify::Generate(const Group& group, const bson::Value& value) {
  if (++generated_ > kMaxGenerated) {
    return Status(5897900, "Generated " + std::to_string(generated_) +
                               " documents in $densify, which is over the limit of " +
                               std::to_string(kMaxGenerated));
  }
  std::string bytes;
  SetNested(group.id, options_.field, value, &bytes);
  output_.push_back(bson::Document::FromTrusted(std::move(bytes)));
  return Status::Ok();
}

// Merges the group's rows with the sequence from `least` on; values of the sequence that some row
// has are not generated again. `most` is part of it only as a row.
Status Densify::FillGroup(Group& group, const bson::Value& least, const bson::Value& most) {
  std::stable_sort(group.items.begin(), group.items.end(),
                   [](const Item& a, const Item& b) { return bson::Compare(a.key, b.key) < 0; });
  size_t next = 0;
  auto emit_below = [&](const bson::Value& value, bool inclusive) {
    bool seen = false;
    while (next < group.items.size()) {
      int order = bson::Compare(group.items[next].key, value);
      if (order > 0 || (order == 0 && !inclusive)) {
        break;
      }
      seen |= order == 0;
      output_.push_back(*group.items[next++].document);
    }
    return seen;
  };
  for (int64_t k = 0;; ++k) {
    ASSIGN_OR_RETURN(bson::Value value, At(least, k));
    if (bson::Compare(value, most) >= 0) {
      break;
    }
    if (!emit_below(value, true)) {
      RETURN_IF_ERROR(Generate(group, value));
    }
  }
  while (next < group.items.size()) {
    output_.push_back(*group.items[next++].document);
  }
  return Status::Ok();
}

Status Densify::ReadInput(OpContext& op) {
  ASSIGN_OR_RETURN(input_rows_, ReadAll(op, *input_));
  std::vector<Group> groups;
  std::vector<bson::Value> range;  // least and most of all rows
  auto less = [&](const bson::Document& a, const bson::Document& b) {
    return bson::CompareDocuments(a, b, options_.context->collator) < 0;
  };
  std::map<bson::Document, size_t, decltype(less)> by_id(less);
  for (const bson::Document& row : input_rows_) {
    bson::Value key = GetNested(row, options_.field);
    if (key.nullish()) {
      output_.push_back(row);
      continue;
    }
    RETURN_IF_ERROR(CheckKey(key));
    auto [at, fresh] = by_id.try_emplace(IdOf(row), groups.size());
    if (fresh) {
      groups.push_back({at->first, {}});
    }
    groups[at->second].items.push_back({key, &row});
    if (range.empty()) {
      range = {key, key};
    }
    range[0] = bson::Compare(key, range[0]) < 0 ? key : range[0];
    range[1] = bson::Compare(key, range[1]) > 0 ? key : range[1];
  }
  if (options_.bounds == DensifyOptions::Bounds::kExplicit) {
    range = {options_.lower.value(), options_.upper.value()};
    if (groups.empty() && options_.partition_fields.empty()) {
      by_id.try_emplace(bson::Document(), 0);
      groups.emplace_back();
    }
  }
  for (const auto& [id, at] : by_id) {
    Group& group = groups[at];
    if (options_.bounds == DensifyOptions::Bounds::kPartition) {
      auto order = [](const Item& a, const Item& b) { return bson::Compare(a.key, b.key) < 0; };
      auto [least, most] = std::minmax_element(group.items.begin(), group.items.end(), order);
      range = {least->key, most->key};
    }
    RETURN_IF_ERROR(FillGroup(group, range[0], range[1]));
  }
  return Status::Ok();
}

Result<bool> Densify::Produce(OpContext& op, Row* row) {
  if (!read_) {
    RETURN_IF_ERROR(ReadInput(op));
    read_ = true;
  }
  if (next_ == output_.size()) {
    return false;
  }
  *row = Row();
  row->document = output_[next_++].view();
  return true;
}

}  // namespace quire::exec
