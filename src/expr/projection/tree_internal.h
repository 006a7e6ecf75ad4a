// SPDX-License-Identifier: Apache-2.0
//
// The tree behind projections: one node per document level. Private to expr/projection.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "expr/agg/expression.h"
#include "expr/match/match.h"
#include "expr/projection/projection.h"

namespace quire::expr::projection {

enum class Mode {
  kInclusion,  // only what is named
  kExclusion,  // all but what is named
};

// {$slice: n} or {$slice: [skip, limit]}
struct Slice {
  bool has_skip = false;
  int64_t skip = 0;
  int64_t limit = 0;
};

class TreeNode;

// What happens to one field.
struct Child {
  enum class Kind { kInclude, kExclude, kNode, kExpression, kSlice, kElemMatch };

  std::string name;
  Kind kind = Kind::kInclude;
  bool positional = false;  // the positional operator stands at the end of this path
  bool computes = false;    // an expression, or a node with one below
  std::unique_ptr<TreeNode> node;
  std::unique_ptr<agg::Expression> expression;
  std::unique_ptr<match::Filter> filter;  // $elemMatch
  Slice slice;
};

// Children in the order of the specification.
class TreeNode {
 public:
  // Adds `leaf` at the dotted path, making nodes on the way. Error 31249 or 31250 when one path is
  // a prefix of another.
  Status Add(std::string_view path, Child leaf);

  const std::vector<Child>& children() const { return children_; }
  // Null when there is none; `*position` is its place among the children.
  const Child* Find(std::string_view name, size_t* position) const;
  Child* FindOrNull(std::string_view name);
  // Some child is computed.
  bool computes() const { return computes_; }

 private:
  // The child under its name at the end.
  Child* Append(std::string_view name, Child child);
  Status AddAt(std::string_view full_path, std::string_view rest, Child leaf);

  using Index = std::unordered_map<std::string, size_t, KeyedStringHash, std::equal_to<>>;

  // A node is small: a short specification may have one for every other byte.
  std::vector<Child> children_;
  std::unique_ptr<Index> index_;  // places by name, only when there are many
  bool computes_ = false;
};

// What applying needs to know about the document at hand.
struct ApplyState {
  Mode mode = Mode::kInclusion;
  agg::EvalContext* eval = nullptr;  // set when the tree computes
  bson::View root;
  std::string_view array_index;  // what the positional operator stands for
  bool positional_done = false;
};

// Appends the projected fields of `document` to the open level of *out.
Status ApplyNode(const TreeNode& node, bson::View document, ApplyState& state, bson::Builder* out);

// A parsed specification.
struct Tree {
  Mode mode = Mode::kExclusion;
  TreeNode root;
  bool positional = false;
  bool computes = false;
};

// The Projection over a tree.
std::unique_ptr<Projection> MakeProjection(Tree tree, const Context* context,
                                           const match::Filter* filter);

}  // namespace quire::expr::projection
