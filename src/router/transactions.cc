// SPDX-License-Identifier: Apache-2.0
#include "router/transactions.h"

namespace quire::router {

void Transactions::Begin(std::string_view session, int64_t number, bson::View read_concern) {
  MutexLock lock(mutex_);
  known_[std::string(session)] = {number, {}, bson::Document(read_concern)};
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
