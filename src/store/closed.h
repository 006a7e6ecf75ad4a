// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "store/catalog.h"
#include "store/collection_state.h"

namespace quire::store {

// Keeps writers out of a collection for a scope.
class Closed {
 public:
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
  std::shared_ptr<CollectionState> state_;
};

}  // namespace quire::store
