// SPDX-License-Identifier: Apache-2.0
#include "plan/wildcard.h"

#include <algorithm>
#include <set>

#include "bson/path.h"
#include "expr/match/leaf.h"
#include "store/multikey.h"
#include "store/wildcard.h"

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

// The bits of the path's steps that met arrays. False: a number after such a step may be a position
// in the array, which the index knows nothing of.
bool ArraySteps(const IndexInfo& index, const std::string& path, const store::IndexKeySpec& keys,
                uint64_t* bits) {
  std::string prefix;
  bson::FieldPath steps(path);
  for (size_t step = 0; step < steps.size(); ++step) {
    if (*bits != 0 && bson::IsNumericPart(steps[step])) {
      return false;
    }
    prefix += (step > 0 ? "." : "") + std::string(steps[step]);
    if (index.state->array_paths.Has(prefix)) {
      *bits |= store::MultikeyBit(keys, keys.path_part + 1, step);
    }
  }
  return true;
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

}  // namespace

std::vector<IndexChoice> ExpandWildcards(const Query& query, std::vector<IndexChoice> choices) {
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
      if (!keys.wildcard->Holds(path)) {
        continue;
      }
      auto form = FormOf(*choice.info, path);
      uint64_t bits = 0;
      if (ArraySteps(*choice.info, path, form->keys, &bits)) {
        expanded.push_back({form.get(), bits, form});
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

bool SetPathBounds(const IndexInfo& index, ScanBounds* bounds) {
  const store::IndexKeySpec& keys = index.keys;
  const std::string& path = keys.parts[keys.path_part + 1].path;
  IntervalList& paths = bounds->parts[keys.path_part];
  IntervalList& values = bounds->parts[keys.path_part + 1];
  if (store::IsWildcardField(path)) {
    bson::Document empty = bson::Builder().Finish();
    paths = IntervalList(Interval::Point(Value::MinKey()));
    paths.Add(Interval::Range(Value(std::string_view()), true, Value(empty.view()), false));
    return false;
  }
  paths = IntervalList(Interval::Point(Value(std::string_view(path))));
  if (!TakesInDocuments(values)) {
    return false;
  }
  std::string low = path + ".";
  std::string high = path + "/";
  paths.Add(
      Interval::Range(Value(std::string_view(low)), true, Value(std::string_view(high)), false));
  values = IntervalList::All();
  return true;
}

}  // namespace quire::plan
