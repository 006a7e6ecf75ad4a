// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "base/error_codes.h"
#include "base/interruptible_sort.h"
#include "base/try.h"
#include "expr/sort/sort_key.h"
#include "expr/update/array_writer_internal.h"
#include "expr/update/modifier_internal.h"

namespace quire::expr::update {

namespace {

using bson::Value;

struct PushSpec {
  std::vector<Value> values;
  std::optional<int64_t> slice;
  std::optional<int64_t> position;
  int whole_sort = 0;  // 1, -1: elements as a whole
  SortPattern sort;    // by fields of the elements, when not empty
};

class Push : public Modifier {
 public:
  explicit Push(PushSpec spec) : spec_(std::move(spec)) {}

  Result<Effect> Apply(const Site& site, Value* result) const override {
    if (!site.old.missing() && !site.old.is_array()) {
      return Status(kBadValue, "The field '" + std::string(site.path) +
                                   "' must be an array but is of type " +
                                   std::string(bson::TypeName(site.old.type())) + " in document " +
                                   DescribeId(site.document));
    }
    bool plain = !spec_.slice && !spec_.position && spec_.whole_sort == 0 && spec_.sort.empty();
    if (plain) {
      return Append(site, result);
    }
    return Rebuild(site, result);
  }

 private:
  Result<Effect> Append(const Site& site, Value* result) const {
    if (spec_.values.empty() && site.old.is_array()) {
      return Effect::kNone;
    }
    ArrayWriter writer(site.old.is_array() ? site.old.AsArray().size() + 64 : 64);
    if (site.old.is_array()) {
      writer.AddWhole(site.old.AsArray());
    }
    for (const Value& value : spec_.values) {
      writer.Add(value);
    }
    *result = writer.Finish(site.arena);
    return Effect::kSet;
  }

  Result<Effect> Rebuild(const Site& site, Value* result) const {
    std::vector<Value> elements;
    if (site.old.is_array()) {
      for (const bson::Element& element : site.old.AsArray()) {
        elements.push_back(element.value());
      }
    }
    auto size = static_cast<int64_t>(elements.size());
    int64_t at = std::min(spec_.position.value_or(size), size);
    if (at < 0) {
      at = std::max<int64_t>(0, size + at);
    }
    elements.insert(elements.begin() + at, spec_.values.begin(), spec_.values.end());
    RETURN_IF_ERROR(Sort(site, &elements));
    Slice(&elements);
    ArrayWriter writer(64);
    for (const Value& element : elements) {
      writer.Add(element);
    }
    *result = writer.Finish(site.arena);
    return result->BinaryEquals(site.old) ? Effect::kNone : Effect::kSet;
  }

  Status Sort(const Site& site, std::vector<Value>* elements) const {
    if (spec_.whole_sort != 0) {
      return InterruptibleStableSort(
          elements->begin(), elements->end(), [&](const Value& a, const Value& b) {
            return CompareValues(a, b, site.context) * spec_.whole_sort < 0;
          });
    }
    if (spec_.sort.empty()) {
      return Status::Ok();
    }
    std::vector<std::pair<std::string, Value>> keyed;
    keyed.reserve(elements->size());
    for (const Value& element : *elements) {
      bson::View fields = element.is_document() ? element.AsDocument() : bson::View();
      std::string key;
      RETURN_IF_ERROR(spec_.sort.AppendKey(fields, nullptr, *site.context, &key));
      keyed.emplace_back(std::move(key), element);
    }
    RETURN_IF_ERROR(
        InterruptibleStableSort(keyed.begin(), keyed.end(),
                                [](const auto& a, const auto& b) { return a.first < b.first; }));
    std::transform(keyed.begin(), keyed.end(), elements->begin(),
                   [](const auto& pair) { return pair.second; });
    return Status::Ok();
  }

  void Slice(std::vector<Value>* elements) const {
    if (!spec_.slice) {
      return;
    }
    auto size = static_cast<int64_t>(elements->size());
    if (*spec_.slice >= 0) {
      elements->resize(static_cast<size_t>(std::min(size, *spec_.slice)));
    } else if (-size < *spec_.slice) {
      elements->erase(elements->begin(), elements->end() + *spec_.slice);
    }
  }

  PushSpec spec_;
};

Status ParseSortFields(bson::View fields, PushSpec* spec) {
  if (fields.empty()) {
    return Status(kBadValue, "The $sort pattern is empty when it should be a set of fields.");
  }
  for (const bson::Element& field : fields) {
    std::string_view name = field.name();
    Value order = field.value();
    if (!order.is_number() || ParseInteger(order, kBadValue, name).ok() == false ||
        std::abs(*ParseInteger(order, kBadValue, name)) != 1) {
      return Status(kBadValue, "The $sort element value must be either 1 or -1");
    }
    if (name.empty()) {
      return Status(kBadValue, "The $sort field cannot be empty");
    }
    if (name.front() == '.' || name.back() == '.' || name.find("..") != std::string_view::npos) {
      return Status(kBadValue, "The $sort field is a dotted field but has an empty part: " +
                                   std::string(name));
    }
  }
  ASSIGN_OR_RETURN(spec->sort, SortPattern::Parse(fields));
  return Status::Ok();
}

Status ParseSort(const Value& value, PushSpec* spec) {
  if (value.is_document()) {
    return ParseSortFields(value.AsDocument(), spec);
  }
  if (!value.is_number()) {
    return Status(kBadValue,
                  "The $sort is invalid: use 1/-1 to sort the whole element, or "
                  "{field:1/-1} to sort embedded fields");
  }
  Result<int64_t> order = ParseInteger(value, kBadValue, "$sort");
  if (!order.ok() || (*order != 1 && *order != -1)) {
    return Status(kBadValue, "The $sort element value must be either 1 or -1");
  }
  spec->whole_sort = static_cast<int>(*order);
  return Status::Ok();
}

Status ParseClause(const bson::Element& clause, PushSpec* spec) {
  Value value = clause.value();
  if (clause.name() == "$each") {
    if (!value.is_array()) {
      return Status(kBadValue,
                    "The argument to $each in $push must be an array but it was of type: " +
                        std::string(bson::TypeName(value.type())));
    }
    for (const bson::Element& element : value.AsArray()) {
      spec->values.push_back(element.value());
    }
    return Status::Ok();
  }
  if (clause.name() == "$sort") {
    return ParseSort(value, spec);
  }
  if (clause.name() == "$slice" || clause.name() == "$position") {
    ASSIGN_OR_RETURN(int64_t n, ParseInteger(value, kBadValue, clause.name()));
    (clause.name() == "$slice" ? spec->slice : spec->position) = n;
    return Status::Ok();
  }
  return Status(kBadValue, "Unrecognized clause in $push: " + std::string(clause.name()));
}

}  // namespace

Result<std::unique_ptr<Modifier>> ParsePush(const bson::Element& argument, const Context*) {
  Value value = argument.value();
  PushSpec spec;
  if (!value.is_document() || !value.AsDocument().Has("$each")) {
    spec.values.push_back(value);
    return std::unique_ptr<Modifier>(std::make_unique<Push>(std::move(spec)));
  }
  std::vector<std::string_view> seen;
  for (const bson::Element& clause : value.AsDocument()) {
    if (std::find(seen.begin(), seen.end(), clause.name()) != seen.end()) {
      return Status(kBadValue, "Only one " + std::string(clause.name()) + " is supported.");
    }
    seen.push_back(clause.name());
    RETURN_IF_ERROR(ParseClause(clause, &spec));
  }
  return std::unique_ptr<Modifier>(std::make_unique<Push>(std::move(spec)));
}

}  // namespace quire::expr::update
