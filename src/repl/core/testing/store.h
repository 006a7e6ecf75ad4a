// SPDX-License-Identifier: Apache-2.0
//
// The coordination store of a simulated set: three keys, compare-and-swap, and a memory of what
// they were, from which stale reads and a restored backup come.
#pragma once

#include <deque>

#include "repl/core/events.h"

namespace quire::repl {

class Store {
 public:
  explicit Store(View first);

  const View& now() const { return now_; }

  // Applies the transaction, or refuses it.
  bool Write(const WriteKeys& write);

  // A view of up to `back` writes ago.
  const View& Past(size_t back) const;
  // The lowest floor that a stale read may show.
  Time LowestFloor() const;

  // The store is what it was so many writes ago; `revisions_too`: as from a backup, else revisions
  // go on.
  void GoBack(size_t back, bool revisions_too);

 private:
  View now_;
  int64_t revision_ = 1;
  std::deque<View> past_;  // newest last, without now_
};

}  // namespace quire::repl
