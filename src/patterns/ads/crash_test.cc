// SPDX-License-Identifier: Apache-2.0
//
// The ad network under crashes: every operation at every point, and random histories.
#include <map>
#include <set>

#include "patterns/testing/ads.h"
#include "patterns/testing/random_crash.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

size_t ShowsTo(World* world, const char* user) {
  size_t shows = 0;
  for (const char* advertiser : {"mercedes", "bmw", "audi"}) {
    shows += NetworkOf(world).Profile(user, advertiser)->impressions.size();
  }
  return shows;
}

int64_t SpentOn(World* world, const char* campaign) {
  auto stats = world->store.FindOne("campaign.stats", Doc("_id", campaign));
  int64_t spent = 0;
  if (stats.ok() && *stats && (**stats)["daily_spent"].is_document()) {
    for (const bson::Element& day : (**stats)["daily_spent"].AsDocument()) {
      spent += day.value().AsInt64();
    }
  }
  return spent;
}

Campaign OtherCampaign(World* world) {
  Campaign other = CarCampaign(world, 10);
  other.id = "other:c";
  return other;
}

struct Operation {
  const char* name;
  std::function<Status(World*, const AdNetwork&, const CallKey&)> run;
  // What must be so once a call with its key was repeated.
  std::function<void(World*)> done;
  const char* error = "";  // that it ends with
};

// In zones with three ads, and a campaign that has 1000 a day.
const Operation kOperations[] = {
    {"add",
     [](World*, auto& n, auto& key) {
       return n.AddAd("cnn", "banner", {"x:y", "1", 220}, key);
     },
     [](World* world) { EXPECT_EQ(NetworkOf(world).Ads("cnn", "banner")->size(), 5u); }},
    {"ecpm",
     [](World*, auto& n, auto& key) {
       return n.UpdateEcpm("cnn", "banner", "bmw:c9", "12", 260, key);
     },
     [](World* world) {
       auto ads = NetworkOf(world).Ads("cnn", "banner");
       EXPECT_EQ(ads->at(1).unit, "12");
     }},
    {"choose by price",
     [](World*, auto& n, auto& key) { return n.ChooseAd("cnn", "banner", "", key).status(); },
     [](World*) {}},
    {"choose with caps",
     [](World*, auto& n, auto& key) { return n.ChooseAd("cnn", "banner", "u", key).status(); },
     [](World* world) { EXPECT_EQ(ShowsTo(world, "u"), 1u); }},
    {"choose by keywords",
     [](World*, auto& n, auto& key) {
       return n.ChooseAds("cnn", "banner", "u", {"car"}, 3, false, key).status();
     },
     [](World* world) { EXPECT_EQ(ShowsTo(world, "u"), 3u); }},
    {"click",
     [](World* world, auto& n, auto&) {
       auto profile = NetworkOf(world).Profile("v", "bmw");
       return n.Click("v", profile->impressions.at(0).impression);
     },
     [](World* world) { EXPECT_EQ(NetworkOf(world).Profile("v", "bmw")->clicks.size(), 1u); }},
    {"charge",
     [](World* world, auto& n, auto& key) {
       return n.Charge("audi:c1", world->clock.Now(), 600, key);
     },
     [](World* world) { EXPECT_EQ(SpentOn(world, "audi:c1"), 600); }},
    {"exhaust",
     [](World* world, auto& n, auto& key) {
       return n.Charge("audi:c1", world->clock.Now(), 2000, key);
     },
     [](World* world) { EXPECT_EQ(SpentOn(world, "audi:c1"), 0); }, "BudgetExhausted"},
    {"count",
     [](World* world, auto& n, auto& key) {
       return n.Count("audi:c1", "side", "7",
                      {CarCampaign(world, 1).begin.millis / 86'400'000 * 86'400'000},
                      {.impressions = 3}, key);
     },
     [](World* world) {
       auto counts = NetworkOf(world).Counts("audi:c1", "side", world->clock.Now());
       EXPECT_EQ((*counts)["total"].impressions, 3);
     }},
    {"create",
     [](World* world, auto& n, auto& key) {
       Campaign other = OtherCampaign(world);
       other.begin = bson::Date{1};
       other.end = bson::Date{4'000'000'000'000};
       return n.CreateCampaign(other, key);
     },
     [](World* world) {
       EXPECT_EQ(*world->store.Count("ad.zone", Doc("ads.campaign_id", "other:c")), 2);
     }},
    {"deactivate", [](World*, auto& n, auto& key) { return n.DeactivateCampaign("audi:c1", key); },
     [](World* world) { EXPECT_EQ(PlacedAds(world), 3u); }},
    {"activate", [](World*, auto& n, auto& key) { return n.ActivateCampaign("rest:c", key); },
     [](World* world) {
       EXPECT_EQ(*world->store.Count("ad.zone", Doc("ads.campaign_id", "rest:c")), 2);
     }},
};

void Fill(World* world) {
  AddThree(world);
  const AdNetwork network = NetworkOf(world);
  ASSERT_TRUE(network.CreateCampaign(CarCampaign(world, 1000)).ok());
  Campaign resting = CarCampaign(world, 1000);
  resting.id = "rest:c";
  for (auto& [name, zone] : resting.zones) {
    zone.site = "elsewhere";
  }
  ASSERT_TRUE(network.CreateCampaign(resting).ok());
  ASSERT_TRUE(network.DeactivateCampaign("rest:c").ok());
  ASSERT_EQ(Units(network.ChooseAds("cnn", "banner", "v", {"performance"}, 1, true)).size(), 1u);
}

void SettleAds(World* world) {
  world->clock.Advance(minutes(5));
  const AdNetwork network = NetworkOf(world);
  RunUntilQuiet({[&] { return network.EndCampaigns(); }, [&] { return network.TrimProfiles(); }});
}

// What zones hold is what the states say.
void ExpectZonesFollow(World* world) {
  auto campaigns = world->store.Find("campaign.metadata", Doc("zones", Doc("$exists", true)));
  for (const Document& campaign : *campaigns) {
    const int64_t zones = *world->store.Count("ad.zone", Doc("ads.campaign_id", campaign["_id"]));
    EXPECT_EQ(zones, TextAt(campaign, "state") == "active" ? 2 : 0)
        << bson::ToJson(campaign.view());
  }
}

class AdsCrashTest : public BothPlaces {};

TEST_P(AdsCrashTest, EveryOperationAtEveryPoint) {
  for (const Operation& operation : kOperations) {
    for (bool keyed : KeyedAt(GetParam())) {
      SCOPED_TRACE(std::string(operation.name) + (keyed ? " with a key" : ""));
      const CallKey key = keyed ? CallKey("k") : CallKey();
      CrashCase test;
      test.once = Fill;
      test.operation = [&](World* world, const Seams& seams) {
        return operation.run(world, NetworkOf(world, seams), key);
      };
      if (keyed) {
        test.repeated = [&](const Status& again) {
          EXPECT_EQ(again.ok() ? "" : ErrorName(again), operation.error) << again.ToString();
        };
      }
      test.settle = SettleAds;
      test.always = ExpectSoundAds;
      test.settled = ExpectZonesFollow;
      test.done = operation.done;
      EXPECT_GE(RunCrashCase(GetParam(), test), keyed ? 6 : 1);  // a choice by price writes nothing
    }
  }
}

// With its key a choice is the same again: the ads, and the shows that count.
TEST_P(AdsCrashTest, AChoiceWithAKeyIsOneChoice) {
  AddThree(&world_);
  const AdNetwork network = NetworkOf(&world_);
  for (const char* user : {"", "u"}) {
    const std::string key = std::string("k") + user;
    auto first = network.ChooseAds("cnn", "banner", user, {"car"}, 2, false, key);
    for (int i = 0; i < 3; ++i) {
      auto again = network.ChooseAds("cnn", "banner", user, {"car"}, 2, false, key);
      EXPECT_EQ(Units(again), Units(first));
      EXPECT_EQ(again->at(1).impression, first->at(1).impression);
      EXPECT_EQ(again->at(0).score, first->at(0).score);
      EXPECT_EQ(again->at(0).ad.keywords, first->at(0).ad.keywords);
    }
  }
  EXPECT_EQ(ShowsTo(&world_, "u"), 2u);
  EXPECT_TRUE(Is(network.ChooseAds("cnn", "banner", "v", {"car"}, 2, false, "ku").status(),
                 Error::kIdempotencyKeyReuse));
}

TEST_P(AdsCrashTest, TheJobsAtEveryPoint) {
  const struct {
    const char* name;
    int days;
    std::function<Status(const AdNetwork&)> run;
  } kJobs[] = {
      {"end", 10, [](auto& n) { return n.EndCampaigns().status(); }},
      {"trim", 60, [](auto& n) { return n.TrimProfiles().status(); }},
      {"forget", 100, [](auto& n) { return n.TrimProfiles().status(); }},
  };
  for (const auto& job : kJobs) {
    SCOPED_TRACE(job.name);
    CrashCase test;
    test.once = [&](World* world) {
      Fill(world);
      world->clock.Advance(hours(24 * job.days));
    };
    test.operation = [&](World* world, const Seams& seams) {
      return job.run(NetworkOf(world, seams));
    };
    test.settle = SettleAds;
    test.always = ExpectSoundAds;
    test.settled = ExpectZonesFollow;
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
}

QUIRE_IN_BOTH_PLACES(AdsCrashTest);

class RandomAds : public RandomWorkload {
 public:
  void Setup(World* world) override { Fill(world); }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    world->clock.Advance(seconds(chance->Below(3600)));
    const AdNetwork network = NetworkOf(world, seams);
    const CallKey key =
        chance->OneIn(2) ? CallKey("k" + std::to_string(chance->Below(30))) : CallKey();
    const std::string user = chance->OneIn(3) ? "v" : "u";
    const int action = chance->Below(12);
    chance->Note("action " + std::to_string(action) + " of " + user + (key ? " key " + *key : ""));
    switch (action) {
      case 0:
      case 1:
      case 2:
        return network.ChooseAd("cnn", "banner", user, key).status();
      case 3:
        return network.ChooseAds("cnn", "banner", user, {"car"}, 2, false, key).status();
      case 4: {
        auto profile = NetworkOf(world).Profile(user, "mercedes");
        return profile.ok() && !profile->impressions.empty()
                   ? network.Click(user, chance->Pick(profile->impressions).impression)
                   : profile.status();
      }
      case 5:
        return network.AddAd("cnn", "banner",
                             {"x:y", std::to_string(chance->Below(3)), 100 + chance->Below(200)},
                             key);
      case 6:
        return network.UpdateEcpm("cnn", "banner", "bmw:c9", "12", 100 + chance->Below(200), key);
      case 7:
      case 8:
        return network.Charge("audi:c1", world->clock.Now(), 100 + chance->Below(400), key);
      case 9:
        return chance->OneIn(2) ? network.DeactivateCampaign("audi:c1", key)
                                : network.ActivateCampaign("audi:c1", key);
      case 10:
        return network.Count("audi:c1", "side", "7", world->clock.Now(), {.clicks = 1}, key);
      default:
        return chance->OneIn(2) ? network.EndCampaigns().status()
                                : network.TrimProfiles(1).status();
    }
  }

  void Settle(World* world) override { SettleAds(world); }
  void ExpectAlways(World* world) override { ExpectSoundAds(world); }
  void ExpectSettled(World* world) override { ExpectZonesFollow(world); }
  void Rest(World* world) override {
    world->clock.Advance(hours(25));
    SettleAds(world);
  }
};

const RandomSystem kRandom("Ads", [](Chance*) { return std::make_unique<RandomAds>(); });

}  // namespace
}  // namespace quire::patterns
