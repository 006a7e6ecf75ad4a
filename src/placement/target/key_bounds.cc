// SPDX-License-Identifier: Apache-2.0
#include "placement/target/key_bounds.h"

#include <algorithm>
#include <utility>

#include "bson/compare.h"
#include "bson/hash/index_hash.h"
#include "expr/match/leaf.h"
#include "plan/bounds/bounds.h"
#include "plan/bounds/predicates.h"
#include "store/collection_info.h"

namespace quire::placement {

namespace {

using bson::Value;
using expr::match::Kind;
using expr::match::Node;
using expr::match::NodePtr;
using plan::Interval;
using plan::IntervalList;

// Beyond these an $or is left to the shards, and a product of $in's becomes one span.
constexpr size_t kMostBoxes = 1000;
constexpr size_t kMostSpans = 100'000;

// What a conjunction says about each field of the key.
struct Box {
  std::vector<IntervalList> fields;
  bool bounds_first = false;  // some condition bounds the first field
};

// The shard key as an index that holds no arrays and no collation.
store::IndexInfo PretendedIndex(const ShardKeyPattern& pattern) {
  store::IndexInfo index;
  index.key_pattern = pattern.document();
  index.keys = store::IndexKeySpec::FromPattern(pattern.document().view());
  return index;
}

bool HasStrings(const Value& value) {
  return value.is_string() || value.is_document() || value.is_array() ||
         value.type() == bson::Type::kSymbol;
}

// The value that a node demands of its path; missing when it demands none, or several may do.
Value DemandedValue(const Node& node) {
  if (node.kind() == Kind::kEq) {
    return static_cast<const expr::match::ComparisonNode&>(node).operand();
  }
  if (node.kind() == Kind::kIn) {
    const auto& in = static_cast<const expr::match::InNode&>(node);
    if (in.regexes().empty() && in.values().size() == 1) {
      return in.values().front();
    }
  }
  return {};
}

// The part of `path` below `prefix`; null when it does not lie there.
const char* Below(const std::string& path, const std::string& prefix) {
  const bool lies =
      path.size() > prefix.size() && path.starts_with(prefix) && path[prefix.size()] == '.';
  return lies ? path.c_str() + prefix.size() + 1 : nullptr;
}

// The value that the node demands of the field; missing when it demands none.
Value DemandedOf(const Node& node, const std::string& field) {
  const Value value = DemandedValue(node);
  if (value.missing() || node.path() == field) {
    return value;
  }
  const char* rest = Below(field, node.path());
  return rest != nullptr && value.is_document()
             ? bson::GetPath(value.AsDocument(), bson::FieldPath(rest))
             : Value();
}

// The values that the conjunction demands of the field.
void FindDemands(const Node& node, const std::string& field, std::vector<Value>* demands) {
  if (node.kind() == Kind::kAnd) {
    for (const NodePtr& child : node.children()) {
      FindDemands(*child, field, demands);
    }
  } else if (Value value = DemandedOf(node, field); !value.missing()) {
    demands->push_back(value);
  }
}

// The one value it demands; missing when it demands none, or several.
Value FindDemand(const Node& node, const std::string& field) {
  std::vector<Value> demands;
  FindDemands(node, field, &demands);
  const bool one =
      !demands.empty() && std::all_of(demands.begin(), demands.end(), [&](const Value& other) {
        return bson::Equal(demands.front(), other);
      });
  return one ? demands.front() : Value();
}

class BoxMaker {
 public:
  BoxMaker(const store::IndexInfo& index, const expr::Context& context)
      : index_(index), context_(context) {}

  // Nothing when some alternative does not bound the first field.
  std::optional<std::vector<Box>> Make(const Node& filter) const {
    std::vector<const Node*> alternatives;
    Box conjunction = OfConjunction(filter, &alternatives);
    std::vector<Box> boxes = {std::move(conjunction)};
    for (const Node* alternative : alternatives) {
      Narrow(*alternative, &boxes);
    }
    const bool bounded =
        std::all_of(boxes.begin(), boxes.end(), [](const Box& box) { return box.bounds_first; });
    return bounded ? std::make_optional(std::move(boxes)) : std::nullopt;
  }

 private:
  Box OfConjunction(const Node& filter, std::vector<const Node*>* alternatives) const {
    Box box;
    box.fields.assign(index_.keys.parts.size(), IntervalList::All());
    Flatten(filter, &box, alternatives);
    return box;
  }

  void Flatten(const Node& node, Box* box, std::vector<const Node*>* alternatives) const {
    switch (node.kind()) {
      case Kind::kAnd:
        for (const NodePtr& child : node.children()) {
          Flatten(*child, box, alternatives);
        }
        return;
      case Kind::kOr:
        alternatives->push_back(&node);
        return;
      case Kind::kAlwaysFalse:
        box->fields.front() = IntervalList();
        box->bounds_first = true;
        return;
      default:
        // The predicates of a conjunction are read from a list of shared nodes; this one is lent.
        Bound(NodePtr(NodePtr(), &node), box);
    }
  }

  void Bound(const NodePtr& node, Box* box) const {
    for (const plan::Predicate& predicate : plan::CollectPredicates({&node, 1})) {
      for (size_t i = 0; i < box->fields.size(); ++i) {
        const plan::IndexPart part{&index_, i, false};
        if (predicate.path == part.spec().path && plan::CanUseIndex(predicate, part, context_)) {
          box->fields[i].IntersectWith(plan::BoundsOf(predicate, part).intervals);
          box->bounds_first = box->bounds_first || i == 0;
        }
      }
    }
  }

  // Each box and each alternative of the $or together.
  void Narrow(const Node& any, std::vector<Box>* boxes) const {
    std::vector<Box> narrowed;
    for (const NodePtr& child : any.children()) {
      std::vector<const Node*> inner;
      Box alternative = OfConjunction(*child, &inner);
      std::vector<Box> parts = {std::move(alternative)};
      for (const Node* deeper : inner) {
        Narrow(*deeper, &parts);
      }
      for (const Box& part : parts) {
        for (const Box& box : *boxes) {
          narrowed.push_back(Both(box, part));
        }
      }
      if (narrowed.size() > kMostBoxes) {
        return;
      }
    }
    *boxes = std::move(narrowed);
  }

  static Box Both(const Box& a, const Box& b) {
    Box both = a;
    both.bounds_first = a.bounds_first || b.bounds_first;
    for (size_t i = 0; i < both.fields.size(); ++i) {
      both.fields[i].IntersectWith(b.fields[i]);
    }
    return both;
  }

  const store::IndexInfo& index_;
  const expr::Context& context_;
};

// Points of values become points of hashes; anything else says nothing about hashes.
// Whether it looks for words: a planner takes another index than the key's for that.
bool HasText(const Node& node) {
  const auto& children = node.children();
  return node.kind() == Kind::kText ||
         std::any_of(children.begin(), children.end(),
                     [](const NodePtr& child) { return HasText(*child); });
}

// The boxes of alternatives as one: what bounds a field in some of them, whatever the others say.
Box United(const std::vector<Box>& boxes) {
  Box united = boxes.front();
  for (size_t i = 0; i < united.fields.size(); ++i) {
    for (size_t n = 1; n < boxes.size(); ++n) {
      for (const Interval& interval : boxes[n].fields[i].intervals()) {
        united.fields[i].Add(interval);
      }
    }
    united.fields[i].Unite();
  }
  return united;
}

IntervalList Hashed(const IntervalList& values) {
  if (values.empty() || !values.IsPoints()) {
    return values.empty() ? IntervalList() : IntervalList::All();
  }
  IntervalList hashes;
  for (const Interval& point : values.intervals()) {
    hashes.Add(Interval::Point(Value(bson::IndexHash(point.low.value()))));
  }
  hashes.Unite();
  return hashes;
}

struct SpanBuilder {
  std::vector<Value> low;
  std::vector<Value> high;
};

ShardKey KeyOf(const ShardKeyPattern& pattern, const std::vector<Value>& values) {
  bson::Builder out;
  for (size_t i = 0; i < values.size(); ++i) {
    out.Append(pattern.parts()[i].name(), values[i]);
  }
  bson::Document key = out.Finish();
  return ShardKey::Of(key.view());
}

void Extend(const Interval& first, const Interval& last, SpanBuilder* span) {
  span->low.push_back(first.low.value());
  span->high.push_back(last.high.value());
}

// Spans are divided by the intervals of the first field that is not a single point; the fields
// behind it only narrow the ends.
void AddSpans(const ShardKeyPattern& pattern, const std::vector<IntervalList>& fields,
              std::vector<KeySpan>* spans) {
  if (std::any_of(fields.begin(), fields.end(), [](const auto& field) { return field.empty(); })) {
    return;
  }
  std::vector<SpanBuilder> builders(1);
  bool divided = false;
  for (const IntervalList& field : fields) {
    const auto& intervals = field.intervals();
    if (divided || intervals.size() == 1 || spans->size() + intervals.size() > kMostSpans) {
      for (SpanBuilder& builder : builders) {
        Extend(intervals.front(), intervals.back(), &builder);
      }
    } else {
      builders.assign(intervals.size(), SpanBuilder(builders.front()));
      for (size_t i = 0; i < intervals.size(); ++i) {
        Extend(intervals[i], intervals[i], &builders[i]);
      }
    }
    divided = divided || !field.IsPoint();
  }
  for (const SpanBuilder& builder : builders) {
    spans->push_back({KeyOf(pattern, builder.low), KeyOf(pattern, builder.high)});
  }
}

}  // namespace

std::optional<ShardKey> KeyOfFilter(const ShardKeyPattern& pattern, const Node& filter,
                                    const expr::Context& context) {
  std::vector<Value> values;
  for (const ShardKeyPattern::Part& part : pattern.parts()) {
    const Value value = FindDemand(filter, part.name());
    if (value.missing() || value.is_array()) {
      return std::nullopt;
    }
    if (context.collator != nullptr && HasStrings(value)) {
      return std::nullopt;
    }
    values.push_back(value.nullish() ? Value::Null() : value);
  }
  return pattern.KeyOfValues(values);
}

std::optional<std::vector<KeySpan>> SpansOfFilter(const ShardKeyPattern& pattern,
                                                  const Node& filter,
                                                  const expr::Context& context) {
  if (HasText(filter)) {
    return std::nullopt;
  }
  const store::IndexInfo index = PretendedIndex(pattern);
  std::optional<std::vector<Box>> boxes = BoxMaker(index, context).Make(filter);
  if (!boxes.has_value()) {
    return std::nullopt;
  }
  if (filter.kind() == Kind::kOr && boxes->size() > 1) {
    boxes = std::vector<Box>{United(*boxes)};
  }
  std::vector<KeySpan> spans;
  for (Box& box : *boxes) {
    if (pattern.is_hashed()) {
      IntervalList& hashed = box.fields[*pattern.hashed_part()];
      hashed = Hashed(hashed);
    }
    AddSpans(pattern, box.fields, &spans);
  }
  return spans;
}

}  // namespace quire::placement
