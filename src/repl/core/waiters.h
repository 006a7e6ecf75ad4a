// SPDX-License-Identifier: Apache-2.0
//
// Writers that wait for their concern, each for a slot of one epoch.
#pragma once

#include <algorithm>
#include <vector>

#include "repl/core/events.h"

namespace quire::repl {

class Waiters {
 public:
  void Add(const Await& await, Millis now);
  void Remove(WaiterId id) {
    std::erase_if(waiting_, [&](const Waiting& one) { return one.await.id == id; });
  }
  bool empty() const { return waiting_.empty(); }
  // Whether somebody waits for members, and not for the commit point alone.
  bool any_by_members() const {
    return std::any_of(waiting_.begin(), waiting_.end(), [](const Waiting& one) {
      return one.await.concern.kind != WriteConcern::Kind::kMajority;
    });
  }

  // Answers those whose concern holds and those whose time is over.
  template <typename Meets>  // bool(const Await&)
  void Check(Millis now, Meets meets, std::vector<Action>* out) {
    size_t kept = 0;
    for (Waiting& one : waiting_) {
      if (meets(one.await))
        out->push_back(Answer{one.await.id, 0});
      else if (one.until != 0 && now >= one.until)
        out->push_back(Answer{one.await.id, kWriteConcernFailed});
      else if (&waiting_[kept++] != &one)
        waiting_[kept - 1] = std::move(one);
    }
    waiting_.resize(kept);
  }

  // The epoch is over: whether their writes stay is open.
  void EndAll(std::vector<Action>* out);

 private:
  struct Waiting {
    Await await;
    Millis until = 0;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace quire::repl
