// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "patterns/testing/catalog.h"
#include "quire/patterns/page.h"

namespace quire::patterns {
namespace {

using bson::Document;

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

std::map<std::string, Search> AllSearches(const Catalog& catalog) {
  return {
      {"discounted", [&](auto& o) { return catalog.Discounted(1, o); }},
      {"genre", [&](auto& o) { return catalog.AlbumsByGenre("jazz", o); }},
      {"artist", [&](auto& o) { return catalog.AlbumsByArtist("x", o); }},
      {"actor", [&](auto& o) { return catalog.FilmsByActor("x", o); }},
      {"director", [&](auto& o) { return catalog.FilmsByDirector("x", o); }},
      {"newest", [&](auto& o) { return catalog.Newest(kAlbum, o); }},
      {"price", [&](auto& o) { return catalog.ByPrice(kAlbum, 0, 9, PriceOrder::kDearest, o); }},
      {"prefix", [&](auto& o) { return catalog.TitlePrefix(kAlbum, "T", o); }},
      {"prefix nocase", [&](auto& o) { return catalog.TitlePrefixNoCase(kAlbum, "T", o); }},
      {"contains", [&](auto& o) { return catalog.TitleContains(kAlbum, "T", o); }},
      {"text", [&](auto& o) { return catalog.Text("title", Words::kAny, o); }},
  };
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

class CatalogSearchTest : public BothPlaces {};

TEST_P(CatalogSearchTest, SearchesEqualABruteForceFilter) {
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
  const std::string another = EncodePageEnd(Doc("_id", 1));  // of no list here
  for (const auto& [name, search] : AllSearches(catalog)) {
    EXPECT_EQ(ErrorName(search({.page = {.after = "junk"}}).status()), "BadCursor") << name;
    EXPECT_EQ(ErrorName(search({.page = {.after = another}}).status()), "BadCursor") << name;
  }
}

TEST_P(CatalogSearchTest, FullTextScoresAndPages) {
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
  Product album = Album("tracks");
  album.details = Doc("tracks", List("Resolution", "Pursuance"));
  ASSERT_TRUE(catalog.Put(album).ok());
  Product film = Album("film");
  film.details = Doc("writer", List("Aaron Sorkin"));
  ASSERT_TRUE(catalog.Put(film).ok());
  using Skus = std::vector<std::string>;
  auto find = [&](const char* text, Words words, int64_t limit) {
    return AllPages([&](auto& o) { return catalog.Text(text, words, o); }, limit);
  };
  EXPECT_EQ(find("blue", Words::kAny, 10), (Skus{"title", "artist", "about"}));
  EXPECT_EQ(find("blue", Words::kAny, 1), (Skus{"title", "artist", "about"}));
  EXPECT_EQ(find("blue train", Words::kAll, 10), (Skus{"title", "about"}));
  EXPECT_EQ(find("blue train", Words::kPhrase, 10), (Skus{"title"}));
  EXPECT_EQ(find("red -\"blue", Words::kAny, 10).size(), 4u);    // literal, not an exclusion
  EXPECT_EQ(find("THE one", Words::kAny, 10), (Skus{"about"}));  // folded, "the" says nothing
  EXPECT_EQ(find("resolution", Words::kAny, 10), (Skus{"tracks"}));
  EXPECT_EQ(find("sorkin", Words::kAny, 10), (Skus{"film"}));
}

TEST_P(CatalogSearchTest, FacetsCount) {
  Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  std::map<std::string, int64_t> genres;
  std::map<std::string, int64_t> jazz;  // of the products that are of this genre, too
  std::vector<int64_t> bands(2);
  for (const Product& product : RandomProducts(40)) {
    ASSERT_TRUE(catalog.Put(product).ok());
    if (product.type != kAlbum || product.retail >= 800) {
      continue;
    }
    const bool has_jazz = HasText(product, "genre", "Jazz");
    for (const bson::Element& genre : product.details["genre"].AsArray()) {
      genres[std::string(genre.value().AsString())] += 1;
      jazz[std::string(genre.value().AsString())] += has_jazz ? 1 : 0;
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
  facets = catalog.CountFacets(filter);
  std::map<std::string, int64_t> with_jazz;
  for (const Facets::Genre& genre : facets->genres) {
    with_jazz[genre.name] = genre.count;
  }
  EXPECT_EQ(with_jazz, jazz);
  for (size_t i = 1; i < facets->genres.size(); ++i) {
    EXPECT_GE(facets->genres[i - 1].count, facets->genres[i].count);
  }
}

TEST_P(CatalogSearchTest, QueriesUseTheIndexes) {
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

// Whether the world is that of a replica set with other members.
bool AtSet(const Store& store) {
  auto hello = store.Run(Doc("hello", 1));
  EXPECT_TRUE(hello.ok()) << hello.status().ToString();
  return hello.ok() && (*hello)["hosts"].is_array() && (*hello)["hosts"].AsArray().Count() > 1;
}

TEST_P(CatalogSearchTest, ReadsMayComeFromSecondaries) {
  Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  ASSERT_TRUE(catalog.Put(Album("a")).ok());
  for (ReadFrom from : {ReadFrom::kPrimary, ReadFrom::kPrimaryPreferred,
                        ReadFrom::kSecondaryPreferred, ReadFrom::kNearest}) {
    size_t found = 0;
    // A member of a set applies what was written a moment later.
    for (int tries = 0; found == 0 && tries < (AtSet(world_.store) ? 1000 : 1); ++tries) {
      auto page = catalog.Discounted(1, {.read = {from, 90}});
      ASSERT_TRUE(page.ok()) << page.status().ToString();
      found = page->products.size();
    }
    EXPECT_EQ(found, 1u);
    EXPECT_TRUE(catalog.Text("title", Words::kAny, {.read = {from}}).ok());
  }
  for (const auto& [name, search] : AllSearches(catalog)) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(world_.store.Run(Doc("profile", 2)).ok());
    EXPECT_TRUE(search({.read = {ReadFrom::kSecondaryPreferred, 120}}).ok());
    ASSERT_TRUE(world_.store.Run(Doc("profile", 0)).ok());
    if (AtSet(world_.store)) {
      continue;  // the primary has not seen it
    }
    int preferred = 0;
    for (const Document& entry : world_.All("system.profile")) {
      preferred += TextAt(entry, "command.$readPreference.mode") == "secondaryPreferred" &&
                           IntegerAt(entry, "command.$readPreference.maxStalenessSeconds") == 120
                       ? 1
                       : 0;
    }
    EXPECT_EQ(preferred, 1);
    ASSERT_TRUE(world_.store.Run(Doc("drop", "system.profile")).ok());
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

// The last query that was sent.
class LastQuery : public QueryHook {
 public:
  void Asks(const Document& query) override { filter = Document(query["filter"].AsDocument()); }
  Document filter;
};

// From the prefix to the next text that does not begin with it.
TEST_P(CatalogSearchTest, PrefixesAreIntervals) {
  LastQuery last;
  Seams seams = world_.seams();
  seams.queries = &last;
  const Catalog catalog = CatalogOf(&world_, false, seams);
  const struct {
    const char* prefix;
    const char* end;  // none: there is no such text
  } kCases[] = {{"a few good", "a few gooe"},         {"\x7f", "\xc2\x80"},
                {"\xed\x9f\xbf", "\xee\x80\x80"},  // what is between is no character
                {"\xef\xbf\xbf", "\xf0\x90\x80\x80"}, {"a\xf4\x8f\xbf\xbf", "b"},
                {"\xf4\x8f\xbf\xbf", nullptr}};
  for (const auto& [prefix, end] : kCases) {
    ASSERT_TRUE(catalog.TitlePrefix(kFilm, prefix).ok());
    const bson::Value last_text = end ? bson::Value(std::string_view(end)) : bson::Value();
    const Document interval = Doc("$gte", prefix, "$lt", last_text);
    EXPECT_EQ(last.filter.bytes(), Doc("type", kFilm, "title", interval).bytes()) << prefix;
  }
  ASSERT_TRUE(catalog.TitlePrefixNoCase(kFilm, "A Few GOOD").ok());
  EXPECT_EQ(last.filter.bytes(),
            Doc("type", kFilm, "title_lc", Doc("$gte", "a few good", "$lt", "a few gooe")).bytes());
}

QUIRE_IN_BOTH_PLACES(CatalogSearchTest);

}  // namespace
}  // namespace quire::patterns
