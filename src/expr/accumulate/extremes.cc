// SPDX-License-Identifier: Apache-2.0
//
// $min, $max, $first and $last.
#include <cmath>

#include "bson/compare.h"
#include "expr/accumulate/accumulation_internal.h"

namespace quire::expr {

namespace {

// Whether the value borrows no bytes.
bool StandsAlone(Type type) {
  switch (type) {
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128:
    case Type::kDate:
    case Type::kTimestamp:
    case Type::kBool:
    case Type::kObjectId:
      return true;
    default:
      return false;
  }
}

// Null and missing do not count.
class Extreme final : public UnaryAccumulation {
 public:
  Extreme(const Expression& argument, int sign) : UnaryAccumulation(argument), sign_(sign) {}
  Result<Value> Finish(Arena*) override { return best_.missing() ? Value::Null() : best_; }
  Result<std::vector<Value>> Partial(Arena* arena) override {
    return best_.missing() ? std::vector<Value>() : std::vector<Value>{CopyTo(arena, best_)};
  }
  Status Merge(const Value& part, EvalContext& eval) override { return Take(part, eval); }
  size_t memory() const override { return sizeof *this + bytes_.memory(); }

 protected:
  Status Take(const Value& value, const EvalContext& eval) override {
    if (!value.nullish() && (best_.missing() || IsBetter(value, eval))) {
      Keep(value);
    }
    return Status::Ok();
  }

 private:
  bool IsBetter(const Value& value, const EvalContext& eval) const {
    if (value.type() == Type::kDouble && best_.type() == Type::kDouble) {
      const double a = value.AsDouble();
      const double b = best_.AsDouble();
      if (!std::isnan(a) && !std::isnan(b)) [[likely]] {
        return sign_ > 0 ? a > b : a < b;
      }
    }
    return sign_ * bson::Compare(value, best_, CollatorOf(eval)) > 0;
  }
  void Keep(const Value& value) {
    if (StandsAlone(value.type())) {
      best_ = value;
      return;
    }
    bytes_ = bson::OwnedValue(value);
    best_ = bytes_.value();
  }

  int sign_;
  Value best_;
  bson::OwnedValue bytes_;  // what best_ borrows, if anything
};

// The first value of all, or the last.
class Outermost final : public UnaryAccumulation {
 public:
  Outermost(const Expression& argument, bool first) : UnaryAccumulation(argument), first_(first) {}
  Result<Value> Finish(Arena*) override {
    return value_.missing() ? Value::Null() : value_.value();
  }
  Result<std::vector<Value>> Partial(Arena* arena) override {
    return taken_ ? std::vector<Value>{CopyTo(arena, *Finish(arena))} : std::vector<Value>();
  }
  Status Merge(const Value& part, EvalContext& eval) override { return Take(part, eval); }
  size_t memory() const override { return sizeof *this + value_.memory(); }

 protected:
  Status Take(const Value& value, const EvalContext&) override {
    if (!first_ || !taken_) {
      taken_ = true;
      value_ = bson::OwnedValue(value);
    }
    return Status::Ok();
  }

 private:
  bool first_;
  bool taken_ = false;
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
  return std::make_unique<Outermost>(argument, true);
}

std::unique_ptr<Accumulation> StartLast(const Expression& argument) {
  return std::make_unique<Outermost>(argument, false);
}

}  // namespace quire::expr
