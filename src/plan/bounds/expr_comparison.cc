// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/expr_comparison.h"

#include "bson/path.h"

namespace quire::plan {

namespace {

using bson::Type;
using bson::Value;
using expr::match::Kind;

struct OpRow {
  std::string_view name;
  Kind op;
  Kind mirrored;  // with the field on the right
};
constexpr OpRow kOps[] = {
    {"$eq", Kind::kEq, Kind::kEq},    {"$lt", Kind::kLt, Kind::kGt},
    {"$lte", Kind::kLte, Kind::kGte}, {"$gt", Kind::kGt, Kind::kLt},
    {"$gte", Kind::kGte, Kind::kLte},
};

// "$a.b" as "a.b"; "" for what is no plain path.
std::string_view PathOf(const Value& value) {
  if (!value.is_string() || value.AsString().size() < 2 || value.AsString()[0] != '$' ||
      value.AsString()[1] == '$') {
    return "";
  }
  std::string_view path = value.AsString().substr(1);
  bson::FieldPath steps(path);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (bson::IsNumericPart(steps[i])) {
      return "";
    }
  }
  return path;
}

// {$const: 5} as 5; missing for anything else and for what indexes hold in another form.
Value ConstantOf(const Value& value) {
  if (!value.is_document() || value.AsDocument().Count() != 1) {
    return {};
  }
  Value constant = value.AsDocument()["$const"];
  bool held = !constant.is_array() && constant.type() != Type::kUndefined &&
              constant.type() != Type::kRegex;
  return held ? constant : Value();
}

void Collect(const Value& expression, std::vector<ExprComparison>* out) {
  if (!expression.is_document() || expression.AsDocument().Count() != 1) {
    return;
  }
  bson::Element only = expression.AsDocument().front();
  if (!only.value().is_array()) {
    return;
  }
  bson::View arguments = only.value().AsArray();
  if (only.name() == "$and") {
    for (const bson::Element& e : arguments) {
      Collect(e.value(), out);
    }
    return;
  }
  for (const OpRow& row : kOps) {
    if (row.name != only.name() || arguments.Count() != 2) {
      continue;
    }
    Value left = arguments["0"];
    Value right = arguments["1"];
    bool mirrored = PathOf(left).empty();
    std::string_view path = PathOf(mirrored ? right : left);
    Value constant = ConstantOf(mirrored ? left : right);
    if (!path.empty() && !constant.missing()) {
      out->push_back(
          {std::string(path), mirrored ? row.mirrored : row.op, bson::OwnedValue(constant)});
    }
  }
}

bool IsCollated(const Value& value) {
  return value.is_string() || value.is_document() || value.type() == Type::kSymbol;
}

}  // namespace

std::vector<ExprComparison> ComparisonsOf(const expr::match::Node& node) {
  std::vector<ExprComparison> found;
  bson::Document shown = expr::match::Serialize(node);
  Collect(shown["$expr"], &found);
  return found;
}

bool CanUseIndex(const ExprComparison& comparison, const IndexPart& part,
                 const expr::Context& context) {
  Value value = comparison.value.value();
  if (part.multikey || part.index->keys.special != nullptr ||
      (IsCollated(value) && !SameCollation(part.index->collator.get(), context.collator))) {
    return false;
  }
  bool equality = comparison.op == Kind::kEq;
  if (part.index->keys.IsWildcard(part.part)) {
    return equality && !value.nullish() && !value.is_document();
  }
  if (part.holds() != store::PartHolds::kValue) {
    return equality && part.holds() == store::PartHolds::kHash && !value.nullish();
  }
  // A missing field is less than anything.
  bool takes_missing = comparison.op == Kind::kLt || comparison.op == Kind::kLte || value.nullish();
  return !(part.index->sparse && takes_missing);
}

FieldBounds BoundsOf(const ExprComparison& comparison, const IndexPart& part) {
  bool hashed = part.holds() == store::PartHolds::kHash;
  bson::OwnedValue stored =
      AsStored(comparison.value.value(), hashed ? nullptr : part.index->collator.get());
  Value value = stored.value();
  bool nullish = value.nullish();
  FieldBounds bounds;
  bounds.tightness = Tightness::kFetch;
  switch (comparison.op) {
    case Kind::kLt:
    case Kind::kLte:
      // Missing fields are held as null.
      bounds.intervals = IntervalList(
          Interval::Range(Value::MinKey(), true, value, nullish || comparison.op == Kind::kLte));
      break;
    case Kind::kGt:
    case Kind::kGte:
      bounds.intervals =
          IntervalList(Interval::Range(value, comparison.op == Kind::kGte, Value::MaxKey(), true));
      break;
    default:
      bounds.intervals =
          IntervalList(nullish ? Interval::Range(Value::Undefined(), true, Value::Null(), true)
                               : Interval::Point(value));
      break;
  }
  return bounds;
}

}  // namespace quire::plan
