// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/links.h"

#include <gtest/gtest.h>

#include <thread>

#include "patterns/testing/links.h"
#include "patterns/testing/query_paths.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

class LinksTest : public BothPlaces {};

TEST_P(LinksTest, LinksAreSeenFromBothSides) {
  Shelf shelf(&world_);
  EXPECT_EQ(shelf->MissingIndexes()->size(), shelf->Indexes().size());
  FillShelf(&world_);
  EXPECT_TRUE(shelf->MissingIndexes()->empty());
  EXPECT_EQ(shelf->ShardKeys().size(), 3u);
  EXPECT_EQ(AuthorsOf(&world_, "q"), (LinkIds{"a", "b"}));
  EXPECT_EQ(BooksOf(&world_, "a"), (LinkIds{"p", "q"}));
  EXPECT_EQ(BooksOf(&world_, "c"), LinkIds());
  EXPECT_EQ(bson::ToJson(shelf->OwnersOf("b")->documents.at(0).view()),
            R"({"_id":"q","title":"Tq"})");
  const Document author = *shelf->GetTarget("a");
  EXPECT_EQ(TextAt(author, "name"), "Na");
  ASSERT_TRUE(shelf->Link("p", "a").ok());  // again
  EXPECT_EQ(AuthorsOf(&world_, "p"), LinkIds{"a"});
  ASSERT_TRUE(shelf->Unlink("p", "a").ok());
  ASSERT_TRUE(shelf->Unlink("p", "a").ok());  // again
  EXPECT_EQ(BooksOf(&world_, "a"), LinkIds{"q"});
  ASSERT_TRUE(shelf->DeleteOwner("q").ok());
  EXPECT_EQ(BooksOf(&world_, "a"), LinkIds());
  ASSERT_TRUE(shelf->Link("p", "b").ok());
  ASSERT_TRUE(shelf->DeleteTarget("b").ok());
  EXPECT_EQ(AuthorsOf(&world_, "p"), LinkIds());
  // On one side only, and ids alone.
  for (const Document& target : world_.All("authors")) {
    EXPECT_FALSE(target.view().Has("author_ids"));
  }
  ExpectNothingWrong(shelf->CheckInvariants());
}

TEST_P(LinksTest, SaysWhyNot) {
  FillShelf(&world_);
  Shelf shelf(&world_);
  ASSERT_TRUE(shelf->DeleteOwner("p").ok());
  ASSERT_TRUE(shelf->DeleteTarget("b").ok());
  const struct {
    Status status;
    const char* error;
  } kRefused[] = {
      {shelf->AddOwner("", Doc()), "InvalidName"},
      {shelf->AddOwner("x", Doc("author_ids", List("a"))), "InvalidName"},
      {shelf->AddTarget("x", Doc("removed", 1)), "InvalidName"},
      {shelf->AddOwner("q", Doc()), "DuplicateKey"},
      {shelf->AddOwner("p", Doc()), "DuplicateKey"},
      {shelf->AddTarget("b", Doc()), "DuplicateKey"},
      {shelf->Link("none", "a"), "NotFound"},
      {shelf->Link("p", "a"), "NotFound"},
      {shelf->Link("q", "none"), "NotFound"},
      {shelf->Link("q", "b"), "NotFound"},
      {shelf->Unlink("p", "a"), "NotFound"},
      {shelf->DeleteOwner("p"), "NotFound"},
      {shelf->DeleteTarget("b"), "NotFound"},
      {shelf->GetOwner("p").status(), "NotFound"},
      {shelf->GetTarget("b").status(), "NotFound"},
      {shelf->TargetsOf("p").status(), "NotFound"},
      {shelf->OwnersOf("b").status(), "NotFound"},
      {shelf->TargetsOf("q", {.after = "junk"}).status(), "BadCursor"},
      {shelf->OwnersOf("a", {.after = "junk"}).status(), "BadCursor"},
  };
  for (size_t i = 0; i < std::size(kRefused); ++i) {
    EXPECT_EQ(ErrorName(kRefused[i].status), kRefused[i].error) << i;
  }
}

TEST_P(LinksTest, AnOwnerHasSoManyLinksAndNoMore) {
  FillShelf(&world_);
  Shelf shelf(&world_);
  for (const char* author : {"1", "2", "3", "4"}) {
    ASSERT_TRUE(shelf->AddTarget(author, Doc()).ok());
    ASSERT_TRUE(author == std::string("4") || shelf->Link("p", author).ok());
  }
  EXPECT_TRUE(Is(shelf->Link("p", "4"), Error::kTooManyLinks));
  EXPECT_TRUE(shelf->Link("p", "3").ok());  // it is there
  ASSERT_TRUE(shelf->Unlink("p", "a").ok());
  EXPECT_TRUE(shelf->Link("p", "4").ok());
  ExpectNothingWrong(shelf->CheckInvariants());
}

// In pages of any size, also past links that a crashed deletion left.
TEST_P(LinksTest, PagesFollowEachOther) {
  Shelf shelf(&world_);
  ASSERT_TRUE(shelf->CreateIndexes().ok());
  LinkIds books;
  for (const char* author : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(shelf->AddTarget(author, Doc()).ok());
  }
  for (int i = 0; i < 7; ++i) {
    books.push_back("book" + std::to_string(i));
    ASSERT_TRUE(shelf->AddOwner(books.back(), Doc()).ok());
    for (const char* author : {"d", "b", "a", "c"}) {
      ASSERT_TRUE(shelf->Link(books.back(), author).ok());
    }
  }
  TestCrash crash;
  crash.at = "links.delete_target.c1";
  EXPECT_TRUE(Is(Shelf(&world_, world_.seams(&crash))->DeleteTarget("b"), Error::kCrashed));
  auto all = [](int64_t limit, const std::function<Result<Page>(const PageRequest&)>& list) {
    LinkIds ids;
    PageRequest request{.limit = limit};
    do {
      auto page = list(request);
      const LinkIds more = IdsOf(page);
      EXPECT_LE(static_cast<int64_t>(more.size()), limit);
      ids.insert(ids.end(), more.begin(), more.end());
      request.after = page->next;
    } while (!request.after.empty() && ids.size() < 100);
    return ids;
  };
  for (int64_t limit : {1, 2, 3, 4, 7, 8}) {
    EXPECT_EQ(all(limit, [&](auto& page) { return shelf->OwnersOf("c", page); }), books) << limit;
    EXPECT_EQ(all(limit, [&](auto& page) { return shelf->TargetsOf("book3", page); }),
              (LinkIds{"a", "c", "d"}))
        << limit;
  }
}

TEST_P(LinksTest, ManyThreadsLinkAndDelete) {
  for (Backend backend : kLinkBackends) {
    World world(GetParam());
    ASSERT_TRUE(Shelf(&world)->CreateIndexes().ok());
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(Shelf(&world)->AddTarget(std::to_string(i), Doc()).ok());
    }
    ASSERT_TRUE(Shelf(&world)->AddOwner("p", Doc()).ok());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Shelf shelf(&world, world.seams(), backend);
        for (int i = 0; i < 24; ++i) {
          const std::string author = std::to_string(i % 8);
          Status linked = shelf->Link("p", author);
          EXPECT_TRUE(linked.ok() || Is(linked, Error::kTooManyLinks) ||
                      Is(linked, Error::kNotFound) || Is(linked, Error::kContention))
              << linked.ToString();
          EXPECT_LE(shelf->TargetsOf("p")->documents.size(), 4u);
          EXPECT_TRUE(i % 3 != 0 || shelf->Unlink("p", author).ok());
        }
        Status deleted = shelf->DeleteTarget(std::to_string(t));
        EXPECT_TRUE(deleted.ok()) << deleted.ToString();
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    SweepAll(&world);
    ExpectNothingWrong(Shelf(&world)->CheckInvariants());
  }
}

TEST_P(LinksTest, QueriesUseTheIndexes) {
  QueryPaths paths;
  Seams seams = world_.seams();
  seams.queries = &paths;
  FillShelf(&world_);
  Shelf shelf(&world_, seams);
  for (int i = 0; i < 20; ++i) {
    const std::string id = std::to_string(i);
    ASSERT_TRUE(shelf->AddOwner(id, Doc()).ok());
    ASSERT_TRUE(shelf->AddTarget(id, Doc(), "k" + id).ok());
    ASSERT_TRUE(shelf->Link(id, "c", "l" + id).ok());
    ASSERT_TRUE(shelf->Link(id, id).ok());
  }
  auto page = shelf->OwnersOf("c", {.limit = 7});
  EXPECT_EQ(shelf->OwnersOf("c", {.limit = 7, .after = page->next})->documents.size(), 7u);
  EXPECT_EQ(shelf->TargetsOf("q", {.limit = 1})->documents.size(), 1u);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(shelf->Unlink(std::to_string(i), "c").ok());
    ASSERT_TRUE(shelf->DeleteTarget(std::to_string(i)).ok());
    ASSERT_TRUE(shelf->DeleteOwner(std::to_string(i + 10), "d" + std::to_string(i)).ok());
  }
  ASSERT_TRUE(shelf->Sweep().ok());
  paths.ExpectIndexed(world_.store);
  world_.clock.Advance(hours(25));
  EXPECT_EQ(shelf->Sweep()->changed, 20);
  EXPECT_EQ(shelf->PurgeKeys()->changed, 50);
}

TEST_P(LinksTest, ChecksNoticeWhatIsWrong) {
  FillShelf(&world_);
  const struct {
    const char* line;
    Document update;
  } kRows[] = {
      {"a link twice: q", Doc("$push", Doc("author_ids", "a"))},
      {"a link to nothing: q", Doc("$push", Doc("author_ids", "none"))},
      {"deleted, with links: q", Doc("$set", Doc("removed", world_.clock.Now()))},
  };
  for (const auto& row : kRows) {
    const World::Snapshot before = world_.Take();
    ASSERT_TRUE(world_.store.UpdateOne("books", Doc("_id", "q"), row.update).ok());
    EXPECT_EQ(*Shelf(&world_)->CheckInvariants(), LinkIds{row.line});
    world_.Restore(before);
  }
  for (const char* author : {"1", "2", "3"}) {
    ASSERT_TRUE(Shelf(&world_)->AddTarget(author, Doc()).ok());
    ASSERT_TRUE(
        world_.store.UpdateOne("books", Doc("_id", "q"), Doc("$push", Doc("author_ids", author)))
            .ok());
  }
  EXPECT_EQ(*Shelf(&world_)->CheckInvariants(), LinkIds{"too many links: q"});
}

QUIRE_IN_BOTH_PLACES(LinksTest);

}  // namespace
}  // namespace quire::patterns
