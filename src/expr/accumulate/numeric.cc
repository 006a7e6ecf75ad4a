// SPDX-License-Identifier: Apache-2.0
//
// $sum, $count, $avg, $stdDevPop and $stdDevSamp.
#include <cmath>

#include "bson/number.h"
#include "expr/accumulate/accumulation_internal.h"
#include "expr/accumulate/standard_deviation.h"
#include "expr/summation.h"

namespace quire::expr {

namespace {

// What is held as one sum; values that are no numbers do not count.
class OfSum : public UnaryAccumulation {
 public:
  using UnaryAccumulation::UnaryAccumulation;
  Result<std::vector<Value>> Partial(Arena* arena) override {
    return sum_.count() == 0 ? std::vector<Value>() : std::vector<Value>{sum_.State(arena)};
  }
  Status Merge(const Value& part, EvalContext&) override {
    return sum_.AddState(part) ? Status::Ok() : NotAPart("$sum", part);
  }
  size_t memory() const override { return sizeof *this; }

 protected:
  Summation sum_;
};

class Sum final : public OfSum {
 public:
  using OfSum::OfSum;
  Result<Value> Finish(Arena*) override { return sum_.Sum(); }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (value.is_number()) {
      sum_.Add(value);
    }
    return Status::Ok();
  }
};

class Avg final : public OfSum {
 public:
  using OfSum::OfSum;
  Result<Value> Finish(Arena*) override { return sum_.count() == 0 ? Value::Null() : sum_.Mean(); }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (value.is_number()) {
      sum_.Add(value);
    }
    return Status::Ok();
  }
};

class StdDev final : public UnaryAccumulation {
 public:
  StdDev(const Expression& argument, bool sample) : UnaryAccumulation(argument), sample_(sample) {}
  Result<Value> Finish(Arena*) override {
    return sample_ ? deviation_.Sample() : deviation_.Population();
  }
  Result<std::vector<Value>> Partial(Arena* arena) override {
    return deviation_.count() == 0 ? std::vector<Value>()
                                   : std::vector<Value>{deviation_.State(arena)};
  }
  Status Merge(const Value& part, EvalContext&) override {
    return deviation_.AddState(part) ? Status::Ok() : NotAPart("$stdDev", part);
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

// Two sets of numbers have the mean weighted by their counts, and their squares grow by the
// distance of their means.
void StandardDeviation::Add(const StandardDeviation& other) {
  if (other.count_ == 0) {
    return;
  }
  if (count_ == 0) {
    *this = other;
    return;
  }
  const auto mine = static_cast<double>(count_);
  const auto theirs = static_cast<double>(other.count_);
  const double delta = other.mean_ - mean_;
  count_ += other.count_;
  mean_ += delta * (theirs / (mine + theirs));
  squares_ += other.squares_ + delta * delta * (mine * theirs / (mine + theirs));
}

// [count, mean, squares]
Value StandardDeviation::State(Arena* arena) const {
  std::string bytes;
  bson::Builder state(&bytes);
  state.Push(count_).Push(mean_).Push(squares_).Close();
  return Value::Array(bson::View(arena->Adopt(std::move(bytes)).data()));
}

bool StandardDeviation::AddState(const Value& state) {
  if (!state.is_array() || state.AsArray().Count() != 3) {
    return false;
  }
  const Value count = state.AsArray()["0"];
  const Value mean = state.AsArray()["1"];
  const Value squares = state.AsArray()["2"];
  if (count.type() != Type::kInt64 || mean.type() != Type::kDouble ||
      squares.type() != Type::kDouble) {
    return false;
  }
  StandardDeviation other;
  other.count_ = count.AsInt64();
  other.mean_ = mean.AsDouble();
  other.squares_ = squares.AsDouble();
  Add(other);
  return true;
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
