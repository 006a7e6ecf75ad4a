// SPDX-License-Identifier: Apache-2.0
//
// $derivative and $integral: rates and areas over the sort field.
#include "base/current_op.h"
#include "bson/number.h"
#include "exec/window/function_internal.h"

namespace quire::exec {

namespace {

// Milliseconds of the units rates can be given in.
std::optional<int64_t> UnitMillis(std::string_view name) {
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"week", 604800000}, {"day", 86400000}, {"hour", 3600000},
      {"minute", 60000},   {"second", 1000},  {"millisecond", 1}};
  for (const auto& [unit, millis] : kUnits) {
    if (unit == name) {
      return millis;
    }
  }
  return std::nullopt;
}

class Calculus final : public WholePartitionFunction {
 public:
  Calculus(bool integral, std::unique_ptr<expr::agg::Expression> input, std::optional<int64_t> unit,
           WindowBounds bounds)
      : integral_(integral), input_(std::move(input)), unit_(unit), bounds_(std::move(bounds)) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    const std::vector<bson::Value>& keys = partition.keys();
    ASSIGN_OR_RETURN(auto frames, ComputeFrames(bounds_, partition.size(), keys));
    CountedValues inputs;
    RETURN_IF_ERROR(partition.EvaluateAll(*input_, &inputs));
    for (const Frame& frame : frames) {
      RETURN_IF_ERROR(CheckCurrentOp());
      ASSIGN_OR_RETURN(bson::Value value,
                       integral_ ? Integral(frame, keys, inputs) : Derivative(frame, keys, inputs));
      RETURN_IF_ERROR(results->Add(value));
    }
    return Status::Ok();
  }

 private:
  // The distance of two keys in the unit asked for.
  Result<bson::Value> Distance(const bson::Value& from, const bson::Value& to) const {
    bool dates = from.type() == bson::Type::kDate && to.type() == bson::Type::kDate;
    if (unit_ && !dates) {
      return Status(integral_ ? 5423901 : 5624900,
                    "with 'unit' the sortBy field must be of the type Date");
    }
    if (!unit_ && (!from.is_number() || !to.is_number())) {
      return Status(integral_ ? 5423902 : 5624901,
                    "without 'unit' the sortBy field must be numeric");
    }
    if (!unit_) {
      return bson::Subtract(to, from);
    }
    double millis = static_cast<double>(to.AsDate().millis - from.AsDate().millis);
    return bson::Value(millis / static_cast<double>(*unit_));
  }

  Result<bson::Value> Derivative(const Frame& frame, const std::vector<bson::Value>& keys,
                                 const CountedValues& inputs) const {
    if (frame.second - frame.first < 2) {
      return bson::Value::Null();
    }
    size_t last = frame.second - 1;
    ASSIGN_OR_RETURN(bson::Value run, Distance(keys[frame.first], keys[last]));
    bson::Value from = inputs[frame.first];
    bson::Value to = inputs[last];
    if (from.nullish() || to.nullish() || bson::IsZero(run)) {
      return bson::Value::Null();
    }
    if (!from.is_number() || !to.is_number()) {
      return Status(5624903, "$derivative input must be numeric");
    }
    return bson::Divide(bson::Subtract(to, from), run);
  }

  Result<bson::Value> Integral(const Frame& frame, const std::vector<bson::Value>& keys,
                               const CountedValues& inputs) const {
    if (frame.first == frame.second) {
      return bson::Value::Null();
    }
    bson::Value sum(0.0);
    for (size_t i = frame.first; i < frame.second; ++i) {
      bson::Value here = inputs[i];
      if (!here.is_number()) {
        if (here.nullish()) {
          return bson::Value::Null();
        }
        return Status(5423903, "$integral input must be numeric");
      }
      if (i == frame.first) {
        continue;
      }
      ASSIGN_OR_RETURN(bson::Value run, Distance(keys[i - 1], keys[i]));
      bson::Value area =
          bson::Divide(bson::Multiply(bson::Add(inputs[i - 1], here), run), bson::Value(2.0));
      sum = bson::Add(sum, area);
    }
    return sum;
  }

  bool integral_;
  std::unique_ptr<expr::agg::Expression> input_;
  std::optional<int64_t> unit_;
  WindowBounds bounds_;
};

Result<WindowFunctionPtr> ParseCalculus(const WindowSpec& spec, bool integral) {
  std::string name(spec.function.name());
  if (spec.function.type() != bson::Type::kDocument) {
    return Status(kFailedToParse, name + " expects an object");
  }
  std::unique_ptr<expr::agg::Expression> input;
  std::optional<int64_t> unit;
  for (const bson::Element& field : spec.function.value().AsDocument()) {
    if (field.name() == "input") {
      ASSIGN_OR_RETURN(input, ParseWindowExpression(field.value(), spec.context));
    } else if (field.name() == "unit") {
      if (field.type() == bson::Type::kString) {
        unit = UnitMillis(field.value().AsString());
      }
      if (!unit) {
        return Status(kFailedToParse, "unit must be 'week' or smaller");
      }
    } else {
      return Status(kFailedToParse,
                    name + " got unexpected argument: " + std::string(field.name()));
    }
  }
  if (!input) {
    return Status(kFailedToParse, name + " requires an 'input' expression");
  }
  if (!spec.bounds && !integral) {
    return Status(kFailedToParse, name + " requires explicit window bounds");
  }
  if (spec.sort.fields != 1) {
    return Status(kFailedToParse, name + " requires a sortBy with exactly one field");
  }
  return WindowFunctionPtr(std::make_unique<Calculus>(integral, std::move(input), unit,
                                                      spec.bounds ? *spec.bounds : WindowBounds()));
}

}  // namespace

Result<WindowFunctionPtr> ParseDerivative(const WindowSpec& spec) {
  return ParseCalculus(spec, false);
}
Result<WindowFunctionPtr> ParseIntegral(const WindowSpec& spec) {
  return ParseCalculus(spec, true);
}

}  // namespace quire::exec
