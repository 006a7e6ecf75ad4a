// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "exec/unwind.h"
#include "plan/stage.h"

namespace quire::plan {

class UnwindStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            PipelineEnvironment& env) const override;
  void Explain(bson::Builder* out) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;

  const exec::UnwindOptions& options() const { return options_; }

 private:
  Status ParsePath(const bson::Value& path);
  Status ParseIndex(const bson::Value& path);

  exec::UnwindOptions options_;
  std::string path_;  // with its dollar
  std::string index_;
};

}  // namespace quire::plan
