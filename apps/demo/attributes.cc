// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/attributes.h"

#include "base/try.h"
#include "demo/demos.h"

namespace quire::apps {
namespace {

using patterns::AttributeCatalog;
using patterns::AttributeEncoding;
using patterns::Attributes;

constexpr int64_t kSpeeds = 50;
constexpr int32_t kWeights = 1000;

Attributes AttributesOf(int64_t i) {
  Chance chance(static_cast<uint64_t>(i) + 1);
  const std::string speed = std::to_string(chance.Below(kSpeeds)) + "k RPM";
  const auto weight = static_cast<int32_t>(chance.Below(kWeights));
  return {{"Speed", bson::OwnedValue(bson::Value(std::string_view(speed)))},
          {"Weight", bson::OwnedValue(bson::Value(weight))},
          {"Color", bson::OwnedValue(bson::Value(i % 2 == 0 ? "red" : "blue"))}};
}

std::vector<Step> Steps(const DesignRun& run, const AttributeCatalog& catalog) {
  return {
      {"equality", 45,
       [&](Worker& w) {
         const std::string speed = std::to_string(w.chance.Below(kSpeeds)) + "k RPM";
         return catalog.FindByAttribute("Speed", bson::Value(std::string_view(speed))).status();
       }},
      {"range", 10,
       [&](Worker& w) {
         const auto low = static_cast<int32_t>(w.chance.Below(kWeights - 10));
         return catalog.FindByRange("Weight", bson::Value(low), bson::Value(low + 10)).status();
       }},
      {"get", 30,
       [&](Worker& w) { return catalog.Get(Numbered("p", w.chance.Below(run.size()))).status(); }},
      {"put", 15,
       [&](Worker& w) {
         const int64_t i = w.chance.Below(run.size());
         return catalog.Put(Numbered("p", i), AttributesOf(i));
       }},
  };
}

Status RunEncoding(DesignRun* run, AttributeEncoding encoding, std::string* answers) {
  AttributeCatalog catalog(run->client(), run->database(), encoding, {"Speed", "Weight"});
  RETURN_IF_ERROR(catalog.CreateIndexes());
  RETURN_IF_ERROR(run->Load("products", run->size(), [&](int64_t i) {
    return catalog.Put(Numbered("p", i), AttributesOf(i));
  }));
  RETURN_IF_ERROR(run->Work(Steps(*run, catalog)));
  const bson::Value speed("7k RPM");
  ASSIGN_OR_RETURN(bson::Document equality, catalog.EqualityFilter("Speed", speed));
  RETURN_IF_ERROR(run->Explain("equality", "products", equality));
  const bson::Value low(int32_t{100});
  const bson::Value high(int32_t{110});
  ASSIGN_OR_RETURN(bson::Document range, catalog.RangeFilter("Weight", low, high));
  RETURN_IF_ERROR(run->Explain("range", "products", range));
  ASSIGN_OR_RETURN(std::vector<std::string> equal, catalog.FindByAttribute("Speed", speed));
  ASSIGN_OR_RETURN(std::vector<std::string> within, catalog.FindByRange("Weight", low, high));
  ASSIGN_OR_RETURN(std::vector<std::string> missing, catalog.MissingIndexes());
  run->Check("every declared index exists", missing);
  std::string mine;
  for (const auto& ids : {equal, within}) {
    for (const std::string& id : ids) {
      mine += id + " ";
    }
  }
  if (answers->empty()) {
    *answers = mine;
  } else {
    run->Check("answers as the encoding by name", mine == *answers);
  }
  return run->CheckInvariants(catalog);
}

}  // namespace

Status DemoAttributes(DemoRun* run) {
  struct Row {
    const char* name;
    AttributeEncoding encoding;
  };
  constexpr Row kRows[] = {{"by name", AttributeEncoding::kDocument},
                           {"pairs", AttributeEncoding::kPairs},
                           {"key and value", AttributeEncoding::kKeyValue}};
  std::string answers;
  for (const Row& row : kRows) {
    RETURN_IF_ERROR(run->Design(
        row.name, [&](DesignRun* design) { return RunEncoding(design, row.encoding, &answers); }));
  }
  return Status::Ok();
}

}  // namespace quire::apps
