// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "expr/update/modifier_internal.h"

namespace quire::expr::update {

namespace {

class Set : public Modifier {
 public:
  explicit Set(const bson::Value& value) : value_(value) {}
  Result<Effect> Apply(const Site& site, bson::Value* result) const override {
    if (site.old.BinaryEquals(value_)) {
      return Effect::kNone;
    }
    *result = value_;
    return Effect::kSet;
  }

 private:
  bson::Value value_;
};

class Unset : public Modifier {
 public:
  Result<Effect> Apply(const Site& site, bson::Value*) const override {
    return site.old.missing() ? Effect::kNone : Effect::kRemove;
  }
};

// $min (sign -1) and $max (sign 1).
class Extreme : public Modifier {
 public:
  Extreme(const bson::Value& value, int sign) : value_(value), sign_(sign) {}
  Result<Effect> Apply(const Site& site, bson::Value* result) const override {
    if (!site.old.missing() && CompareValues(value_, site.old, site.context) * sign_ <= 0) {
      return Effect::kNone;
    }
    *result = value_;
    return Effect::kSet;
  }

 private:
  bson::Value value_;
  int sign_;
};

class CurrentDate : public Modifier {
 public:
  explicit CurrentDate(bool timestamp) : timestamp_(timestamp) {}
  Result<Effect> Apply(const Site& site, bson::Value* result) const override {
    *result = timestamp_ ? bson::Value(site.context->cluster_time) : bson::Value(site.context->now);
    return Effect::kSet;
  }

 private:
  bool timestamp_;
};

}  // namespace

Result<std::unique_ptr<Modifier>> ParseSet(const bson::Element& argument, const Context*) {
  return std::unique_ptr<Modifier>(std::make_unique<Set>(argument.value()));
}

Result<std::unique_ptr<Modifier>> ParseUnset(const bson::Element&, const Context*) {
  return std::unique_ptr<Modifier>(std::make_unique<Unset>());
}

Result<std::unique_ptr<Modifier>> ParseMin(const bson::Element& argument, const Context*) {
  return std::unique_ptr<Modifier>(std::make_unique<Extreme>(argument.value(), -1));
}

Result<std::unique_ptr<Modifier>> ParseMax(const bson::Element& argument, const Context*) {
  return std::unique_ptr<Modifier>(std::make_unique<Extreme>(argument.value(), 1));
}

Result<std::unique_ptr<Modifier>> ParseCurrentDate(const bson::Element& argument, const Context*) {
  bson::Value value = argument.value();
  if (value.type() == bson::Type::kBool) {
    return std::unique_ptr<Modifier>(std::make_unique<CurrentDate>(false));
  }
  if (!value.is_document()) {
    return Status(kBadValue, std::string(bson::TypeName(value.type())) +
                                 " is not valid type for $currentDate. Please use a boolean "
                                 "('true') or a $type expression ({$type: 'timestamp/date'}).");
  }
  bool found = false;
  bool timestamp = false;
  for (const bson::Element& field : value.AsDocument()) {
    if (field.name() != "$type") {
      return Status(kBadValue, "Unrecognized $currentDate option: " + std::string(field.name()));
    }
    bson::Value type = field.value();
    if (type.is_string() && (type.AsString() == "date" || type.AsString() == "timestamp")) {
      found = true;
      timestamp = type.AsString() == "timestamp";
      continue;
    }
    break;
  }
  if (!found) {
    return Status(kBadValue,
                  "The '$type' string field is required to be 'date' or 'timestamp': "
                  "{$currentDate: {field : {$type: 'date'}}}");
  }
  return std::unique_ptr<Modifier>(std::make_unique<CurrentDate>(timestamp));
}

}  // namespace quire::expr::update
