// SPDX-License-Identifier: Apache-2.0
//
// Which advertisement a page shows: the best paid one, within frequency caps, for keywords.
//
//   patterns::AdNetwork ads(client, "ads");
//   ads.CreateIndexes();
//   ads.AddAd("cnn", "banner", {.campaign = "mercedes:c201204", .unit = "23a", .ecpm = 250});
//   auto shown = ads.ChooseAd("cnn", "banner", cookie);   // nothing when all are capped
//   ads.Click(cookie, shown->at(0).impression);
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

// At most `shows` of an ad unit to a user within any time of that length.
struct FrequencyCap {
  int32_t shows = 1;
  std::chrono::seconds window = std::chrono::hours(24);
};

struct Ad {
  std::string campaign;  // "advertiser:campaign"
  std::string unit;
  int64_t ecpm = 0;  // revenue of 1000 views, minor units
  std::vector<std::string> keywords{};
  std::optional<FrequencyCap> cap{};  // none: the network's default
};

struct CampaignZone {
  enum class Pricing { kPerThousandViews, kPerClick };
  std::string site;
  std::string page_pattern{};
  std::string zone;
  Pricing pricing = Pricing::kPerThousandViews;
  int64_t value = 0;  // of the limit, minor units
  std::vector<std::string> units{};
  std::vector<std::string> keywords{};
  std::optional<FrequencyCap> cap{};
};

struct Campaign {
  std::string id;  // "advertiser:campaign"
  std::string customer{};
  std::string title{};
  bson::Date begin;
  bson::Date end;
  int64_t daily_budget = 0;
  std::map<std::string, CampaignZone> zones{};
};

struct ServedAd {
  Ad ad;
  double score = 0;
  bson::ObjectId impression;  // all zero when the user is unknown
};

struct AdEvent {  // a show or a click in a user's profile
  bson::ObjectId impression;
  bson::Date date;
  std::string campaign;
  std::string unit;
  std::string site;
  std::string zone;
};

struct AdProfile {
  std::vector<AdEvent> impressions;  // the last 500
  std::vector<AdEvent> clicks;
};

struct AdCounts {
  int64_t impressions = 0;
  int64_t clicks = 0;
  int64_t conversions = 0;
};

struct AdNetworkOptions {
  FrequencyCap default_cap{};
  // No cap is longer; what is older is dropped from profiles.
  std::chrono::seconds longest_window = std::chrono::hours(24 * 30);
  // Profiles not seen for that long are deleted; at least longest_window.
  std::chrono::seconds unseen = std::chrono::hours(24 * 90);
  // A price per click stands for that many clicks per 1000 views.
  int64_t clicks_per_thousand = 10;
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::chrono::milliseconds lease = std::chrono::minutes(1);
  std::string worker = "worker";
  Concerns concerns = {};
  Seams seams = {};
};

// Documents: ad.zone {_id, site_id, zone_id, ads: [{id, campaign_id, ad_unit_id, ecpm, keywords,
// cap: {n, window_s}}], marks} with ads by ecpm, highest first; ad.user {_id: cookie, advertisers:
// {advertiser: {impressions, clicks}}, caps: {"advertiser:unit": [dates]}, seen, marks};
// campaign.metadata {_id, customer_id, title, begin, end, zones, daily_budget, state, reason, day,
// changed, marks}; campaign.stats {_id, daily_spent: {day: amount}, zones: {zone: {daily_stats:
// {day: {"total" or unit: {impressions, clicks, conversions}}}}}, marks}. A campaign without
// metadata is served as long as its ads are in zones. Safe for concurrent use.
class AdNetwork {
 public:
  AdNetwork(const Client& client, std::string_view database, AdNetworkOptions options = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // Errors: InvalidName (campaign without advertiser, empty unit), InvalidPrice (negative),
  // InvalidAmount (a cap below 1 or longer than longest_window), DuplicateAd, IdempotencyKeyReuse,
  // Contention.
  Status AddAd(std::string_view site, std::string_view zone, const Ad& ad,
               const CallKey& key = std::nullopt) const;
  // Errors: InvalidPrice, NotFound, IdempotencyKeyReuse, Contention.
  Status UpdateEcpm(std::string_view site, std::string_view zone, std::string_view campaign,
                    std::string_view unit, int64_t ecpm, const CallKey& key = std::nullopt) const;
  // Best paid first.
  Result<std::vector<Ad>> Ads(std::string_view site, std::string_view zone) const;

  // With a key the three choices give the same ads again, and count no further show.
  // Design 1: one of those with the highest ecpm, by chance; empty when there is none.
  Result<std::vector<ServedAd>> ChooseAd(std::string_view site, std::string_view zone) const;
  // Design 2: the first by ecpm, those with the same in random order, that the user's caps allow;
  // the show is counted before this returns. Without a user, design 1.
  Result<std::vector<ServedAd>> ChooseAd(std::string_view site, std::string_view zone,
                                         std::string_view user,
                                         const CallKey& key = std::nullopt) const;
  // Design 3: up to `limit` by ecpm * ln(1.1 + matching keywords), whatever the case of their ASCII
  // letters. `require_match` leaves those without a match out.
  Result<std::vector<ServedAd>> ChooseAds(std::string_view site, std::string_view zone,
                                          std::string_view user,
                                          const std::vector<std::string>& keywords, size_t limit,
                                          bool require_match = false,
                                          const CallKey& key = std::nullopt) const;
  // Counted once, however often: the impression is its key. Error: NotFound.
  Status Click(std::string_view user, const bson::ObjectId& impression) const;
  // What one advertiser may see of a user; empty when there is nothing.
  Result<AdProfile> Profile(std::string_view user, std::string_view advertiser) const;

  // The ads of a campaign are in their zones from begin to end, while the day's budget lasts.
  // Errors: InvalidName, InvalidPrice, InvalidAmount, DuplicateKey, IdempotencyKeyReuse.
  Status CreateCampaign(const Campaign& campaign, const CallKey& key = std::nullopt) const;
  // Adds to what the campaign spent on the day of `time`. Errors: InvalidAmount, NotFound,
  // IdempotencyKeyReuse, BudgetExhausted (nothing was charged, and the campaign rests until the
  // next day).
  Status Charge(std::string_view campaign, bson::Date time, int64_t cost,
                const CallKey& key = std::nullopt) const;
  // Adds to a campaign's counts of the day of `time` in one of its zones. Errors: InvalidName (also
  // a unit called "total"), IdempotencyKeyReuse, Contention.
  Status Count(std::string_view campaign, std::string_view zone, std::string_view unit,
               bson::Date time, const AdCounts& counts, const CallKey& key = std::nullopt) const;
  // By unit, and "total"; empty when nothing was counted.
  Result<std::map<std::string, AdCounts>> Counts(std::string_view campaign, std::string_view zone,
                                                 bson::Date time) const;
  // No choice that starts afterwards returns the campaign. Again is ok. Error: IdempotencyKeyReuse.
  Status DeactivateCampaign(std::string_view campaign, const CallKey& key = std::nullopt) const;
  // Errors: NotFound (also when it has ended), IdempotencyKeyReuse.
  Status ActivateCampaign(std::string_view campaign, const CallKey& key = std::nullopt) const;

  // Ends what is over or has spent its budget, starts what begins or has a new day, and repeats
  // recent changes whose client crashed or whose writes came late.
  Result<JobReport> EndCampaigns() const;
  // Drops old shows from all profiles, `batch` at a time, and deletes up to `batch` that were not
  // seen for long. Forgets keys after the retention.
  Result<JobReport> TrimProfiles(int64_t batch = 500) const;

  // What is wrong, a line each: unsorted zones, caps and budgets exceeded.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
