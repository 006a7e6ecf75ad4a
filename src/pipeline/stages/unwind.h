// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "exec/unwind.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

class UnwindStage : public StageOf<StageKind::kUnwind> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            const BuildOptions& build) const override;
  void Explain(bson::Builder* out) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  bool LetsFilterPass(const std::set<std::string>& fields) const override;
  Spread spread() const override { return Spread::kEach; }

  const exec::UnwindOptions& options() const { return options_; }

 private:
  Status ParsePath(const bson::Value& path);
  Status ParseIndex(const bson::Value& path);

  exec::UnwindOptions options_;
  std::string path_;  // with its dollar
  std::string index_;
};

}  // namespace quire::pipeline
