// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "expr/schema/rule_internal.h"

namespace quire::expr::schema {
namespace {

using bson::Value;

class ItemCountRule final : public Rule {
 public:
  ItemCountRule(const bson::Element& keyword, int64_t count)
      : keyword_(keyword), count_(count), is_minimum_(keyword.name() == "minItems") {}
  bool Holds(const Value& value) const override {
    if (!value.is_array()) {
      return true;
    }
    auto items = static_cast<int64_t>(value.AsArray().Count());
    return is_minimum_ ? items >= count_ : items <= count_;
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSimple(keyword_, "array did not match specified length", value, out);
  }

 private:
  bson::Element keyword_;
  int64_t count_;
  bool is_minimum_;
};

class UniqueItemsRule final : public Rule {
 public:
  explicit UniqueItemsRule(const bson::Element& keyword) : keyword_(keyword) {}
  bool Holds(const Value& value) const override {
    return !value.is_array() || FirstDuplicate(value.AsArray()).missing();
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSimple(keyword_, "found a duplicate item", value, out);
    out->Append("duplicatedValue", FirstDuplicate(value.AsArray()));
  }

 private:
  bson::Element keyword_;
};

// items and additionalItems: one schema for all elements from `first` on, or one for each place.
class ItemsRule final : public Rule {
 public:
  ItemsRule(std::string_view name, SchemaPtr schema, size_t first)
      : name_(name), first_(first), for_all_(true) {
    schemas_.push_back(std::move(schema));
  }
  explicit ItemsRule(std::vector<SchemaPtr> schemas)
      : name_("items"), schemas_(std::move(schemas)) {}
  bool Holds(const Value& value) const override {
    size_t index = 0;
    return !value.is_array() || Failing(value.AsArray(), &index).missing();
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    size_t index = 0;
    Value failing = Failing(value.AsArray(), &index);
    out->Append("operatorName", name_);
    out->Append("reason", "At least one item did not match the sub-schema");
    out->Append("itemIndex", static_cast<int32_t>(index));
    if (const Schema* schema = SchemaAt(index); schema != nullptr) {  // it may have been ended
      ExplainDetails(*schema, failing, out);
    }
  }

 private:
  // Null: any value will do there.
  const Schema* SchemaAt(size_t index) const {
    if (for_all_) {
      return index >= first_ ? schemas_[0].get() : nullptr;
    }
    return index < schemas_.size() ? schemas_[index].get() : nullptr;
  }
  Value Failing(bson::View items, size_t* index) const {
    *index = 0;
    for (const bson::Element& item : items) {
      Value value = item.value();
      const Schema* schema = SchemaAt(*index);
      if (schema != nullptr && !schema->Matches(value)) {
        return value;
      }
      ++*index;
    }
    return Value();
  }
  std::string_view name_;
  std::vector<SchemaPtr> schemas_;
  size_t first_ = 0;
  bool for_all_ = false;
};

// additionalItems: false
class NoMoreItemsRule final : public Rule {
 public:
  NoMoreItemsRule(const bson::Element& keyword, size_t most) : keyword_(keyword), most_(most) {}
  bool Holds(const Value& value) const override {
    return !value.is_array() || value.AsArray().Count() <= most_;
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSpecifiedAs(keyword_, out);
    out->Append("reason", "found additional items");
    out->BeginArray("additionalItems");
    size_t index = 0;
    for (const bson::Element& item : value.AsArray()) {
      if (index++ >= most_) {
        out->Push(item.value());
      }
    }
    out->End();
  }

 private:
  bson::Element keyword_;
  size_t most_;
};

}  // namespace

Result<RulePtr> ParseItemCount(const bson::Element& keyword, bson::View) {
  ASSIGN_OR_RETURN(int64_t count, NonNegative(keyword));
  return RulePtr(std::make_unique<ItemCountRule>(keyword, count));
}

Result<RulePtr> ParseUniqueItems(const bson::Element& keyword, bson::View) {
  if (keyword.type() != bson::Type::kBool) {
    return WrongType("uniqueItems", "a boolean");
  }
  return keyword.value().AsBool() ? RulePtr(std::make_unique<UniqueItemsRule>(keyword)) : RulePtr();
}

Result<RulePtr> ParseItems(const bson::Element& keyword, bson::View) {
  if (keyword.type() == bson::Type::kDocument) {
    ASSIGN_OR_RETURN(SchemaPtr schema, SubSchema(keyword, "items"));
    return RulePtr(std::make_unique<ItemsRule>("items", std::move(schema), 0));
  }
  if (keyword.type() != bson::Type::kArray) {
    return WrongType("items", "an array or an object");
  }
  std::vector<SchemaPtr> schemas;
  for (const bson::Element& item : keyword.value().AsArray()) {
    ASSIGN_OR_RETURN(SchemaPtr schema, SubSchema(item, "items"));
    schemas.push_back(std::move(schema));
  }
  return RulePtr(std::make_unique<ItemsRule>(std::move(schemas)));
}

// Counts only beside `items` with an array.
Result<RulePtr> ParseAdditionalItems(const bson::Element& keyword, bson::View spec) {
  bson::Element items = spec.Find("items");
  bool counts = items.type() == bson::Type::kArray;
  size_t placed = counts ? items.value().AsArray().Count() : 0;
  if (keyword.type() == bson::Type::kBool) {
    bool refused = counts && !keyword.value().AsBool();
    return refused ? RulePtr(std::make_unique<NoMoreItemsRule>(keyword, placed)) : RulePtr();
  }
  if (keyword.type() != bson::Type::kDocument) {
    return WrongType("additionalItems", "either an object or a boolean");
  }
  ASSIGN_OR_RETURN(SchemaPtr schema, SubSchema(keyword, "additionalItems"));
  return counts ? RulePtr(std::make_unique<ItemsRule>("additionalItems", std::move(schema), placed))
                : RulePtr();
}

}  // namespace quire::expr::schema
