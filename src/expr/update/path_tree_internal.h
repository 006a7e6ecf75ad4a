// SPDX-License-Identifier: Apache-2.0
//
// The changes of an update as a tree over field paths: {$set: {"a.b": 1}, $inc: {"a.$[x].n": 1}}
// becomes one walk down the document.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expr/update/array_filter_internal.h"
#include "expr/update/modifier_internal.h"
#include "quire/status.h"

namespace quire::expr::update {

// Orders children as MongoDB applies them: numbers first, by value, then names by bytes.
struct ComponentLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

// The index an all-digits component stands for; false when it is none (or beyond 32 bits).
bool ParseIndex(std::string_view component, uint32_t* index);

struct Node;
using NodePtr = std::shared_ptr<Node>;
using Children = std::map<std::string, NodePtr, ComponentLess>;

struct Node {
  enum class Kind { kObject, kArray, kLeaf };
  Kind kind = Kind::kObject;

  // kObject: by field name. kArray: by filter identifier, "" for $[].
  Children children;
  NodePtr positional;  // kObject: what follows `$`

  // kLeaf: a modifier with its row, or one end of a rename.
  const ModifierRow* row = nullptr;
  std::shared_ptr<const Modifier> modifier;
  enum class RenameEnd { kNone, kSource, kTarget };
  RenameEnd rename_end = RenameEnd::kNone;
  size_t rename = 0;  // index into the update's renames

  bool creates() const { return rename_end == RenameEnd::kTarget || (row && row->creates); }
};

// Splits at dots; keeps empty components.
std::vector<std::string_view> SplitPath(std::string_view path);

// "$[x]" -> true and "x".
bool IsFilterComponent(std::string_view component, std::string_view* identifier);

// EmptyFieldName when a component is empty: operators take none, but a filter's path may have them.
Status CheckNames(std::string_view path);

// Adds `leaf` at `path` below `root`, whose identifiers must be in *filters and are marked as used
// there. Errors: BadValue, ConflictingUpdateOperators.
Status AddLeaf(Node* root, std::string_view path, NodePtr leaf, ArrayFilters* filters);

// What `a` and `b` do together at `path`. Error: ConflictingUpdateOperators.
Result<NodePtr> MergeNodes(const NodePtr& a, const NodePtr& b, const std::string& path);

}  // namespace quire::expr::update
