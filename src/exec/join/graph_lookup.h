// SPDX-License-Identifier: Apache-2.0
//
// $graphLookup: each row with the documents reached from it by following a field.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/memory_charge.h"
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
  ~GraphLookup() override;

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  using ValueSet = std::unordered_set<bson::Value, bson::ValueHash, bson::ValueEqual>;
  struct Search;

  Status Start();
  Status ReadFrontier(OpContext& op, Search* search);
  void Show(const Search& search, Row* row);
  bson::Document FrontierFilter(const std::vector<bson::Value>& frontier) const;

  GraphLookupOptions options_;
  Inner inner_;
  const bson::StringCompare* strings_;
  Evaluation evaluation_;
  Row outer_;
  std::unique_ptr<Search> search_;  // of the outer row; null when it is done
  std::string document_;
  MemoryCharge charge_;  // for it
};

}  // namespace quire::exec
