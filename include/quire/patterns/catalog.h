// SPDX-License-Identifier: Apache-2.0
//
// A product catalog: products of every kind in one collection, searched by many attributes.
//
//   patterns::Catalog catalog(client, "shop");
//   catalog.CreateIndexes();
//   catalog.Put({.sku = "00e8da9b", .type = "Audio Album", .title = "A Love Supreme",
//                .list = 1200, .retail = 1100, .details = details});
//   auto page = catalog.AlbumsByGenre("jazz", {.page = {.limit = 20}});
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/idempotency.h"
#include "quire/patterns/page.h"
#include "quire/patterns/read_preference.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

inline constexpr char kAlbum[] = "Audio Album";
inline constexpr char kFilm[] = "Film";

struct CatalogOptions {
  // Keeps skus unique by a collection of their own: needed when the products are sharded, where no
  // index over all of them can.
  bool sku_registry = false;
  // How long a sku is kept for a put that crashed, and outcomes for their keys.
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::string worker = "worker";  // a name of its own for every process that runs the jobs
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  Concerns concerns = {};
  Seams seams = {};
};

struct Product {
  std::string sku{};
  std::string type{};
  std::string title{};
  std::string description{};
  std::string asin{};
  bson::Document shipping{};  // {weight, dimensions: {width, height, depth}}
  int64_t list = 0;           // minor units, as all prices
  int64_t retail = 0;
  bson::Document details{};  // of its type: {artist, genre: [...], tracks, issue_date}...
  std::vector<bson::ObjectId> category_ids{};
  // Computed by Put.
  bson::ObjectId id{};
  int64_t savings = 0;
  int32_t pct_savings = 0;  // rounded down
  std::string primary_genre{};
  int64_t rev = 0;
};

struct ProductPage {
  std::vector<Product> products;
  std::string next;  // empty: this was the last page
};

struct SearchOptions {
  PageRequest page{};
  ReadPreference read{};
};

enum class PriceOrder { kCheapest, kDearest };
enum class Words { kAll, kAny, kPhrase };

struct FacetFilter {
  std::string type{};
  std::string genre{};                 // empty: any
  int64_t price_from = 0;              // of the retail price
  int64_t price_to = INT64_MAX;        // not included
  std::vector<int64_t> price_bands{};  // the ascending bounds of bands to count
  ReadPreference read{};
};
struct Facets {
  struct Genre {
    std::string name;
    int64_t count = 0;
  };
  std::vector<Genre> genres;         // by count, then name; a product counts for each of its own
  std::vector<int64_t> price_bands;  // counts: band i is [bounds[i], bounds[i + 1])
};

// "jazz", " JAZZ" and "Jazz" are one genre: the last is stored.
std::string NormalGenre(std::string_view genre);
// The text with every character that means something in a regular expression escaped.
std::string EscapeRegex(std::string_view text);
// Lower case, for title_lc: ASCII, Latin-1, Latin Extended-A, Greek and Cyrillic letters.
std::string FoldCase(std::string_view text);

// Documents: products {_id, sku, type, title, title_lc, description, asin, shipping, pricing:
// {list, retail, savings, pct_savings}, details, primary_genre, category_ids, rev, marks};
// sku_registry {_id: sku, product, at, used}; idempotency; jobs. Lists are in pages (Error:
// BadCursor).
// Safe for concurrent use.
class Catalog {
 public:
  Catalog(const Client& client, std::string_view database, CatalogOptions options = {});

  std::vector<IndexSpec> Indexes() const;
  std::vector<ShardKeySpec> ShardKeys() const;
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // Without `expected_rev` stores a new product, with it changes the one of that sku if it is at
  // that revision. Returns the revision it has now.
  // Errors: InvalidPrice (retail above list, or one below 0), InvalidName (no sku or type),
  // WrongType (details.genre is not an array of strings), DuplicateSku (also while a
  // crashed put keeps the sku), NotFound, Conflict, Contention (paused for the whole retention).
  Result<int64_t> Put(const Product& product, std::optional<int64_t> expected_rev = std::nullopt,
                      const CallKey& key = std::nullopt) const;

  // From the primary. Error: NotFound.
  Result<Product> Get(std::string_view sku) const;

  // More than `percent` off, most first.
  Result<ProductPage> Discounted(int32_t percent, const SearchOptions& options = {}) const;
  // Newest first.
  Result<ProductPage> AlbumsByGenre(std::string_view genre,
                                    const SearchOptions& options = {}) const;
  Result<ProductPage> AlbumsByArtist(std::string_view artist,
                                     const SearchOptions& options = {}) const;
  Result<ProductPage> FilmsByActor(std::string_view actor, const SearchOptions& options = {}) const;
  Result<ProductPage> FilmsByDirector(std::string_view director,
                                      const SearchOptions& options = {}) const;
  Result<ProductPage> Newest(std::string_view type, const SearchOptions& options = {}) const;
  // The retail price in [from, to).
  Result<ProductPage> ByPrice(std::string_view type, int64_t from, int64_t to, PriceOrder order,
                              const SearchOptions& options = {}) const;

  // Titles that begin with the text (an interval of the index), with or without regard to case, by
  // title; that contain it (reads the type's index entries, and only the documents it returns).
  Result<ProductPage> TitlePrefix(std::string_view type, std::string_view prefix,
                                  const SearchOptions& options = {}) const;
  Result<ProductPage> TitlePrefixNoCase(std::string_view type, std::string_view prefix,
                                        const SearchOptions& options = {}) const;
  Result<ProductPage> TitleContains(std::string_view type, std::string_view text,
                                    const SearchOptions& options = {}) const;
  // Full text over title (weight 10), details (3) and description (1), best first. Words are
  // stemmed with kAny; kAll and kPhrase want them as they are. Every page scores all matches.
  Result<ProductPage> Text(std::string_view text, Words words,
                           const SearchOptions& options = {}) const;

  Result<Facets> CountFacets(const FacetFilter& filter) const;

  // Frees skus that a crashed put has kept for `tombstone_retention`. skipped is 1 while another
  // worker does.
  Result<JobReport> SweepSkus() const;
  // Forgets keys after the retention. skipped is 1 while another worker does.
  Result<JobReport> PurgeKeys() const;

  // What is wrong, a line each: fields that are not what Put computes, skus twice or unregistered.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
