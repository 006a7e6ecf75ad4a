// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "expr/collation/collator.h"
#include "expr/update/array_writer_internal.h"
#include "expr/update/modifier_internal.h"

namespace quire::expr::update {

namespace {

using bson::Type;
using bson::Value;

class AddToSet : public Modifier {
 public:
  explicit AddToSet(std::vector<Value> values) : values_(std::move(values)) {}

  Result<Effect> Apply(const Site& site, Value* result) const override {
    if (!site.old.missing() && !site.old.is_array()) {
      return Status(kBadValue, "Cannot apply $addToSet to non-array field. Field named '" +
                                   std::string(site.path.substr(site.path.rfind('.') + 1)) +
                                   "' has non-array type " +
                                   std::string(bson::TypeName(site.old.type())));
    }
    std::vector<Value> fresh;
    RETURN_IF_ERROR(values_.size() > kFew ? AddNewAmongMany(site, &fresh)
                                          : AddNewAmongFew(site, &fresh));
    if (fresh.empty() && site.old.is_array()) {
      return Effect::kNone;
    }
    ArrayWriter writer(64);
    if (site.old.is_array()) {
      writer.AddWhole(site.old.AsArray());
    }
    for (const Value& value : fresh) {
      writer.Add(value);
    }
    *result = writer.Finish(site.arena);
    return Effect::kSet;
  }

 private:
  static constexpr size_t kFew = 4;  // values that are cheaper compared with all than looked up

  Status AddNewAmongMany(const Site& site, std::vector<Value>* fresh) const {
    const Collator* collator = site.context != nullptr ? site.context->collator : nullptr;
    std::unordered_set<Value, bson::ValueHash, bson::ValueEqual> known(
        values_.size(), bson::ValueHash{collator}, bson::ValueEqual{collator});
    if (site.old.is_array()) {
      for (const bson::Element& element : site.old.AsArray()) {
        RETURN_IF_ERROR(CheckCurrentOp());
        known.insert(element.value());
      }
    }
    for (const Value& value : values_) {
      RETURN_IF_ERROR(CheckCurrentOp());
      if (known.insert(value).second) {
        fresh->push_back(value);
      }
    }
    return Status::Ok();
  }

  Status AddNewAmongFew(const Site& site, std::vector<Value>* fresh) const {
    for (const Value& value : values_) {
      auto same = [&](const Value& other) {
        return CompareValues(value, other, site.context) == 0;
      };
      bool known = std::any_of(fresh->begin(), fresh->end(), same);
      if (!known && site.old.is_array()) {
        bson::View array = site.old.AsArray();
        known = std::any_of(array.begin(), array.end(),
                            [&](const bson::Element& element) { return same(element.value()); });
      }
      if (!known) {
        fresh->push_back(value);
      }
    }
    return Status::Ok();
  }

  std::vector<Value> values_;
};

class Pop : public Modifier {
 public:
  explicit Pop(bool first) : first_(first) {}

  Result<Effect> Apply(const Site& site, Value* result) const override {
    if (!site.old.is_array()) {
      return Status(kTypeMismatch, "Path '" + std::string(site.path) +
                                       "' contains an element of non-array type '" +
                                       std::string(bson::TypeName(site.old.type())) + "'");
    }
    bson::View array = site.old.AsArray();
    if (array.empty()) {
      return Effect::kNone;
    }
    size_t drop = first_ ? 0 : array.Count() - 1;
    size_t at = 0;
    ArrayWriter writer(array.size());
    for (const bson::Element& element : array) {
      if (at++ != drop) {
        writer.Add(element.value());
      }
    }
    *result = writer.Finish(site.arena);
    return Effect::kSet;
  }

 private:
  bool first_;
};

}  // namespace

Result<std::unique_ptr<Modifier>> ParseAddToSet(const bson::Element& argument, const Context*) {
  Value spec = argument.value();
  std::vector<Value> values;
  if (!spec.is_document() || spec.AsDocument().empty() ||
      spec.AsDocument().front().name() != "$each") {
    values.push_back(spec);
    return std::unique_ptr<Modifier>(std::make_unique<AddToSet>(std::move(values)));
  }
  bson::View fields = spec.AsDocument();
  Value each = fields.front().value();
  if (!each.is_array()) {
    return Status(kTypeMismatch,
                  "The argument to $each in $addToSet must be an array but it was of type " +
                      std::string(bson::TypeName(each.type())));
  }
  if (fields.Count() > 1) {
    return Status(kBadValue,
                  "Found unexpected fields after $each in $addToSet: " + bson::ToJson(fields));
  }
  for (const bson::Element& element : each.AsArray()) {
    values.push_back(element.value());
  }
  return std::unique_ptr<Modifier>(std::make_unique<AddToSet>(std::move(values)));
}

Result<std::unique_ptr<Modifier>> ParsePop(const bson::Element& argument, const Context*) {
  ASSIGN_OR_RETURN(int64_t n, ParseInteger(argument.value(), kFailedToParse, argument.name()));
  if (n != 1 && n != -1) {
    return Status(kFailedToParse, "$pop expects 1 or -1, found: " + std::to_string(n));
  }
  return std::unique_ptr<Modifier>(std::make_unique<Pop>(n == -1));
}

}  // namespace quire::expr::update
