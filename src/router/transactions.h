// SPDX-License-Identifier: Apache-2.0
//
// Which shard a multi-document transaction runs on. It stays on one: what would need a second is
// refused, and the first is told to abort.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "placement/chunk_map.h"
#include "quire/bson.h"

namespace quire::router {

// Safe for concurrent use.
class Transactions {
 public:
  struct Known {
    int64_t number = 0;
    placement::ShardName shard;  // empty before the first statement was sent
    bson::Document read_concern;
  };

  // A transaction begins; what was known of the session's last one is forgotten. Now and then, so
  // is what is known of sessions that have ended: `lives` says which have not.
  void Begin(std::string_view session, int64_t number, bson::View read_concern,
             const std::function<bool(std::string_view session)>& lives);
  // Nothing when it is not known here.
  std::optional<Known> Find(std::string_view session, int64_t number);
  // The first statement goes there.
  void Settle(std::string_view session, int64_t number, const placement::ShardName& shard);
  // It did not begin there, and may begin anywhere.
  void Unsettle(std::string_view session, int64_t number) { Settle(session, number, {}); }
  void Forget(std::string_view session);
  size_t size();

  static constexpr size_t kSweptAfter = 1000;  // transactions

 private:
  void Sweep(const std::function<bool(std::string_view session)>& lives);

  Mutex mutex_;
  size_t begun_ QUIRE_GUARDED_BY(mutex_) = 0;  // since the last sweep
  std::map<std::string, Known, std::less<>> known_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::router
