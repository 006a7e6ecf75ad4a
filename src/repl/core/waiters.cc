// SPDX-License-Identifier: Apache-2.0
#include "repl/core/waiters.h"

namespace quire::repl {

void Waiters::Add(const Await& await, Millis now) {
  waiting_.push_back({await, await.concern.timeout == 0 ? 0 : now + await.concern.timeout});
}

void Waiters::EndAll(std::vector<Action>* out) {
  for (const Waiting& one : waiting_) out->push_back(Answer{one.await.id, kPrimarySteppedDown});
  waiting_.clear();
}

}  // namespace quire::repl
