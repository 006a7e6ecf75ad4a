// SPDX-License-Identifier: Apache-2.0
//
// All of a AdNetwork: its calls, and the steps they are made of.
#pragma once

#include <functional>

#include "quire/patterns/ads.h"

namespace quire::patterns {

class AdNetwork::Work {
 public:
  Work(const Client& client, std::string_view database, AdNetworkOptions options = {});
  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Status AddAd(std::string_view site, std::string_view zone, const Ad& ad,
               const CallKey& key = std::nullopt) const;
  Status UpdateEcpm(std::string_view site, std::string_view zone, std::string_view campaign,
                    std::string_view unit, int64_t ecpm, const CallKey& key = std::nullopt) const;
  Result<std::vector<Ad>> Ads(std::string_view site, std::string_view zone) const;
  Result<std::vector<ServedAd>> ChooseAd(std::string_view site, std::string_view zone) const;
  Result<std::vector<ServedAd>> ChooseAd(std::string_view site, std::string_view zone,
                                         std::string_view user,
                                         const CallKey& key = std::nullopt) const;
  Result<std::vector<ServedAd>> ChooseAds(std::string_view site, std::string_view zone,
                                          std::string_view user,
                                          const std::vector<std::string>& keywords, size_t limit,
                                          bool require_match = false,
                                          const CallKey& key = std::nullopt) const;
  Status Click(std::string_view user, const bson::ObjectId& impression) const;
  Result<AdProfile> Profile(std::string_view user, std::string_view advertiser) const;
  Status CreateCampaign(const Campaign& campaign, const CallKey& key = std::nullopt) const;
  Status Charge(std::string_view campaign, bson::Date time, int64_t cost,
                const CallKey& key = std::nullopt) const;
  Status Count(std::string_view campaign, std::string_view zone, std::string_view unit,
               bson::Date time, const AdCounts& counts, const CallKey& key = std::nullopt) const;
  Result<std::map<std::string, AdCounts>> Counts(std::string_view campaign, std::string_view zone,
                                                 bson::Date time) const;
  Status DeactivateCampaign(std::string_view campaign, const CallKey& key = std::nullopt) const;
  Status ActivateCampaign(std::string_view campaign, const CallKey& key = std::nullopt) const;
  Result<JobReport> EndCampaigns() const;
  Result<JobReport> TrimProfiles(int64_t batch = 500) const;
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  FrequencyCap CapOf(const Ad& ad) const { return ad.cap.value_or(options_.default_cap); }
  Status CheckAd(const Ad& ad) const;
  // Whether the ad was added, or was there.
  Result<bool> PutAd(std::string_view site, std::string_view zone, const Ad& ad,
                     const bson::ObjectId& id) const;
  Result<std::vector<ServedAd>> Ranked(std::string_view site, std::string_view zone,
                                       const std::vector<std::string>* keywords,
                                       bool require_match) const;
  using Rank = std::function<Result<std::vector<ServedAd>>()>;
  Result<std::vector<ServedAd>> Choose(const bson::Document& arguments, std::string_view user,
                                       size_t limit, const CallKey& key, const Rank& rank) const;
  Result<std::vector<ServedAd>> TakeAllowed(std::vector<ServedAd> ranked,
                                            const bson::Document& arguments, std::string_view user,
                                            size_t limit, const Claim& claim) const;
  enum class Show { kCounted, kCapped, kTaken };
  // kTaken: a show of that impression is counted already.
  Result<Show> Reserve(std::string_view user, std::string_view site, std::string_view zone,
                       const Ad& ad, const Claim& impression) const;
  Result<ServedAd> ShownBefore(std::string_view user, const bson::ObjectId& impression,
                               const std::vector<ServedAd>& ranked) const;
  Result<bool> SetState(const bson::Document& filter, const bson::Document& state, bool upsert,
                        const Claim& claim = {}) const;
  Result<int64_t> Spread(const bson::Document& campaign) const;
  Result<JobReport> EndAndStart() const;
  Result<JobReport> DropUnseen(int64_t batch) const;
  Status TrimProfile(const bson::Document& user, bson::Date before, JobReport* report) const;

  AdNetworkOptions options_;
  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
