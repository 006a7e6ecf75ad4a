// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec/group/group.h"
#include "expr/accumulate/accumulator.h"
#include "expr/agg/expression.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

// Accumulated fields of $group, $bucket and $bucketAuto.
struct AccumulatedFields {
  std::vector<std::string> names;
  std::vector<std::unique_ptr<expr::Accumulator>> accumulators;

  // Adds {name: {$op: argument}}. Errors 40234, 40235, 40236, 40238, those of the accumulator.
  Status Add(const bson::Element& field, expr::agg::ParseScope& scope);
  std::vector<exec::GroupOptions::Field> Fields() const;
  bool AddDependencies(std::set<std::string>* fields) const;
  void Serialize(bson::Builder* out) const;
};

class GroupStage : public StageOf<StageKind::kGroup> {
 public:
  // What of its work is done here: all of it, or a half of it where documents lie on several
  // shards.
  enum class Part { kWhole, kGivesPartials, kMergesPartials };

  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            const BuildOptions& build) const override;
  void Explain(bson::Builder* out) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  bool Narrows() const override { return true; }
  Spread spread() const override { return Spread::kMerged; }

  // The top-level field that `path` ("_id" or "_id.name") of the result was taken from as it is;
  // empty when it was computed.
  std::string FieldOfKey(std::string_view path) const;
  // The condition on one of its keys as a filter on its input; nothing when it has none.
  std::optional<bson::Document> FilterOnInput(bson::View condition) const;
  // Whether it computes anything beside the distinct keys.
  bool accumulates() const { return !fields_.names.empty(); }

  void set_part(Part part) { part_ = part; }

 private:
  Part part_ = Part::kWhole;
  std::unique_ptr<expr::agg::Expression> id_;
  bson::Document empty_key_;  // see exec::GroupOptions
  AccumulatedFields fields_;
};

}  // namespace quire::pipeline
