// SPDX-License-Identifier: Apache-2.0
//
// $match, and what can be read off a filter.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expr/match/match.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

class MatchStage : public StageOf<StageKind::kMatch> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            const BuildOptions& build) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  Spread spread() const override { return Spread::kEach; }
  bool LetsFilterPass(const std::set<std::string>&) const override { return !StaysInPlace(); }

  bson::View filter() const { return spec().AsDocument(); }
  // Whether it must stand where it was written: its operators look at more than the documents.
  bool StaysInPlace() const;

 private:
  std::unique_ptr<expr::match::Filter> filter_;
};

// A $match by `filter`, made by rewrites.
Result<StagePtr> MakeMatch(bson::View filter, const StageContext& context);

// Whether one of the operators stands somewhere in the filter.
bool FilterUses(bson::View filter, const std::vector<std::string_view>& operators);

// Adds the top-level fields a filter reads; false when it may read any ($expr, $where, $text...).
bool AddFilterFields(bson::View filter, std::set<std::string>* fields);

}  // namespace quire::pipeline
