// SPDX-License-Identifier: Apache-2.0
#include "store/schema_change.h"

#include <algorithm>
#include <utility>

#include "base/try.h"

namespace quire::store {

Result<SchemaChange> SchemaChange::Begin(InterruptibleMutex& mutex, const Collections& collections,
                                         const std::function<Status()>& check) {
  while (true) {
    SchemaChange change;
    RETURN_IF_ERROR(change.Close(StatesOf(collections()), check));
    ASSIGN_OR_RETURN(change.lock_, mutex.Acquire());
    if (StatesOf(collections()) == change.states_) {
      return change;
    }
  }
}

// In one order for everybody: two changes that want the same collections do not wait for each
// other.
SchemaChange::States SchemaChange::StatesOf(const std::vector<CollectionPtr>& collections) {
  States states;
  for (const CollectionPtr& info : collections) {
    if (info != nullptr && info->state != nullptr) {
      states.push_back(info->state);
    }
  }
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
  return states;
}

Status SchemaChange::Close(States states, const std::function<Status()>& check) {
  states_ = std::move(states);
  for (const auto& state : states_) {
    Status stopped;
    auto stop = [&] {
      stopped = check();
      return !stopped.ok();
    };
    if (!state->gate.CloseUnless(stop)) {
      return stopped;
    }
    closed_.emplace_back(state.get());
  }
  return Status::Ok();
}

}  // namespace quire::store
