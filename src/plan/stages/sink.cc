// SPDX-License-Identifier: Apache-2.0
//
// $out and $merge.
#include "base/try.h"
#include "exec/unary.h"
#include "plan/stages/lower_stage.h"

namespace quire::plan {

namespace {

// Drains its input into a sink; gives no rows.
class Drain final : public exec::Unary {
 public:
  Drain(OperatorPtr input, std::unique_ptr<DocumentSink> sink)
      : Unary(std::move(input)), sink_(std::move(sink)) {}

 protected:
  Result<bool> Produce(OpContext& op, exec::Row* row) override {
    for (;;) {
      RETURN_IF_ERROR(op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
      if (!more) {
        break;
      }
      RETURN_IF_ERROR(sink_->Write(op, row->document));
    }
    RETURN_IF_ERROR(sink_->Finish(op));
    return false;
  }

 private:
  std::unique_ptr<DocumentSink> sink_;
};

}  // namespace

Result<OperatorPtr> LowerSink(OpContext& op, const pipeline::SinkStage& stage, OperatorPtr input,
                              PipelineEnvironment& env) {
  ASSIGN_OR_RETURN(auto sink, env.OpenSink(op, stage.options()));
  return OperatorPtr(std::make_unique<Drain>(std::move(input), std::move(sink)));
}

}  // namespace quire::plan
