// SPDX-License-Identifier: Apache-2.0
//
// $min, $max, $first and $last.
#include "bson/compare.h"
#include "expr/accumulate/accumulation_internal.h"

namespace quire::expr {

namespace {

// Null and missing do not count.
class Extreme final : public UnaryAccumulation {
 public:
  Extreme(const Expression& argument, int sign) : UnaryAccumulation(argument), sign_(sign) {}
  Result<Value> Finish(Arena*) override { return best_.missing() ? Value::Null() : best_.value(); }
  size_t memory() const override { return sizeof *this + best_.memory(); }

 protected:
  Status Take(const Value& value, const EvalContext& eval) override {
    if (!value.nullish() &&
        (best_.missing() || sign_ * bson::Compare(value, best_.value(), CollatorOf(eval)) > 0)) {
      best_ = bson::OwnedValue(value);
    }
    return Status::Ok();
  }

 private:
  int sign_;
  bson::OwnedValue best_;
};

class First final : public UnaryAccumulation {
 public:
  using UnaryAccumulation::UnaryAccumulation;
  Result<Value> Finish(Arena*) override {
    return value_.missing() ? Value::Null() : value_.value();
  }
  size_t memory() const override { return sizeof *this + value_.memory(); }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (!taken_) {
      taken_ = true;
      value_ = bson::OwnedValue(value);
    }
    return Status::Ok();
  }

 private:
  bool taken_ = false;
  bson::OwnedValue value_;
};

class Last final : public UnaryAccumulation {
 public:
  using UnaryAccumulation::UnaryAccumulation;
  Result<Value> Finish(Arena*) override {
    return value_.missing() ? Value::Null() : value_.value();
  }
  size_t memory() const override { return sizeof *this + value_.memory(); }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    value_ = bson::OwnedValue(value);
    return Status::Ok();
  }

 private:
  bson::OwnedValue value_;
};

}  // namespace

std::unique_ptr<Accumulation> StartMin(const Expression& argument) {
  return std::make_unique<Extreme>(argument, -1);
}

std::unique_ptr<Accumulation> StartMax(const Expression& argument) {
  return std::make_unique<Extreme>(argument, 1);
}

std::unique_ptr<Accumulation> StartFirst(const Expression& argument) {
  return std::make_unique<First>(argument);
}

std::unique_ptr<Accumulation> StartLast(const Expression& argument) {
  return std::make_unique<Last>(argument);
}

}  // namespace quire::expr
