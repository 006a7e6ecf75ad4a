// SPDX-License-Identifier: Apache-2.0
//
// $covariancePop and $covarianceSamp.
#include "base/current_op.h"
#include "bson/number.h"
#include "exec/window/function_internal.h"
#include "expr/summation.h"

namespace quire::exec {

namespace {

class Covariance final : public WholePartitionFunction {
 public:
  Covariance(std::unique_ptr<expr::agg::Expression> pair, bool sample, WindowBounds bounds)
      : pair_(std::move(pair)), sample_(sample), bounds_(std::move(bounds)) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    static const std::vector<bson::Value> kNoKeys;
    ASSIGN_OR_RETURN(auto frames, ComputeFrames(bounds_, partition.size(),
                                                bounds_.range ? partition.keys() : kNoKeys));
    CountedValues pairs;
    RETURN_IF_ERROR(partition.EvaluateAll(*pair_, &pairs));
    for (const Frame& frame : frames) {
      RETURN_IF_ERROR(CheckCurrentOp());
      RETURN_IF_ERROR(results->Add(Over(frame, pairs)));
    }
    return Status::Ok();
  }

 private:
  static bool Numbers(const bson::Value& pair, bson::Value* x, bson::Value* y) {
    if (!pair.is_array()) {
      return false;
    }
    bson::View items = pair.AsArray();
    *x = items["0"];
    *y = items["1"];
    return items.Count() == 2 && x->is_number() && y->is_number();
  }
  // Sums and the sum of products of deviations from the means so far. Pairs with an infinity or NaN
  // are added up apart, since rows may leave the frame again.
  struct State {
    int64_t count = 0;
    expr::Summation sum_x;
    expr::Summation sum_y;
    expr::Summation products;
    double not_finite = 0;

    static bson::Value Mean(const expr::Summation& sum, int64_t count) {
      return count == 0 ? bson::Value(int32_t{0})
                        : bson::Divide(sum.Sum(), bson::Value(static_cast<double>(count)));
    }
    void Add(const bson::Value& x, const bson::Value& y) {
      bson::Value delta = bson::Subtract(x, Mean(sum_x, count));
      ++count;
      sum_x.Add(x);
      sum_y.Add(y);
      products.Add(bson::Multiply(delta, bson::Subtract(y, Mean(sum_y, count))));
    }
  };

  bson::Value Over(const Frame& frame, const CountedValues& pairs) const {
    State state;
    bson::Value x;
    bson::Value y;
    for (size_t i = frame.first; i < frame.second; ++i) {
      if (!Numbers(pairs[i], &x, &y)) {
        continue;
      }
      if (bson::IsFinite(x) && bson::IsFinite(y)) {
        state.Add(x, y);
      } else {
        state.not_finite += bson::ToDouble(x) + bson::ToDouble(y);
      }
    }
    if (state.count == (sample_ ? 1 : 0) || state.count == 0) {
      return bson::Value::Null();
    }
    if (state.count == 1) {
      return bson::Value(0.0);
    }
    if (state.not_finite != 0) {
      return bson::Value(state.not_finite);
    }
    auto n = static_cast<double>(sample_ ? state.count - 1 : state.count);
    return bson::Divide(state.products.Sum(), bson::Value(n));
  }

  std::unique_ptr<expr::agg::Expression> pair_;
  bool sample_;
  WindowBounds bounds_;
};

Result<WindowFunctionPtr> ParseCovariance(const WindowSpec& spec, bool sample) {
  ASSIGN_OR_RETURN(auto pair, ParseWindowExpression(spec.function.value(), spec.context));
  return WindowFunctionPtr(std::make_unique<Covariance>(
      std::move(pair), sample, spec.bounds ? *spec.bounds : WindowBounds()));
}

}  // namespace

Result<WindowFunctionPtr> ParseCovariancePop(const WindowSpec& spec) {
  return ParseCovariance(spec, false);
}
Result<WindowFunctionPtr> ParseCovarianceSamp(const WindowSpec& spec) {
  return ParseCovariance(spec, true);
}

}  // namespace quire::exec
