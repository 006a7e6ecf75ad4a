// SPDX-License-Identifier: Apache-2.0
//
// The standard deviation of doubles in one pass (Welford).
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "quire/bson.h"

namespace quire::expr {

class StandardDeviation {
 public:
  void Add(double d);
  void Add(const StandardDeviation& other);
  int64_t count() const { return count_; }
  // Null when nothing was added.
  bson::Value Population() const;
  // Null when fewer than two were added.
  bson::Value Sample() const;
  // All that it holds, as an array that AddState takes.
  bson::Value State(Arena* arena) const;
  // Adds the numbers of a deviation given by its State; false when it is none.
  bool AddState(const bson::Value& state);

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace quire::expr
