// SPDX-License-Identifier: Apache-2.0
//
// The ad network's structs as documents.
#pragma once

#include <string_view>

#include "quire/patterns/ads.h"

namespace quire::patterns {

inline constexpr char kAdZones[] = "ad.zone";
inline constexpr char kAdUsers[] = "ad.user";
inline constexpr char kAdCampaigns[] = "campaign.metadata";
inline constexpr char kAdStats[] = "campaign.stats";

// "" when the campaign's id names none.
std::string_view AdvertiserOf(std::string_view campaign);

bson::Document AdDocument(const Ad& ad, const bson::ObjectId& id);
Ad AdOf(bson::View document);
bson::Document AdEventDocument(const AdEvent& event);
AdEvent AdEventOf(bson::View document);

// Of the zones of a campaign, by their encoded names. Error: InvalidName.
Result<bson::Document> CampaignZonesDocument(const Campaign& campaign);

// What a campaign's metadata puts into zones.
struct PlacedAd {
  std::string site;
  std::string zone;
  Ad ad;
};
std::vector<PlacedAd> PlacedAdsOf(bson::View metadata, int64_t clicks_per_thousand);

}  // namespace quire::patterns
