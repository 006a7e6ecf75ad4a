// SPDX-License-Identifier: Apache-2.0
//
// Nodes and photos, for the tests of content management.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "patterns/testing/places.h"
#include "quire/patterns/cms.h"

namespace quire::patterns {

inline Cms CmsOf(World* world, const Seams& seams) {
  return Cms(world->client, world->database, {.chunk_size = 4, .seams = seams});
}
inline Cms CmsOf(World* world) { return CmsOf(world, world->seams()); }

inline Node PageNode(const std::string& slug, const std::string& section = "docs") {
  return {.section = section,
          .slug = slug,
          .type = "basic-page",
          .title = "T " + slug,
          .author = {"a1", "Ann"},
          .detail = Doc("text", "text of " + slug)};
}
inline Node BlogNode(const std::string& slug, std::optional<bson::Date> published) {
  return {.section = "blog",
          .slug = slug,
          .type = "blog-entry",
          .title = "B <" + slug + ">",
          .author = {"a1", "Ann & Co"},
          .tags = {"news"},
          .published = published,
          .detail = Doc("text", "x", "publish_on", bson::Date{5})};
}
inline Photo Picture(const std::string& bytes) {
  auto left = std::make_shared<std::string>(bytes);
  return {.filename = "p.jpg",
          .content_type = "image/jpeg",
          .width = 4,
          .height = 3,
          .uploaded_by = "ann",
          .read = [left]() -> Result<std::string> {
            std::string piece = left->substr(0, 3);
            left->erase(0, 3);
            return piece;
          }};
}

inline std::string PhotoBytes(const Cms& cms, const std::string& slug) {
  auto download = cms.OpenPhoto("photos", slug);
  if (!download.ok()) {
    return ErrorName(download.status());
  }
  std::string all;
  for (;;) {
    auto piece = download->Read();
    if (!piece.ok()) {
      return ErrorName(piece.status());
    }
    if (piece->empty()) {
      return all;
    }
    all += *piece;
  }
}

}  // namespace quire::patterns
