// SPDX-License-Identifier: Apache-2.0
//
// $sort, $skip and $limit, which rewrites join.
#pragma once

#include <memory>

#include "expr/sort/sort_key.h"
#include "plan/stage.h"

namespace quire::plan {

class SortStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            PipelineEnvironment& env) const override;
  void Explain(bson::Builder* out) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;

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
class CutStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            PipelineEnvironment& env) const override;
  void Explain(bson::Builder* out) const override { out->Append(name(), count_); }
  bool AddDependencies(std::set<std::string>*) const override { return true; }

  bool is_limit() const { return name() == "$limit"; }
  int64_t count() const { return count_; }
  void set_count(int64_t count) { count_ = count; }

 private:
  int64_t count_ = 0;
};

}  // namespace quire::plan
