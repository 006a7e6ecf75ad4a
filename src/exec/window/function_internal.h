// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error_codes.h"
#include "base/try.h"
#include "exec/window/function.h"

namespace quire::exec {

// What a function is parsed from.
struct WindowSpec {
  bson::Element function;
  const WindowBounds* bounds;
  WindowSort sort;
  const expr::Context* context;
};
using WindowFunctionPtr = std::unique_ptr<WindowFunction>;
using ParseWindow = Result<WindowFunctionPtr>(const WindowSpec& spec);

ParseWindow ParseRank, ParseDenseRank, ParseDocumentNumber, ParseShift;  // rank.cc
ParseWindow ParseDerivative, ParseIntegral;                              // calculus.cc
ParseWindow ParseExpMovingAvg, ParseLinearFill, ParseLocf;               // series.cc
ParseWindow ParseCovariancePop, ParseCovarianceSamp;                     // covariance.cc

// $sum, $avg, $count, $min and $max over windows whose beginning moves; null for other functions.
// REQUIRES: the function was found valid.
ParseWindow ParseSliding;  // sliding.cc

// $stdDevPop and $stdDevSamp over windows whose beginning moves.
ParseWindow ParseSlidingDeviation;  // deviation.cc

// A function that computes all its values before the first is asked for.
class WholePartitionFunction : public WindowFunction {
 public:
  Result<std::unique_ptr<WindowValues>> Start(Partition& partition) const final;

 protected:
  // Adds one value per row.
  virtual Status Compute(Partition& partition, CountedValues* results) const = 0;
};

Result<std::unique_ptr<expr::agg::Expression>> ParseWindowExpression(const bson::Value& spec,
                                                                     const expr::Context* context);

}  // namespace quire::exec
