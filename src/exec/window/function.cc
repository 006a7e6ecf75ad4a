// SPDX-License-Identifier: Apache-2.0
#include "exec/window/function.h"

#include "base/current_op.h"
#include "exec/nested_field.h"
#include "exec/window/function_internal.h"

namespace quire::exec {

const std::vector<bson::Value>& Partition::keys() {
  if (keys_.empty() && !sort_.empty()) {
    FieldPath path = SplitFieldPath(sort_.parts()[0].path);
    for (size_t i = 0; i < rows_.size(); ++i) {
      keys_.push_back(GetNested(rows_.At(i), path));
    }
  }
  return keys_;
}

Result<bool> Partition::SameAsPrevious(size_t i) {
  std::string a;
  std::string b;
  RETURN_IF_ERROR(sort_.AppendKey(rows_.At(i - 1), nullptr, *context_, &a));
  RETURN_IF_ERROR(sort_.AppendKey(rows_.At(i), nullptr, *context_, &b));
  return a == b;
}

expr::agg::EvalContext& Partition::At(size_t i) {
  row_.document = rows_.At(i);
  return evaluation_.Start(row_);
}

Result<std::vector<bson::OwnedValue>> Partition::EvaluateAll(
    const expr::agg::Expression& expression) {
  std::vector<bson::OwnedValue> values;
  values.reserve(size());
  for (size_t i = 0; i < size(); ++i) {
    ASSIGN_OR_RETURN(bson::Value value, expression.Evaluate(At(i)));
    values.emplace_back(value);
  }
  return values;
}

Result<std::unique_ptr<expr::agg::Expression>> ParseWindowExpression(const bson::Value& spec,
                                                                     const expr::Context* context) {
  expr::agg::ParseScope scope;
  scope.context = context;
  return expr::agg::ParseExpression(spec, scope);
}

namespace {

// An accumulator over each row's frame. Rows enter one by one while frames only grow at their end.
class AccumulatorWindow final : public WindowFunction {
 public:
  // `spec` is what the accumulator was parsed from.
  AccumulatorWindow(std::unique_ptr<expr::Accumulator> accumulator, WindowBounds bounds,
                    bson::Document spec)
      : spec_(std::move(spec)), accumulator_(std::move(accumulator)), bounds_(std::move(bounds)) {}

  Status Compute(Partition& partition, std::vector<bson::OwnedValue>* results) const override {
    ASSIGN_OR_RETURN(auto frames, ComputeFrames(bounds_, partition.size(),
                                                bounds_.range ? partition.keys() : kNoKeys));
    std::unique_ptr<expr::Accumulation> state;
    Frame held(0, 0);
    bson::OwnedValue result;
    for (const Frame& frame : frames) {
      RETURN_IF_ERROR(CheckCurrentOp());
      bool same = state && frame == held;
      if (!state || frame.first != held.first || frame.second < held.second) {
        ASSIGN_OR_RETURN(state, accumulator_->Start(partition.At(0), bson::Value::Null()));
        held = Frame(frame.first, frame.first);
      }
      for (size_t i = held.second; i < frame.second; ++i) {
        RETURN_IF_ERROR(CheckCurrentOp());
        RETURN_IF_ERROR(state->Add(partition.At(i)));
      }
      held = frame;
      if (!same) {
        Arena arena;
        ASSIGN_OR_RETURN(bson::Value value, state->Finish(&arena));
        result = bson::OwnedValue(value);
      }
      results->push_back(result);
    }
    return Status::Ok();
  }

 private:
  inline static const std::vector<bson::Value> kNoKeys;
  bson::Document spec_;
  std::unique_ptr<expr::Accumulator> accumulator_;
  WindowBounds bounds_;
};

// {$op: argument}; an array, which accumulators refuse but windows take as an expression, is
// written as one.
bson::Document WithoutArrayArgument(const bson::Element& function) {
  bson::Builder spec;
  if (function.type() == bson::Type::kArray) {
    spec.BeginDocument(function.name()).BeginArray("$concatArrays").Push(function.value());
    spec.End().End();
  } else {
    spec.Append(function);
  }
  return spec.Finish();
}

struct WindowRow {
  std::string_view name;
  ParseWindow* parse;
};
constexpr WindowRow kFunctions[] = {
    {"$rank", ParseRank},
    {"$denseRank", ParseDenseRank},
    {"$documentNumber", ParseDocumentNumber},
    {"$shift", ParseShift},
    {"$derivative", ParseDerivative},
    {"$integral", ParseIntegral},
    {"$expMovingAvg", ParseExpMovingAvg},
    {"$linearFill", ParseLinearFill},
    {"$locf", ParseLocf},
    {"$covariancePop", ParseCovariancePop},
    {"$covarianceSamp", ParseCovarianceSamp},
};

}  // namespace

Result<std::unique_ptr<WindowFunction>> ParseWindowFunction(const bson::Element& function,
                                                            const WindowBounds* bounds,
                                                            const WindowSort& sort,
                                                            const expr::Context* context) {
  for (const WindowRow& row : kFunctions) {
    if (row.name == function.name()) {
      return row.parse({function, bounds, sort, context});
    }
  }
  if (!expr::IsAccumulator(function.name()) || function.name() == "$accumulator") {
    return Status(kFailedToParse, "Unrecognized window function, " + std::string(function.name()));
  }
  bool deviation = function.name() == "$stdDevPop" || function.name() == "$stdDevSamp";
  if (deviation && bounds && bounds->lower.kind != WindowBound::Kind::kUnbounded) {
    return ParseSlidingDeviation({function, bounds, sort, context});
  }
  expr::agg::ParseScope scope;
  scope.context = context;
  bson::Document spec = WithoutArrayArgument(function);
  ASSIGN_OR_RETURN(auto accumulator, expr::Accumulator::Parse(spec.view().front(), scope));
  bool slides = bounds && bounds->lower.kind != WindowBound::Kind::kUnbounded;
  if (slides && function.type() != bson::Type::kArray) {
    ASSIGN_OR_RETURN(auto sliding, ParseSliding({function, bounds, sort, context}));
    if (sliding) {
      return sliding;
    }
  }
  return std::unique_ptr<WindowFunction>(std::make_unique<AccumulatorWindow>(
      std::move(accumulator), bounds ? *bounds : WindowBounds(), std::move(spec)));
}

}  // namespace quire::exec
