// SPDX-License-Identifier: Apache-2.0
//
// The standard deviation of doubles in one pass (Welford).
#pragma once

#include <cstdint>

#include "quire/bson.h"

namespace quire::expr {

class StandardDeviation {
 public:
  void Add(double d);
  // Null when nothing was added.
  bson::Value Population() const;
  // Null when fewer than two were added.
  bson::Value Sample() const;

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace quire::expr
