// SPDX-License-Identifier: Apache-2.0
//
// Standard deviations over sliding windows. As the server computes them there, numbers count as
// doubles, one number has the deviation int 0, and anything not finite makes the result null.
#include <cmath>

#include "base/current_op.h"
#include "bson/number.h"
#include "exec/window/function_internal.h"

namespace quire::exec {

namespace {

class SlidingDeviation final : public WholePartitionFunction {
 public:
  SlidingDeviation(std::unique_ptr<expr::agg::Expression> input, bool sample, WindowBounds bounds)
      : input_(std::move(input)), sample_(sample), bounds_(std::move(bounds)) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    static const std::vector<bson::Value> kNoKeys;
    ASSIGN_OR_RETURN(auto frames, ComputeFrames(bounds_, partition.size(),
                                                bounds_.range ? partition.keys() : kNoKeys));
    CountedValues inputs;
    RETURN_IF_ERROR(partition.EvaluateAll(*input_, &inputs));
    for (const Frame& frame : frames) {
      RETURN_IF_ERROR(CheckCurrentOp());
      RETURN_IF_ERROR(results->Add(Over(frame, inputs)));
    }
    return Status::Ok();
  }

 private:
  bson::Value Over(const Frame& frame, const CountedValues& inputs) const {
    int64_t count = 0;
    double mean = 0;
    double squares = 0;
    for (size_t i = frame.first; i < frame.second; ++i) {
      bson::Value input = inputs[i];
      if (!input.is_number()) {
        continue;
      }
      double number = bson::ToDouble(input);
      if (!std::isfinite(number)) {
        return bson::Value::Null();
      }
      ++count;
      double delta = number - mean;
      mean += delta / static_cast<double>(count);
      squares += delta * (number - mean);
    }
    if (count <= (sample_ ? 1 : 0)) {
      return bson::Value::Null();
    }
    if (count == 1) {
      return bson::Value(int32_t{0});
    }
    return bson::Value(std::sqrt(squares / static_cast<double>(sample_ ? count - 1 : count)));
  }

  std::unique_ptr<expr::agg::Expression> input_;
  bool sample_;
  WindowBounds bounds_;
};

}  // namespace

Result<WindowFunctionPtr> ParseSlidingDeviation(const WindowSpec& spec) {
  ASSIGN_OR_RETURN(auto input, ParseWindowExpression(spec.function.value(), spec.context));
  return WindowFunctionPtr(std::make_unique<SlidingDeviation>(
      std::move(input), spec.function.name() == "$stdDevSamp", *spec.bounds));
}

}  // namespace quire::exec
