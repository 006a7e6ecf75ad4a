// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/ads.h"

#include <functional>

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::AdNetwork;
using patterns::ServedAd;

constexpr char kSite[] = "site";
constexpr int64_t kAds = 20;  // in a zone
constexpr int64_t kUsers = 1000;
constexpr int64_t kWords = 30;

std::string ZoneOf(int64_t i) { return Numbered("zone", i); }
std::string WordOf(Chance* chance) { return Numbered("word", chance->Below(kWords)); }

Status AddAd(const AdNetwork& network, int64_t i) {
  Chance chance(static_cast<uint64_t>(i) + 1);
  patterns::Ad ad;
  ad.campaign = Numbered("advertiser", i % kAds) + ":spring";
  ad.unit = Numbered("unit", i);
  ad.ecpm = 100 + chance.Below(100);
  ad.keywords = {WordOf(&chance), WordOf(&chance)};
  ad.cap = patterns::FrequencyCap{3, std::chrono::hours(24)};
  return network.AddAd(kSite, ZoneOf(i / kAds), ad);
}

using Choose = std::function<Result<std::vector<ServedAd>>(const AdNetwork&, const std::string&,
                                                           const std::string&, Chance*)>;

// Shows an ad, and in one of ten cases it is clicked.
Status ShowAndClick(const DesignRun& run, const AdNetwork& network, const Choose& choose,
                    Worker* w) {
  const std::string user = Numbered("user", w->chance.Skewed(kUsers));
  ASSIGN_OR_RETURN(std::vector<ServedAd> shown,
                   choose(network, ZoneOf(w->chance.Below(run.size())), user, &w->chance));
  if (w->chance.Below(10) == 0 && !shown.empty() && shown[0].impression != bson::ObjectId{}) {
    return network.Click(user, shown[0].impression);
  }
  return Status::Ok();
}

Status RunNetwork(DesignRun* run, const Choose& choose) {
  AdNetwork network(run->client(), run->database());
  RETURN_IF_ERROR(network.CreateIndexes());
  RETURN_IF_ERROR(
      run->Load("ads", run->size() * kAds, [&](int64_t i) { return AddAd(network, i); }));
  RETURN_IF_ERROR(
      run->Work({{"serve", 95, [&](Worker& w) { return ShowAndClick(*run, network, choose, &w); }},
                 {"change price", 5, [&](Worker& w) {
                    const int64_t i = w.chance.Below(run->size() * kAds);
                    return network.UpdateEcpm(kSite, ZoneOf(i / kAds),
                                              Numbered("advertiser", i % kAds) + ":spring",
                                              Numbered("unit", i), 100 + w.chance.Below(100));
                  }}}));
  RETURN_IF_ERROR(
      run->Explain("ads of a zone", "ad.zone", Doc("site_id", kSite, "zone_id", ZoneOf(0))));
  ASSIGN_OR_RETURN(std::vector<std::string> wrong, network.CheckInvariants());
  run->Check("zones are sorted, no cap and no budget is exceeded", wrong);
  return Status::Ok();
}

}  // namespace

Status DemoAds(DemoRun* run) {
  struct Row {
    const char* name;
    Choose choose;
  };
  const Row rows[] = {
      {"by price", [](const AdNetwork& network, const std::string& zone, const std::string&,
                      Chance*) { return network.ChooseAd(kSite, zone); }},
      {"with caps", [](const AdNetwork& network, const std::string& zone, const std::string& user,
                       Chance*) { return network.ChooseAd(kSite, zone, user); }},
      {"by keywords", [](const AdNetwork& network, const std::string& zone, const std::string& user,
                         Chance* chance) {
         return network.ChooseAds(kSite, zone, user, {WordOf(chance), WordOf(chance)}, 1);
       }}};
  return run->Designs(
      rows, [](DesignRun* design, const Row& row) { return RunNetwork(design, row.choose); });
}

}  // namespace quire::apps
