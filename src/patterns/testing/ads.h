// SPDX-License-Identifier: Apache-2.0
//
// Three ads and a campaign, for the tests of the ad network.
#pragma once

#include <string>
#include <vector>

#include "patterns/testing/places.h"
#include "quire/patterns/ads.h"

namespace quire::patterns {

inline AdNetwork NetworkOf(World* world, const Seams& seams) {
  return AdNetwork(world->client, world->database, {.seams = seams});
}
inline AdNetwork NetworkOf(World* world) { return NetworkOf(world, world->seams()); }

inline const Ad k23a{"mercedes:c1", "23a", 250, {"Car", "luxury"}};
inline const Ad k23b{"mercedes:c1", "23b", 250, {"boat"}};
inline const Ad k12{"bmw:c9", "12", 200, {"car", "performance", "CAR"}};

inline void AddThree(World* world) {
  AdNetwork network = NetworkOf(world);
  ASSERT_TRUE(network.CreateIndexes().ok());
  for (const Ad& ad : {k12, k23a, k23b}) {
    ASSERT_TRUE(network.AddAd("cnn", "banner", ad).ok());
  }
}

inline std::vector<std::string> Units(const Result<std::vector<ServedAd>>& served) {
  EXPECT_TRUE(served.ok()) << served.status().ToString();
  std::vector<std::string> units;
  for (size_t i = 0; served.ok() && i < served->size(); ++i) {
    units.push_back((*served)[i].ad.unit);
  }
  return units;
}

inline void ExpectSoundAds(World* world) { ExpectNothingWrong(NetworkOf(world).CheckInvariants()); }

inline Campaign CarCampaign(World* world, int64_t budget) {
  Campaign campaign{.id = "audi:c1",
                    .begin = world->clock.Now(),
                    .end = bson::Date{world->clock.Now().millis + 10 * 86'400'000},
                    .daily_budget = budget};
  campaign.zones["top.of$page"] = {.site = "cnn", .zone = "banner", .value = 300, .units = {"7"}};
  campaign.zones["side"] = {.site = "cnn",
                            .zone = "side",
                            .pricing = CampaignZone::Pricing::kPerClick,
                            .value = 40,
                            .units = {"7", "8"}};
  return campaign;
}

inline size_t PlacedAds(World* world) {
  AdNetwork network = NetworkOf(world);
  return network.Ads("cnn", "banner")->size() + network.Ads("cnn", "side")->size();
}

}  // namespace quire::patterns
