// SPDX-License-Identifier: Apache-2.0
//
// All of Links: the calls, and the steps they are made of.
#pragma once

#include "quire/patterns/links.h"

namespace quire::patterns {

class Links::Work {
 public:
  Work(const Client& client, std::string_view database, LinksOptions options = {});
  std::vector<IndexSpec> Indexes() const;
  std::vector<ShardKeySpec> ShardKeys() const;
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Status AddOwner(std::string_view id, const bson::Document& fields,
                  const CallKey& key = std::nullopt) const;
  Status AddTarget(std::string_view id, const bson::Document& fields,
                   const CallKey& key = std::nullopt) const;
  Result<bson::Document> GetOwner(std::string_view id) const;
  Result<bson::Document> GetTarget(std::string_view id) const;
  Status Link(std::string_view owner, std::string_view target,
              const CallKey& key = std::nullopt) const;
  Status Unlink(std::string_view owner, std::string_view target,
                const CallKey& key = std::nullopt) const;
  Result<Page> TargetsOf(std::string_view owner, const PageRequest& page = {}) const;
  Result<Page> OwnersOf(std::string_view target, const PageRequest& page = {}) const;
  Status DeleteOwner(std::string_view id, const CallKey& key = std::nullopt) const;
  Status DeleteTarget(std::string_view id, const CallKey& key = std::nullopt) const;
  Result<JobReport> Sweep() const;
  Result<JobReport> PurgeKeys() const {
    return calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease});
  }
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Status Add(std::string_view operation, const std::string& collection, std::string_view id,
             const bson::Document& fields, const CallKey& key) const;
  Result<bson::Document> Get(const std::string& collection, std::string_view id) const;
  bson::Document Shown(const bson::Document& stored) const;
  Result<bson::Document> Find(const std::string& collection, std::string_view id) const;
  // The answer to a change of an owner that its guard refused: ok when a holder of the claim has
  // made it already.
  Status Refusal(std::string_view owner, const Claim& claim) const;
  Status LinkOnce(std::string_view owner, std::string_view target, const Claim& claim) const;
  Status UnlinkOnce(std::string_view owner, std::string_view target, const Claim& claim) const;
  Status Remove(const Store& store, const std::string& collection, std::string_view id,
                const Claim& claim) const;
  Status DeleteTargetSteps(const Store& store, std::string_view id, const Claim& claim) const;
  Result<bool> SweepTargets(PageRequest* page, JobReport* report) const;
  Result<int64_t> Forget(const std::string& collection, const bson::Document& id) const;

  const LinksOptions options_;
  const std::string links_index_;  // its keys, as JSON
  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
