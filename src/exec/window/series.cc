// SPDX-License-Identifier: Apache-2.0
//
// $expMovingAvg, $linearFill and $locf: values that follow from their neighbours.
#include "bson/number.h"
#include "exec/window/function_internal.h"

namespace quire::exec {

namespace {

bson::Value AsReal(const bson::Value& number) {
  return number.type() == bson::Type::kDecimal128 ? number : bson::Value(bson::ToDouble(number));
}

class ExpMovingAvg final : public WholePartitionFunction {
 public:
  ExpMovingAvg(std::unique_ptr<expr::agg::Expression> input, bson::OwnedValue alpha)
      : input_(std::move(input)), alpha_(std::move(alpha)) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    bson::Value alpha = alpha_.value();
    bson::Value rest = bson::Subtract(bson::Value(int32_t{1}), alpha);
    bson::OwnedValue average(bson::Value::Null());
    for (size_t i = 0; i < partition.size(); ++i) {
      ASSIGN_OR_RETURN(bson::Value value, input_->Evaluate(partition.At(i)));
      if (value.is_number()) {
        bool first = average.type() == bson::Type::kNull;
        average = bson::OwnedValue(
            first ? AsReal(value)
                  : bson::Add(bson::Multiply(value, alpha), bson::Multiply(average.value(), rest)));
      }
      RETURN_IF_ERROR(results->Add(average.value()));
    }
    return Status::Ok();
  }

 private:
  std::unique_ptr<expr::agg::Expression> input_;
  bson::OwnedValue alpha_;
};

class Locf final : public WholePartitionFunction {
 public:
  explicit Locf(std::unique_ptr<expr::agg::Expression> input) : input_(std::move(input)) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    bson::OwnedValue last(bson::Value::Null());
    for (size_t i = 0; i < partition.size(); ++i) {
      ASSIGN_OR_RETURN(bson::Value value, input_->Evaluate(partition.At(i)));
      if (!value.nullish()) {
        last = bson::OwnedValue(value);
      }
      RETURN_IF_ERROR(results->Add(last.value()));
    }
    return Status::Ok();
  }

 private:
  std::unique_ptr<expr::agg::Expression> input_;
};

class LinearFill final : public WholePartitionFunction {
 public:
  explicit LinearFill(std::unique_ptr<expr::agg::Expression> input) : input_(std::move(input)) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    RETURN_IF_ERROR(partition.EvaluateAll(*input_, results));
    const std::vector<bson::Value>& keys = partition.keys();
    RETURN_IF_ERROR(Check(keys, *results));
    std::optional<size_t> left;
    for (size_t i = 0; i < results->size(); ++i) {
      if ((*results)[i].nullish()) {
        results->Replace(i, bson::Value::Null());
        continue;
      }
      if (left && i - *left > 1) {
        for (size_t at = *left + 1; at < i; ++at) {
          results->Replace(at, Between(keys, *results, *left, i, at));
        }
      }
      left = i;
    }
    return Status::Ok();
  }

 private:
  static Status Check(const std::vector<bson::Value>& keys, const CountedValues& values) {
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!keys[i].is_number() && keys[i].type() != bson::Type::kDate) {
        return Status(605001, "$linearFill: the sortBy field must be numeric or a date");
      }
      if (i > 0 && keys[i].type() != keys[i - 1].type() &&
          (keys[i].type() == bson::Type::kDate || keys[i - 1].type() == bson::Type::kDate)) {
        return Status(605001, "$linearFill: numbers and dates cannot be mixed");
      }
      bson::Value value = values[i];
      if (!value.nullish() && !value.is_number()) {
        return Status(605002, "$linearFill: values must be numeric or null");
      }
    }
    return Status::Ok();
  }

  static bson::Value Position(const bson::Value& key) {
    return key.type() == bson::Type::kDate ? bson::Value(key.AsDate().millis) : key;
  }

  static bson::Value Between(const std::vector<bson::Value>& keys, const CountedValues& values,
                             size_t left, size_t right, size_t at) {
    bson::Value from = values[left];
    bson::Value rise = bson::Subtract(values[right], from);
    bson::Value start = Position(keys[left]);
    bson::Value run = bson::Subtract(Position(keys[right]), start);
    if (bson::IsZero(run)) {
      return from;
    }
    bson::Value done = bson::Subtract(Position(keys[at]), start);
    return bson::Add(from, bson::Multiply(bson::Divide(rise, run), done));
  }

  std::unique_ptr<expr::agg::Expression> input_;
};

}  // namespace

Result<WindowFunctionPtr> ParseExpMovingAvg(const WindowSpec& spec) {
  if (spec.bounds || spec.function.type() != bson::Type::kDocument) {
    return Status(kFailedToParse, "$expMovingAvg must have exactly one argument that is an object");
  }
  std::unique_ptr<expr::agg::Expression> input;
  bson::OwnedValue alpha;
  int given = 0;
  for (const bson::Element& field : spec.function.value().AsDocument()) {
    bson::Value value = field.value();
    if (field.name() == "input") {
      ASSIGN_OR_RETURN(input, ParseWindowExpression(value, spec.context));
    } else if (field.name() == "N") {
      auto n = bson::ExactInt64(value);
      if (!n || *n <= 0) {
        return Status(kFailedToParse, "'N' must be a positive integer");
      }
      alpha = bson::OwnedValue(bson::Value(2.0 / (static_cast<double>(*n) + 1)));
      ++given;
    } else if (field.name() == "alpha") {
      if (!value.is_number() || bson::ToDouble(value) <= 0 || bson::ToDouble(value) >= 1) {
        return Status(kFailedToParse, "'alpha' must be between 0 and 1 (exclusive)");
      }
      alpha = bson::OwnedValue(value);
      ++given;
    } else {
      return Status(kFailedToParse,
                    "Got unrecognized field in $expMovingAvg: " + std::string(field.name()));
    }
  }
  if (!input || given != 1) {
    return Status(kFailedToParse,
                  "$expMovingAvg sub object must have exactly two fields: An "
                  "'input' field, and either an 'N' field or an 'alpha' field");
  }
  if (!spec.sort.given) {
    return Status(kFailedToParse, "$expMovingAvg requires an explicit 'sortBy'");
  }
  return WindowFunctionPtr(std::make_unique<ExpMovingAvg>(std::move(input), std::move(alpha)));
}

Result<WindowFunctionPtr> ParseLinearFill(const WindowSpec& spec) {
  if (spec.bounds) {
    return Status(kFailedToParse, "'window' field is not allowed in $linearFill");
  }
  if (spec.sort.fields != 1) {
    return Status(605001,
                  "$linearFill must be specified with a top level sortBy expression with "
                  "exactly one element");
  }
  ASSIGN_OR_RETURN(auto input, ParseWindowExpression(spec.function.value(), spec.context));
  return WindowFunctionPtr(std::make_unique<LinearFill>(std::move(input)));
}

Result<WindowFunctionPtr> ParseLocf(const WindowSpec& spec) {
  if (spec.bounds) {
    return Status(kFailedToParse, "'window' field is not allowed in $locf");
  }
  ASSIGN_OR_RETURN(auto input, ParseWindowExpression(spec.function.value(), spec.context));
  return WindowFunctionPtr(std::make_unique<Locf>(std::move(input)));
}

}  // namespace quire::exec
