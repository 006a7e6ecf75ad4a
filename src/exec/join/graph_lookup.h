// SPDX-License-Identifier: Apache-2.0
//
// $graphLookup: each row with the documents reached from it by following a field.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bson/compare.h"
#include "exec/evaluation.h"
#include "exec/nested_field.h"
#include "exec/unary.h"

namespace quire::exec {

struct GraphLookupOptions {
  const expr::agg::Expression* start_with = nullptr;  // outlives the operator
  FieldPath connect_from;
  std::string connect_to;
  FieldPath as;
  FieldPath depth_field;  // empty: none
  std::optional<int64_t> max_depth;
};

class GraphLookup final : public Unary {
 public:
  // The documents of the other collection that `filter` matches.
  using Inner = std::function<Result<std::unique_ptr<Operator>>(OpContext& op, bson::View filter)>;

  // `context` outlives it. Error 40099 when more than op.memory_limit bytes are reached.
  GraphLookup(std::unique_ptr<Operator> input, GraphLookupOptions options, Inner inner,
              const expr::Context* context);

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  using ValueSet = std::unordered_set<bson::Value, bson::ValueHash, bson::ValueEqual>;
  struct Search;

  Status Explore(OpContext& op, Search* search);
  bson::Document FrontierFilter(const std::vector<bson::Value>& frontier) const;
  // Whether a value that is searched for, the one of connectToField, is null.
  bool HoldsNull(bson::View document) const;

  GraphLookupOptions options_;
  FieldPath connect_to_path_;
  Inner inner_;
  const bson::StringCompare* strings_;
  Evaluation evaluation_;
  // Documents that hold null were found for a null: later searches for null give those alone, and
  // not those without the field, as MongoDB's do, which remember what values were found for a
  // value.
  bool null_known_ = false;
  std::string document_;
};

}  // namespace quire::exec
