// SPDX-License-Identifier: Apache-2.0
//
// Query filters: parsed once into a tree, matched against documents in place.
#pragma once

#include <memory>
#include <string>

#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::match {

class Node;  // expr/match/node.h: the tree, for the planner

// What a match tells beside yes: the array index that the positional operator `$` stands for.
struct Details {
  std::string array_index;  // empty when no array was traversed
};

// Operators that some places refuse.
struct Allowed {
  bool where = true;        // else BadValue
  bool text = true;         // else BadValue
  bool expr = true;         // else QueryFeatureNotAllowed
  bool json_schema = true;  // else QueryFeatureNotAllowed
  bool near = true;         // else 5626500
  bool scripts = true;      // $function in $expr, else 4660800

  static Allowed InValidator();
  static Allowed InMatchStage();
  static Allowed InElemMatchProjection();
  static Allowed InArrayFilters();
};

// A compiled filter. Immutable and safe for concurrent use. `context` outlives it; the filter's
// bytes are copied.
class Filter {
 public:
  static Result<std::unique_ptr<Filter>> Parse(bson::View filter, const Context* context,
                                               const Allowed& allowed = {});
  // A filter of a tree, or of a part of one.
  explicit Filter(std::shared_ptr<const Node> root);
  ~Filter();

  // Errors come only from $expr and $where.
  Result<bool> Matches(bson::View document, const Metadata* metadata = nullptr,
                       Details* details = nullptr) const;

  const Node& root() const { return *root_; }
  const std::shared_ptr<const Node>& shared_root() const { return root_; }
  // {} : matches everything.
  bool trivial() const;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace quire::expr::match
