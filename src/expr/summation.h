// SPDX-License-Identifier: Apache-2.0
//
// Sums as MongoDB computes them for $sum, $avg and $add: doubles with compensation, integers
// exactly, decimals apart.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "quire/bson.h"

namespace quire::expr {

// A sum of doubles and longs held as two doubles whose exact sum is meant.
class DoubleDoubleSum {
 public:
  void Add(double d);
  void Add(int64_t i);
  void Add(const DoubleDoubleSum& other);
  // The larger of the two, as MongoDB reports it.
  double ToDouble() const;
  bson::Decimal128 ToDecimal() const;
  // Whether the sum is an integer that a long can hold, and that integer.
  bool FitsInt64() const;
  int64_t ToInt64() const;
  // The state's three doubles, and the sum that has them.
  void AppendState(bson::Builder* array) const;
  static DoubleDoubleSum FromState(double sum, double compensation, double plain);

 private:
  double sum_ = 0;
  double compensation_ = 0;
  double plain_ = 0;  // tells infinities and NaN
};

// The sum of numbers of any type. Not numbers: the caller's matter.
class Summation {
 public:
  // REQUIRES: number.is_number().
  void Add(const bson::Value& number);
  // The same with longs taken as doubles, as $avg does outside of groups.
  void AddAsDouble(const bson::Value& number);
  void Add(const Summation& other);
  int64_t count() const { return count_; }
  // The sum in the widest type seen: an int that overflows becomes a long, a long a double.
  // int32 0 when nothing was added.
  bson::Value Sum() const;
  // The same as $add gives it: doubles beside decimals count with 15 digits.
  bson::Value AddedSum() const;
  // The sum divided by count(): a double or a decimal. REQUIRES: count() > 0.
  bson::Value Mean() const;
  // The whole sum rounded to a long, halves away from zero; false when it does not fit.
  bool RoundedInt64(int64_t* out) const;
  // All that it holds, as an array that AddState takes.
  bson::Value State(Arena* arena) const;
  // Adds a sum given by its State; false when it is none.
  bool AddState(const bson::Value& state);

 private:
  bson::Decimal128 TotalDecimal() const;
  void AddInteger(int64_t i);
  void LeaveIntegers();
  // What is neither double nor decimal and what is double.
  DoubleDoubleSum Other() const;

  // Integers alone are summed as one, as long as a double could hold the sum as well: then other_
  // is untouched. Afterwards everything goes to other_.
  int64_t integers_ = 0;
  bool integers_only_ = true;
  DoubleDoubleSum other_;
  bson::Decimal128 decimals_{0, 0x3040000000000000};
  bool has_other_ = false;  // something but decimals was added
  bool has_double_ = false;
  bson::Type widest_ = bson::Type::kInt32;
  int64_t count_ = 0;
};

}  // namespace quire::expr
