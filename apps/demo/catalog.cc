// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/catalog.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Catalog;

constexpr const char* kGenres[] = {"Jazz", "Soul", "Rock", "Folk", "Opera", "Blues"};
constexpr const char* kWords[] = {"love", "supreme", "night", "river", "blue", "morning", "train"};
constexpr int64_t kPage = 20;

std::string AnyGenre(Chance* chance) {
  return kGenres[chance->Below(static_cast<int64_t>(std::size(kGenres)))];
}
std::string AnyWord(Chance* chance) {
  return kWords[chance->Below(static_cast<int64_t>(std::size(kWords)))];
}

patterns::Product ProductOf(int64_t i) {
  Chance chance(static_cast<uint64_t>(i) + 1);
  patterns::Product product;
  product.sku = Numbered("sku", i);
  product.type = patterns::kAlbum;
  product.title = AnyWord(&chance) + " " + AnyWord(&chance) + " " + std::to_string(i);
  product.list = 1000 + chance.Below(1000);
  product.retail = product.list - chance.Below(500);
  product.details =
      Doc("artist", Numbered("artist", chance.Below(200)), "genre", List(AnyGenre(&chance)),
          "issue_date", bson::Date{chance.Below(1'600'000'000'000)});
  return product;
}

std::vector<Step> Steps(const DesignRun& run, const Catalog& catalog) {
  const patterns::SearchOptions page{.page = {.limit = kPage}};
  return {
      {"get", 30,
       [&](Worker& w) {
         return catalog.Get(Numbered("sku", w.chance.Below(run.size()))).status();
       }},
      {"by genre", 20,
       [&catalog, page](Worker& w) {
         return catalog.AlbumsByGenre(AnyGenre(&w.chance), page).status();
       }},
      {"by price", 15,
       [&catalog, page](Worker& w) {
         const int64_t from = 600 + w.chance.Below(1000);
         return catalog
             .ByPrice(patterns::kAlbum, from, from + 100, patterns::PriceOrder::kCheapest, page)
             .status();
       }},
      {"title prefix", 15,
       [&catalog, page](Worker& w) {
         return catalog.TitlePrefix(patterns::kAlbum, AnyWord(&w.chance), page).status();
       }},
      {"full text", 3,
       [&catalog, page](Worker& w) {
         const std::string words = AnyWord(&w.chance) + " " + AnyWord(&w.chance);
         return catalog.Text(words, patterns::Words::kAll, page).status();
       }},
      {"facets", 1,
       [&](Worker& w) {
         return catalog
             .CountFacets({.type = patterns::kAlbum,
                           .genre = AnyGenre(&w.chance),
                           .price_bands = {0, 1000, 1500, 2000}})
             .status();
       }},
      {"change", 16,
       [&](Worker& w) {
         const std::string sku = Numbered("sku", w.chance.Below(run.size()));
         ASSIGN_OR_RETURN(patterns::Product product, catalog.Get(sku));
         product.retail = product.list - w.chance.Below(500);
         return catalog.Put(product, product.rev).status();
       }},
  };
}

Status RunCatalog(DesignRun* run) {
  Catalog catalog(run->client(), run->database());
  RETURN_IF_ERROR(catalog.CreateIndexes());
  RETURN_IF_ERROR(run->Load("products", run->size(),
                            [&](int64_t i) { return catalog.Put(ProductOf(i)).status(); }));
  RETURN_IF_ERROR(run->Work(Steps(*run, catalog)));
  RETURN_IF_ERROR(run->Explain("by genre", "products",
                               Doc("type", patterns::kAlbum, "details.genre", "Jazz"),
                               Doc("details.issue_date", -1, "_id", 1), kPage));
  RETURN_IF_ERROR(
      run->Explain("by price", "products",
                   Doc("type", patterns::kAlbum, "pricing.retail", Doc("$gte", 1000, "$lt", 1100)),
                   Doc("pricing.retail", 1, "_id", 1), kPage));
  ASSIGN_OR_RETURN(int64_t list, run->Sum("products", "$pricing.list"));
  ASSIGN_OR_RETURN(int64_t retail, run->Sum("products", "$pricing.retail"));
  ASSIGN_OR_RETURN(int64_t savings, run->Sum("products", "$pricing.savings"));
  run->Check("savings are list minus retail prices", list - retail == savings,
             std::to_string(list - retail) + " and " + std::to_string(savings));
  ASSIGN_OR_RETURN(std::vector<std::string> missing, catalog.MissingIndexes());
  run->Check("every declared index exists", missing);
  return run->CheckInvariants(catalog);
}

}  // namespace

Status DemoCatalog(DemoRun* run) { return run->Design("catalog", RunCatalog); }

}  // namespace quire::apps
