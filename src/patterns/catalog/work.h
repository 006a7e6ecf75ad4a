// SPDX-License-Identifier: Apache-2.0
//
// All of a Catalog: its calls, and the steps they are made of.
#pragma once

#include "quire/patterns/catalog.h"

namespace quire::patterns {

class Catalog::Work {
 public:
  Work(const Client& client, std::string_view database, CatalogOptions options = {});
  std::vector<IndexSpec> Indexes() const;
  std::vector<ShardKeySpec> ShardKeys() const;
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Result<int64_t> Put(const Product& product, std::optional<int64_t> expected_rev = std::nullopt,
                      const CallKey& key = std::nullopt) const;
  Result<Product> Get(std::string_view sku) const;
  Result<ProductPage> Discounted(int32_t percent, const SearchOptions& options = {}) const;
  Result<ProductPage> AlbumsByGenre(std::string_view genre,
                                    const SearchOptions& options = {}) const;
  Result<ProductPage> AlbumsByArtist(std::string_view artist,
                                     const SearchOptions& options = {}) const;
  Result<ProductPage> FilmsByActor(std::string_view actor, const SearchOptions& options = {}) const;
  Result<ProductPage> FilmsByDirector(std::string_view director,
                                      const SearchOptions& options = {}) const;
  Result<ProductPage> Newest(std::string_view type, const SearchOptions& options = {}) const;
  Result<ProductPage> ByPrice(std::string_view type, int64_t from, int64_t to, PriceOrder order,
                              const SearchOptions& options = {}) const;
  Result<ProductPage> TitlePrefix(std::string_view type, std::string_view prefix,
                                  const SearchOptions& options = {}) const;
  Result<ProductPage> TitlePrefixNoCase(std::string_view type, std::string_view prefix,
                                        const SearchOptions& options = {}) const;
  Result<ProductPage> TitleContains(std::string_view type, std::string_view text,
                                    const SearchOptions& options = {}) const;
  Result<ProductPage> Text(std::string_view text, Words words,
                           const SearchOptions& options = {}) const;
  Result<Facets> CountFacets(const FacetFilter& filter) const;
  Result<JobReport> SweepSkus() const;
  Result<JobReport> PurgeKeys() const {
    return calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease});
  }
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Result<bson::Document> Insert(const Product& product, const Claim& claim) const;
  Result<bson::Document> Change(const Product& product, int64_t expected, const Claim& claim) const;
  Status Reserve(const std::string& sku, const Claim& claim) const;
  Status Release(const std::string& sku, const Claim& claim) const;
  Status Confirm(const std::string& sku, const Claim& claim) const;
  // How many rows it changed.
  Result<int64_t> SweepSku(const bson::Document& row) const;
  Result<ProductPage> Search(const bson::Document& filter, const bson::Document& sort,
                             const SearchOptions& options) const;
  Result<ProductPage> NewestBy(std::string_view type, std::string_view field,
                               std::string_view value, const SearchOptions& options) const;
  Result<ProductPage> Prefix(std::string_view type, std::string_view field, std::string_view prefix,
                             const SearchOptions& options) const;

  CatalogOptions options_;
  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
