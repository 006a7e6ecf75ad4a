// SPDX-License-Identifier: Apache-2.0
//
// Links under crashes: every operation at every point, late writers, and random histories.
#include <set>

#include "patterns/testing/links.h"
#include "patterns/testing/random_crash.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;
using std::chrono::minutes;

class LinksCrashTest : public BothPlaces {};

struct Operation {
  const char* name;
  std::function<Status(const Links&, const CallKey&)> run;
  LinkIds authors_of_q;  // once it is done
  LinkIds books_of_a;
};
const Operation kOperations[] = {
    {"add owner",
     [](auto& links, auto& key) { return links.AddOwner("r", Doc("t", 1), key); },
     {"a", "b"},
     {"p", "q"}},
    {"add target",
     [](auto& links, auto& key) { return links.AddTarget("d", Doc("t", 1), key); },
     {"a", "b"},
     {"p", "q"}},
    {"link",
     [](auto& links, auto& key) { return links.Link("q", "c", key); },
     {"a", "b", "c"},
     {"p", "q"}},
    {"unlink", [](auto& links, auto& key) { return links.Unlink("q", "a", key); }, {"b"}, {"p"}},
    {"delete owner",
     [](auto& links, auto& key) { return links.DeleteOwner("p", key); },
     {"a", "b"},
     {"q"}},
    {"delete target",
     [](auto& links, auto& key) { return links.DeleteTarget("b", key); },
     {"a"},
     {"p", "q"}},
};

TEST_P(LinksCrashTest, SurvivesEveryCrashAndLateWrite) {
  for (Backend backend : kLinkBackends) {
    for (const Operation& row : kOperations) {
      for (bool keyed : KeyedAt(GetParam())) {
        SCOPED_TRACE(row.name + std::to_string(static_cast<int>(backend)) + (keyed ? " key" : ""));
        const CallKey key = keyed ? CallKey("k") : CallKey();
        CrashCase test;
        test.once = FillShelf;
        test.operation = [&](World* world, const Seams& seams) {
          return row.run(Shelf(world, seams, backend).links, key);
        };
        if (keyed) {
          test.repeated = ExpectOk;
        }
        test.settle = [&](World* world) {
          world->clock.Advance(minutes(10));
          SweepAll(world);
        };
        test.always = [&](World* world) {
          const LinkIds authors = AuthorsOf(world, "q");
          EXPECT_TRUE(authors == (LinkIds{"a", "b"}) || authors == row.authors_of_q);
          const LinkIds books = BooksOf(world, "a");
          EXPECT_TRUE(books == (LinkIds{"p", "q"}) || books == row.books_of_a);
        };
        test.settled = [&](World* world) { ExpectNothingWrong(Shelf(world)->CheckInvariants()); };
        test.done = [&](World* world) {
          EXPECT_EQ(AuthorsOf(world, "q"), row.authors_of_q);
          EXPECT_EQ(BooksOf(world, "a"), row.books_of_a);
          EXPECT_EQ(row.name == std::string("add owner"), Shelf(world)->GetOwner("r").ok());
          EXPECT_EQ(row.name == std::string("add target"), Shelf(world)->GetTarget("d").ok());
        };
        EXPECT_GE(RunCrashCase(GetParam(), test), 5);
      }
    }
  }
}

TEST_P(LinksCrashTest, TheSweeperAtEveryPoint) {
  CrashCase test;
  test.once = [](World* world) {
    FillShelf(world);
    TestCrash crash;
    crash.at = "links.delete_target.c1";
    EXPECT_TRUE(Is(Shelf(world, world->seams(&crash))->DeleteTarget("a"), Error::kCrashed));
    ASSERT_TRUE(Shelf(world)->DeleteOwner("q").ok());
    EXPECT_FALSE(Shelf(world)->CheckInvariants()->empty());
    world->clock.Advance(hours(25));
  };
  test.operation = [](World* world, const Seams& seams) {
    return Shelf(world, seams)->Sweep().status();
  };
  test.settle = [](World* world) {
    world->clock.Advance(minutes(10));
    SweepAll(world);
  };
  test.always = [](World* world) {
    EXPECT_EQ(AuthorsOf(world, "p"), LinkIds());
    EXPECT_TRUE(Is(Shelf(world)->OwnersOf("a").status(), Error::kNotFound));
  };
  test.settled = [](World* world) {
    ExpectNothingWrong(Shelf(world)->CheckInvariants());
    EXPECT_EQ(world->All("authors").size(), 2u);
    EXPECT_EQ(world->All("books").size(), 1u);
  };
  EXPECT_GE(RunCrashCase(GetParam(), test), 10);
}

// The link comes when its target was deleted and swept already.
TEST_P(LinksCrashTest, ALateLinkToADeletedTargetIsSwept) {
  FillShelf(&world_);
  TestFaults faults;
  faults.at = 1;
  faults.before = [&] {
    ASSERT_TRUE(Shelf(&world_)->DeleteTarget("c").ok());
    world_.clock.Advance(hours(23));
    EXPECT_EQ(Shelf(&world_)->Sweep()->changed, 0);
  };
  EXPECT_TRUE(Shelf(&world_, world_.seams(nullptr, &faults))->Link("q", "c").ok());
  EXPECT_EQ(AuthorsOf(&world_, "q"), (LinkIds{"a", "b"}));
  EXPECT_EQ(*Shelf(&world_)->CheckInvariants(), LinkIds{"a link to nothing: q"});
  world_.clock.Advance(hours(2));  // forgets the target, too: the last look
  EXPECT_EQ(Shelf(&world_)->Sweep()->changed, 2);
  ExpectNothingWrong(Shelf(&world_)->CheckInvariants());
  EXPECT_EQ(world_.All("authors").size(), 2u);
}

// A client is paused before its writes while another repeats its call and a third undoes it.
TEST_P(LinksCrashTest, WhatWasTakenBackStaysSo) {
  const struct {
    const char* name;
    std::function<Status(const Links&)> call;
    std::function<Status(const Links&)> undo;
    LinkIds authors_of_q;
  } kRows[] = {
      {"link",
       [](auto& links) { return links.Link("q", "c", "k"); },
       [](auto& links) { return links.Unlink("q", "c"); },
       {"a", "b"}},
      {"unlink",
       [](auto& links) { return links.Unlink("q", "a", "k"); },
       [](auto& links) { return links.Link("q", "a"); },
       {"a", "b"}},
      {"link and delete",
       [](auto& links) { return links.Link("q", "c", "k"); },
       [](auto& links) { return links.DeleteTarget("c"); },
       {"a", "b"}},
      {"add and delete",
       [](auto& links) { return links.AddTarget("d", Doc(), "k"); },
       [](auto& links) { return links.DeleteTarget("d"); },
       {"a", "b"}},
  };
  for (const auto& row : kRows) {
    for (int write = 1; write <= 3; ++write) {
      SCOPED_TRACE(row.name + std::to_string(write));
      World world(GetParam());
      FillShelf(&world);
      TestFaults faults;
      faults.at = write;
      faults.before = [&] {
        EXPECT_TRUE(row.call(Shelf(&world).links).ok());
        EXPECT_TRUE(row.undo(Shelf(&world).links).ok());
      };
      Status late = row.call(Shelf(&world, world.seams(nullptr, &faults)).links);
      EXPECT_TRUE(late.ok()) << late.ToString();
      EXPECT_EQ(AuthorsOf(&world, "q"), row.authors_of_q);
      EXPECT_TRUE(Is(Shelf(&world)->GetTarget("d").status(), Error::kNotFound));
      ExpectNothingWrong(Shelf(&world)->CheckInvariants());
    }
  }
  EXPECT_TRUE(Is(Shelf(&world_)->DeleteOwner("none", "k"), Error::kNotFound));
  EXPECT_TRUE(Is(Shelf(&world_)->DeleteTarget("none", "k"), Error::kIdempotencyKeyReuse));
}

QUIRE_IN_BOTH_PLACES(LinksCrashTest);

// A few books and authors. Both directions always agree, and what was answered is seen.
class RandomLinks : public RandomWorkload {
 public:
  explicit RandomLinks(Backend backend) : backend_(backend) {}

  void Setup(World* world) override {
    ASSERT_TRUE(Shelf(world)->CreateIndexes().ok());
    for (size_t i = 0; i < kBooks; ++i) {
      ASSERT_TRUE(Shelf(world)->AddOwner("b" + std::to_string(i), Doc()).ok());
    }
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    Shelf shelf(world, seams, backend_);
    const std::string book = "b" + std::to_string(chance->Below(kBooks));
    const std::string author = std::to_string(chance->Below(authors_ + 1));
    const CallKey key = chance->OneIn(2) ? CallKey("k" + std::to_string(++keys_)) : CallKey();
    const int kind = chance->Below(10);
    if (kind == 0) {
      chance->Note("add author");
      return shelf->AddTarget(std::to_string(authors_++), Doc(), key);
    }
    if (kind == 1) {
      chance->Note("sweep");
      return shelf->Sweep().status();
    }
    if (kind == 2) {
      chance->Note("delete " + author);
      Status status = shelf->DeleteTarget(author, key);
      if (status.ok()) {
        deleted_.insert(author);
      }
      return status;
    }
    chance->Note((kind < 7 ? "link " : "unlink ") + book + " " + author);
    return kind < 7 ? shelf->Link(book, author, key) : shelf->Unlink(book, author, key);
  }

  void Settle(World* world) override {
    world->clock.Advance(minutes(10));
    SweepAll(world);
  }

  void ExpectAlways(World* world) override {
    std::set<std::pair<std::string, std::string>> from_books;
    std::set<std::pair<std::string, std::string>> from_authors;
    for (size_t i = 0; i < kBooks; ++i) {
      const std::string book = "b" + std::to_string(i);
      const LinkIds authors = AuthorsOf(world, book);
      EXPECT_LE(authors.size(), 4u);
      for (const std::string& author : authors) {
        from_books.emplace(book, author);
        EXPECT_FALSE(deleted_.contains(author)) << author;
      }
    }
    for (size_t i = 0; i < authors_; ++i) {
      const std::string author = std::to_string(i);
      auto books = Shelf(world)->OwnersOf(author);
      for (const Document& book : books.ok() ? books->documents : std::vector<Document>()) {
        from_authors.emplace(TextAt(book, "_id"), author);
      }
    }
    EXPECT_EQ(from_books, from_authors);
  }
  void ExpectSettled(World* world) override { ExpectNothingWrong(Shelf(world)->CheckInvariants()); }
  void Rest(World* world) override {
    world->clock.Advance(hours(25));
    SweepAll(world);
    EXPECT_EQ(*world->store.Count("authors", Doc("removed", Doc("$exists", true))), 0);
  }

 private:
  static constexpr size_t kBooks = 3;

  Backend backend_;
  size_t authors_ = 0;
  int keys_ = 0;
  std::set<std::string> deleted_;
};

const RandomSystem kRandom("Links", [](Chance* chance) {
  return std::make_unique<RandomLinks>(chance->Pick(kLinkBackends));
});

}  // namespace
}  // namespace quire::patterns
