// SPDX-License-Identifier: Apache-2.0
//
// Campaigns: their state is the record, what zones hold of them follows it.
#include <algorithm>
#include <map>
#include <utility>

#include "base/try.h"
#include "patterns/ads/documents.h"
#include "patterns/ads/work.h"
#include "patterns/doc.h"
#include "patterns/keyset.h"
#include "patterns/walk.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/lease.h"
#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr int kAttempts = 5;
constexpr int64_t kBatch = 100;
constexpr char kTotal[] = "total";

std::string StatsPath(const std::string& zone_name, bson::Date time) {
  return "zones." + zone_name + ".daily_stats." + DayKey(time);
}

// The campaigns of `filter`, some at a time, in the order of a field. `visit` may change them.
Status EachCampaign(const Store& store, const Document& filter, std::string_view by,
                    const std::function<Status(const Document&)>& visit) {
  PageRequest page{.limit = kBatch};
  do {
    ASSIGN_OR_RETURN(Page found, FindPage(store, kAdCampaigns, filter, Doc(by, 1, "_id", 1), page));
    for (const Document& campaign : found.documents) {
      RETURN_IF_ERROR(visit(campaign));
    }
    page.after = found.next;
  } while (!page.after.empty());
  return Status::Ok();
}

// The starts of the shows of every unit in a profile, from their events.
using Shows = std::map<std::string, std::vector<int64_t>>;

Shows ShowsOf(bson::View user) {
  Shows shows;
  bson::Value advertisers = user["advertisers"];
  for (const bson::Element& one :
       advertisers.is_document() ? advertisers.AsDocument() : bson::View()) {
    bson::Value events = one.value().AsDocument()["impressions"];
    for (const bson::Element& element : events.is_array() ? events.AsArray() : bson::View()) {
      const AdEvent event = AdEventOf(element.value().AsDocument());
      shows[std::string(AdvertiserOf(event.campaign)) + ":" + event.unit].push_back(
          event.date.millis);
    }
  }
  for (auto& [unit, times] : shows) {
    std::sort(times.begin(), times.end());
  }
  return shows;
}

bool AnyBefore(const bson::Value& list, std::string_view field, bson::Date before) {
  for (const bson::Element& element : list.is_array() ? list.AsArray() : bson::View()) {
    const bson::Value date = field.empty() ? element.value() : element.value().AsDocument()[field];
    if (date.AsDate() <= before) {
      return true;
    }
  }
  return false;
}

bool IsEmptyArray(const bson::Value& value) { return value.is_array() && value.AsArray().empty(); }

}  // namespace

Status AdNetwork::Work::CreateCampaign(const Campaign& campaign, const CallKey& key) const {
  if (campaign.daily_budget < 0 || campaign.end <= campaign.begin) {
    return MakeError(Error::kInvalidAmount, campaign.id);
  }
  ASSIGN_OR_RETURN(Document zones, CampaignZonesDocument(campaign));
  const Document given = Doc("_id", campaign.id, "customer_id", campaign.customer, "title",
                             campaign.title, "begin", campaign.begin, "end", campaign.end, "zones",
                             zones, "daily_budget", campaign.daily_budget);
  for (const PlacedAd& placed : PlacedAdsOf(given, options_.clicks_per_thousand)) {
    RETURN_IF_ERROR(CheckAd(placed.ad));
  }
  if (AdvertiserOf(campaign.id).empty()) {
    return MakeError(Error::kInvalidName, campaign.id);
  }
  auto create = [&](const Claim& claim) -> Status {
    bson::Builder metadata;
    metadata.AppendFields(given).Append("state", "inactive").Append("reason", "scheduled");
    metadata.Append("changed", store_.Now());
    RETURN_IF_ERROR(InsertOnce(store_, kAdCampaigns, metadata.Finish(), claim));
    RETURN_IF_ERROR(store_.seams().After("ads.create_campaign.c1"));
    if (campaign.begin > store_.Now() || store_.Now() >= campaign.end) {
      return Status::Ok();
    }
    return SetState(Doc("_id", campaign.id, "reason", "scheduled"),
                    Doc("state", "active", "reason", "manual"), false)
        .status();
  };
  return calls_.DoOnce("ads.create_campaign", key, given, create);
}

// Whether the filter's guard let the change be made (by this call, now or before): then zones
// follow.
Result<bool> AdNetwork::Work::SetState(const Document& filter, const Document& state, bool upsert,
                                       const Claim& claim) const {
  bson::Builder set;
  set.AppendFields(state).Append("changed", store_.Now());
  const Document update = Marking(Doc("$set", set.Finish()), claim);
  for (int i = 0; i < kAttempts; ++i) {
    auto changed = store_.FindAndUpdate(kAdCampaigns, Unmarked(filter, claim), update, upsert);
    if (!changed.ok() && !IsDuplicateKey(changed.status())) {
      return changed.status();
    }
    if (!changed.ok() || !*changed) {
      ASSIGN_OR_RETURN(auto now, store_.FindOne(kAdCampaigns, Doc("_id", filter["_id"])));
      if (now && Marked(*now, claim)) {
        changed = now;
      } else if (!changed.ok()) {
        continue;
      } else {
        return false;
      }
    }
    RETURN_IF_ERROR(store_.seams().After("ads.set_state.c1"));
    RETURN_IF_ERROR(Spread(**changed).status());
    return true;
  }
  return MakeError(Error::kContention, bson::ToJson(filter["_id"]));
}

// How many ads (of an active campaign) or zones changed.
Result<int64_t> AdNetwork::Work::Spread(const Document& campaign) const {
  if (TextAt(campaign, "state") != "active") {
    const Document mine = Doc("campaign_id", campaign["_id"]);
    ASSIGN_OR_RETURN(int64_t zones,
                     store_.UpdateMany(kAdZones, Doc("ads.campaign_id", campaign["_id"]),
                                       Doc("$pull", Doc("ads", mine))));
    RETURN_IF_ERROR(store_.seams().After("ads.set_state.c2"));
    return zones;
  }
  int64_t ads = 0;
  int step = 1;
  for (const PlacedAd& placed : PlacedAdsOf(campaign, options_.clicks_per_thousand)) {
    ASSIGN_OR_RETURN(bool added,
                     PutAd(placed.site, placed.zone, placed.ad, store_.seams().ids->Next()));
    RETURN_IF_ERROR(store_.seams().After("ads.set_state", ++step));
    ads += added ? 1 : 0;
  }
  return ads;
}

Status AdNetwork::Work::DeactivateCampaign(std::string_view campaign, const CallKey& key) const {
  auto stop = [&](const Claim& claim) {
    return SetState(Doc("_id", campaign), Doc("state", "inactive", "reason", "manual"), true, claim)
        .status();
  };
  return calls_.DoOnce("ads.deactivate", key, Doc("campaign", campaign), stop);
}

Status AdNetwork::Work::ActivateCampaign(std::string_view campaign, const CallKey& key) const {
  auto start = [&](const Claim& claim) -> Status {
    ASSIGN_OR_RETURN(bool active,
                     SetState(Doc("_id", campaign, "end", Doc("$not", Doc("$lte", store_.Now()))),
                              Doc("state", "active", "reason", "manual"), false, claim));
    return active ? Status::Ok() : MakeError(Error::kNotFound, campaign);
  };
  return calls_.DoOnce("ads.activate", key, Doc("campaign", campaign), start);
}

// What is spent exists though the upsert found it not: charged with this key, not enough left, or
// made by another charge.
Status AdNetwork::Work::Charge(std::string_view campaign, bson::Date time, int64_t cost,
                               const CallKey& key) const {
  if (cost <= 0) {
    return MakeError(Error::kInvalidAmount, std::to_string(cost));
  }
  ASSIGN_OR_RETURN(auto metadata, store_.FindOne(kAdCampaigns, Doc("_id", campaign)));
  if (!metadata || !metadata->view().Has("daily_budget")) {
    return MakeError(Error::kNotFound, campaign);
  }
  const std::string day = DayKey(time);
  const std::string spent = "daily_spent." + day;
  const int64_t most = IntegerAt(*metadata, "daily_budget") - cost;
  auto charge = [&](const Claim& claim) -> Result<Document> {
    const Document enough =
        Doc("_id", campaign, "$or",
            List(Doc(spent, Doc("$exists", false)), Doc(spent, Doc("$lte", most))));
    const Document update = Marking(Doc("$inc", Doc(spent, cost)), claim);
    for (int i = 0; most >= 0 && i < kAttempts; ++i) {
      Status status = store_.UpdateOne(kAdStats, Unmarked(enough, claim), update, true).status();
      if (!IsDuplicateKey(status)) {
        RETURN_IF_ERROR(status);
        RETURN_IF_ERROR(store_.seams().After("ads.charge.c1"));
        return Document();
      }
      ASSIGN_OR_RETURN(auto stats, store_.FindOne(kAdStats, Doc("_id", campaign)));
      if (stats && Marked(*stats, claim)) {
        return Document();
      }
      if (stats && IntegerAt(*stats, spent) > most) {
        return MakeError(Error::kBudgetExhausted, campaign);
      }
    }
    return most < 0 ? MakeError(Error::kBudgetExhausted, campaign)
                    : MakeError(Error::kContention, campaign);
  };
  Status status =
      calls_.Once("ads.charge", key, Doc("campaign", campaign, "day", day, "cost", cost), charge)
          .status();
  if (Is(status, Error::kBudgetExhausted) && day >= DayKey(store_.Now())) {
    RETURN_IF_ERROR(SetState(Doc("_id", campaign, "state", "active"),
                             Doc("state", "inactive", "reason", "budget", "day", day), false)
                        .status());
  }
  return status;
}

Status AdNetwork::Work::Count(std::string_view campaign, std::string_view zone,
                              std::string_view unit, bson::Date time, const AdCounts& counts,
                              const CallKey& key) const {
  ASSIGN_OR_RETURN(std::string zone_name, EncodeName(zone));
  ASSIGN_OR_RETURN(std::string unit_name, EncodeName(unit));
  if (unit_name == kTotal) {
    return MakeError(Error::kInvalidName, unit);
  }
  const std::string path = StatsPath(zone_name, time);
  bson::Builder increments;
  for (const std::string& name : {std::string(kTotal), unit_name}) {
    const std::string base = path + "." + name + ".";
    increments.Append(base + "impressions", counts.impressions);
    increments.Append(base + "clicks", counts.clicks);
    increments.Append(base + "conversions", counts.conversions);
  }
  const Document sums = increments.Finish();
  auto count = [&](const Claim& claim) -> Status {
    RETURN_IF_ERROR(UpsertOnce(store_, kAdStats, campaign, Doc("$inc", sums), claim));
    return store_.seams().After("ads.count.c1");
  };
  return calls_.DoOnce("ads.count", key, Doc("campaign", campaign, "sums", sums), count);
}

Result<std::map<std::string, AdCounts>> AdNetwork::Work::Counts(std::string_view campaign,
                                                                std::string_view zone,
                                                                bson::Date time) const {
  ASSIGN_OR_RETURN(std::string zone_name, EncodeName(zone));
  const std::string path = StatsPath(zone_name, time);
  ASSIGN_OR_RETURN(auto stats,
                   store_.FindOne(kAdStats, Doc("_id", campaign), {.projection = Doc(path, 1)}));
  std::map<std::string, AdCounts> counts;
  bson::Value day = stats ? At(*stats, path) : bson::Value();
  for (const bson::Element& one : day.is_document() ? day.AsDocument() : bson::View()) {
    bson::View sums = one.value().AsDocument();
    counts[DecodeName(one.name())] = {IntegerAt(sums, "impressions"), IntegerAt(sums, "clicks"),
                                      IntegerAt(sums, "conversions")};
  }
  return counts;
}

// Each change repeats in its filter why it is made: what a client set meanwhile stays.
Result<JobReport> AdNetwork::Work::EndAndStart() const {
  const bson::Date now = store_.Now();
  const std::string today = DayKey(now);
  JobReport report;
  auto change = [&](const Document& campaign, const Document& why, const Document& state) {
    bson::Builder filter;
    filter.Append("_id", campaign["_id"]).AppendFields(why);
    auto changed = SetState(filter.Finish(), state, false);
    return report.Count(changed.ok() ? Result<int64_t>(*changed ? 1 : 0) : changed.status());
  };
  const Document over = Doc("state", "active", "end", Doc("$lte", now));
  RETURN_IF_ERROR(EachCampaign(store_, over, "end", [&](const Document& one) {
    return change(one, over, Doc("state", "inactive", "reason", "ended"));
  }));
  const Document active = Doc("state", "active");
  RETURN_IF_ERROR(EachCampaign(store_, active, "end", [&](const Document& one) -> Status {
    ASSIGN_OR_RETURN(auto stats, store_.FindOne(kAdStats, Doc("_id", one["_id"])));
    if (!stats || IntegerAt(*stats, "daily_spent." + today) < IntegerAt(one, "daily_budget")) {
      return Status::Ok();
    }
    return change(one, active, Doc("state", "inactive", "reason", "budget", "day", today));
  }));
  const Document kDue[] = {Doc("state", "inactive", "reason", "scheduled", "begin",
                               Doc("$lte", now), "end", Doc("$gt", now)),
                           Doc("state", "inactive", "reason", "budget", "day", Doc("$lt", today),
                               "end", Doc("$gt", now))};
  for (const Document& due : kDue) {
    RETURN_IF_ERROR(EachCampaign(store_, due, "begin", [&](const Document& one) {
      return change(one, due, Doc("state", "active"));
    }));
  }
  return report;
}

// A write may come as late as the retention, and this job as long after it.
Result<JobReport> AdNetwork::Work::EndCampaigns() const {
  return RunLeased(Lease(store_, "ads.end_campaigns", options_.worker, options_.lease),
                   [&]() -> Result<JobReport> {
                     ASSIGN_OR_RETURN(JobReport report, EndAndStart());
                     const bson::Date since = store_.Ago(2 * options_.tombstone_retention);
                     RETURN_IF_ERROR(EachCampaign(
                         store_, Doc("changed", Doc("$gte", since)), "changed",
                         [&](const Document& one) { return report.Count(Spread(one)); }));
                     return report;
                   });
}

Status AdNetwork::Work::TrimProfile(const Document& user, bson::Date before,
                                    JobReport* report) const {
  bson::Builder pulls;
  const Document old = Doc("$lte", before);
  bson::Value caps = user["caps"];
  for (const bson::Element& cap : caps.is_document() ? caps.AsDocument() : bson::View()) {
    if (AnyBefore(cap.value(), "", before)) {
      pulls.Append("caps." + std::string(cap.name()), old);
    }
  }
  bson::Value advertisers = user["advertisers"];
  for (const bson::Element& one :
       advertisers.is_document() ? advertisers.AsDocument() : bson::View()) {
    for (const char* list : {"impressions", "clicks"}) {
      if (AnyBefore(one.value().AsDocument()[list], "date", before)) {
        pulls.Append("advertisers." + std::string(one.name()) + "." + list, Doc("date", old));
      }
    }
  }
  const Document pull = pulls.Finish();
  report->examined += 1;
  if (pull.empty()) {
    report->skipped += 1;
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto trimmed,
                   store_.FindAndUpdate(kAdUsers, Doc("_id", user["_id"]), Doc("$pull", pull)));
  RETURN_IF_ERROR(store_.seams().After("ads.trim.c1"));
  report->changed += trimmed ? 1 : 0;
  int step = 1;
  for (const bson::Element& one : pull.view()) {
    const std::string path(one.name());
    if (trimmed && path.starts_with("caps.") && IsEmptyArray(At(*trimmed, path))) {
      RETURN_IF_ERROR(store_
                          .UpdateOne(kAdUsers, Doc("_id", user["_id"], path, Doc("$size", 0)),
                                     Doc("$unset", Doc(path, "")))
                          .status());
      RETURN_IF_ERROR(store_.seams().After("ads.trim", ++step));
    }
  }
  return Status::Ok();
}

Result<JobReport> AdNetwork::Work::DropUnseen(int64_t batch) const {
  ASSIGN_OR_RETURN(JobReport report,
                   calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease}));
  const bson::Date unseen =
      store_.Ago(std::max<std::chrono::seconds>(options_.unseen, options_.longest_window));
  ASSIGN_OR_RETURN(auto gone, store_.Find(kAdUsers, Doc("seen", Doc("$lt", unseen)),
                                          {.projection = Doc("_id", 1), .limit = batch}));
  for (const Document& user : gone) {
    ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(kAdUsers, Doc("_id", user["_id"], "seen",
                                                                     Doc("$lt", unseen))));
    RETURN_IF_ERROR(store_.seams().After("ads.trim_unseen.c1"));
    report.changed += deleted;
  }
  return report;
}

Result<JobReport> AdNetwork::Work::TrimProfiles(int64_t batch) const {
  const Lease lease(store_, "ads.trim_profiles", options_.worker, options_.lease);
  ASSIGN_OR_RETURN(JobReport report, RunLeased(lease, [&] { return DropUnseen(batch); }));
  ASSIGN_OR_RETURN(
      JobReport trimmed,
      SweepLeased(store_, lease, {kAdUsers, batch, {}}, [&](const Document& user, JobReport* sum) {
        return TrimProfile(user, store_.Ago(options_.longest_window), sum);
      }));
  return report += trimmed;
}

Result<std::vector<std::string>> AdNetwork::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  std::map<std::string, FrequencyCap> caps;
  RETURN_IF_ERROR(Walk(store_, kAdZones, [&](const Document& zone) {
    int64_t last = INT64_MAX;
    std::map<std::string, int> units;
    for (const bson::Element& element : zone["ads"].AsArray()) {
      const Ad ad = AdOf(element.value().AsDocument());
      if (ad.ecpm > last || ++units[ad.campaign + " " + ad.unit] > 1) {
        wrong.push_back("ads unsorted or twice in zone " + std::string(TextAt(zone, "zone_id")));
      }
      last = ad.ecpm;
      caps.emplace(std::string(AdvertiserOf(ad.campaign)) + ":" + ad.unit, CapOf(ad));
    }
    return Status::Ok();
  }));
  RETURN_IF_ERROR(Walk(store_, kAdUsers, [&](const Document& user) {
    for (const auto& [unit, times] : ShowsOf(user)) {
      auto cap = caps.find(unit);
      const auto shows = static_cast<size_t>(cap == caps.end() ? 0 : cap->second.shows);
      const int64_t window =
          cap == caps.end() ? 0 : std::chrono::milliseconds(cap->second.window).count();
      for (size_t i = 0; i + shows < times.size(); ++i) {
        if (times[i + shows] - times[i] < window) {
          wrong.push_back(unit + " too often to " + std::string(TextAt(user, "_id")));
        }
      }
    }
    return Status::Ok();
  }));
  RETURN_IF_ERROR(Walk(store_, kAdStats, [&](const Document& spent) -> Status {
    ASSIGN_OR_RETURN(auto campaign, store_.FindOne(kAdCampaigns, Doc("_id", spent["_id"])));
    bson::Value days = spent["daily_spent"];
    for (const bson::Element& day : days.is_document() ? days.AsDocument() : bson::View()) {
      if (!campaign || day.value().AsInt64() > IntegerAt(*campaign, "daily_budget")) {
        wrong.push_back("over budget: " + std::string(TextAt(spent, "_id")));
      }
    }
    return Status::Ok();
  }));
  return wrong;
}

}  // namespace quire::patterns
