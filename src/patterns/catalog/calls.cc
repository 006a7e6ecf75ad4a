// SPDX-License-Identifier: Apache-2.0
//
// The calls of Catalog, each in its Work.
#include <utility>

#include "patterns/catalog/work.h"

namespace quire::patterns {

Catalog::Catalog(const Client& client, std::string_view database, CatalogOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

std::vector<IndexSpec> Catalog::Indexes() const { return work_->Indexes(); }
std::vector<ShardKeySpec> Catalog::ShardKeys() const { return work_->ShardKeys(); }
Status Catalog::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Catalog::MissingIndexes() const { return work_->MissingIndexes(); }
Result<int64_t> Catalog::Put(const Product& product, std::optional<int64_t> expected_rev,
                             const CallKey& key) const {
  return work_->Put(product, expected_rev, key);
}
Result<Product> Catalog::Get(std::string_view sku) const { return work_->Get(sku); }
Result<ProductPage> Catalog::Discounted(int32_t percent, const SearchOptions& options) const {
  return work_->Discounted(percent, options);
}
Result<ProductPage> Catalog::AlbumsByGenre(std::string_view genre,
                                           const SearchOptions& options) const {
  return work_->AlbumsByGenre(genre, options);
}
Result<ProductPage> Catalog::AlbumsByArtist(std::string_view artist,
                                            const SearchOptions& options) const {
  return work_->AlbumsByArtist(artist, options);
}
Result<ProductPage> Catalog::FilmsByActor(std::string_view actor,
                                          const SearchOptions& options) const {
  return work_->FilmsByActor(actor, options);
}
Result<ProductPage> Catalog::FilmsByDirector(std::string_view director,
                                             const SearchOptions& options) const {
  return work_->FilmsByDirector(director, options);
}
Result<ProductPage> Catalog::Newest(std::string_view type, const SearchOptions& options) const {
  return work_->Newest(type, options);
}
Result<ProductPage> Catalog::ByPrice(std::string_view type, int64_t from, int64_t to,
                                     PriceOrder order, const SearchOptions& options) const {
  return work_->ByPrice(type, from, to, order, options);
}
Result<ProductPage> Catalog::TitlePrefix(std::string_view type, std::string_view prefix,
                                         const SearchOptions& options) const {
  return work_->TitlePrefix(type, prefix, options);
}
Result<ProductPage> Catalog::TitlePrefixNoCase(std::string_view type, std::string_view prefix,
                                               const SearchOptions& options) const {
  return work_->TitlePrefixNoCase(type, prefix, options);
}
Result<ProductPage> Catalog::TitleContains(std::string_view type, std::string_view text,
                                           const SearchOptions& options) const {
  return work_->TitleContains(type, text, options);
}
Result<ProductPage> Catalog::Text(std::string_view text, Words words,
                                  const SearchOptions& options) const {
  return work_->Text(text, words, options);
}
Result<Facets> Catalog::CountFacets(const FacetFilter& filter) const {
  return work_->CountFacets(filter);
}
Result<JobReport> Catalog::SweepSkus() const { return work_->SweepSkus(); }
Result<JobReport> Catalog::PurgeKeys() const { return work_->PurgeKeys(); }
Result<std::vector<std::string>> Catalog::CheckInvariants() const {
  return work_->CheckInvariants();
}

}  // namespace quire::patterns
