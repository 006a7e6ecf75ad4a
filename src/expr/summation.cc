// SPDX-License-Identifier: Apache-2.0
#include "expr/summation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bson/decimal.h"
#include "bson/number.h"

namespace quire::expr {

using bson::Type;
using bson::Value;

namespace {

// The rounded sum of two doubles, and its error.
struct TwoSum {
  double sum;
  double error;
  TwoSum(double a, double b) : sum(a + b) {
    double part = sum - a;
    error = (a - (sum - part)) + (b - part);
  }
};

}  // namespace

void DoubleDoubleSum::Add(double d) {
  plain_ += d;
  TwoSum carried(d, compensation_);
  TwoSum total(sum_, carried.sum);
  sum_ = total.sum;
  compensation_ = total.error + carried.error;
}

void DoubleDoubleSum::Add(int64_t i) {
  // Both halves are exact doubles.
  int64_t high = i / (int64_t{1} << 32) * (int64_t{1} << 32);
  Add(static_cast<double>(i - high));
  Add(static_cast<double>(high));
}

void DoubleDoubleSum::Add(const DoubleDoubleSum& other) {
  if (!std::isfinite(other.plain_)) {
    plain_ += other.plain_;  // its parts say nothing any more
    return;
  }
  Add(other.sum_);
  Add(other.compensation_);
}

double DoubleDoubleSum::ToDouble() const {
  return std::isfinite(sum_) && std::isfinite(plain_) ? sum_ : plain_;
}

bson::Decimal128 DoubleDoubleSum::ToDecimal() const {
  if (!std::isfinite(plain_)) {
    return bson::decimal::FromDouble(plain_);
  }
  if (FitsInt64()) {
    return bson::decimal::FromInt64(ToInt64());
  }
  return bson::decimal::Add(bson::decimal::FromDoubleExact(sum_),
                            bson::decimal::FromDoubleExact(compensation_));
}

bool DoubleDoubleSum::FitsInt64() const {
  if (!std::isfinite(plain_) || std::trunc(sum_) != sum_ ||
      std::trunc(compensation_) != compensation_) {
    return false;
  }
  constexpr double kLimit = 9223372036854775808.0;
  if (sum_ < -kLimit || sum_ > kLimit) {
    return false;
  }
  __int128 exact = static_cast<__int128>(sum_) + static_cast<__int128>(compensation_);
  return exact >= INT64_MIN && exact <= INT64_MAX;
}

int64_t DoubleDoubleSum::ToInt64() const {
  return static_cast<int64_t>(static_cast<__int128>(sum_) + static_cast<__int128>(compensation_));
}

void DoubleDoubleSum::AppendState(bson::Builder* array) const {
  array->Push(sum_).Push(compensation_).Push(plain_);
}

DoubleDoubleSum DoubleDoubleSum::FromState(double sum, double compensation, double plain) {
  DoubleDoubleSum made;
  made.sum_ = sum;
  made.compensation_ = compensation;
  made.plain_ = plain;
  return made;
}

void Summation::Add(const Value& number) {
  ++count_;
  widest_ = bson::WiderNumber(widest_, number.type());
  switch (number.type()) {
    case Type::kDecimal128:
      decimals_ = bson::decimal::Add(decimals_, number.AsDecimal());
      break;
    case Type::kDouble:
      has_other_ = true;
      has_double_ = true;
      LeaveIntegers();
      other_.Add(number.AsDouble());
      break;
    default:
      has_other_ = true;
      AddInteger(number.AsInt64());
  }
}

void Summation::AddInteger(int64_t i) {
  constexpr int64_t kExact = int64_t{1} << 53;
  int64_t sum = 0;
  if (integers_only_ && !__builtin_add_overflow(integers_, i, &sum) && sum <= kExact &&
      sum >= -kExact) [[likely]] {
    integers_ = sum;
    return;
  }
  LeaveIntegers();
  other_.Add(i);
}

void Summation::LeaveIntegers() {
  if (integers_only_) {
    integers_only_ = false;
    other_ = Other();
    integers_ = 0;
  }
}

DoubleDoubleSum Summation::Other() const {
  DoubleDoubleSum all = other_;
  if (integers_ != 0) {
    all.Add(integers_);
  }
  return all;
}

void Summation::Add(const Summation& other) {
  count_ += other.count_;
  widest_ = bson::WiderNumber(widest_, other.widest_);
  decimals_ = bson::decimal::Add(decimals_, other.decimals_);
  has_other_ = has_other_ || other.has_other_;
  has_double_ = has_double_ || other.has_double_;
  LeaveIntegers();
  other_.Add(other.Other());
}

bson::Decimal128 Summation::TotalDecimal() const {
  return has_other_ ? bson::decimal::Add(decimals_, Other().ToDecimal()) : decimals_;
}

Value Summation::Sum() const {
  const DoubleDoubleSum other = Other();
  switch (widest_) {
    case Type::kDecimal128:
      return Value(TotalDecimal());
    case Type::kDouble:
      return Value(other.ToDouble());
    case Type::kInt64:
      return other.FitsInt64() ? Value(other.ToInt64()) : Value(other.ToDouble());
    default:
      return other.FitsInt64() ? bson::NarrowInt(other.ToInt64()) : Value(other.ToDouble());
  }
}

Value Summation::AddedSum() const {
  if (widest_ == Type::kDecimal128 && has_double_) {
    return Value(bson::decimal::Add(decimals_, bson::decimal::FromDouble(Other().ToDouble())));
  }
  return Sum();
}

void Summation::AddAsDouble(const Value& number) {
  if (number.type() == Type::kInt64) {
    Add(Value(static_cast<double>(number.AsInt64())));
  } else {
    Add(number);
  }
}

Value Summation::Mean() const {
  if (widest_ == Type::kDecimal128) {
    bson::Decimal128 total = bson::decimal::Add(decimals_, Other().ToDecimal());
    return Value(bson::decimal::Divide(total, bson::decimal::FromInt64(count_)));
  }
  return Value(bson::ToDouble(Sum()) / static_cast<double>(count_));
}

// [sum, compensation, plain, decimals, has_other, has_double, widest, count]
Value Summation::State(Arena* arena) const {
  std::string bytes;
  bson::Builder state(&bytes);
  Other().AppendState(&state);
  state.Push(decimals_).Push(has_other_).Push(has_double_);
  state.Push(static_cast<int32_t>(widest_)).Push(count_);
  state.Close();
  return Value::Array(bson::View(arena->Adopt(std::move(bytes)).data()));
}

bool Summation::AddState(const Value& state) {
  constexpr Type kTypes[] = {Type::kDouble, Type::kDouble, Type::kDouble, Type::kDecimal128,
                             Type::kBool,   Type::kBool,   Type::kInt32,  Type::kInt64};
  std::vector<Value> parts;
  if (state.is_array()) {
    for (const bson::Element& element : state.AsArray()) {
      parts.push_back(element.value());
    }
  }
  bool fits = std::equal(parts.begin(), parts.end(), std::begin(kTypes), std::end(kTypes),
                         [](const Value& part, Type type) { return part.type() == type; });
  constexpr Type kNumbers[] = {Type::kInt32, Type::kInt64, Type::kDouble, Type::kDecimal128};
  const Type widest = fits ? static_cast<Type>(parts[6].AsInt32()) : Type::kNull;
  if (std::find(std::begin(kNumbers), std::end(kNumbers), widest) == std::end(kNumbers)) {
    return false;
  }
  Summation other;
  other.integers_only_ = false;
  other.other_ =
      DoubleDoubleSum::FromState(parts[0].AsDouble(), parts[1].AsDouble(), parts[2].AsDouble());
  other.decimals_ = parts[3].AsDecimal();
  other.has_other_ = parts[4].AsBool();
  other.has_double_ = parts[5].AsBool();
  other.widest_ = widest;
  other.count_ = parts[7].AsInt64();
  Add(other);
  return true;
}

bool Summation::RoundedInt64(int64_t* out) const {
  if (widest_ == Type::kDecimal128) {
    auto rounded = bson::decimal::ToInt64(TotalDecimal(), bson::decimal::Rounding::kNearestAway);
    *out = rounded.value_or(0);
    return rounded.has_value();
  }
  const DoubleDoubleSum other = Other();
  if (other.FitsInt64()) {
    *out = other.ToInt64();
    return true;
  }
  double total = std::round(other.ToDouble());
  if (!(total >= -9223372036854775808.0 && total < 9223372036854775808.0)) {
    return false;
  }
  *out = static_cast<int64_t>(total);
  return true;
}

}  // namespace quire::expr
