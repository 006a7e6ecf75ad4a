// SPDX-License-Identifier: Apache-2.0
//
// Values that a window function holds for the rows of a partition, counted as memory of the
// operation.
#pragma once

#include <cstddef>
#include <vector>

#include "base/memory_charge.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::exec {

// Error 5414201 when a function that holds `bytes` has more than the thread's operation may.
Status CheckWindowMemory(size_t bytes);

class CountedValues {
 public:
  // Errors of CheckWindowMemory.
  Status Add(const bson::Value& value);
  // REQUIRES: the new value is a number or null.
  void Replace(size_t i, const bson::Value& value) { values_[i] = bson::OwnedValue(value); }

  size_t size() const { return values_.size(); }
  bson::Value operator[](size_t i) const { return values_[i].value(); }

 private:
  std::vector<bson::OwnedValue> values_;
  size_t bytes_ = 0;
  MemoryCharge charge_;
};

}  // namespace quire::exec
