// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/predicates.h"

namespace quire::plan {

namespace {

using expr::match::Kind;
using expr::match::Node;

// Deeper nests of $elemMatch are answered by the documents alone.
constexpr size_t kMostScopes = 32;

std::string Join(const std::string& prefix, const std::string& path) {
  if (prefix.empty() || path.empty()) {
    return prefix + path;
  }
  return prefix + "." + path;
}

void Collect(const Node& node, const std::string& prefix, std::vector<ElemMatchScope>& scopes,
             size_t child, std::vector<Predicate>* out) {
  switch (node.kind()) {
    case Kind::kAnd:
      for (const auto& member : node.children()) {
        Collect(*member, prefix, scopes, child, out);
      }
      return;
    case Kind::kElemMatchObject: {
      if (scopes.size() == kMostScopes) {
        return;
      }
      std::string path = Join(prefix, node.path());
      scopes.push_back({&node, path});
      Collect(*node.children()[0], path, scopes, child, out);
      scopes.pop_back();
      return;
    }
    case Kind::kExpr:
      for (ExprComparison& comparison : ComparisonsOf(node)) {
        std::string path = comparison.path;
        out->push_back({&node, std::move(path), scopes, child, false,
                        std::make_shared<const ExprComparison>(std::move(comparison))});
      }
      return;
    default: {
      bool single_nor = node.kind() == Kind::kNor && node.children().size() == 1;
      const std::string& path = single_nor ? node.children()[0]->path() : node.path();
      if (!path.empty()) {
        out->push_back({&node, Join(prefix, path), scopes, child, false, nullptr});
      }
      return;
    }
  }
}

}  // namespace

const Node* Predicate::ScopeAt(std::string_view prefix) const {
  for (const ElemMatchScope& scope : scopes) {
    if (scope.path == prefix) {
      return scope.node;
    }
  }
  return nullptr;
}

bool CanUseIndex(const Predicate& predicate, const IndexPart& part, const expr::Context& context) {
  return predicate.comparison != nullptr
             ? CanUseIndex(*predicate.comparison, part, context)
             : CanUseIndex(*predicate.node, part, !predicate.scopes.empty(), context);
}

FieldBounds BoundsOf(const Predicate& predicate, const IndexPart& part) {
  return predicate.comparison != nullptr ? BoundsOf(*predicate.comparison, part)
                                         : BoundsOf(*predicate.node, part);
}

std::vector<Predicate> CollectPredicates(std::span<const expr::match::NodePtr> conjunction) {
  std::vector<Predicate> predicates;
  std::vector<ElemMatchScope> scopes;
  for (size_t i = 0; i < conjunction.size(); ++i) {
    Collect(*conjunction[i], "", scopes, i, &predicates);
  }
  return predicates;
}

const expr::match::Node* FirstOfKind(const expr::match::Node& node, expr::match::Kind kind) {
  if (node.kind() == kind) {
    return &node;
  }
  for (const auto& child : node.children()) {
    if (const expr::match::Node* found = FirstOfKind(*child, kind)) {
      return found;
    }
  }
  return nullptr;
}

std::shared_ptr<const expr::match::Filter> Conjunction(std::vector<expr::match::NodePtr> members) {
  if (members.empty()) {
    return nullptr;
  }
  if (members.size() == 1) {
    return std::make_shared<expr::match::Filter>(std::move(members[0]));
  }
  return std::make_shared<expr::match::Filter>(
      std::make_shared<expr::match::AndNode>(std::move(members)));
}

}  // namespace quire::plan
