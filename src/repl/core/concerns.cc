// SPDX-License-Identifier: Apache-2.0
//
// Writers and linearizable readers that wait for the set.
#include <algorithm>
#include <climits>
#include <utility>

#include "repl/core/core.h"

namespace quire::repl {

void Core::On(const Await& await) {
  if (rules_.waiters_by_epoch && (!leading() || await.slot.epoch != epoch())) {
    Do(Answer{await.id, kPrimarySteppedDown});
    return;
  }
  int code = leading() ? CheckWriteConcern(proposals_.confirmed().set(), await.concern) : 0;
  if (code != 0)
    Do(Answer{await.id, code});
  else
    waiters_.Add(await, now_);
}

void Core::On(const Abandon& abandon) {
  waiters_.Remove(abandon.id);
  std::erase(linearize_, abandon.id);
  std::erase(linearize_asked_, abandon.id);
}

void Core::On(const Linearize& linearize) {
  if (!writable()) {
    Do(Answer{linearize.id, kNotWritablePrimary});
  } else if (!rules_.linearizable_writes) {
    Do(Answer{linearize.id, 0});
  } else {
    linearize_.push_back(linearize.id);
    if (linearize_asked_.empty()) {
      std::swap(linearize_, linearize_asked_);
      Do(WriteNoop{epoch(), ++noop_token_});
    }
  }
}

void Core::On(const NoopWritten& noop) {
  if (noop.token != noop_token_ || !leading() || noop.slot.epoch != epoch()) return;
  for (WaiterId id : linearize_asked_) waiters_.Add(Await{id, noop.slot, WriteConcern{}}, now_);
  linearize_asked_.clear();
  if (linearize_.empty()) return;
  std::swap(linearize_, linearize_asked_);
  Do(WriteNoop{epoch(), ++noop_token_});
}

void Core::CheckWaiters() {
  if (waiters_.empty()) return;
  held_.clear();
  held_.push_back({self_, durable_});
  for (const Peer& peer : peers_) {
    if (!peer.joined) continue;
    Time shown = rules_.numbers_wait_for_apply ? peer.applied : peer.durable;
    held_.push_back({peer.id, std::min(peer.durable, shown)});
  }
  const SetConfig& set = proposals_.confirmed().set();
  int majority = rules_.numbers_wait_for_commit ? proposals_.SmallestMajority() : INT_MAX;
  auto meets = [&](const Await& await) {
    return MeetsWriteConcern(set, await.concern, await.slot.time, commit_, held_, majority);
  };
  waiters_.Check(now_, meets, out_);
  // Members show what they know to be committed: those who wait for that do not wait for a beacon.
  if (told_commit_ < commit_ && waiters_.any_by_members()) SendBeacons();
}

void Core::EndWaiters() {
  if (rules_.waiters_by_epoch) waiters_.EndAll(out_);
  for (WaiterId id : linearize_) Do(Answer{id, kPrimarySteppedDown});
  for (WaiterId id : linearize_asked_) Do(Answer{id, kPrimarySteppedDown});
  linearize_.clear();
  linearize_asked_.clear();
}

}  // namespace quire::repl
