// SPDX-License-Identifier: Apache-2.0
//
// The members of the shards' sets: who is there, who leads. Each is asked by hello every few
// seconds, and at once when one of them did not do what it was asked.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/bell.h"
#include "base/mutex.h"
#include "peer/pool.h"
#include "placement/records.h"
#include "router/remote/preference.h"

namespace quire::router {

// Safe for concurrent use.
class Members {
 public:
  // `pool` outlives it. `silent` is told of each host that has not answered for 10 seconds: what
  // others have asked of it need not be waited for either.
  static Result<std::unique_ptr<Members>> Start(
      peer::Pool* pool, std::function<void(const std::string& host)> silent);
  ~Members();

  // The shards there are.
  void SetShards(const std::vector<placement::ShardRecord>& shards);
  // Whoever may answer now; nothing when nobody is known to.
  std::optional<std::string> Pick(const placement::ShardName& shard,
                                  const ReadPreference& preference);
  // The host is not what it was taken for, or does not answer.
  void Doubt(const std::string& host);
  // Rings when something else is known.
  Bell& changed() { return changed_; }
  // All hosts of the shard, as far as they are known.
  std::vector<MemberState> StatesOf(const placement::ShardName& shard);

 private:
  struct Set {
    std::string name;                  // of the replica set
    std::vector<std::string> hosts;    // of the record, and those that members named
    std::vector<MemberState> members;  // that have answered
  };

  Members(peer::Pool* pool, std::function<void(const std::string& host)> silent)
      : pool_(*pool), silent_(std::move(silent)) {}
  void Run();
  void AskAll();
  void Ask(const placement::ShardName& shard, const std::string& host);
  void Note(const placement::ShardName& shard, const std::string& host,
            std::chrono::steady_clock::time_point sent, const Result<bson::Document>& reply);

  // Whether the host has been silent for long.
  bool NoteSilence(const std::string& host, std::chrono::steady_clock::time_point sent,
                   bool answered) QUIRE_REQUIRES(mutex_);

  peer::Pool& pool_;
  const std::function<void(const std::string& host)> silent_;
  Mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  bool hurry_ QUIRE_GUARDED_BY(mutex_) = true;
  size_t asked_ QUIRE_GUARDED_BY(mutex_) = 0;  // hellos under way
  size_t turn_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::map<placement::ShardName, Set> sets_ QUIRE_GUARDED_BY(mutex_);
  // Since when each host that does not answer has been asked.
  std::map<std::string, std::chrono::steady_clock::time_point> unanswered_ QUIRE_GUARDED_BY(mutex_);
  Bell changed_;
  std::thread thread_;
};

// "rs0/a:1,b:2" as the set's name and its hosts. Error: BadValue.
struct SetAddress {
  std::string set;
  std::vector<std::string> hosts;
};
Result<SetAddress> ParseSetAddress(std::string_view text);

}  // namespace quire::router
