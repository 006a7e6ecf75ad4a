// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "patterns/test_world.h"
#include "quire/patterns/buckets.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

Catalog CatalogOf(World* world, bool registry, const Seams& seams) {
  return Catalog(world->client, world->database, {.sku_registry = registry, .seams = seams});
}
Catalog CatalogOf(World* world, bool registry = false) {
  return CatalogOf(world, registry, world->seams());
}

Product Album(const std::string& sku, int64_t list = 1200, int64_t retail = 1100) {
  Product album;
  album.sku = sku;
  album.type = kAlbum;
  album.title = "Title " + sku;
  album.list = list;
  album.retail = retail;
  album.details = Doc("artist", "John Coltrane", "genre", List("jazz", "General"), "issue_date",
                      bson::Date{1000});
  return album;
}

// Products of both types with few different values, so that sort values are often equal; some
// albums have no date.
std::vector<Product> RandomProducts(int n) {
  static const char* const kGenres[] = {"Jazz", "Rock", "Hard Bop"};
  static const char* const kPeople[] = {"Ann", "Bob", "Cy"};
  static const char* const kTitles[] = {"A Few Good Men", "A few good days", "C++ (2nd edition)",
                                        "Ärger",          "ÄRGER und Glück", "Zoo",
                                        "a Few Goods"};
  std::mt19937 random(5);
  auto pick = [&](const auto& from) { return from[random() % std::size(from)]; };
  std::vector<Product> products;
  for (int i = 0; i < n; ++i) {
    Product product;
    product.sku = "sku" + std::to_string(i);
    product.type = i % 2 == 0 ? kAlbum : kFilm;
    product.title = pick(kTitles);
    product.description = i % 5 == 0 ? "running dogs" : "sleeping cats";
    product.list = 1000;
    product.retail = 100 * static_cast<int64_t>(random() % 10);
    const bson::Value date =
        i % 7 == 0 ? bson::Value() : bson::Value(bson::Date{static_cast<int64_t>(random() % 4)});
    product.details = i % 2 == 0 ? Doc("artist", pick(kPeople), "genre",
                                       List(pick(kGenres), kGenres[i % 3]), "issue_date", date)
                                 : Doc("actor", List(pick(kPeople), pick(kPeople)), "director",
                                       List(pick(kPeople)), "issue_date", date);
    products.push_back(product);
  }
  return products;
}

using Search = std::function<Result<ProductPage>(const SearchOptions&)>;

std::vector<std::string> AllPages(const Search& search, int64_t limit) {
  std::vector<std::string> skus;
  SearchOptions options{.page = {.limit = limit}};
  for (int pages = 0; pages < 100; ++pages) {
    auto page = search(options);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    if (!page.ok()) {
      return skus;
    }
    for (const Product& product : page->products) {
      skus.push_back(product.sku);
    }
    options.page.after = page->next;
    if (page->next.empty()) {
      return skus;
    }
  }
  ADD_FAILURE() << "the pages never end";
  return skus;
}

bool HasText(const Product& product, const char* field, std::string_view text) {
  bson::Value value = product.details[field];
  return (value.is_string() && value.AsString() == text) || Holds(value, bson::Value(text));
}

int64_t DateOf(const Product& product) {
  bson::Value date = product.details["issue_date"];
  return date.missing() ? -1 : date.AsDate().millis;
}

struct SearchCase {
  const char* name;
  Search search;
  std::function<bool(const Product&)> matches;
  std::function<bool(const Product&, const Product&)> before;  // but for the _id
};

class CatalogTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(CatalogTest, PutComputesAndGuards) {
  for (bool registry : {false, true}) {
    World world(GetParam());
    Catalog catalog = CatalogOf(&world, registry);
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    ASSERT_EQ(*catalog.Put(Album("a")), 1);
    Product stored = *catalog.Get("a");
    EXPECT_EQ(stored.savings, 100);
    EXPECT_EQ(stored.pct_savings, 8);
    EXPECT_EQ(stored.primary_genre, "Jazz");
    EXPECT_EQ(stored.rev, 1);
    EXPECT_EQ(ErrorName(catalog.Put(Album("a")).status()), "DuplicateSku");
    EXPECT_EQ(*catalog.Put(Album("a", 1000, 900), 1), 2);
    EXPECT_EQ(catalog.Get("a")->pct_savings, 10);
    EXPECT_EQ(ErrorName(catalog.Put(Album("a"), 1).status()), "Conflict");
    EXPECT_EQ(ErrorName(catalog.Put(Album("b"), 1).status()), "NotFound");
    EXPECT_EQ(ErrorName(catalog.Get("b").status()), "NotFound");
    EXPECT_EQ(ErrorName(catalog.Put(Album("b", 10, 11)).status()), "InvalidPrice");
    EXPECT_EQ(ErrorName(catalog.Put(Album("b", -1, -2)).status()), "InvalidPrice");
    EXPECT_EQ(ErrorName(catalog.Put(Album("")).status()), "InvalidName");
    Product wrong = Album("b");
    wrong.details = Doc("genre", "Jazz");
    EXPECT_EQ(ErrorName(catalog.Put(wrong).status()), "WrongType");
    EXPECT_TRUE(catalog.Put(Album("free", 0, 0)).ok());
    EXPECT_EQ(catalog.Get("free")->pct_savings, 0);
    EXPECT_TRUE(catalog.Put(Album("dear", INT64_MAX, 1)).ok());
    EXPECT_EQ(catalog.Get("dear")->pct_savings, 99);
  }
}

TEST_P(CatalogTest, KeysGiveTheFirstOutcome) {
  Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*catalog.Put(Album("a"), std::nullopt, "new"), 1);
    EXPECT_EQ(*catalog.Put(Album("a", 1900), 1, "change"), 2);
    EXPECT_EQ(ErrorName(catalog.Put(Album("a", 1800), 1, "late").status()), "Conflict");
    EXPECT_EQ(ErrorName(catalog.Put(Album("c"), std::nullopt, "new").status()),
              "IdempotencyKeyReuse");
  }
  world_.clock.Advance(hours(25));
  EXPECT_EQ(catalog.PurgeKeys()->changed, 3);
}

TEST_P(CatalogTest, SearchesEqualABruteForceFilter) {
  Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  std::vector<Product> products = RandomProducts(60);
  for (Product& product : products) {
    ASSERT_TRUE(catalog.Put(product).ok());
    product = *catalog.Get(product.sku);
  }
  auto newest = [](const Product& a, const Product& b) { return DateOf(a) > DateOf(b); };
  auto titled = [](const Product& a, const Product& b) { return a.title < b.title; };
  auto album = [](const Product& p) { return p.type == kAlbum; };
  auto film = [](const Product& p) { return p.type == kFilm; };
  const SearchCase kCases[] = {
      {"discounted", [&](auto& o) { return catalog.Discounted(40, o); },
       [](const Product& p) { return p.pct_savings > 40; },
       [](const Product& a, const Product& b) { return a.pct_savings > b.pct_savings; }},
      {"genre", [&](auto& o) { return catalog.AlbumsByGenre("hard  BOP", o); },
       [&](const Product& p) { return album(p) && HasText(p, "genre", "Hard Bop"); }, newest},
      {"artist", [&](auto& o) { return catalog.AlbumsByArtist("Ann", o); },
       [&](const Product& p) { return album(p) && HasText(p, "artist", "Ann"); }, newest},
      {"actor", [&](auto& o) { return catalog.FilmsByActor("Bob", o); },
       [&](const Product& p) { return film(p) && HasText(p, "actor", "Bob"); }, newest},
      {"director", [&](auto& o) { return catalog.FilmsByDirector("Cy", o); },
       [&](const Product& p) { return film(p) && HasText(p, "director", "Cy"); }, newest},
      {"newest", [&](auto& o) { return catalog.Newest(kFilm, o); }, film,
       [](const Product& a, const Product& b) {
         return std::pair(-DateOf(a), a.title) < std::pair(-DateOf(b), b.title);
       }},
      {"cheap", [&](auto& o) { return catalog.ByPrice(kFilm, 200, 700, PriceOrder::kCheapest, o); },
       [&](const Product& p) { return film(p) && p.retail >= 200 && p.retail < 700; },
       [](const Product& a, const Product& b) { return a.retail < b.retail; }},
      {"prefix", [&](auto& o) { return catalog.TitlePrefix(kAlbum, "A Few Good", o); },
       [&](const Product& p) { return album(p) && p.title.starts_with("A Few Good"); }, titled},
      {"any prefix", [&](auto& o) { return catalog.TitlePrefix(kAlbum, "", o); }, album, titled},
      {"prefix nocase", [&](auto& o) { return catalog.TitlePrefixNoCase(kAlbum, "A FEW good", o); },
       [&](const Product& p) { return album(p) && FoldCase(p.title).starts_with("a few good"); },
       [](const Product& a, const Product& b) { return FoldCase(a.title) < FoldCase(b.title); }},
      {"prefix umlaut", [&](auto& o) { return catalog.TitlePrefixNoCase(kAlbum, "ä", o); },
       [&](const Product& p) { return album(p) && FoldCase(p.title).starts_with("ä"); },
       [](const Product& a, const Product& b) { return FoldCase(a.title) < FoldCase(b.title); }},
      {"contains", [&](auto& o) { return catalog.TitleContains(kAlbum, "C++ (2nd", o); },
       [&](const Product& p) { return album(p) && p.title.find("C++ (2nd") != std::string::npos; },
       titled},
  };
  for (const SearchCase& row : kCases) {
    SCOPED_TRACE(row.name);
    std::vector<Product> expected;
    std::copy_if(products.begin(), products.end(), std::back_inserter(expected), row.matches);
    std::sort(expected.begin(), expected.end(), [&](const Product& a, const Product& b) {
      return row.before(a, b) || (!row.before(b, a) && a.id.bytes < b.id.bytes);
    });
    EXPECT_GT(expected.size(), 1u);
    std::vector<std::string> skus;
    for (const Product& product : expected) {
      skus.push_back(product.sku);
    }
    EXPECT_EQ(AllPages(row.search, 3), skus);
    EXPECT_EQ(AllPages(row.search, 1000), skus);
  }
  auto dear = AllPages(
      [&](auto& o) { return catalog.ByPrice(kFilm, 200, 700, PriceOrder::kDearest, o); }, 4);
  auto cheap = AllPages(kCases[6].search, 4);
  std::reverse(cheap.begin(), cheap.end());
  EXPECT_EQ(dear, cheap);
  EXPECT_EQ(ErrorName(catalog.Discounted(1, {.page = {.after = "junk"}}).status()), "BadCursor");
}

TEST_P(CatalogTest, FullTextScoresAndPages) {
  Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  const struct {
    const char* sku;
    const char* title;
    const char* artist;
    const char* description;
  } kRows[] = {{"title", "Blue Train", "x", ""},
               {"artist", "Other", "Blue Man", ""},
               {"about", "Another", "x", "a blue one about trains"},
               {"none", "Nothing", "x", "red"}};
  for (const auto& row : kRows) {
    Product product = Album(row.sku);
    product.title = row.title;
    product.description = row.description;
    product.details = Doc("artist", row.artist);
    ASSERT_TRUE(catalog.Put(product).ok());
  }
  using Skus = std::vector<std::string>;
  auto find = [&](const char* text, Words words, int64_t limit) {
    return AllPages([&](auto& o) { return catalog.Text(text, words, o); }, limit);
  };
  EXPECT_EQ(find("blue", Words::kAny, 10), (Skus{"title", "artist", "about"}));
  EXPECT_EQ(find("blue", Words::kAny, 1), (Skus{"title", "artist", "about"}));
  EXPECT_EQ(find("blue train", Words::kAll, 10), (Skus{"title", "about"}));
  EXPECT_EQ(find("blue train", Words::kPhrase, 10), (Skus{"title"}));
  EXPECT_EQ(find("red -\"blue", Words::kAny, 10).size(), 4u);  // literal, not an exclusion
}

TEST_P(CatalogTest, FacetsCount) {
  Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  std::map<std::string, int64_t> genres;
  std::vector<int64_t> bands(2);
  for (const Product& product : RandomProducts(40)) {
    ASSERT_TRUE(catalog.Put(product).ok());
    if (product.type != kAlbum || product.retail >= 800) {
      continue;
    }
    for (const bson::Element& genre : product.details["genre"].AsArray()) {
      genres[std::string(genre.value().AsString())] += 1;
    }
    bands[product.retail < 500 ? 0 : 1] += 1;
  }
  FacetFilter filter{.type = kAlbum, .price_to = 800, .price_bands = {0, 500, 900}};
  auto facets = catalog.CountFacets(filter);
  ASSERT_TRUE(facets.ok()) << facets.status().ToString();
  EXPECT_EQ(facets->price_bands, bands);
  ASSERT_EQ(facets->genres.size(), genres.size());
  for (const Facets::Genre& genre : facets->genres) {
    EXPECT_EQ(genre.count, genres[genre.name]) << genre.name;
  }
  filter.genre = "jazz";
  EXPECT_LT(catalog.CountFacets(filter)->genres.back().count, genres["Jazz"] + 1);
}

TEST_P(CatalogTest, OneOfManyWriters) {
  for (bool registry : {false, true}) {
    World world(GetParam());
    ASSERT_TRUE(CatalogOf(&world, registry).CreateIndexes().ok());
    std::atomic<int> made{0};
    std::atomic<int> changed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Catalog catalog = CatalogOf(&world, registry);
        for (int i = 0; i < 6; ++i) {
          const std::string sku = "s" + std::to_string(i);
          auto put = catalog.Put(Album(sku, 1200 + t));
          made += put.ok() ? 1 : 0;
          EXPECT_TRUE(put.ok() || Is(put.status(), Error::kDuplicateSku));
          auto change = catalog.Put(Album(sku, 2000 + t), 1);
          changed += change.ok() ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(made, 6);
    EXPECT_EQ(changed, 6);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(CatalogOf(&world, registry).Get("s" + std::to_string(i))->rev, 2);
    }
  }
}

TEST_P(CatalogTest, QueriesUseTheIndexes) {
  Catalog catalog = CatalogOf(&world_);
  EXPECT_EQ(catalog.MissingIndexes()->size(), catalog.Indexes().size());
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  EXPECT_TRUE(catalog.MissingIndexes()->empty());
  for (const Product& product : RandomProducts(40)) {
    ASSERT_TRUE(catalog.Put(product).ok());
  }
  const bson::Date date{2};
  const bson::ObjectId id;
  struct {
    Document filter;
    Document sort;
    int intervals;  // of the index; 0: more keys than results, but no more documents
  } const kQueries[] = {
      {Doc("sku", "sku3"), Doc(), 1},
      {Doc("pricing.pct_savings", Doc("$gt", 40)), Doc("pricing.pct_savings", -1, "_id", 1), 1},
      {Doc("type", kAlbum, "details.genre", "Jazz"), Doc("details.issue_date", -1, "_id", 1), 1},
      {Doc("$and", List(Doc("type", kAlbum, "details.genre", "Jazz"),
                        Doc("details.issue_date", Doc("$lt", date)))),
       Doc("details.issue_date", -1, "_id", 1), 1},
      {Doc("$and", List(Doc("type", kFilm, "details.actor", "Ann"),
                        Doc("details.issue_date", date, "_id", Doc("$gt", id)))),
       Doc("details.issue_date", -1, "_id", 1), 1},
      {Doc("type", kFilm), Doc("details.issue_date", -1, "title", 1, "_id", 1), 1},
      {Doc("type", kFilm, "pricing.retail", Doc("$gte", 200, "$lt", 700)),
       Doc("pricing.retail", -1, "_id", -1), 1},
      {Doc("type", kAlbum, "title", Doc("$gte", "A Few Good", "$lt", "A Few Gooe")),
       Doc("title", 1, "_id", 1), 1},
      {Doc("$and", List(Doc("type", kAlbum, "title", Doc("$gte", "A", "$lt", "B")),
                        Doc("title", Doc("$gt", "A Few Good Men")))),
       Doc("title", 1, "_id", 1), 1},
      {Doc("type", kAlbum, "title_lc", Doc("$gte", "a few good", "$lt", "a few gooe")),
       Doc("title_lc", 1, "_id", 1), 1},
      {Doc("type", kAlbum, "title", Doc("$regex", "Few")), Doc("title", 1, "_id", 1), 0},
  };
  for (const auto& query : kQueries) {
    Explained explained =
        Explain(world_.store, Doc("find", "products", "filter", query.filter, "sort", query.sort));
    SCOPED_TRACE(bson::ToJson(query.filter.view()) + explained.plan);
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos);
    EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos);
    EXPECT_GT(explained.returned, 0);
    EXPECT_EQ(explained.documents, explained.returned);
    EXPECT_TRUE(query.intervals == 0 || explained.keys <= explained.returned + query.intervals)
        << explained.keys;
  }
}

TEST_P(CatalogTest, ReadsMayComeFromSecondaries) {
  Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  ASSERT_TRUE(catalog.Put(Album("a")).ok());
  for (ReadFrom from : {ReadFrom::kPrimary, ReadFrom::kPrimaryPreferred,
                        ReadFrom::kSecondaryPreferred, ReadFrom::kNearest}) {
    auto page = catalog.Discounted(1, {.read = {from, 90}});
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    EXPECT_EQ(page->products.size(), 1u);
    EXPECT_TRUE(catalog.Text("title", Words::kAny, {.read = {from}}).ok());
  }
  EXPECT_TRUE(ToFields({}).empty());
  const Document secondary = ToFields({ReadFrom::kSecondary});  // never the primary
  EXPECT_EQ(TextAt(secondary, "$readPreference.mode"), "secondary");
  const Document nearest = ToFields({ReadFrom::kNearest, 120});
  EXPECT_EQ(TextAt(nearest, "$readPreference.mode"), "nearest");
  EXPECT_EQ(IntegerAt(nearest, "$readPreference.maxStalenessSeconds"), 120);
}

TEST(CatalogText, FoldingAndEscaping) {
  EXPECT_EQ(FoldCase("ÀÖØÞŠŽŁΑΩЀЯ aZ9 ß"), "àöøþšžłαωѐя az9 ß");
  EXPECT_EQ(NormalGenre("  hard   BOP "), "Hard Bop");
  EXPECT_EQ(EscapeRegex("C++ (2nd"), "C\\+\\+ \\(2nd");
}

INSTANTIATE_TEST_SUITE_P(Places, CatalogTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
