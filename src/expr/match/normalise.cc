// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "expr/match/elem_match.h"
#include "expr/match/leaf.h"
#include "expr/match/parse_internal.h"

namespace quire::expr::match {
namespace {

bool IsTrue(const Node& node) {
  return node.kind() == Kind::kAlwaysTrue || (node.kind() == Kind::kAnd && node.children().empty());
}

void SortByShape(std::vector<NodePtr>* children) {
  std::stable_sort(children->begin(), children->end(),
                   [](const NodePtr& a, const NodePtr& b) { return CompareShape(*a, *b) < 0; });
}

// The children normalised, with those of the same kind as their parent taken apart.
std::vector<NodePtr> Flatten(Kind kind, std::span<const NodePtr> children) {
  std::vector<NodePtr> flat;
  for (const NodePtr& original : children) {
    NodePtr child = Normalise(original);
    if (child->kind() == kind) {
      flat.insert(flat.end(), child->children().begin(), child->children().end());
    } else {
      flat.push_back(std::move(child));
    }
  }
  return flat;
}

NodePtr NormaliseAnd(const Node& node) {
  std::vector<NodePtr> children = Flatten(Kind::kAnd, node.children());
  std::erase_if(children, [](const NodePtr& child) { return IsTrue(*child); });
  for (const NodePtr& child : children) {
    if (child->kind() == Kind::kAlwaysFalse) {
      return child;
    }
  }
  SortByShape(&children);
  return MakeAnd(std::move(children));
}

// The values and expressions of an equality, $in or $regex.
void CollectAlternatives(const Node& node, std::vector<bson::OwnedValue>* values,
                         std::vector<std::shared_ptr<const Regex>>* regexes) {
  if (node.kind() == Kind::kEq) {
    values->emplace_back(static_cast<const ComparisonNode&>(node).operand());
  } else if (node.kind() == Kind::kRegex) {
    regexes->push_back(static_cast<const RegexNode&>(node).shared_regex());
  } else {
    const auto& in = static_cast<const InNode&>(node);
    for (const bson::Value& value : in.values()) {
      values->emplace_back(value);
    }
    regexes->insert(regexes->end(), in.regexes().begin(), in.regexes().end());
  }
}

bool IsAlternative(const Node& node) {
  if (node.kind() == Kind::kEq) {
    return static_cast<const ComparisonNode&>(node).operand().type() != bson::Type::kRegex;
  }
  return node.kind() == Kind::kIn || node.kind() == Kind::kRegex;
}

const Collator* CollatorOf(const Node& node) {
  if (node.kind() == Kind::kEq) {
    return static_cast<const ComparisonNode&>(node).collator();
  }
  return node.kind() == Kind::kIn ? static_cast<const InNode&>(node).collator() : nullptr;
}

// {$or: [{a: 1}, {a: 2}]} is {a: {$in: [1, 2]}}.
void MergeEqualities(std::vector<NodePtr>* children) {
  std::map<std::string, std::vector<NodePtr>> by_path;
  for (const NodePtr& child : *children) {
    if (IsAlternative(*child)) {
      by_path[child->path()].push_back(child);
    }
  }
  std::erase_if(*children, [&](const NodePtr& child) {
    return IsAlternative(*child) && by_path[child->path()].size() > 1;
  });
  for (const auto& [path, nodes] : by_path) {
    if (nodes.size() < 2) {
      continue;
    }
    std::vector<bson::OwnedValue> values;
    std::vector<std::shared_ptr<const Regex>> regexes;
    const Collator* collator = nullptr;
    for (const NodePtr& node : nodes) {
      CollectAlternatives(*node, &values, &regexes);
      collator = collator != nullptr ? collator : CollatorOf(*node);
    }
    children->push_back(
        std::make_shared<InNode>(path, std::move(values), std::move(regexes), collator));
  }
}

NodePtr NormaliseOr(const Node& node) {
  std::vector<NodePtr> children = Flatten(Kind::kOr, node.children());
  for (const NodePtr& child : children) {
    if (IsTrue(*child)) {
      return std::make_shared<ConstantNode>(true);
    }
  }
  std::erase_if(children, [](const NodePtr& child) { return child->kind() == Kind::kAlwaysFalse; });
  if (children.empty()) {
    return std::make_shared<ConstantNode>(false);
  }
  MergeEqualities(&children);
  if (children.size() == 1) {
    return Normalise(children[0]);
  }
  SortByShape(&children);
  return std::make_shared<OrNode>(std::move(children));
}

NodePtr NormaliseNor(const Node& node) {
  std::vector<NodePtr> children;
  for (const NodePtr& child : node.children()) {
    children.push_back(Normalise(child));
  }
  SortByShape(&children);
  return std::make_shared<NorNode>(std::move(children));
}

NodePtr NormaliseNot(const Node& node) {
  NodePtr child = Normalise(node.children()[0]);
  if (child->kind() == Kind::kNot) {
    return child->children()[0];
  }
  if (child->kind() == Kind::kAlwaysFalse || IsTrue(*child)) {
    return std::make_shared<ConstantNode>(child->kind() == Kind::kAlwaysFalse);
  }
  return std::make_shared<NotNode>(std::move(child));
}

NodePtr NormaliseIn(NodePtr node) {
  const auto& in = static_cast<const InNode&>(*node);
  if (in.values().size() == 1 && in.regexes().empty()) {
    return std::make_shared<ComparisonNode>(Kind::kEq, in.path(), in.values()[0], in.collator());
  }
  if (in.values().empty() && in.regexes().size() == 1) {
    return std::make_shared<RegexNode>(in.path(), in.regexes()[0]);
  }
  return node;
}

NodePtr NormaliseElemMatchValue(const Node& node) {
  std::vector<NodePtr> conditions;
  for (const NodePtr& child : node.children()) {
    conditions.push_back(Normalise(child));
  }
  SortByShape(&conditions);
  return std::make_shared<ElemMatchValueNode>(node.path(), std::move(conditions));
}

}  // namespace

NodePtr Normalise(NodePtr node) {
  switch (node->kind()) {
    case Kind::kAnd:
      return NormaliseAnd(*node);
    case Kind::kOr:
      return NormaliseOr(*node);
    case Kind::kNor:
      return NormaliseNor(*node);
    case Kind::kNot:
      return NormaliseNot(*node);
    case Kind::kIn:
      return NormaliseIn(std::move(node));
    case Kind::kElemMatchObject:
      return std::make_shared<ElemMatchObjectNode>(node->path(), Normalise(node->children()[0]));
    case Kind::kElemMatchValue:
      return NormaliseElemMatchValue(*node);
    default:
      return node;
  }
}

}  // namespace quire::expr::match
