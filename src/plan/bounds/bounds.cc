// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/bounds.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "bson/compare.h"
#include "bson/number.h"
#include "expr/match/geo.h"
#include "expr/match/leaf.h"
#include "plan/bounds/type_range.h"
#include "store/keys/special_keys.h"

namespace quire::plan {

namespace {

using bson::Type;
using bson::Value;
using expr::match::ComparisonNode;
using expr::match::InNode;
using expr::match::Kind;
using expr::match::Node;

void AppendStored(std::string_view name, const Value& value, const expr::Collator& collator,
                  bson::Builder* out) {
  if (value.is_string()) {
    out->Append(name, collator.SortKey(value.AsString()));
  } else if (value.is_document() || value.is_array()) {
    value.is_array() ? out->BeginArray(name) : out->BeginDocument(name);
    for (const bson::Element& element : value.AsDocument()) {
      AppendStored(element.name(), element.value(), collator, out);
    }
    out->End();
  } else {
    out->Append(name, value);
  }
}

bool IsExactType(Type type) {
  switch (type) {
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128:
    case Type::kString:
    case Type::kSymbol:
    case Type::kBool:
    case Type::kDate:
    case Type::kTimestamp:
    case Type::kObjectId:
    case Type::kBinary:
    case Type::kDocument:
    case Type::kCode:
    case Type::kCodeWithScope:
    case Type::kMinKey:
    case Type::kMaxKey:
      return true;
    default:
      return false;
  }
}

bool IsCollatable(const Value& value) {
  return value.is_string() || value.is_document() || value.is_array() ||
         value.type() == Type::kSymbol;
}

class Translator {
 public:
  explicit Translator(const IndexPart& part)
      : part_(part),
        collator_(part.index->collator.get()),
        hashed_(part.holds() == store::PartHolds::kHash) {}

  FieldBounds Translate(const Node& node) {
    switch (node.kind()) {
      case Kind::kEq:
        Equality(static_cast<const ComparisonNode&>(node).operand());
        break;
      case Kind::kLt:
      case Kind::kLte:
      case Kind::kGt:
      case Kind::kGte:
        Inequality(static_cast<const ComparisonNode&>(node));
        break;
      case Kind::kIn:
        In(static_cast<const InNode&>(node));
        break;
      case Kind::kRegex:
        Regex(static_cast<const expr::match::RegexNode&>(node).regex());
        break;
      case Kind::kExists:
        Add(Interval::All());
        Loosen((part_.index->sparse && part_.index->keys.parts.size() == 1) ||
                       part_.index->keys.IsWildcard(part_.part)
                   ? Tightness::kExact
                   : Tightness::kFetch);
        break;
      case Kind::kMod:
        Add(NumberRange());
        Loosen(Tightness::kCovered);
        break;
      case Kind::kBitsAllSet:
      case Kind::kBitsAllClear:
      case Kind::kBitsAnySet:
      case Kind::kBitsAnyClear:
        Add(NumberRange());
        AddType(Type::kBinary);
        Loosen(Tightness::kFetch);
        break;
      case Kind::kType:
        Types(static_cast<const expr::match::TypeNode&>(node).types());
        break;
      case Kind::kGeo:
        Cells(static_cast<const expr::match::GeoNode&>(node).area());
        break;
      case Kind::kElemMatchValue:
        return ElemMatch(node);
      case Kind::kNot:
      case Kind::kNor:
        return Negation(*node.children()[0]);
      default:
        Add(Interval::All());
        Loosen(Tightness::kFetch);
        break;
    }
    bounds_.intervals.Unite();
    return std::move(bounds_);
  }

 private:
  void Add(Interval interval) { bounds_.intervals.Add(std::move(interval)); }
  void AddPoint(const Value& value) {
    bson::OwnedValue stored = AsStored(value, collator_);
    Add(Interval::Point(stored.value()));
  }
  void Loosen(Tightness tightness) { bounds_.tightness = std::max(bounds_.tightness, tightness); }

  void Equality(const Value& value) {
    if (hashed_) {
      Add(Interval::Point(value));  // hashed when the scan encodes it
      Loosen(Tightness::kFetch);
    } else if (value.is_array()) {
      // Arrays are stored element by element: the first is there if the array is.
      bson::View array = value.AsArray();
      array.empty() ? AddPoint(Value::Undefined()) : AddPoint(array.front().value());
      AddPoint(value);
      Loosen(Tightness::kFetch);
    } else if (value.nullish()) {
      AddPoint(Value::Null());  // a missing field is held as null, too
      Loosen(Tightness::kFetch);
    } else {
      AddPoint(value);
      Loosen(collator_ != nullptr && IsCollatable(value) ? Tightness::kFetch : Tightness::kExact);
    }
  }

  void Inequality(const ComparisonNode& node) {
    const Value& value = node.operand();
    bool upper = node.kind() == Kind::kLt || node.kind() == Kind::kLte;
    bool inclusive = node.kind() == Kind::kLte || node.kind() == Kind::kGte;
    if (value.is_number() && bson::IsNan(value)) {
      if (inclusive) {
        AddPoint(value);
      }
      return;
    }
    if (value.nullish()) {
      if (inclusive) {
        Equality(value);
      }
      return;
    }
    bson::OwnedValue stored = AsStored(value, collator_);
    if (upper) {
      LowEnd low = LowEndFor(value.type());
      Add(Interval::Range(low.value.value(), low.inclusive, stored.value(), inclusive));
    } else {
      HighEnd high = HighEndFor(value.type());
      Add(Interval::Range(stored.value(), inclusive, high.value.value(), high.inclusive));
    }
    bool exact = IsExactType(value.type()) && !(collator_ != nullptr && IsCollatable(value));
    Loosen(exact ? Tightness::kExact : Tightness::kFetch);
  }

  void In(const InNode& node) {
    for (const Value& value : node.values()) {
      Equality(value);
    }
    for (const auto& regex : node.regexes()) {
      Regex(*regex);
    }
  }

  void Regex(const expr::match::Regex& regex) {
    expr::match::RegexPrefix prefix = expr::match::PrefixOf(regex);
    if (prefix.prefix.empty()) {
      AddType(Type::kString);
    } else {
      std::string end = prefix.prefix;
      ++end.back();
      Add(Interval::Range(Value(std::string_view(prefix.prefix)), true,
                          Value(std::string_view(end)), false));
    }
    bson::Document same =
        bson::Builder().AppendRegex("", regex.pattern(), regex.options()).Finish();
    Add(Interval::Point(same.view().front().value()));
    Loosen(prefix.exact && !prefix.prefix.empty() ? Tightness::kExact : Tightness::kCovered);
  }

  void AddType(Type type) {
    LowEnd low = LowEndFor(type);
    HighEnd high = HighEndFor(type);
    Add(Interval::Range(low.value.value(), low.inclusive, high.value.value(), high.inclusive));
  }

  static Interval NumberRange() {
    return Interval::Range(Value(std::numeric_limits<double>::quiet_NaN()), true,
                           Value(std::numeric_limits<double>::infinity()), true);
  }

  void Types(const expr::match::TypeSet& types) {
    if (types.Has(Type::kArray)) {
      Add(Interval::All());
      Loosen(Tightness::kFetch);
      return;
    }
    for (int code = 1; code < 256; ++code) {
      auto type = static_cast<Type>(code);
      if (!types.Has(type)) {
        continue;
      }
      if (bson::CanonicalType(type) == bson::CanonicalType(Type::kInt32)) {
        Add(NumberRange());
      } else if (type == Type::kMinKey || type == Type::kMaxKey) {
        AddPoint(type == Type::kMinKey ? Value::MinKey() : Value::MaxKey());
      } else {
        AddType(type);
      }
    }
    Loosen(TightnessOf(types));
  }

  // Types that share a range of keys with others are told apart by the key; null and undefined
  // stand for missing fields and empty arrays, too; a collation hides what a string was.
  Tightness TightnessOf(const expr::match::TypeSet& types) const {
    if (types.Has(Type::kNull) || types.Has(Type::kUndefined) ||
        (collator_ != nullptr && (types.Has(Type::kString) || types.Has(Type::kDocument)))) {
      return Tightness::kFetch;
    }
    constexpr Type kNumbers[] = {Type::kInt32, Type::kInt64, Type::kDouble, Type::kDecimal128};
    const auto numbers = std::count_if(std::begin(kNumbers), std::end(kNumbers),
                                       [&](Type number) { return types.Has(number); });
    const bool some_numbers = numbers != 0 && numbers != std::ssize(kNumbers);
    return some_numbers || types.Has(Type::kString) != types.Has(Type::kSymbol)
               ? Tightness::kCovered
               : Tightness::kExact;
  }

  void Cells(const expr::geo::Area& area) {
    const store::CellKind& cells = *part_.spec().kind->cells;
    for (const expr::geo::KeyRange& range : cells.cover(area, *part_.index->keys.special)) {
      bson::OwnedValue low = cells.value(range.low);
      bson::OwnedValue high = cells.value(range.high);
      Add(Interval::Range(low.value(), true, high.value(), true));
    }
    Loosen(Tightness::kFetch);
  }

  FieldBounds ElemMatch(const Node& node) {
    FieldBounds all;
    all.intervals = IntervalList::All();
    all.tightness = Tightness::kFetch;
    for (const auto& child : node.children()) {
      all.intervals.IntersectWith(Translator(part_).Translate(*child).intervals);
    }
    return all;
  }

  FieldBounds Negation(const Node& child) {
    if (child.kind() == Kind::kExists) {
      AddPoint(Value::Null());
      Loosen(Tightness::kFetch);
      return std::move(bounds_);
    }
    FieldBounds inner = Translator(part_).Translate(child);
    if (AsksForNull(child)) {
      inner.tightness = Tightness::kExact;  // null and a missing field are both left out
    }
    inner.intervals.Complement();
    if (part_.multikey) {
      inner.tightness = Tightness::kFetch;
    }
    return inner;
  }

  const IndexPart& part_;
  const expr::Collator* collator_;
  bool hashed_;
  FieldBounds bounds_;
};

}  // namespace

bson::OwnedValue AsStored(const Value& value, const expr::Collator* collator) {
  if (collator == nullptr || !IsCollatable(value)) {
    return bson::OwnedValue(value);
  }
  bson::Builder out;
  AppendStored("", value, *collator, &out);
  bson::Document stored = out.Finish();
  return bson::OwnedValue(stored.view().front().value());
}

bool SameCollation(const expr::Collator* a, const expr::Collator* b) {
  if (a == nullptr || b == nullptr) {
    return a == b;
  }
  return a == b || a->spec().bytes() == b->spec().bytes();
}

bool AsksForNull(const Node& predicate) {
  switch (predicate.kind()) {
    case Kind::kEq:
    case Kind::kLte:
    case Kind::kGte:
      return static_cast<const ComparisonNode&>(predicate).operand().nullish();
    case Kind::kIn:
      return static_cast<const InNode&>(predicate).has_null();
    default:
      return false;
  }
}

FieldBounds BoundsOf(const Node& predicate, const IndexPart& part) {
  return Translator(part).Translate(predicate);
}

}  // namespace quire::plan
