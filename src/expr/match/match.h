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

// A compiled filter. Immutable and safe for concurrent use. `context` outlives it; the filter's
// bytes are copied.
class Filter {
 public:
  static Result<std::unique_ptr<Filter>> Parse(bson::View filter, const Context* context);
  ~Filter();

  // Errors come only from $expr and $where.
  Result<bool> Matches(bson::View document, const Metadata* metadata = nullptr,
                       Details* details = nullptr) const;

  const Node& root() const { return *root_; }
  // {} : matches everything.
  bool trivial() const;

 private:
  Filter();
  bson::Document source_;
  std::unique_ptr<Node> root_;
};

}  // namespace quire::expr::match
