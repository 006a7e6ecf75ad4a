// SPDX-License-Identifier: Apache-2.0
//
// The calls of AdNetwork, each in its Work.
#include <utility>

#include "patterns/ads/work.h"

namespace quire::patterns {

AdNetwork::AdNetwork(const Client& client, std::string_view database, AdNetworkOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

const std::vector<IndexSpec>& AdNetwork::Indexes() { return Work::Indexes(); }
const std::vector<ShardKeySpec>& AdNetwork::ShardKeys() { return Work::ShardKeys(); }
Status AdNetwork::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> AdNetwork::MissingIndexes() const {
  return work_->MissingIndexes();
}
Status AdNetwork::AddAd(std::string_view site, std::string_view zone, const Ad& ad,
                        const CallKey& key) const {
  return work_->AddAd(site, zone, ad, key);
}
Status AdNetwork::UpdateEcpm(std::string_view site, std::string_view zone,
                             std::string_view campaign, std::string_view unit, int64_t ecpm,
                             const CallKey& key) const {
  return work_->UpdateEcpm(site, zone, campaign, unit, ecpm, key);
}
Result<std::vector<Ad>> AdNetwork::Ads(std::string_view site, std::string_view zone) const {
  return work_->Ads(site, zone);
}
Result<std::vector<ServedAd>> AdNetwork::ChooseAd(std::string_view site,
                                                  std::string_view zone) const {
  return work_->ChooseAd(site, zone);
}
Result<std::vector<ServedAd>> AdNetwork::ChooseAd(std::string_view site, std::string_view zone,
                                                  std::string_view user, const CallKey& key) const {
  return work_->ChooseAd(site, zone, user, key);
}
Result<std::vector<ServedAd>> AdNetwork::ChooseAds(std::string_view site, std::string_view zone,
                                                   std::string_view user,
                                                   const std::vector<std::string>& keywords,
                                                   size_t limit, bool require_match,
                                                   const CallKey& key) const {
  return work_->ChooseAds(site, zone, user, keywords, limit, require_match, key);
}
Status AdNetwork::Click(std::string_view user, const bson::ObjectId& impression) const {
  return work_->Click(user, impression);
}
Result<AdProfile> AdNetwork::Profile(std::string_view user, std::string_view advertiser) const {
  return work_->Profile(user, advertiser);
}
Status AdNetwork::CreateCampaign(const Campaign& campaign, const CallKey& key) const {
  return work_->CreateCampaign(campaign, key);
}
Status AdNetwork::Charge(std::string_view campaign, bson::Date time, int64_t cost,
                         const CallKey& key) const {
  return work_->Charge(campaign, time, cost, key);
}
Status AdNetwork::Count(std::string_view campaign, std::string_view zone, std::string_view unit,
                        bson::Date time, const AdCounts& counts, const CallKey& key) const {
  return work_->Count(campaign, zone, unit, time, counts, key);
}
Result<std::map<std::string, AdCounts>> AdNetwork::Counts(std::string_view campaign,
                                                          std::string_view zone,
                                                          bson::Date time) const {
  return work_->Counts(campaign, zone, time);
}
Status AdNetwork::DeactivateCampaign(std::string_view campaign, const CallKey& key) const {
  return work_->DeactivateCampaign(campaign, key);
}
Status AdNetwork::ActivateCampaign(std::string_view campaign, const CallKey& key) const {
  return work_->ActivateCampaign(campaign, key);
}
Result<JobReport> AdNetwork::EndCampaigns() const { return work_->EndCampaigns(); }
Result<JobReport> AdNetwork::TrimProfiles(int64_t batch) const {
  return work_->TrimProfiles(batch);
}
Result<std::vector<std::string>> AdNetwork::CheckInvariants() const {
  return work_->CheckInvariants();
}

}  // namespace quire::patterns
