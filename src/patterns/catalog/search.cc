// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/try.h"
#include "patterns/catalog/product.h"
#include "patterns/catalog/work.h"
#include "patterns/doc.h"
#include "patterns/keyset.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kProducts[] = "products";

ProductPage PageOf(const Page& page) {
  ProductPage result;
  for (const Document& document : page.documents) {
    result.products.push_back(ProductOf(document));
  }
  result.next = page.next;
  return result;
}

// The bytes of the last code point of `text`.
size_t LastPoint(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
    --at;
  }
  return at;
}

std::string Utf8(uint32_t point) {
  auto byte = [&](uint32_t lead, int shift) { return static_cast<char>(lead | point >> shift); };
  auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    return {byte(0, 0)};
  }
  if (point < 0x800) {
    return {byte(0xC0, 6), tail(0)};
  }
  return point < 0x10000 ? std::string{byte(0xE0, 12), tail(6), tail(0)}
                         : std::string{byte(0xF0, 18), tail(12), tail(6), tail(0)};
}

uint32_t PointOf(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  uint32_t point = lead < 0x80 ? lead : lead & (0xFFu >> (bytes.size() + 1));
  for (char c : bytes.substr(1)) {
    point = point << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  }
  return point;
}

// The least text above all that begin with `prefix`: its last character is the next one. "" when
// there is none. The bytes of UTF-8 sort as their characters do.
std::string PrefixEnd(std::string_view prefix) {
  while (!prefix.empty()) {
    const size_t at = LastPoint(prefix);
    const uint32_t point = PointOf(prefix.substr(at));
    prefix = prefix.substr(0, at);
    if (point < 0x10FFFF) {
      return std::string(prefix) + Utf8(point == 0xD7FF ? 0xE000 : point + 1);
    }
  }
  return "";
}

// What $text takes for the words as they are: a quote would begin a phrase, a minus exclude.
std::string SearchText(std::string_view text, Words words) {
  std::string plain;
  for (char c : text) {
    plain += c == '"' || c == '\\' ? ' ' : c;
  }
  if (words == Words::kPhrase) {
    return '"' + plain + '"';
  }
  std::string search;
  for (size_t at = 0; (at = plain.find_first_not_of(" -", at)) != std::string::npos;) {
    const size_t end = std::min(plain.find(' ', at), plain.size());
    const std::string word = plain.substr(at, end - at);
    search += words == Words::kAll ? '"' + word + "\" " : word + " ";
    at = end;
  }
  return search;
}

}  // namespace

Result<ProductPage> Catalog::Work::Search(const Document& filter, const Document& sort,
                                          const SearchOptions& options) const {
  ASSIGN_OR_RETURN(Page page, FindPage(store_, kProducts, filter, sort, options.page,
                                       {.extra = ToFields(options.read)}));
  return PageOf(page);
}

Result<ProductPage> Catalog::Work::Discounted(int32_t percent, const SearchOptions& options) const {
  return Search(Doc("pricing.pct_savings", Doc("$gt", percent)),
                Doc("pricing.pct_savings", -1, "_id", 1), options);
}

Result<ProductPage> Catalog::Work::NewestBy(std::string_view type, std::string_view field,
                                            std::string_view value,
                                            const SearchOptions& options) const {
  return Search(Doc("type", type, field, value), Doc("details.issue_date", -1, "_id", 1), options);
}

Result<ProductPage> Catalog::Work::AlbumsByGenre(std::string_view genre,
                                                 const SearchOptions& options) const {
  return NewestBy(kAlbum, "details.genre", NormalGenre(genre), options);
}

Result<ProductPage> Catalog::Work::AlbumsByArtist(std::string_view artist,
                                                  const SearchOptions& options) const {
  return NewestBy(kAlbum, "details.artist", artist, options);
}

Result<ProductPage> Catalog::Work::FilmsByActor(std::string_view actor,
                                                const SearchOptions& options) const {
  return NewestBy(kFilm, "details.actor", actor, options);
}

Result<ProductPage> Catalog::Work::FilmsByDirector(std::string_view director,
                                                   const SearchOptions& options) const {
  return NewestBy(kFilm, "details.director", director, options);
}

Result<ProductPage> Catalog::Work::Newest(std::string_view type,
                                          const SearchOptions& options) const {
  return Search(Doc("type", type), Doc("details.issue_date", -1, "title", 1, "_id", 1), options);
}

Result<ProductPage> Catalog::Work::ByPrice(std::string_view type, int64_t from, int64_t to,
                                           PriceOrder order, const SearchOptions& options) const {
  const int32_t direction = order == PriceOrder::kCheapest ? 1 : -1;
  return Search(Doc("type", type, "pricing.retail", Doc("$gte", from, "$lt", to)),
                Doc("pricing.retail", direction, "_id", direction), options);
}

Result<ProductPage> Catalog::Work::Prefix(std::string_view type, std::string_view field,
                                          std::string_view prefix,
                                          const SearchOptions& options) const {
  const std::string end = PrefixEnd(prefix);
  bson::Builder range;
  range.Append("$gte", prefix);
  if (!end.empty()) {
    range.Append("$lt", end);
  }
  return Search(Doc("type", type, field, range.Finish()), Doc(field, 1, "_id", 1), options);
}

Result<ProductPage> Catalog::Work::TitlePrefix(std::string_view type, std::string_view prefix,
                                               const SearchOptions& options) const {
  return Prefix(type, "title", prefix, options);
}

Result<ProductPage> Catalog::Work::TitlePrefixNoCase(std::string_view type, std::string_view prefix,
                                                     const SearchOptions& options) const {
  return Prefix(type, "title_lc", FoldCase(prefix), options);
}

Result<ProductPage> Catalog::Work::TitleContains(std::string_view type, std::string_view text,
                                                 const SearchOptions& options) const {
  return Search(Doc("type", type, "title", Doc("$regex", EscapeRegex(text))),
                Doc("title", 1, "_id", 1), options);
}

// The score is not a field that a find could begin after: a pipeline makes it one.
Result<ProductPage> Catalog::Work::Text(std::string_view text, Words words,
                                        const SearchOptions& options) const {
  const Document sort = Doc("score", -1, "_id", 1);
  Pipeline stages = {
      Doc("$match", Doc("$text", Doc("$search", SearchText(text, words)))),
      Doc("$addFields", Doc("score", Doc("$meta", "textScore"))),
  };
  if (!options.page.after.empty()) {
    ASSIGN_OR_RETURN(Document after, DecodePageEnd(options.page.after, {"score", "_id"}));
    stages.push_back(Doc("$match", BeyondKey(sort, after)));
  }
  stages.push_back(Doc("$sort", sort));
  stages.push_back(Doc("$limit", options.page.limit));
  ASSIGN_OR_RETURN(auto found, store_.Aggregate(kProducts, stages, ToFields(options.read)));
  Page page{std::move(found), ""};
  if (static_cast<int64_t>(page.documents.size()) == options.page.limit) {
    const Document& last = page.documents.back();
    page.next = EncodePageEnd(Doc("score", last["score"], "_id", last["_id"]));
  }
  return PageOf(page);
}

Result<Facets> Catalog::Work::CountFacets(const FacetFilter& filter) const {
  bson::Builder match;
  match.Append("type", filter.type);
  if (!filter.genre.empty()) {
    match.Append("details.genre", NormalGenre(filter.genre));
  }
  match.Append("pricing.retail", Doc("$gte", filter.price_from, "$lt", filter.price_to));
  const Document chosen = Doc("$match", match.Finish());
  const Document extra = ToFields(filter.read);
  ASSIGN_OR_RETURN(
      auto genres,
      store_.Aggregate(kProducts,
                       {chosen, Doc("$unwind", "$details.genre"),
                        Doc("$group", Doc("_id", "$details.genre", "count", Doc("$sum", 1))),
                        Doc("$sort", Doc("count", -1, "_id", 1))},
                       extra));
  Facets facets;
  for (const Document& genre : genres) {
    facets.genres.push_back({std::string(TextAt(genre, "_id")), IntegerAt(genre, "count")});
  }
  if (filter.price_bands.size() < 2) {
    return facets;
  }
  ASSIGN_OR_RETURN(
      auto bands, store_.Aggregate(
                      kProducts,
                      {chosen, Doc("$bucket", Doc("groupBy", "$pricing.retail", "boundaries",
                                                  ListOf(filter.price_bands), "default", "other"))},
                      extra));
  facets.price_bands.resize(filter.price_bands.size() - 1);
  for (const Document& band : bands) {
    for (size_t i = 0; i < facets.price_bands.size(); ++i) {
      if (band["_id"].is_number() && IntegerAt(band, "_id") == filter.price_bands[i]) {
        facets.price_bands[i] = IntegerAt(band, "count");
      }
    }
  }
  return facets;
}

}  // namespace quire::patterns
