// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/ads.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <thread>

#include "patterns/testing/ads.h"
#include "patterns/testing/query_paths.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class SeededRandom : public RandomSource {
 public:
  double Next() override { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }

 private:
  std::mt19937 engine_{11};
};

class AdsTest : public BothPlaces {};

TEST_P(AdsTest, ZonesAreSortedAndHoldAnAdOnce) {
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_);
  EXPECT_TRUE(Is(network.AddAd("cnn", "banner", k12), Error::kDuplicateAd));
  EXPECT_TRUE(network.AddAd("cnn", "side", k12, "key").ok());
  EXPECT_TRUE(network.AddAd("cnn", "side", k12, "key").ok());
  EXPECT_TRUE(Is(network.AddAd("cnn", "side", k23a, "key"), Error::kIdempotencyKeyReuse));
  EXPECT_TRUE(Is(network.AddAd("cnn", "side", {"nocolon", "1"}), Error::kInvalidName));
  EXPECT_TRUE(Is(network.AddAd("cnn", "side", {":c", "1"}), Error::kInvalidName));
  EXPECT_TRUE(Is(network.AddAd("cnn", "side", {"a:c", "", 1}), Error::kInvalidName));
  EXPECT_TRUE(Is(network.AddAd("cnn", "side", {"a:c", "1", -1}), Error::kInvalidPrice));
  EXPECT_TRUE(Is(network.AddAd("cnn", "side", {"a:c", "1", 1, {}, FrequencyCap{0, hours(1)}}),
                 Error::kInvalidAmount));
  EXPECT_TRUE(Is(network.AddAd("cnn", "side", {"a:c", "1", 1, {}, FrequencyCap{1, hours(9999)}}),
                 Error::kInvalidAmount));
  EXPECT_TRUE(network.UpdateEcpm("cnn", "banner", "bmw:c9", "12", 400).ok());
  auto ads = network.Ads("cnn", "banner");
  ASSERT_EQ(ads->size(), 3u);
  EXPECT_EQ(ads->front().unit, "12");
  EXPECT_EQ(ads->front().ecpm, 400);
  EXPECT_TRUE(Is(network.UpdateEcpm("cnn", "banner", "x:y", "12", 1), Error::kNotFound));
  EXPECT_TRUE(Is(network.UpdateEcpm("cnn", "none", "x:y", "12", 1), Error::kNotFound));
  EXPECT_TRUE(Is(network.UpdateEcpm("cnn", "banner", "bmw:c9", "12", -1), Error::kInvalidPrice));
  ExpectSoundAds(&world_);
}

TEST_P(AdsTest, TheBestPaidWinWithinTheirCaps) {
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_);
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(Units(network.ChooseAd("cnn", "banner")), std::vector<std::string>{"12"});
  }
  EXPECT_TRUE(Units(network.ChooseAd("cnn", "none")).empty());
  EXPECT_TRUE(Units(network.ChooseAd("cnn", "none", "u")).empty());
  const std::string first = Units(network.ChooseAd("cnn", "banner", "u")).at(0);
  const std::string second = Units(network.ChooseAd("cnn", "banner", "u")).at(0);
  EXPECT_EQ(std::set<std::string>({first, second}), std::set<std::string>({"23a", "23b"}));
  EXPECT_EQ(Units(network.ChooseAd("cnn", "banner", "u")), std::vector<std::string>{"12"});
  EXPECT_TRUE(Units(network.ChooseAd("cnn", "banner", "u")).empty());
  EXPECT_EQ(Units(network.ChooseAd("cnn", "banner", "v")).size(), 1u);
  world_.clock.Advance(hours(24) - seconds(1));
  EXPECT_TRUE(Units(network.ChooseAd("cnn", "banner", "u")).empty());
  world_.clock.Advance(seconds(1));
  EXPECT_EQ(Units(network.ChooseAd("cnn", "banner", "u")).size(), 1u);
  ExpectSoundAds(&world_);
  EXPECT_TRUE(network.Profile("u", "bmw")->impressions.at(0).unit == "12");
  EXPECT_EQ(network.Profile("u", "mercedes")->impressions.size(), 3u);
  EXPECT_TRUE(network.Profile("u", "nobody")->impressions.empty());
}

TEST_P(AdsTest, KeywordsWeighTheScore) {
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_);
  const std::vector<std::string> words = {"car", "Luxury", "luxury"};
  auto served = network.ChooseAds("cnn", "banner", "u", words, 5);
  EXPECT_EQ(Units(served), (std::vector<std::string>{"23a", "12", "23b"}));
  EXPECT_NEAR(served->at(0).score, 282.85, 0.01);
  EXPECT_NEAR(served->at(1).score, 148.39, 0.01);
  EXPECT_NEAR(served->at(2).score, 23.83, 0.01);
  EXPECT_TRUE(Units(network.ChooseAds("cnn", "banner", "u", words, 5)).empty());
  EXPECT_EQ(Units(network.ChooseAds("cnn", "banner", "v", words, 1)),
            std::vector<std::string>{"23a"});
  EXPECT_EQ(Units(network.ChooseAds("cnn", "banner", "v", {"car"}, 9, true)),
            std::vector<std::string>{"12"});
  EXPECT_TRUE(Units(network.ChooseAds("cnn", "banner", "w", {}, 9, true)).empty());
  EXPECT_EQ(Units(network.ChooseAds("cnn", "banner", "", words, 2)),
            (std::vector<std::string>{"23a", "12"}));
  ExpectSoundAds(&world_);
}

TEST_P(AdsTest, ChanceIsUniformInATie) {
  SeededRandom random;
  Seams seams = world_.seams();
  seams.random = &random;
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_, seams);
  ASSERT_TRUE(network.AddAd("cnn", "banner", {"audi:x", "9", 250}).ok());
  std::map<std::string, int> drawn;
  constexpr int kDraws = 600;
  for (int i = 0; i < kDraws; ++i) {
    drawn[Units(network.ChooseAd("cnn", "banner")).at(0)] += 1;
  }
  double chi_square = 0;
  for (const char* unit : {"23a", "23b", "9"}) {
    chi_square += std::pow(drawn[unit] - kDraws / 3.0, 2) / (kDraws / 3.0);
  }
  EXPECT_LT(chi_square, 13.8);  // two degrees of freedom, one in a thousand
  EXPECT_EQ(drawn.count("12"), 0u);
}

// Against all shows and scores, counted here: nobody gets a worse ad than one that was allowed.
TEST_P(AdsTest, WhatIsServedHasTheHighestScores) {
  SeededRandom random;
  Seams seams = world_.seams();
  seams.random = &random;
  auto below = [&](int n) { return static_cast<int>(random.Next() * n); };
  const AdNetwork network = NetworkOf(&world_, seams);
  ASSERT_TRUE(network.CreateIndexes().ok());
  const std::vector<std::string> words = {"car", "boat", "home"};
  std::vector<Ad> ads;
  for (int i = 0; i < 8; ++i) {
    Ad ad{"a" + std::to_string(i % 3) + ":c", std::to_string(i), 100 + 50 * below(4)};
    ad.keywords = {words[static_cast<size_t>(below(3))], words[static_cast<size_t>(below(3))]};
    ad.cap = FrequencyCap{1 + below(2), seconds(20)};
    ads.push_back(ad);
    ASSERT_TRUE(network.AddAd("s", "z", ad).ok());
  }
  std::map<std::string, std::vector<int64_t>> shown;  // by user and unit
  for (int i = 0; i < 60; ++i) {
    world_.clock.Advance(seconds(below(8)));
    const int64_t now = world_.clock.Now().millis;
    const std::string user = "u" + std::to_string(below(2));
    const bool by_keywords = below(2) == 0;
    const std::string word = words[static_cast<size_t>(below(3))];
    std::vector<double> allowed;
    for (const Ad& ad : ads) {
      const auto& times = shown[user + ad.unit];
      const auto recent =
          std::count_if(times.begin(), times.end(), [&](int64_t t) { return t > now - 20'000; });
      const bool matches = ad.keywords[0] == word || ad.keywords[1] == word;
      if (recent < ad.cap->shows) {
        allowed.push_back(static_cast<double>(ad.ecpm) *
                          (by_keywords ? std::log(matches ? 2.1 : 1.1) : 1.0));
      }
    }
    std::sort(allowed.rbegin(), allowed.rend());
    allowed.resize(std::min<size_t>(allowed.size(), by_keywords ? 3 : 1));
    auto served = by_keywords ? network.ChooseAds("s", "z", user, {word}, 3)
                              : network.ChooseAd("s", "z", user);
    std::vector<double> scores;
    for (const ServedAd& one : *served) {
      scores.push_back(one.score);
      shown[user + one.ad.unit].push_back(now);
    }
    ASSERT_EQ(scores, allowed) << i;
  }
  ExpectSoundAds(&world_);
}

TEST_P(AdsTest, DocumentsHaveTheirFields) {
  AddThree(&world_);
  const AdNetwork network = NetworkOf(&world_);
  ASSERT_TRUE(network.AddAd("cnn", "banner", {"a.b:c", "1$", 900, {}, FrequencyCap{2}}).ok());
  const auto served = network.ChooseAd("cnn", "banner", "u");
  ASSERT_TRUE(network.Click("u", served->at(0).impression).ok());
  const Document zone = **world_.store.FindOne("ad.zone", Doc());
  const bson::View ad = zone["ads"].AsArray()["0"].AsDocument();
  EXPECT_EQ(ad["ecpm"].type(), bson::Type::kInt64);
  EXPECT_EQ(At(ad, "cap.n").type(), bson::Type::kInt32);
  EXPECT_EQ(At(ad, "cap.window_s").type(), bson::Type::kInt64);
  EXPECT_EQ(IntegerAt(ad, "cap.window_s"), 86400);
  EXPECT_FALSE(zone["ads"].AsArray()["1"].AsDocument().Has("cap"));
  const Document user = **world_.store.FindOne("ad.user", Doc("_id", "u"));
  EXPECT_EQ(user["seen"].AsDate(), world_.clock.Now());
  EXPECT_EQ(At(user, "caps.a%2Eb:1%24").AsArray().Count(), 1u);
  for (const char* list : {"advertisers.a%2Eb.impressions", "advertisers.a%2Eb.clicks"}) {
    ASSERT_TRUE(At(user, list).is_array()) << list;
    const bson::View event = At(user, list).AsArray()["0"].AsDocument();
    EXPECT_EQ(event["date"].AsDate(), world_.clock.Now());
    EXPECT_EQ(TextAt(event, "campaign"), "a.b:c");
    EXPECT_EQ(TextAt(event, "ad_unit_id"), "1$");
    EXPECT_EQ(TextAt(event, "site_id"), "cnn");
    EXPECT_EQ(TextAt(event, "zone_id"), "banner");
  }
}

// The last 500 of an advertiser.
TEST_P(AdsTest, ProfilesAreBounded) {
  AddThree(&world_);
  const AdNetwork network = NetworkOf(&world_);
  std::vector<Document> old;
  for (int i = 0; i < 500; ++i) {
    old.push_back(Doc("id", ObjectId::Generate(), "date", bson::Date{i}, "campaign", "bmw:c9",
                      "ad_unit_id", "old", "site_id", "s", "zone_id", "z"));
  }
  ASSERT_TRUE(world_.store
                  .Insert("ad.user", Doc("_id", "u", "advertisers",
                                         Doc("bmw", Doc("impressions", ListOf(old)))))
                  .ok());
  ASSERT_EQ(Units(network.ChooseAds("cnn", "banner", "u", {"performance"}, 1, true)).size(), 1u);
  const auto profile = network.Profile("u", "bmw");
  ASSERT_EQ(profile->impressions.size(), 500u);
  EXPECT_EQ(profile->impressions.front().date, bson::Date{1});
  EXPECT_EQ(profile->impressions.back().unit, "12");
}

// Against counting all shows, for caps that change size on the way.
TEST_P(AdsTest, CapsAreExact) {
  std::mt19937 random(5);
  ASSERT_TRUE(NetworkOf(&world_).CreateIndexes().ok());
  for (int shows = 1; shows <= 3; ++shows) {
    const std::string user = "u" + std::to_string(shows);
    const std::string zone = "z" + std::to_string(shows);
    ASSERT_TRUE(
        NetworkOf(&world_)
            .AddAd("s", zone, {"a.b:c", "1." + zone, 1, {}, FrequencyCap{shows, seconds(10)}})
            .ok());
    std::vector<int64_t> times;
    for (int i = 0; i < 60; ++i) {
      world_.clock.Advance(std::chrono::milliseconds(1000 * (random() % 6)));
      const int64_t now = world_.clock.Now().millis;
      const auto recent =
          std::count_if(times.begin(), times.end(), [&](int64_t t) { return t > now - 10'000; });
      const bool shown = Units(NetworkOf(&world_).ChooseAd("s", zone, user)).size() == 1;
      ASSERT_EQ(shown, recent < shows) << shows << " " << i;
      if (shown) {
        times.push_back(now);
      }
    }
  }
  ExpectSoundAds(&world_);
  ASSERT_TRUE(world_.store
                  .UpdateOne("ad.zone", Doc("zone_id", "z3"),
                             Doc("$set", Doc("ads.0.cap.n", 1, "ads.0.cap.window_s", 1000)))
                  .ok());
  EXPECT_TRUE(Units(NetworkOf(&world_).ChooseAd("s", "z3", "u3")).empty());
  world_.clock.Advance(seconds(1000));
  EXPECT_EQ(Units(NetworkOf(&world_).ChooseAd("s", "z3", "u3")).size(), 1u);
  EXPECT_TRUE(Units(NetworkOf(&world_).ChooseAd("s", "z3", "u3")).empty());
}

TEST_P(AdsTest, AClickCountsOnce) {
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_);
  const ObjectId shown = network.ChooseAd("cnn", "banner", "u")->at(0).impression;
  world_.clock.Advance(seconds(3));
  EXPECT_TRUE(network.Click("u", shown).ok());
  EXPECT_TRUE(network.Click("u", shown).ok());
  auto profile = network.Profile("u", "mercedes");
  ASSERT_EQ(profile->clicks.size(), 1u);
  EXPECT_EQ(profile->clicks[0].date, world_.clock.Now());
  EXPECT_EQ(profile->clicks[0].site, "cnn");
  EXPECT_TRUE(Is(network.Click("u", ObjectId()), Error::kNotFound));
  EXPECT_TRUE(Is(network.Click("x", shown), Error::kNotFound));
}

TEST_P(AdsTest, CampaignsRunWithinTimeAndBudget) {
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_);
  Campaign campaign = CarCampaign(&world_, 1000);
  ASSERT_TRUE(network.CreateCampaign(campaign).ok());
  EXPECT_TRUE(IsDuplicateKey(network.CreateCampaign(campaign)));
  EXPECT_EQ(PlacedAds(&world_), 6u);
  EXPECT_EQ(network.Ads("cnn", "side")->front().ecpm, 400);
  EXPECT_EQ(Units(network.ChooseAd("cnn", "banner", "u")), std::vector<std::string>{"7"});

  const bson::Date now = world_.clock.Now();
  EXPECT_TRUE(network.Charge("audi:c1", now, 600, "k").ok());
  EXPECT_TRUE(network.Charge("audi:c1", now, 600, "k").ok());
  EXPECT_TRUE(network.Charge("audi:c1", now, 400).ok());
  EXPECT_EQ(PlacedAds(&world_), 6u);
  EXPECT_TRUE(Is(network.Charge("audi:c1", now, 1), Error::kBudgetExhausted));
  EXPECT_EQ(PlacedAds(&world_), 3u);
  EXPECT_TRUE(Is(network.Charge("audi:c1", now, 0), Error::kInvalidAmount));
  EXPECT_TRUE(Is(network.Charge("none:c1", now, 1), Error::kNotFound));
  EXPECT_EQ(network.EndCampaigns()->changed, 0);
  world_.clock.Advance(hours(24));
  EXPECT_EQ(network.EndCampaigns()->changed, 1);
  EXPECT_EQ(PlacedAds(&world_), 6u);
  EXPECT_TRUE(network.Charge("audi:c1", world_.clock.Now(), 1000).ok());
  EXPECT_EQ(network.EndCampaigns()->changed, 1);  // spent to the last
  EXPECT_EQ(PlacedAds(&world_), 3u);

  EXPECT_TRUE(network.ActivateCampaign("audi:c1").ok());
  EXPECT_TRUE(network.DeactivateCampaign("audi:c1").ok());
  EXPECT_TRUE(network.DeactivateCampaign("audi:c1").ok());
  world_.clock.Advance(hours(24));
  EXPECT_EQ(network.EndCampaigns()->changed, 0);  // by hand: it stays so
  EXPECT_TRUE(network.ActivateCampaign("audi:c1").ok());
  EXPECT_EQ(PlacedAds(&world_), 6u);
  world_.clock.Advance(hours(24 * 20));
  EXPECT_TRUE(Units(network.ChooseAd("cnn", "side")).empty());  // over, though no job ran yet
  EXPECT_EQ(network.EndCampaigns()->changed, 1);
  EXPECT_EQ(PlacedAds(&world_), 3u);
  EXPECT_TRUE(Is(network.ActivateCampaign("audi:c1"), Error::kNotFound));
  EXPECT_TRUE(Is(network.ActivateCampaign("none:c1"), Error::kNotFound));

  campaign.id = "late:c";
  campaign.begin = {world_.clock.Now().millis + 1000};
  campaign.end = {world_.clock.Now().millis + 5000};
  ASSERT_TRUE(network.CreateCampaign(campaign).ok());
  EXPECT_EQ(PlacedAds(&world_), 3u);
  world_.clock.Advance(seconds(1));
  EXPECT_EQ(network.EndCampaigns()->changed, 1);
  EXPECT_EQ(PlacedAds(&world_), 6u);
  ExpectSoundAds(&world_);

  world_.clock.Advance(std::chrono::milliseconds(3999));
  EXPECT_EQ(Units(network.ChooseAd("cnn", "side")).size(), 1u);
  world_.clock.Advance(std::chrono::milliseconds(1));  // the end is not part of it
  EXPECT_TRUE(Units(network.ChooseAd("cnn", "side")).empty());

  campaign.zones[""] = campaign.zones["side"];
  EXPECT_TRUE(Is(network.CreateCampaign(campaign), Error::kInvalidName));
  campaign.zones.erase("");
  campaign.id = "no-advertiser";
  EXPECT_TRUE(Is(network.CreateCampaign(campaign), Error::kInvalidName));
  campaign.end = campaign.begin;
  EXPECT_TRUE(Is(network.CreateCampaign(campaign), Error::kInvalidAmount));
}

// More than the job takes at a time, and one that cannot be carried out among them.
TEST_P(AdsTest, TheJobEndsEveryCampaign) {
  AdNetwork network = NetworkOf(&world_);
  ASSERT_TRUE(network.CreateIndexes().ok());
  ASSERT_TRUE(world_.store.Insert("ad.zone", Doc("site_id", "s", "zone_id", "z", "ads", 5)).ok());
  std::vector<Document> campaigns;
  for (int i = 0; i < 230; ++i) {
    campaigns.push_back(Doc("_id", "a:" + std::to_string(i), "state", "active", "reason", "manual",
                            "end", world_.clock.Now(), "changed", bson::Date{0}));
  }
  ASSERT_TRUE(world_.client.GetDatabase(world_.database)
                  .GetCollection("campaign.metadata")
                  .InsertMany(campaigns)
                  .ok());
  const Document zones = Doc("z", Doc("site", "s", "zone", "z", "ad_ids", List("1")));
  ASSERT_TRUE(world_.store
                  .Insert("campaign.metadata",
                          Doc("_id", "a", "state", "inactive", "reason", "scheduled", "begin",
                              bson::Date{1}, "end", bson::Date{4'000'000'000'000}, "daily_budget",
                              int64_t{1}, "zones", zones, "changed", bson::Date{0}))
                  .ok());
  auto report = network.EndCampaigns();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->changed, 230);
  EXPECT_EQ(report->errors, 2);  // when it is started, and when that is repeated
  EXPECT_EQ(*world_.store.Count("campaign.metadata", Doc("reason", "ended")), 230);
}

TEST_P(AdsTest, CountsPerDayZoneAndUnit) {
  AdNetwork network = NetworkOf(&world_);
  const bson::Date now = world_.clock.Now();
  EXPECT_TRUE(network.Count("a:c", "z.1", "u$", now, {.impressions = 3}, "k").ok());
  EXPECT_TRUE(network.Count("a:c", "z.1", "u$", now, {.impressions = 3}, "k").ok());
  EXPECT_TRUE(network.Count("a:c", "z.1", "v", now, {1, 1, 1}).ok());
  auto counts = network.Counts("a:c", "z.1", now);
  ASSERT_EQ(counts->size(), 3u);
  EXPECT_EQ((*counts)["total"].impressions, 4);
  EXPECT_EQ((*counts)["u$"].impressions, 3);
  EXPECT_EQ((*counts)["v"].conversions, 1);
  EXPECT_TRUE(network.Counts("a:c", "z", now)->empty());
  EXPECT_TRUE(Is(network.Count("a:c", "z", "total", now, {}), Error::kInvalidName));
  EXPECT_TRUE(Is(network.Count("a:c", "", "v", now, {}), Error::kInvalidName));
  EXPECT_TRUE(Is(network.Count("a:c", "z", "", now, {}), Error::kInvalidName));
}

TEST_P(AdsTest, ADeactivatedCampaignIsNotServedWhateverComesLate) {
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_);
  EXPECT_TRUE(network.DeactivateCampaign("mercedes:c1").ok());
  EXPECT_EQ(network.Ads("cnn", "banner")->size(), 1u);
  EXPECT_TRUE(network.AddAd("cnn", "banner", k23a).ok());  // a client that did not know
  EXPECT_EQ(Units(network.ChooseAd("cnn", "banner")), std::vector<std::string>{"12"});
  EXPECT_EQ(network.EndCampaigns()->changed, 1);
  EXPECT_EQ(network.Ads("cnn", "banner")->size(), 1u);
}

TEST_P(AdsTest, ProfilesAreTrimmed) {
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_);
  for (const char* user : {"a", "b", "c"}) {
    ASSERT_EQ(Units(network.ChooseAd("cnn", "banner", user)).size(), 1u);
  }
  world_.clock.Advance(hours(24 * 31));
  ASSERT_EQ(Units(network.ChooseAds("cnn", "banner", "a", {"performance"}, 1)).size(), 1u);
  EXPECT_EQ(network.TrimProfiles(2)->changed, 3);
  EXPECT_EQ(network.TrimProfiles(2)->changed, 0);
  EXPECT_EQ(network.Profile("a", "mercedes")->impressions.size() +
                network.Profile("a", "bmw")->impressions.size(),
            1u);
  auto stored = world_.store.FindOne("ad.user", Doc("_id", "b"));
  EXPECT_TRUE((**stored)["caps"].AsDocument().empty());
  world_.clock.Advance(hours(24 * 60));
  // b and c were not seen for 91 days, what a was shown is old.
  EXPECT_EQ(network.TrimProfiles(10)->changed, 3);
  EXPECT_EQ(*world_.store.Count("ad.user", Doc()), 1);
}

TEST_P(AdsTest, ManyServersNeverExceedCapsOrBudgets) {
  AddThree(&world_);
  AdNetwork network = NetworkOf(&world_);
  ASSERT_TRUE(
      network.AddAd("cnn", "banner", {"a:c", "two", 250, {}, FrequencyCap{2, minutes(1)}}).ok());
  ASSERT_TRUE(
      network.AddAd("cnn", "banner", {"b:c", "three", 250, {}, FrequencyCap{3, minutes(5)}}).ok());
  ASSERT_TRUE(network.CreateCampaign(CarCampaign(&world_, 100)).ok());
  std::atomic<int> shown{0};
  std::atomic<int64_t> charged{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      AdNetwork mine = NetworkOf(&world_);
      for (int i = 0; i < 40; ++i) {
        world_.clock.Advance(seconds(1));
        auto served = mine.ChooseAd("cnn", "banner", "u" + std::to_string(i % 2));
        EXPECT_TRUE(served.ok()) << served.status().ToString();
        shown += static_cast<int>(served->size());
        Status paid = mine.Charge("audi:c1", world_.clock.Now(), 1 + t);
        EXPECT_TRUE(paid.ok() || Is(paid, Error::kBudgetExhausted)) << paid.ToString();
        charged += paid.ok() ? 1 + t : 0;
        if (i % 10 == 0) {
          EXPECT_TRUE(mine.EndCampaigns().ok());
          EXPECT_TRUE(mine.UpdateEcpm("cnn", "banner", "bmw:c9", "12", 100 + i + t).ok());
          ExpectSoundAds(&world_);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ExpectSoundAds(&world_);
  EXPECT_GT(shown.load(), 6);
  EXPECT_LE(charged.load(), 100);
  EXPECT_GT(charged.load(), 90);
  EXPECT_EQ(network.Ads("cnn", "side")->size(), 0u);  // it rests
}

TEST_P(AdsTest, QueriesUseTheIndexes) {
  EXPECT_EQ(NetworkOf(&world_).MissingIndexes()->size(), AdNetwork::Indexes().size());
  AddThree(&world_);
  EXPECT_TRUE(NetworkOf(&world_).MissingIndexes()->empty());
  EXPECT_EQ(AdNetwork::ShardKeys().size(), 5u);
  QueryPaths paths;
  Seams seams = world_.seams();
  seams.queries = &paths;
  const AdNetwork network = NetworkOf(&world_, seams);
  for (int i = 0; i < 10; ++i) {
    Campaign campaign = CarCampaign(&world_, 10);
    campaign.id = "x:" + std::to_string(i);
    ASSERT_TRUE(network.CreateCampaign(campaign, "c" + std::to_string(i)).ok());
    const std::string user = "u" + std::to_string(i);
    auto served = network.ChooseAd("cnn", "banner", user, "k" + user);
    ASSERT_EQ(served->size(), 1u);
    ASSERT_TRUE(network.ChooseAds("cnn", "banner", user, {"car"}, 2).ok());
    ASSERT_TRUE(network.Click(user, served->at(0).impression).ok());
    ASSERT_TRUE(network.Profile(user, "x").ok());
  }
  ASSERT_TRUE(network.ChooseAd("cnn", "side").ok());
  ASSERT_FALSE(network.AddAd("cnn", "banner", k12).ok());
  ASSERT_TRUE(network.UpdateEcpm("cnn", "banner", "bmw:c9", "12", 4, "e").ok());
  ASSERT_TRUE(network.Charge("x:1", world_.clock.Now(), 10, "p").ok());
  ASSERT_FALSE(network.Charge("x:1", world_.clock.Now(), 10).ok());
  ASSERT_TRUE(network.Count("x:2", "side", "7", world_.clock.Now(), {.clicks = 1}, "n").ok());
  ASSERT_TRUE(network.Counts("x:2", "side", world_.clock.Now()).ok());
  ASSERT_TRUE(network.DeactivateCampaign("x:3", "d").ok());
  ASSERT_TRUE(network.ActivateCampaign("x:3").ok());
  for (int days : {0, 1, 11, 40, 91}) {
    world_.clock.Advance(hours(24 * days));
    ASSERT_TRUE(network.EndCampaigns().ok());
    ASSERT_TRUE(network.TrimProfiles(3).ok());
  }
  // The job looks at every campaign of the state that it is about to change.
  paths.ExpectIndexed(world_.store, {"find campaign.metadata state,reason,begin,end by begin,_id",
                                     "find campaign.metadata state,reason,day,end by begin,_id"});
}

QUIRE_IN_BOTH_PLACES(AdsTest);

}  // namespace
}  // namespace quire::patterns
