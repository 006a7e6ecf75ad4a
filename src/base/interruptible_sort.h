// SPDX-License-Identifier: Apache-2.0
//
// Sorting that ends when the operation is to end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/current_op.h"

namespace quire {

// Calls `sort(less)` with `less` asking now and then whether the thread's operation is to stop;
// then the order is any and the reason is returned.
template <typename Less, typename Sort>
Status WithInterrupts(Less less, Sort sort) {
  OpContext* op = CurrentOp();
  if (op == nullptr) {
    sort(less);
    return Status::Ok();
  }
  uint32_t compared = 0;
  try {
    sort([&](const auto& a, const auto& b) {
      if ((++compared & 1023) == 0) [[unlikely]] {
        if (Status status = op->CheckInterrupt(); !status.ok()) {
          throw status;
        }
      }
      return less(a, b);
    });
  } catch (Status& stopped) {
    return std::move(stopped);
  }
  return Status::Ok();
}

// std::sort and std::stable_sort so.
template <typename Iterator, typename Less = std::less<>>
Status InterruptibleSort(Iterator first, Iterator last, Less less = {}) {
  return WithInterrupts(less, [&](auto&& compare) { std::sort(first, last, compare); });
}
template <typename Iterator, typename Less = std::less<>>
Status InterruptibleStableSort(Iterator first, Iterator last, Less less = {}) {
  return WithInterrupts(less, [&](auto&& compare) { std::stable_sort(first, last, compare); });
}

}  // namespace quire
