// SPDX-License-Identifier: Apache-2.0
//
// Zones and the choice of ads.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/ads/documents.h"
#include "patterns/ads/work.h"
#include "patterns/doc.h"
#include "patterns/line_id.h"
#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::ObjectId;

constexpr int kAttempts = 5;
constexpr int32_t kKeptEvents = 500;

std::string Folded(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return folded;
}

int64_t Matches(const Ad& ad, const std::set<std::string>& wanted) {
  std::set<std::string> matching;
  for (const std::string& keyword : ad.keywords) {
    if (std::string folded = Folded(keyword); wanted.contains(folded)) {
      matching.insert(std::move(folded));
    }
  }
  return static_cast<int64_t>(matching.size());
}

Document ByUnit(std::string_view campaign, std::string_view unit) {
  return Doc("campaign_id", campaign, "ad_unit_id", unit);
}

// The ads of a zone, one with another ecpm, sorted. Error: NotFound.
Result<Array> Repriced(const std::optional<Document>& zone, std::string_view campaign,
                       std::string_view unit, int64_t ecpm) {
  bool known = false;
  std::vector<Document> ads;
  for (const bson::Element& element : zone ? (*zone)["ads"].AsArray() : bson::View()) {
    bson::View one = element.value().AsDocument();
    const bool this_one =
        TextAt(one, "campaign_id") == campaign && TextAt(one, "ad_unit_id") == unit;
    known = known || this_one;
    bson::Builder changed;
    for (const bson::Element& field : one) {
      changed.Append(field.name(),
                     this_one && field.name() == "ecpm" ? bson::Value(ecpm) : field.value());
    }
    ads.push_back(changed.Finish());
  }
  if (!known) {
    return MakeError(Error::kNotFound, unit);
  }
  std::stable_sort(ads.begin(), ads.end(), [](const Document& a, const Document& b) {
    return IntegerAt(a, "ecpm") > IntegerAt(b, "ecpm");
  });
  return ListOf(ads);
}

// The id of the n-th show of a call: the same for all who carry it out.
ObjectId ImpressionOf(const ObjectId& call, size_t n) {
  std::string bytes(call.bytes.begin(), call.bytes.end());
  uint64_t hash = HashBytes(bytes + std::to_string(n), 11);
  ObjectId id = call;
  for (size_t i = 4; i < id.bytes.size(); ++i, hash >>= 8) {
    id.bytes[i] = static_cast<uint8_t>(hash);
  }
  return id;
}

Document ServedDocument(const ServedAd& served) {
  return Doc("ad", AdDocument(served.ad, ObjectId()), "score", served.score, "impression",
             served.impression);
}

ServedAd ServedOf(bson::View document) {
  return {AdOf(document["ad"].AsDocument()), document["score"].AsDouble(),
          document["impression"].AsObjectId()};
}

}  // namespace

AdNetwork::Work::Work(const Client& client, std::string_view database, AdNetworkOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "ads") {}

const std::vector<IndexSpec>& AdNetwork::Work::Indexes() {
  static const std::vector<IndexSpec> kIndexes = {
      {kAdZones, R"({"site_id": 1, "zone_id": 1})", true},
      {kAdZones, R"({"ads.campaign_id": 1})"},
      {kAdUsers, R"({"seen": 1})"},
      {kAdCampaigns, R"({"state": 1, "end": 1, "_id": 1})"},
      {kAdCampaigns, R"({"state": 1, "reason": 1, "begin": 1, "_id": 1})"},
      {kAdCampaigns, R"({"changed": 1, "_id": 1})"},
      Idempotency::Index()};
  return kIndexes;
}

const std::vector<ShardKeySpec>& AdNetwork::Work::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{kAdZones, R"({"site_id": 1, "zone_id": 1})"},
                                                  {kAdUsers, R"({"_id": "hashed"})"},
                                                  {kAdCampaigns, R"({"_id": "hashed"})"},
                                                  {kAdStats, R"({"_id": "hashed"})"},
                                                  Idempotency::ShardKey()};
  return kKeys;
}

Status AdNetwork::Work::CheckAd(const Ad& ad) const {
  if (AdvertiserOf(ad.campaign).empty() || ad.unit.empty()) {
    return MakeError(Error::kInvalidName, ad.campaign + " " + ad.unit);
  }
  if (ad.ecpm < 0) {
    return MakeError(Error::kInvalidPrice, std::to_string(ad.ecpm));
  }
  if (ad.cap && (ad.cap->shows < 1 || ad.cap->window.count() < 1 ||
                 ad.cap->window > options_.longest_window)) {
    return MakeError(Error::kInvalidAmount, "the cap of " + ad.unit);
  }
  return Status::Ok();
}

// The zone exists though the upsert found none: it has the ad, or another upsert made it.
Result<bool> AdNetwork::Work::PutAd(std::string_view site, std::string_view zone, const Ad& ad,
                                    const ObjectId& id) const {
  const Document where = Doc("site_id", site, "zone_id", zone);
  const Document same = ByUnit(ad.campaign, ad.unit);
  const Document without =
      Doc("site_id", site, "zone_id", zone, "ads", Doc("$not", Doc("$elemMatch", same)));
  const Document push =
      Doc("$push", Doc("ads", Doc("$each", List(AdDocument(ad, id)), "$sort", Doc("ecpm", -1))));
  for (int i = 0; i < kAttempts; ++i) {
    Status status = store_.UpdateOne(kAdZones, without, push, true).status();
    if (!IsDuplicateKey(status)) {
      RETURN_IF_ERROR(status);
      return true;
    }
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kAdZones, where));
    for (const bson::Element& element : found ? (*found)["ads"].AsArray() : bson::View()) {
      bson::View one = element.value().AsDocument();
      if (TextAt(one, "campaign_id") == ad.campaign && TextAt(one, "ad_unit_id") == ad.unit) {
        return one["id"].AsObjectId() == id;
      }
    }
  }
  return MakeError(Error::kContention, zone);
}

Status AdNetwork::Work::AddAd(std::string_view site, std::string_view zone, const Ad& ad,
                              const CallKey& key) const {
  RETURN_IF_ERROR(CheckAd(ad));
  const Document arguments = Doc("site", site, "zone", zone, "ad", AdDocument(ad, ObjectId()));
  auto add = [&](const Claim& claim) -> Result<Document> {
    ASSIGN_OR_RETURN(bool added, PutAd(site, zone, ad, claim.id));
    RETURN_IF_ERROR(store_.seams().After("ads.add_ad.c1"));
    return added ? Result<Document>(Document()) : MakeError(Error::kDuplicateAd, ad.unit);
  };
  return calls_.Once("ads.add_ad", key, arguments, add).status();
}

// Two paths of one array cannot change in one update: the array is rearranged here, and stored
// while it is as it was read.
Status AdNetwork::Work::UpdateEcpm(std::string_view site, std::string_view zone,
                                   std::string_view campaign, std::string_view unit, int64_t ecpm,
                                   const CallKey& key) const {
  if (ecpm < 0) {
    return MakeError(Error::kInvalidPrice, std::to_string(ecpm));
  }
  const Document where = Doc("site_id", site, "zone_id", zone);
  auto change = [&](const Claim& claim) -> Status {
    for (int i = 0; i < kAttempts; ++i) {
      ASSIGN_OR_RETURN(auto found, store_.FindOne(kAdZones, where));
      if (found && Marked(*found, claim)) {
        return Status::Ok();
      }
      ASSIGN_OR_RETURN(Array ads, Repriced(found, campaign, unit, ecpm));
      const Document as_read = Doc("site_id", site, "zone_id", zone, "ads", (*found)["ads"]);
      ASSIGN_OR_RETURN(int64_t matched,
                       store_.UpdateOne(kAdZones, Unmarked(as_read, claim),
                                        Marking(Doc("$set", Doc("ads", ads)), claim)));
      RETURN_IF_ERROR(store_.seams().After("ads.update_ecpm.c1"));
      if (matched == 1) {
        return Status::Ok();
      }
    }
    return MakeError(Error::kContention, zone);
  };
  return calls_.DoOnce("ads.update_ecpm", key,
                       Doc("zone", where, "campaign", campaign, "unit", unit, "ecpm", ecpm),
                       change);
}

Result<std::vector<Ad>> AdNetwork::Work::Ads(std::string_view site, std::string_view zone) const {
  std::vector<Ad> ads;
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kAdZones, Doc("site_id", site, "zone_id", zone)));
  for (const bson::Element& element : found ? (*found)["ads"].AsArray() : bson::View()) {
    ads.push_back(AdOf(element.value().AsDocument()));
  }
  return ads;
}

// By score, those with the same in random order. A campaign that is not active is left out whether
// or not its ads are still in the zone.
Result<std::vector<ServedAd>> AdNetwork::Work::Ranked(std::string_view site, std::string_view zone,
                                                      const std::vector<std::string>* keywords,
                                                      bool require_match) const {
  ASSIGN_OR_RETURN(std::vector<Ad> ads, Ads(site, zone));
  std::set<std::string> campaigns;
  for (const Ad& ad : ads) {
    campaigns.insert(ad.campaign);
  }
  const std::vector<std::string> ids(campaigns.begin(), campaigns.end());
  ASSIGN_OR_RETURN(auto known, store_.Find(kAdCampaigns, Doc("_id", Doc("$in", ListOf(ids))),
                                           {.projection = Doc("state", 1, "end", 1)}));
  for (const Document& campaign : known) {
    const bool over = campaign.view().Has("end") && campaign["end"].AsDate() <= store_.Now();
    if (over || TextAt(campaign, "state") != "active") {
      campaigns.erase(std::string(TextAt(campaign, "_id")));
    }
  }
  std::set<std::string> wanted;
  for (size_t i = 0; keywords != nullptr && i < keywords->size(); ++i) {
    wanted.insert(Folded((*keywords)[i]));
  }
  std::vector<ServedAd> ranked;
  for (Ad& ad : ads) {
    const int64_t matches = Matches(ad, wanted);
    const auto ecpm = static_cast<double>(ad.ecpm);
    const double score =
        keywords == nullptr ? ecpm : ecpm * std::log(1.1 + static_cast<double>(matches));
    if (campaigns.contains(ad.campaign) && (matches > 0 || !require_match)) {
      ranked.push_back({std::move(ad), score, {}});
    }
  }
  for (size_t i = ranked.size(); i > 1; --i) {
    const auto other = static_cast<size_t>(store_.seams().random->Next() * static_cast<double>(i));
    std::swap(ranked[i - 1], ranked[std::min(other, i - 1)]);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const ServedAd& a, const ServedAd& b) { return a.score > b.score; });
  return ranked;
}

// One after the other, each with the id of its place in the answer. A place that another holder of
// the claim has filled stays as it is.
Result<std::vector<ServedAd>> AdNetwork::Work::TakeAllowed(std::vector<ServedAd> ranked,
                                                           const Document& arguments,
                                                           std::string_view user, size_t limit,
                                                           const Claim& claim) const {
  std::vector<ServedAd> taken;
  auto is_taken = [&](const ServedAd& one) {
    return std::any_of(taken.begin(), taken.end(), [&](const ServedAd& other) {
      return other.ad.campaign == one.ad.campaign && other.ad.unit == one.ad.unit;
    });
  };
  int step = 0;
  for (size_t i = 0; i < ranked.size() && taken.size() < limit;) {
    ServedAd& one = ranked[i];
    if (is_taken(one)) {
      ++i;
      continue;
    }
    Show show = Show::kCounted;
    if (!user.empty()) {
      const Claim impression{ImpressionOf(claim.id, taken.size()), claim.keyed};
      ASSIGN_OR_RETURN(show, Reserve(user, TextAt(arguments, "site"), TextAt(arguments, "zone"),
                                     one.ad, impression));
      RETURN_IF_ERROR(store_.seams().After("ads.choose", ++step));
      one.impression = impression.id;
    }
    if (show == Show::kTaken) {
      ASSIGN_OR_RETURN(ServedAd before, ShownBefore(user, one.impression, ranked));
      taken.push_back(std::move(before));
      continue;
    }
    if (show == Show::kCounted) {
      taken.push_back(one);
    }
    ++i;
  }
  return taken;
}

// What the profile knows of a show, with what the zone knows of the ad.
Result<ServedAd> AdNetwork::Work::ShownBefore(std::string_view user, const ObjectId& impression,
                                              const std::vector<ServedAd>& ranked) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kAdUsers, Doc("_id", user)));
  const bson::Value advertisers = found ? (*found)["advertisers"] : bson::Value();
  ServedAd served;
  served.impression = impression;
  for (const bson::Element& advertiser :
       advertisers.is_document() ? advertisers.AsDocument() : bson::View()) {
    for (const bson::Element& shown : advertiser.value().AsDocument()["impressions"].AsArray()) {
      const AdEvent event = AdEventOf(shown.value().AsDocument());
      if (event.impression == impression) {
        served.ad.campaign = event.campaign;
        served.ad.unit = event.unit;
      }
    }
  }
  for (const ServedAd& one : ranked) {
    if (one.ad.campaign == served.ad.campaign && one.ad.unit == served.ad.unit) {
      served.ad = one.ad;
      served.score = one.score;
    }
  }
  return served;
}

// caps holds the latest shows, so the first of them says whether all lie inside the window. It is
// longer after a cap was made smaller: then it is cut first.
Result<AdNetwork::Work::Show> AdNetwork::Work::Reserve(std::string_view user, std::string_view site,
                                                       std::string_view zone, const Ad& ad,
                                                       const Claim& impression) const {
  const std::string advertiser(AdvertiserOf(ad.campaign));
  ASSIGN_OR_RETURN(std::string name, EncodeName(advertiser));
  ASSIGN_OR_RETURN(std::string unit, EncodeName(advertiser + ":" + ad.unit));
  const FrequencyCap cap = CapOf(ad);
  const bson::Date now = store_.Now();
  const bson::Date start = store_.Ago(cap.window);
  const std::string shows = "caps." + unit;
  const Document absent = Doc("$exists", false);
  const Document allowed = Doc(
      "_id", user, "$or",
      List(Doc(shows + "." + std::to_string(cap.shows - 1), absent),
           Doc(shows + "." + std::to_string(cap.shows), absent, shows + ".0", Doc("$lte", start))));
  const Document event = AdEventDocument(
      {impression.id, now, ad.campaign, ad.unit, std::string(site), std::string(zone)});
  const Document update = Doc("$push",
                              Doc(shows, Doc("$each", List(now), "$sort", 1, "$slice", -cap.shows),
                                  "advertisers." + name + ".impressions",
                                  Doc("$each", List(event), "$slice", -kKeptEvents)),
                              "$max", Doc("seen", now));
  const Document cut = Doc("$push", Doc(shows, Doc("$each", List(), "$slice", -cap.shows)));
  for (int i = 0; i < kAttempts; ++i) {
    Status status =
        store_.UpdateOne(kAdUsers, Unmarked(allowed, impression), Marking(update, impression), true)
            .status();
    if (!IsDuplicateKey(status)) {
      RETURN_IF_ERROR(status);
      return Show::kCounted;
    }
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kAdUsers, Doc("_id", user),
                                                {.projection = Doc(shows, 1, "marks", 1)}));
    if (found && Marked(*found, impression)) {
      return Show::kTaken;
    }
    const bson::Value dates = found ? At(*found, shows) : bson::Value();
    const int64_t stored = dates.is_array() ? static_cast<int64_t>(dates.AsArray().Count()) : 0;
    if (stored > cap.shows) {
      RETURN_IF_ERROR(store_.UpdateOne(kAdUsers, Doc("_id", user), cut).status());
    } else if (stored == cap.shows && dates.AsArray()["0"].AsDate() > start) {
      return Show::kCapped;
    }
  }
  return MakeError(Error::kContention, user);
}

Result<std::vector<ServedAd>> AdNetwork::Work::Choose(const Document& arguments,
                                                      std::string_view user, size_t limit,
                                                      const CallKey& key, const Rank& rank) const {
  auto choose = [&](const Claim& claim) -> Result<Document> {
    ASSIGN_OR_RETURN(auto ranked, rank());
    ASSIGN_OR_RETURN(auto taken, TakeAllowed(std::move(ranked), arguments, user, limit, claim));
    std::vector<Document> ads;
    for (const ServedAd& one : taken) {
      ads.push_back(ServedDocument(one));
    }
    return Doc("ads", ListOf(ads));
  };
  ASSIGN_OR_RETURN(Document chosen, calls_.Once("ads.choose", key, arguments, choose));
  std::vector<ServedAd> served;
  for (const bson::Element& one : chosen["ads"].AsArray()) {
    served.push_back(ServedOf(one.value().AsDocument()));
  }
  return served;
}

Result<std::vector<ServedAd>> AdNetwork::Work::ChooseAd(std::string_view site,
                                                        std::string_view zone) const {
  return ChooseAd(site, zone, "");
}

Result<std::vector<ServedAd>> AdNetwork::Work::ChooseAd(std::string_view site,
                                                        std::string_view zone,
                                                        std::string_view user,
                                                        const CallKey& key) const {
  return Choose(Doc("site", site, "zone", zone, "user", user), user, 1, key,
                [&] { return Ranked(site, zone, nullptr, false); });
}

Result<std::vector<ServedAd>> AdNetwork::Work::ChooseAds(std::string_view site,
                                                         std::string_view zone,
                                                         std::string_view user,
                                                         const std::vector<std::string>& keywords,
                                                         size_t limit, bool require_match,
                                                         const CallKey& key) const {
  return Choose(Doc("site", site, "zone", zone, "user", user, "keywords", ListOf(keywords), "limit",
                    static_cast<int64_t>(limit), "require", require_match),
                user, limit, key, [&] { return Ranked(site, zone, &keywords, require_match); });
}

Status AdNetwork::Work::Click(std::string_view user, const ObjectId& impression) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kAdUsers, Doc("_id", user)));
  bson::Value advertisers = found ? (*found)["advertisers"] : bson::Value();
  if (!advertisers.is_document()) {
    return MakeError(Error::kNotFound, impression.ToHex());
  }
  for (const bson::Element& advertiser : advertisers.AsDocument()) {
    for (const bson::Element& shown : advertiser.value().AsDocument()["impressions"].AsArray()) {
      bson::View event = shown.value().AsDocument();
      if (!(event["id"].AsObjectId() == impression)) {
        continue;
      }
      const std::string clicks = "advertisers." + std::string(advertiser.name()) + ".clicks";
      AdEvent click = AdEventOf(event);
      click.date = store_.Now();
      RETURN_IF_ERROR(
          store_
              .UpdateOne(kAdUsers, Doc("_id", user, clicks + ".id", Doc("$ne", impression)),
                         Doc("$push", Doc(clicks, Doc("$each", List(AdEventDocument(click)),
                                                      "$slice", -kKeptEvents))))
              .status());
      return store_.seams().After("ads.click.c1");
    }
  }
  return MakeError(Error::kNotFound, impression.ToHex());
}

Result<AdProfile> AdNetwork::Work::Profile(std::string_view user,
                                           std::string_view advertiser) const {
  ASSIGN_OR_RETURN(std::string name, EncodeName(advertiser));
  const std::string path = "advertisers." + name;
  ASSIGN_OR_RETURN(auto found,
                   store_.FindOne(kAdUsers, Doc("_id", user), {.projection = Doc(path, 1)}));
  AdProfile profile;
  if (!found) {
    return profile;
  }
  for (auto [list, events] :
       {std::pair{".impressions", &profile.impressions}, std::pair{".clicks", &profile.clicks}}) {
    bson::Value stored = At(*found, path + list);
    for (const bson::Element& event : stored.is_array() ? stored.AsArray() : bson::View()) {
      events->push_back(AdEventOf(event.value().AsDocument()));
    }
  }
  return profile;
}

}  // namespace quire::patterns
