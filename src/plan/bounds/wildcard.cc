// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/wildcard.h"

#include <algorithm>
#include <optional>

#include "bson/path.h"
#include "expr/match/leaf.h"
#include "plan/bounds/predicates.h"
#include "store/keys/multikey.h"
#include "store/keys/wildcard.h"

namespace quire::plan {

namespace {

using bson::Value;
using expr::match::ComparisonNode;
using expr::match::Kind;
using expr::match::Node;
using store::IndexInfo;

void CollectPaths(std::span<const expr::match::NodePtr> nodes, std::set<std::string>* paths) {
  for (const Predicate& predicate : CollectPredicates(nodes)) {
    paths->insert(predicate.path);
  }
  for (const auto& node : nodes) {
    if (node->kind() == Kind::kOr || node->kind() == Kind::kAnd) {
      CollectPaths(node->children(), paths);
    }
  }
}

// The index knows no positions in arrays: a number after a step that met arrays may be one, or the
// name of a field. A path with more such numbers than this is not answered.
constexpr size_t kMostPositions = 8;

bool IsPosition(std::string_view part) {
  return bson::IsNumericPart(part) && (part.size() == 1 || part[0] != '0');
}

using PathSet = std::set<std::string>;

// Each path one step longer.
PathSet Longer(const PathSet& paths, std::string_view step) {
  PathSet longer;
  for (const std::string& path : paths) {
    longer.insert(path + (path.empty() ? "" : ".") + std::string(step));
  }
  return longer;
}

// What the value's path may be in the index: with each subset of its possible positions left out.
struct Readings {
  PathSet paths = {""};
  uint64_t multikey = 0;  // the bits of the steps that met arrays in some reading
};

// None: the index does not hold all that the path may reach. An array within an array is held as
// one value, whose elements have no entries of their own.
std::optional<Readings> ReadingsOf(const IndexInfo& index, const store::IndexKeySpec& keys) {
  const bson::FieldPath& path = keys.paths[keys.path_part + 1];
  const store::ArrayPaths& arrays = index.state->array_paths;
  Readings found;
  size_t positions = 0;
  bool below_array = false;
  for (size_t step = 0; step < path.size(); ++step) {
    PathSet longer = Longer(found.paths, path[step]);
    bool is_array = std::any_of(longer.begin(), longer.end(),
                                [&](const std::string& prefix) { return arrays.Has(prefix); });
    if (is_array) {
      found.multikey |= store::MultikeyBit(keys, keys.path_part + 1, step);
    }
    if (below_array && IsPosition(path[step])) {
      bool looks_inside =
          (step + 1 < path.size() && IsPosition(path[step + 1])) ||
          std::any_of(found.paths.begin(), found.paths.end(), [&](const std::string& prefix) {
            return arrays.Has(store::NestedArrayMark(prefix));
          });
      if (looks_inside || ++positions > kMostPositions) {
        return std::nullopt;
      }
      longer.merge(found.paths);
    }
    found.paths = std::move(longer);
    below_array = is_array;
  }
  bool held = std::all_of(found.paths.begin(), found.paths.end(), [&](const std::string& reading) {
    return keys.wildcard->Holds(reading);
  });
  return held ? std::optional(std::move(found)) : std::nullopt;
}

// The index as one on `path`; "" for the form without a path, whose part keeps its "$**".
std::shared_ptr<IndexInfo> FormOf(const IndexInfo& index, const std::string& path) {
  auto form = std::make_shared<IndexInfo>();
  form->spec = index.spec;
  form->name = index.name;
  form->keys = index.keys;
  if (!path.empty()) {
    size_t value_part = index.keys.path_part + 1;
    form->keys.parts[value_part].path = path;
    form->keys.paths[value_part] = bson::FieldPath(path);
  }
  bson::Builder pattern;
  for (const bson::Element& e : index.key_pattern.view()) {
    if (store::IsWildcardField(e.name())) {
      pattern.Append("$_path", 1)
          .Append(path.empty() ? e.name() : std::string_view(path), e.value());
    } else {
      pattern.Append(e);
    }
  }
  form->key_pattern = pattern.Finish();
  form->hidden = index.hidden;
  form->context = index.context;
  form->partial_filter = index.partial_filter;
  form->collator = index.collator;
  form->table = index.table;
  form->state = index.state;
  return form;
}

bool IsEdge(const Value& value) {
  return value.type() == bson::Type::kMinKey || value.type() == bson::Type::kMaxKey;
}

// Whether some document with fields lies within.
bool TakesInDocuments(const IntervalList& list) {
  bson::Document empty = bson::Builder().Finish();
  IntervalList documents(
      Interval::Range(Value(empty.view()), false, Value::Array(empty.view()), false));
  documents.IntersectWith(list);
  return !documents.intervals().empty();
}

bool LiesBelowOther(const std::string& path, const PathSet& paths) {
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& other) {
    return other != path && store::IsAtOrBelow(path, other);
  });
}

}  // namespace

std::vector<IndexChoice> ExpandWildcards(const QuerySpec& query, std::vector<IndexChoice> choices) {
  bool any = std::any_of(choices.begin(), choices.end(), [](const IndexChoice& choice) {
    return choice.info->keys.wildcard != nullptr;
  });
  if (!any) {
    return choices;
  }
  std::set<std::string> paths;
  if (query.filter != nullptr) {
    CollectPaths({&query.filter->shared_root(), 1}, &paths);
  }
  std::vector<IndexChoice> expanded;
  for (IndexChoice& choice : choices) {
    const store::IndexKeySpec& keys = choice.info->keys;
    if (keys.wildcard == nullptr) {
      expanded.push_back(std::move(choice));
      continue;
    }
    if (keys.path_part > 0) {
      auto form = FormOf(*choice.info, "");
      expanded.push_back({form.get(), 0, form});
    }
    for (const std::string& path : paths) {
      auto form = FormOf(*choice.info, path);
      if (auto readings = ReadingsOf(*choice.info, form->keys)) {
        expanded.push_back({form.get(), readings->multikey, form, std::move(readings->paths)});
      }
    }
  }
  return expanded;
}

bool WildcardCanUse(const Node& predicate) {
  switch (predicate.kind()) {
    case Kind::kEq: {
      const Value& operand = static_cast<const ComparisonNode&>(predicate).operand();
      bool compound = operand.is_document() || operand.is_array();
      return !compound || operand.AsDocument().empty();
    }
    case Kind::kLt:
    case Kind::kLte:
    case Kind::kGt:
    case Kind::kGte: {
      const Value& operand = static_cast<const ComparisonNode&>(predicate).operand();
      return !operand.is_document() && !operand.is_array() && !IsEdge(operand);
    }
    case Kind::kIn: {
      const auto& values = static_cast<const expr::match::InNode&>(predicate).values();
      return std::none_of(values.begin(), values.end(), [](const Value& value) {
        return value.is_document() || value.is_array();
      });
    }
    default:
      return true;
  }
}

bool SetPathBounds(const IndexChoice& choice, ScanBounds* bounds) {
  size_t path_part = choice.info->keys.path_part;
  IntervalList& paths = bounds->parts[path_part];
  IntervalList& values = bounds->parts[path_part + 1];
  paths = IntervalList();
  if (choice.readings.empty()) {
    bson::Document empty = bson::Builder().Finish();
    paths.Add(Interval::Point(Value::MinKey()));
    paths.Add(Interval::Range(Value(std::string_view()), true, Value(empty.view()), false));
    return false;
  }
  bool below = TakesInDocuments(values);
  for (const std::string& path : choice.readings) {
    if (below && LiesBelowOther(path, choice.readings)) {
      continue;
    }
    paths.Add(Interval::Point(Value(std::string_view(path))));
    if (below) {
      std::string low = path + ".";
      std::string high = path + "/";
      paths.Add(Interval::Range(Value(std::string_view(low)), true, Value(std::string_view(high)),
                                false));
    }
  }
  paths.Unite();
  if (below) {
    values = IntervalList::All();
  }
  return below;
}

}  // namespace quire::plan
