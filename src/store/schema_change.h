// SPDX-License-Identifier: Apache-2.0
//
// The locks of a schema change, and the order in which they are taken.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/current_op.h"
#include "base/interruptible_mutex.h"
#include "store/collection_info.h"
#include "store/collection_state.h"

namespace quire::store {

// While it lives, writers are kept out of the collections that change, and other changes out of the
// catalog. The writers that are in are waited for first, which may take as long as a transaction:
// changes of other collections go on meanwhile.
class SchemaChange {
 public:
  // What is to change, by the present catalog; null pointers and views have no writers.
  using Collections = std::function<std::vector<CollectionPtr>()>;

  // `collections` is asked again once the locks are held, and they are taken anew when it names
  // others then. Fails with what `check`, asked now and then, says.
  static Result<SchemaChange> Begin(InterruptibleMutex& mutex, const Collections& collections,
                                    const std::function<Status()>& check = CheckCurrentOpNow);

  SchemaChange(SchemaChange&&) = default;
  SchemaChange& operator=(SchemaChange&&) = delete;
  ~SchemaChange() = default;

 private:
  using States = std::vector<std::shared_ptr<CollectionState>>;
  struct OpenGate {
    void operator()(CollectionState* state) const { state->gate.Open(); }
  };
  SchemaChange() = default;
  static States StatesOf(const std::vector<CollectionPtr>& collections);
  Status Close(States states, const std::function<Status()>& check);

  States states_;
  std::vector<std::unique_ptr<CollectionState, OpenGate>> closed_;  // of states_
  std::unique_lock<InterruptibleMutex> lock_;
};

}  // namespace quire::store
