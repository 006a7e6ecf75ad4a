// SPDX-License-Identifier: Apache-2.0
#include "patterns/ads/documents.h"

#include "base/try.h"
#include "patterns/doc.h"
#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;

std::vector<std::string> TextsAt(bson::View document, std::string_view name) {
  std::vector<std::string> texts;
  if (bson::Value list = document[name]; list.is_array()) {
    for (const bson::Element& text : list.AsArray()) {
      texts.emplace_back(text.value().AsString());
    }
  }
  return texts;
}

void AppendCap(bson::Builder* out, const std::optional<FrequencyCap>& cap) {
  if (cap) {
    out->Append("cap", Doc("n", cap->shows, "window_s", int64_t{cap->window.count()}));
  }
}

std::optional<FrequencyCap> CapAt(bson::View document) {
  if (!document["cap"].is_document()) {
    return std::nullopt;
  }
  return FrequencyCap{static_cast<int32_t>(IntegerAt(document, "cap.n")),
                      std::chrono::seconds(IntegerAt(document, "cap.window_s"))};
}

}  // namespace

std::string_view AdvertiserOf(std::string_view campaign) {
  const size_t colon = campaign.find(':');
  return colon == std::string_view::npos ? std::string_view() : campaign.substr(0, colon);
}

Document AdDocument(const Ad& ad, const bson::ObjectId& id) {
  bson::Builder out;
  out.Append("id", id).Append("campaign_id", ad.campaign).Append("ad_unit_id", ad.unit);
  out.Append("ecpm", ad.ecpm);
  Put(&out, "keywords", ListOf(ad.keywords));
  AppendCap(&out, ad.cap);
  return out.Finish();
}

Ad AdOf(bson::View document) {
  return {std::string(TextAt(document, "campaign_id")), std::string(TextAt(document, "ad_unit_id")),
          IntegerAt(document, "ecpm"), TextsAt(document, "keywords"), CapAt(document)};
}

Document AdEventDocument(const AdEvent& event) {
  return Doc("id", event.impression, "date", event.date, "campaign", event.campaign, "ad_unit_id",
             event.unit, "site_id", event.site, "zone_id", event.zone);
}

AdEvent AdEventOf(bson::View document) {
  return {document["id"].AsObjectId(),
          document["date"].AsDate(),
          std::string(TextAt(document, "campaign")),
          std::string(TextAt(document, "ad_unit_id")),
          std::string(TextAt(document, "site_id")),
          std::string(TextAt(document, "zone_id"))};
}

Result<Document> CampaignZonesDocument(const Campaign& campaign) {
  bson::Builder zones;
  for (const auto& [name, zone] : campaign.zones) {
    ASSIGN_OR_RETURN(std::string encoded, EncodeName(name));
    const bool per_click = zone.pricing == CampaignZone::Pricing::kPerClick;
    bson::Builder out;
    out.Append("site", zone.site).Append("page", zone.page_pattern).Append("zone", zone.zone);
    out.Append("limit", Doc("type", per_click ? "cpc" : "cpm", "value", zone.value));
    Put(&out, "ad_ids", ListOf(zone.units));
    Put(&out, "keywords", ListOf(zone.keywords));
    AppendCap(&out, zone.cap);
    zones.Append(encoded, out.Finish());
  }
  return zones.Finish();
}

std::vector<PlacedAd> PlacedAdsOf(bson::View metadata, int64_t clicks_per_thousand) {
  std::vector<PlacedAd> placed;
  bson::Value zones = metadata["zones"];
  for (const bson::Element& element : zones.is_document() ? zones.AsDocument() : bson::View()) {
    bson::View zone = element.value().AsDocument();
    const int64_t value = IntegerAt(zone, "limit.value");
    const int64_t ecpm = TextAt(zone, "limit.type") == "cpc" ? value * clicks_per_thousand : value;
    for (std::string& unit : TextsAt(zone, "ad_ids")) {
      placed.push_back({std::string(TextAt(zone, "site")),
                        std::string(TextAt(zone, "zone")),
                        {std::string(TextAt(metadata, "_id")), std::move(unit), ecpm,
                         TextsAt(zone, "keywords"), CapAt(zone)}});
    }
  }
  return placed;
}

}  // namespace quire::patterns
