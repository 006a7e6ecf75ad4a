// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the catalog share: a catalog with or without a registry of skus, and an album.
#pragma once

#include <string>

#include "patterns/testing/places.h"
#include "quire/patterns/catalog.h"

namespace quire::patterns {

inline Catalog CatalogOf(World* world, bool registry, const Seams& seams) {
  return Catalog(world->client, world->database, {.sku_registry = registry, .seams = seams});
}
inline Catalog CatalogOf(World* world, bool registry = false) {
  return CatalogOf(world, registry, world->seams());
}

inline Product Album(const std::string& sku, int64_t list = 1200, int64_t retail = 1100) {
  Product album{
      .sku = sku, .type = kAlbum, .title = "Title " + sku, .list = list, .retail = retail};
  album.details = Doc("artist", "John Coltrane", "genre", List("jazz", "General"), "issue_date",
                      bson::Date{1000});
  return album;
}

}  // namespace quire::patterns
