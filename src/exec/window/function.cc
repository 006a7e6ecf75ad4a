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

Status Partition::EvaluateAll(const expr::agg::Expression& expression, CountedValues* values) {
  for (size_t i = 0; i < size(); ++i) {
    RETURN_IF_ERROR(CheckCurrentOp());
    ASSIGN_OR_RETURN(bson::Value value, expression.Evaluate(At(i)));
    RETURN_IF_ERROR(values->Add(value));
  }
  return Status::Ok();
}

Result<std::unique_ptr<expr::agg::Expression>> ParseWindowExpression(const bson::Value& spec,
                                                                     const expr::Context* context) {
  expr::agg::ParseScope scope;
  scope.context = context;
  return expr::agg::ParseExpression(spec, scope);
}

namespace {

// Values that were computed before.
class ComputedValues final : public WindowValues {
 public:
  CountedValues* values() { return &values_; }
  Result<bson::Value> Next() override { return values_[next_++]; }

 private:
  CountedValues values_;
  size_t next_ = 0;
};

// What an accumulator holds of the frame of one row after the other. Rows enter one by one while
// frames only grow at their end. A result is made when its row is shown, as all of them may be many
// times what the partition is.
class AccumulatedValues final : public WindowValues {
 public:
  AccumulatedValues(const expr::Accumulator& accumulator, std::vector<Frame> frames,
                    Partition* partition)
      : accumulator_(accumulator), frames_(std::move(frames)), partition_(partition) {}

  Result<bson::Value> Next() override {
    const Frame& frame = frames_[next_++];
    if (state_ && frame == held_) {
      return result_;
    }
    if (!state_ || frame.first != held_.first || frame.second < held_.second) {
      ASSIGN_OR_RETURN(state_, accumulator_.Start(partition_->At(0), bson::Value::Null()));
      held_ = Frame(frame.first, frame.first);
    }
    for (size_t i = held_.second; i < frame.second; ++i) {
      RETURN_IF_ERROR(CheckCurrentOp());
      RETURN_IF_ERROR(state_->Add(partition_->At(i)));
      charge_.Set(state_->memory());
      RETURN_IF_ERROR(CheckWindowMemory(state_->memory()));
    }
    held_ = frame;
    arena_.Reset();
    ASSIGN_OR_RETURN(result_, state_->Finish(&arena_));
    return result_;
  }

 private:
  const expr::Accumulator& accumulator_;
  std::vector<Frame> frames_;
  Partition* partition_;
  size_t next_ = 0;
  std::unique_ptr<expr::Accumulation> state_;
  Frame held_{0, 0};
  Arena arena_;
  bson::Value result_;
  MemoryCharge charge_;
};

class AccumulatorWindow final : public WindowFunction {
 public:
  // `spec` is what the accumulator was parsed from.
  AccumulatorWindow(std::unique_ptr<expr::Accumulator> accumulator, WindowBounds bounds,
                    bson::Document spec)
      : spec_(std::move(spec)), accumulator_(std::move(accumulator)), bounds_(std::move(bounds)) {}

  Result<std::unique_ptr<WindowValues>> Start(Partition& partition) const override {
    ASSIGN_OR_RETURN(auto frames, ComputeFrames(bounds_, partition.size(),
                                                bounds_.range ? partition.keys() : kNoKeys));
    return std::unique_ptr<WindowValues>(
        std::make_unique<AccumulatedValues>(*accumulator_, std::move(frames), &partition));
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

Result<std::unique_ptr<WindowValues>> WholePartitionFunction::Start(Partition& partition) const {
  auto computed = std::make_unique<ComputedValues>();
  RETURN_IF_ERROR(Compute(partition, computed->values()));
  return std::unique_ptr<WindowValues>(std::move(computed));
}

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
