// SPDX-License-Identifier: Apache-2.0
//
// $sort, $skip and $limit, which rewrites join.
#pragma once

#include <memory>

#include "expr/sort/sort_key.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

class SortStage : public StageOf<StageKind::kSort> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            const BuildOptions& build) const override;
  void Explain(bson::Builder* out) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  bool LetsFilterPass(const std::set<std::string>&) const override { return limit_ == 0; }
  Spread spread() const override { return Spread::kMerged; }

  const expr::SortPattern& pattern() const { return pattern_; }
  bson::View document() const { return normal_.view(); }
  // At most this many rows are wanted of it; 0: all.
  int64_t limit() const { return limit_; }
  void set_limit(int64_t limit) { limit_ = limit; }

 private:
  bson::Document normal_;  // with 1 and -1 as ints
  expr::SortPattern pattern_;
  int64_t limit_ = 0;
};

// $skip or $limit.
class CutStage : public StageOf<StageKind::kCut> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            const BuildOptions& build) const override;
  void Explain(bson::Builder* out) const override { out->Append(name(), count_); }
  bool AddDependencies(std::set<std::string>*) const override { return true; }
  // Each shard has at most as many rows to give as are wanted of all; those skipped are of all.
  Spread spread() const override { return is_limit() ? Spread::kMerged : Spread::kOnce; }

  bool is_limit() const { return name() == "$limit"; }
  int64_t count() const { return count_; }
  void set_count(int64_t count) { count_ = count; }

 private:
  int64_t count_ = 0;
};

}  // namespace quire::pipeline
