// SPDX-License-Identifier: Apache-2.0
//
// All of Rollups: the calls, and the steps they are made of.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "quire/patterns/lease.h"
#include "quire/patterns/rollups.h"

namespace quire::patterns {

class Rollups::Work {
 public:
  Work(const Client& client, std::string_view database, RollupsOptions options = {});
  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Status Record(const RollupEvent& event, const CallKey& key = std::nullopt) const;
  Result<int64_t> ReserveIds(std::string_view sequence, int64_t k,
                             const CallKey& key = std::nullopt) const;
  Result<JobReport> PurgeKeys(std::chrono::milliseconds retention = std::chrono::hours(24)) const {
    return calls_.Purge({retention, options_.worker, options_.lease});
  }
  Result<JobReport> Run() const;
  Result<JobReport> Close(bson::Date before) const;
  Result<JobReport> Repair(bson::Date from, bson::Date to) const;
  Result<std::vector<RollupValue>> Query(std::string_view user, Level level, bson::Date from,
                                         bson::Date to) const;
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  using Dirty = std::set<std::pair<std::string, int64_t>>;  // user, start of the interval
  // Hours before `before` are computed from the events that were ingested before `known` alone.
  struct Closing {
    bson::Date before{INT64_MIN};
    bson::Date known{INT64_MAX};
  };
  // A worker's time with the lease, in one of the jobs.
  struct Turn {
    std::string_view operation;  // of its crash points
    Lease* lease;
    bson::Date last_run;  // what was ingested before is rolled up
    bson::Date closed;    // hours before are
  };
  Result<JobReport> TakeTurn(std::string_view operation,
                             const std::function<Result<JobReport>(Turn*)>& job) const;
  static Status Save(const Turn& turn);
  Result<JobReport> CatchUp(Turn* turn) const;
  Result<bson::Date> BatchEnd(bson::Date from, bson::Date to) const;
  Status AddStored(bson::Date from, bson::Date to, Dirty* hours) const;
  Result<JobReport> Cascade(const Turn& turn, const Dirty& hours, const Closing& closing) const;
  Dirty Raised(const Dirty& below, Level level) const;
  Result<std::optional<bson::Document>> SumUp(const std::string& user, bson::Date start,
                                              Level level, bson::Date known) const;
  Status Recompute(const std::string& user, bson::Date start, Level level, int64_t token,
                   bson::Date known) const;
  Status AddLate(const bson::Document& event, int64_t token) const;
  Status AddToHour(const bson::Document& late, int64_t token) const;
  Status ForgetLate(const bson::Document& late) const;
  Result<Dirty> DirtyHours(const bson::Document& filter) const;

  RollupsOptions options_;
  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
