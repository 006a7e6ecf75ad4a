// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "base/current_op.h"
#include "store/collection_info.h"
#include "store/collection_state.h"

namespace quire::store {

// Keeps writers out of a collection for a scope.
class Closed {
 public:
  // Waits for those that are in; the reason when the thread's operation is to end before.
  static Result<std::unique_ptr<Closed>> Make(const CollectionInfo& info) {
    Status stopped;
    auto stop = [&] {
      stopped = CheckCurrentOpNow();
      return !stopped.ok();
    };
    if (info.state && !info.state->gate.CloseUnless(stop)) {
      return stopped;
    }
    return std::unique_ptr<Closed>(new Closed(info.state));
  }
  // Waits without an end.
  explicit Closed(const CollectionInfo& info) : state_(info.state) {
    if (state_) {
      state_->gate.Close();
    }
  }
  ~Closed() {
    if (state_) {
      state_->gate.Open();
    }
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  explicit Closed(std::shared_ptr<CollectionState> closed) : state_(std::move(closed)) {}
  std::shared_ptr<CollectionState> state_;
};

}  // namespace quire::store
