// SPDX-License-Identifier: Apache-2.0
//
// $addFields and $set: fields computed from a document and written into it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expr/agg/expression.h"
#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// Checks a dotted path as stages take it. Errors 40352, 40353, 15998, 16410, Overflow.
Status CheckFieldPath(std::string_view path);

// Immutable and safe for concurrent use. `context` outlives it; the specification's bytes are
// copied.
class AddFields {
 public:
  // Errors 40176 (conflicting paths), 40181, 40183, those of paths and of expressions. With
  // `defer_errors` a constant whose value is an error fails in Apply, not here.
  static Result<std::unique_ptr<AddFields>> Parse(bson::View spec, const Context* context,
                                                  bool defer_errors = false);
  ~AddFields();

  // Appends the document `eval.root` with the fields added to *out: existing ones keep their
  // place, new ones follow in the specification's order; arrays are entered element by element.
  Status Apply(agg::EvalContext& eval, std::string* out) const;
  // Adds the top-level fields its expressions read; false when they may read any.
  bool AddDependencies(std::set<std::string>* fields) const;
  // Top-level fields it writes.
  std::vector<std::string_view> Written() const;
  // Appends the specification with expressions in normalised form as a document named `name`.
  void Serialize(std::string_view name, bson::Builder* out) const;

 private:
  struct Node;
  AddFields();
  Status ParseInto(bson::View spec, Node* at, agg::ParseScope* scope, int depth);
  Status ParseField(const bson::Element& field, bool nested, Node* at, agg::ParseScope* scope,
                    int depth);
  static Status WriteObject(const Node& node, bson::View object, agg::EvalContext& eval,
                            std::string* out);
  static Status WriteValue(const Node& node, std::string_view name, const bson::Value& old,
                           agg::EvalContext& eval, std::string* out);

  bson::Document spec_;
  std::unique_ptr<Node> root_;
};

}  // namespace quire::expr
