// SPDX-License-Identifier: Apache-2.0
//
// $sum, $count, $avg, $stdDevPop and $stdDevSamp.
#include <cmath>

#include "bson/number.h"
#include "expr/accumulate/accumulation_internal.h"
#include "expr/accumulate/standard_deviation.h"
#include "expr/accumulate/summation.h"

namespace quire::expr {

namespace {

class Sum final : public UnaryAccumulation {
 public:
  using UnaryAccumulation::UnaryAccumulation;
  Result<Value> Finish(Arena*) override { return sum_.Sum(); }
  size_t memory() const override { return sizeof *this; }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (value.is_number()) {
      sum_.Add(value);
    }
    return Status::Ok();
  }

 private:
  Summation sum_;
};

class Avg final : public UnaryAccumulation {
 public:
  using UnaryAccumulation::UnaryAccumulation;
  Result<Value> Finish(Arena*) override { return sum_.count() == 0 ? Value::Null() : sum_.Mean(); }
  size_t memory() const override { return sizeof *this; }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (value.is_number()) {
      sum_.AddAsDouble(value);
    }
    return Status::Ok();
  }

 private:
  Summation sum_;
};

class StdDev final : public UnaryAccumulation {
 public:
  StdDev(const Expression& argument, bool sample) : UnaryAccumulation(argument), sample_(sample) {}
  Result<Value> Finish(Arena*) override {
    return sample_ ? deviation_.Sample() : deviation_.Population();
  }
  size_t memory() const override { return sizeof *this; }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (value.is_number()) {
      deviation_.Add(bson::ToDouble(value));
    }
    return Status::Ok();
  }

 private:
  bool sample_;
  StandardDeviation deviation_;
};

}  // namespace

void StandardDeviation::Add(double d) {
  ++count_;
  double delta = d - mean_;
  if (std::isfinite(delta)) {
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (d - mean_);
  } else {
    squares_ = std::nan("");
  }
}

Value StandardDeviation::Population() const {
  return count_ == 0 ? Value::Null() : Value(std::sqrt(squares_ / static_cast<double>(count_)));
}

Value StandardDeviation::Sample() const {
  return count_ < 2 ? Value::Null() : Value(std::sqrt(squares_ / static_cast<double>(count_ - 1)));
}

std::unique_ptr<Accumulation> StartSum(const Expression& argument) {
  return std::make_unique<Sum>(argument);
}

std::unique_ptr<Accumulation> StartAvg(const Expression& argument) {
  return std::make_unique<Avg>(argument);
}

std::unique_ptr<Accumulation> StartStdDevPop(const Expression& argument) {
  return std::make_unique<StdDev>(argument, false);
}

std::unique_ptr<Accumulation> StartStdDevSamp(const Expression& argument) {
  return std::make_unique<StdDev>(argument, true);
}

}  // namespace quire::expr
