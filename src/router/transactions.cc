// SPDX-License-Identifier: Apache-2.0
#include "router/transactions.h"

#include <algorithm>
#include <vector>

namespace quire::router {

namespace {

// What of a read concern counts: the rest may be of any size.
bson::Document Kept(bson::View read_concern) {
  bson::Builder out;
  for (const std::string_view name : {"level", "afterClusterTime", "atClusterTime"}) {
    if (const bson::Element field = read_concern.Find(name); field.present()) {
      out.Append(field);
    }
  }
  return out.Finish();
}

}  // namespace

void Transactions::Begin(std::string_view session, int64_t number, bson::View read_concern,
                         const std::function<bool(std::string_view session)>& lives) {
  bool sweeps = false;
  {
    MutexLock lock(mutex_);
    known_[std::string(session)] = {number, {}, Kept(read_concern)};
    sweeps = ++begun_ >= std::max(kSweptAfter, known_.size() / 2);
    begun_ = sweeps ? 0 : begun_;
  }
  if (sweeps) {
    Sweep(lives);
  }
}

void Transactions::Sweep(const std::function<bool(std::string_view session)>& lives) {
  std::vector<std::string> sessions;
  {
    MutexLock lock(mutex_);
    for (const auto& [session, known] : known_) {
      sessions.push_back(session);
    }
  }
  std::erase_if(sessions, [&](const std::string& session) { return lives(session); });
  MutexLock lock(mutex_);
  for (const std::string& session : sessions) {
    known_.erase(session);
  }
}

size_t Transactions::size() {
  MutexLock lock(mutex_);
  return known_.size();
}

std::optional<Transactions::Known> Transactions::Find(std::string_view session, int64_t number) {
  MutexLock lock(mutex_);
  const auto known = known_.find(session);
  if (known == known_.end() || known->second.number != number) {
    return std::nullopt;
  }
  return known->second;
}

void Transactions::Settle(std::string_view session, int64_t number,
                          const placement::ShardName& shard) {
  MutexLock lock(mutex_);
  if (auto known = known_.find(session); known != known_.end() && known->second.number == number) {
    known->second.shard = shard;
  }
}

void Transactions::Forget(std::string_view session) {
  MutexLock lock(mutex_);
  if (auto known = known_.find(session); known != known_.end()) {
    known_.erase(known);
  }
}

}  // namespace quire::router
