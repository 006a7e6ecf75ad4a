// SPDX-License-Identifier: Apache-2.0
//
// Books and their authors, for the tests of links.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patterns/testing/places.h"
#include "quire/patterns/links.h"

namespace quire::patterns {

using LinkIds = std::vector<std::string>;

inline constexpr Backend kLinkBackends[] = {Backend::kCompensating, Backend::kTransactional};

struct Shelf {
  Shelf(World* world, const Seams& seams, Backend backend = Backend::kCompensating)
      : links(world->client, world->database,
              {.owners = "books",
               .targets = "authors",
               .field = "author_ids",
               .max_links = 4,
               .backend = backend,
               .seams = seams}) {}
  explicit Shelf(World* world) : Shelf(world, world->seams()) {}

  const Links* operator->() const { return &links; }
  Links links;
};

inline LinkIds IdsOf(const Result<Page>& page) {
  EXPECT_TRUE(page.ok()) << page.status().ToString();
  LinkIds ids;
  for (const bson::Document& document :
       page.ok() ? page->documents : std::vector<bson::Document>()) {
    ids.emplace_back(TextAt(document, "_id"));
  }
  return ids;
}

inline LinkIds AuthorsOf(World* world, std::string_view book) {
  return IdsOf(Shelf(world)->TargetsOf(book));
}
inline LinkIds BooksOf(World* world, std::string_view author) {
  return IdsOf(Shelf(world)->OwnersOf(author));
}

// Books p and q, authors a, b and c; a wrote both, b wrote q.
inline void FillShelf(World* world) {
  Shelf shelf(world);
  ASSERT_TRUE(shelf->CreateIndexes().ok());
  for (const char* book : {"p", "q"}) {
    ASSERT_TRUE(shelf->AddOwner(book, Doc("title", std::string("T") + book)).ok());
    ASSERT_TRUE(shelf->Link(book, "none").code() != 0);
  }
  for (const char* author : {"a", "b", "c"}) {
    ASSERT_TRUE(shelf->AddTarget(author, Doc("name", std::string("N") + author)).ok());
  }
  ASSERT_TRUE(shelf->Link("p", "a").ok());
  ASSERT_TRUE(shelf->Link("q", "b").ok());
  ASSERT_TRUE(shelf->Link("q", "a").ok());
}

inline void SweepAll(World* world) {
  Shelf shelf(world);
  RunUntilQuiet({[&] { return shelf->Sweep(); }, [&] { return shelf->PurgeKeys(); }});
}

}  // namespace quire::patterns
