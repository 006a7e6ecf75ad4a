// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/comments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "patterns/testing/comments.h"
#include "patterns/testing/query_paths.h"
#include "quire/patterns/buckets.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::milliseconds;

using Lister = std::function<Result<DiscussionPage>(const PageRequest&)>;

// "level:text" of each; removed ones are "level:-".
std::vector<std::string> Texts(const std::vector<DiscussionComment>& comments) {
  std::vector<std::string> texts;
  for (const DiscussionComment& comment : comments) {
    const auto level = std::count(comment.slug.begin(), comment.slug.end(), '/');
    EXPECT_EQ(std::count(comment.full_slug.begin(), comment.full_slug.end(), '/'), level);
    EXPECT_EQ(comment.deleted, comment.text.empty() && comment.author.id.empty());
    texts.push_back(std::to_string(level) + ":" + (comment.deleted ? "-" : comment.text));
  }
  return texts;
}

std::vector<std::string> AllPages(const Lister& list, int64_t limit) {
  std::vector<std::string> texts;
  PageRequest request{.limit = limit};
  for (int pages = 0; pages < 100; ++pages) {
    auto page = list(request);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    if (!page.ok()) {
      return texts;
    }
    for (const std::string& text : Texts(page->comments)) {
      texts.push_back(text);
    }
    if (page->next.empty()) {
      return texts;
    }
    request.after = page->next;
  }
  ADD_FAILURE() << "the pages never end";
  return texts;
}

// The history as a tree in memory: the answers to expect.
struct Model {
  struct One {
    std::string text;
    int parent;  // -1: none
    int level;
  };
  std::vector<One> all;

  std::vector<std::string> Chronological() const {
    std::vector<std::string> texts;
    for (const One& one : all) {
      texts.push_back(std::to_string(one.level) + ":" + one.text);
    }
    return texts;
  }
  void Walk(int at, std::vector<std::string>* texts) const {
    texts->push_back(std::to_string(all[static_cast<size_t>(at)].level) + ":" +
                     all[static_cast<size_t>(at)].text);
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].parent == at) {
        Walk(static_cast<int>(i), texts);
      }
    }
  }
  std::vector<std::string> Threaded() const {
    std::vector<std::string> texts;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].parent < 0) {
        Walk(static_cast<int>(i), &texts);
      }
    }
    return texts;
  }
};

class CommentsTest : public BothPlaces {};

TEST_P(CommentsTest, DesignsAnswerAlike) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    for (CommentDesign design : kCommentDesigns) {
      SCOPED_TRACE(static_cast<int>(design));
      World world(GetParam());
      OpenDiscussion(&world, design);
      Comments comments = CommentsOf(&world, design);
      std::mt19937 random(seed);
      Model model;
      std::vector<std::string> slugs;
      for (int i = 0; i < 30; ++i) {
        world.clock.Advance(milliseconds(random() % 2000 + 1));
        const int parent =
            slugs.empty() || random() % 3 == 0 ? -1 : static_cast<int>(random() % slugs.size());
        const int level = parent < 0 ? 0 : model.all[static_cast<size_t>(parent)].level + 1;
        const std::string text = "c" + std::to_string(i);
        auto slug = comments.Post(
            "d", {{"u", "U"}, text, parent < 0 ? "" : slugs[static_cast<size_t>(parent)]});
        if (level == 4) {
          EXPECT_EQ(ErrorName(slug.status()), "TooDeep");
          continue;
        }
        ASSERT_TRUE(slug.ok()) << slug.status().ToString();
        slugs.push_back(*slug);
        model.all.push_back({text, parent, level});
        if (random() % 5 == 0) {
          const size_t gone = random() % slugs.size();
          ASSERT_TRUE(comments.Remove("d", slugs[gone]).ok());
          model.all[gone].text = "-";
        }
      }
      for (int64_t limit : {1, 4, 1000}) {
        EXPECT_EQ(
            AllPages(
                [&](auto& p) { return comments.GetPage("d", CommentOrder::kChronological, p); },
                limit),
            model.Chronological());
        EXPECT_EQ(
            AllPages([&](auto& p) { return comments.GetPage("d", CommentOrder::kThreaded, p); },
                     limit),
            model.Threaded());
      }
      const auto list = model.Chronological();
      for (size_t i = 0; i < slugs.size(); ++i) {
        EXPECT_EQ(Texts({*comments.Get("d", slugs[i])})[0], list[i]);
        EXPECT_EQ(comments.GetAt("d", static_cast<int64_t>(i))->slug, slugs[i]);
        std::vector<std::string> subtree;
        model.Walk(static_cast<int>(i), &subtree);
        EXPECT_EQ(AllPages([&](auto& p) { return comments.Subtree("d", slugs[i], p); }, 2),
                  subtree);
        EXPECT_EQ(Texts(*comments.GetFrom("d", static_cast<int64_t>(i), 5)),
                  std::vector<std::string>(
                      list.begin() + static_cast<int64_t>(i),
                      list.begin() + static_cast<int64_t>(std::min(i + 5, list.size()))));
      }
      EXPECT_EQ(*comments.Count("d"), static_cast<int64_t>(slugs.size()));
    }
  }
}

TEST_P(CommentsTest, Refusals) {
  for (CommentDesign design : kCommentDesigns) {
    World world(GetParam());
    OpenDiscussion(&world, design);
    Comments comments = CommentsOf(&world, design);
    EXPECT_EQ(ErrorName(comments.Post("none", {.text = "x"}).status()), "NoSuchDiscussion");
    EXPECT_EQ(ErrorName(comments.Count("none").status()), "NoSuchDiscussion");
    EXPECT_EQ(ErrorName(comments.GetPage("none", CommentOrder::kThreaded).status()),
              "NoSuchDiscussion");
    EXPECT_EQ(ErrorName(comments.Post("d", {.text = "x", .parent = "none"}).status()),
              "NoSuchComment");
    EXPECT_EQ(ErrorName(comments.Post("d", {.text = std::string(101, 'x')}).status()),
              "TextTooLong");
    EXPECT_EQ(ErrorName(comments.Remove("d", "none")), "NoSuchComment");
    EXPECT_EQ(ErrorName(comments.Get("d", "none").status()), "NoSuchComment");
    EXPECT_EQ(ErrorName(comments.GetAt("d", 0).status()), "NoSuchComment");
    EXPECT_EQ(ErrorName(comments.Subtree("d", "none").status()), "NoSuchComment");
    for (CommentOrder order : {CommentOrder::kChronological, CommentOrder::kThreaded}) {
      EXPECT_EQ(ErrorName(comments.GetPage("d", order, {.after = "junk"}).status()), "BadCursor");
    }
    Comments strict(world.client, world.database,
                    {.design = design, .reply_to_deleted = false, .seams = world.seams()});
    const std::string slug = *comments.Post("d", {.text = "x"});
    ASSERT_TRUE(strict.Remove("d", slug).ok());
    EXPECT_EQ(ErrorName(strict.Post("d", {.text = "y", .parent = slug}).status()), "ParentDeleted");
    EXPECT_TRUE(comments.Post("d", {.text = "y", .parent = slug}).ok());
  }
}

// A discussion in one document ends somewhere; nothing is lost then.
TEST_P(CommentsTest, AFullDocumentRefuses) {
  for (CommentDesign design : {CommentDesign::kArray, CommentDesign::kTree}) {
    World world(GetParam());
    Comments comments(world.client, world.database,
                      {.design = design, .max_text = 9 << 20, .seams = world.seams()});
    ASSERT_TRUE(comments.CreateDiscussion("d").ok());
    const std::string text(9 << 20, 'x');
    ASSERT_TRUE(comments.Post("d", {.text = text}).ok());
    EXPECT_EQ(ErrorName(comments.Post("d", {.text = text}).status()), "DocumentTooLarge");
    EXPECT_EQ(*comments.Count("d"), 1);
    ExpectNothingWrong(comments.CheckInvariants("d"));
  }
}

// Two levels of BSON for each, of a hundred: whatever is asked for, the tree ends there.
TEST_P(CommentsTest, TheTreeIs32LevelsDeep) {
  Comments comments(world_.client, world_.database,
                    {.design = CommentDesign::kTree, .max_depth = 90, .seams = world_.seams()});
  ASSERT_TRUE(comments.CreateDiscussion("d").ok());
  std::string slug;
  for (int level = 0; level < 32; ++level) {
    auto deeper = comments.Post("d", {.text = std::to_string(level), .parent = slug});
    ASSERT_TRUE(deeper.ok()) << level << " " << deeper.status().ToString();
    slug = *deeper;
  }
  EXPECT_EQ(ErrorName(comments.Post("d", {.text = "x", .parent = slug}).status()), "TooDeep");
  EXPECT_EQ(comments.Get("d", slug)->text, "31");
  ASSERT_TRUE(comments.Remove("d", slug).ok());
  EXPECT_EQ(comments.GetPage("d", CommentOrder::kThreaded)->comments.size(), 32u);
  ExpectNothingWrong(comments.CheckInvariants("d"));
}

// Times of one width before each part: replies of one second are in their order.
TEST_P(CommentsTest, FullSlugsHaveTheTimes) {
  for (CommentDesign design : kCommentDesigns) {
    SCOPED_TRACE(static_cast<int>(design));
    World world(GetParam());
    OpenDiscussion(&world, design);
    const Comments comments = CommentsOf(&world, design);
    world.clock.Set(ToDate({2012, 2, 8, 12, 21, 8}));
    const std::string root = *comments.Post("d", {{"u", "U"}, "root"});
    world.clock.Set(ToDate({2012, 2, 9, 22, 19, 16}));
    const std::string reply = *comments.Post("d", {{"u", "U"}, "a", root});
    EXPECT_EQ(root.size(), 8u);
    EXPECT_EQ(reply.substr(0, 9), root + "/");
    EXPECT_EQ(comments.Get("d", root)->full_slug, "2012.02.08.12.21.08.000:" + root);
    EXPECT_EQ(comments.Get("d", reply)->full_slug,
              "2012.02.08.12.21.08.000:" + root + "/2012.02.09.22.19.16.000:" + reply.substr(9));
    for (const char* text : {"b", "c", "d"}) {
      world.clock.Advance(milliseconds(1));
      ASSERT_TRUE(comments.Post("d", {{"u", "U"}, text, root}).ok());
    }
    EXPECT_EQ(Texts(comments.GetPage("d", CommentOrder::kThreaded)->comments),
              (std::vector<std::string>{"0:root", "1:a", "1:b", "1:c", "1:d"}));
    if (design == CommentDesign::kDocuments) {
      EXPECT_EQ(*world.store.Count("comments", Doc("parent_id", root)), 4);
      EXPECT_EQ(*world.store.Count("comments", Doc("parent_id", bson::Value::Null())), 1);
    }
  }
}

// What begins with the same letters is not below it.
TEST_P(CommentsTest, ASubtreeIsNotAPrefix) {
  for (CommentDesign design : kCommentDesigns) {
    SCOPED_TRACE(static_cast<int>(design));
    World world(GetParam());
    OpenDiscussion(&world, design);
    std::vector<Document> all;
    for (const char* slug : {"34db", "34db/8bda", "34db0000", "34dc"}) {
      all.push_back(Doc("_id", slug, "discussion_id", "d", "slug", slug, "full_slug", slug,
                        "posted", bson::Date{1}, "author", Doc("id", "u", "name", "U"), "text",
                        slug, "deleted", false, "call", bson::ObjectId(), "replies", List()));
      if (design == CommentDesign::kDocuments) {
        ASSERT_TRUE(world.store.Insert("comments", all.back()).ok());
      }
    }
    if (design == CommentDesign::kPages) {
      ASSERT_TRUE(world.store
                      .Insert("comment_pages", Doc("discussion_id", "d", "page", 1, "count", 4,
                                                   "comments", ListOf(all)))
                      .ok());
    }
    ASSERT_TRUE(world.store
                    .UpdateOne("discussions", Doc("_id", "d"),
                               Doc("$set", Doc("comments", ListOf(all), "replies", ListOf(all))))
                    .ok());
    EXPECT_EQ(Texts(CommentsOf(&world, design).Subtree("d", "34db")->comments),
              (std::vector<std::string>{"0:34db", "1:34db/8bda"}));
  }
}

TEST_P(CommentsTest, CursorsOfOthersAreRefused) {
  for (CommentDesign design : kCommentDesigns) {
    SCOPED_TRACE(static_cast<int>(design));
    World world(GetParam());
    OpenDiscussion(&world, design);
    const Document kForged[] = {
        Doc("position", -1),         Doc("position", "1"),
        Doc("position", 1.5),        Doc("page", 0, "index", 0),
        Doc("page", 1, "index", -1), Doc("page", int64_t{1} << 40, "index", 0),
    };
    for (const Document& forged : kForged) {
      EXPECT_EQ(ErrorName(CommentsOf(&world, design)
                              .GetPage("d", CommentOrder::kChronological,
                                       {.after = EncodePageEnd(forged)})
                              .status()),
                "BadCursor")
          << bson::ToJson(forged.view());
    }
  }
}

TEST_P(CommentsTest, The101stCommentOpensPage2) {
  Comments comments(world_.client, world_.database, {.seams = world_.seams()});
  ASSERT_TRUE(comments.CreateIndexes().ok());
  ASSERT_TRUE(comments.CreateDiscussion("d").ok());
  for (int i = 1; i <= 101; ++i) {
    ASSERT_TRUE(comments.Post("d", {.text = std::to_string(i)}).ok());
    if (i == 100) {
      EXPECT_EQ(world_.All("comment_pages").size(), 1u);
    }
  }
  const auto pages = *world_.store.Find("comment_pages", Doc(), {.sort = Doc("page", 1)});
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(IntegerAt(pages[0], "count"), 100);
  EXPECT_EQ(IntegerAt(pages[1], "page"), 2);
  EXPECT_EQ(IntegerAt(pages[1], "count"), 1);
  EXPECT_EQ(IntegerAt(world_.All("discussions").at(0), "num_pages"), 2);
  EXPECT_EQ(comments.GetAt("d", 100)->text, "101");
  ExpectNothingWrong(comments.CheckInvariants("d"));
}

// A stale count, as a crash leaves it, is put right in all discussions; nothing is left to do then.
TEST_P(CommentsTest, AllDiscussionsAreCountedAnew) {
  OpenDiscussion(&world_, CommentDesign::kPages);
  const Comments comments = CommentsOf(&world_, CommentDesign::kPages);
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(comments.CreateDiscussion(id).ok());
    ASSERT_TRUE(comments.Post(id, {.text = "x"}).ok());
  }
  TestCrash crash;
  crash.at = "comments.post.c1";
  EXPECT_FALSE(CommentsOf(&world_, CommentDesign::kPages, world_.seams(&crash))
                   .Post("b", {.text = "y"})
                   .ok());
  EXPECT_EQ(*comments.Count("b"), 1);
  auto report = comments.RecountAll(2);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->examined, 4);
  EXPECT_EQ(report->changed, 1);
  EXPECT_EQ(*comments.Count("b"), 2);
  EXPECT_EQ(comments.RecountAll()->changed, 0);
  Comments other(world_.client, world_.database, {.worker = "other", .seams = world_.seams()});
  ASSERT_TRUE(world_.store
                  .UpdateOne("jobs", Doc("_id", "comments.recount"),
                             Doc("$set", Doc("owner", "worker", "until",
                                             bson::Date{world_.clock.Now().millis + 1000})))
                  .ok());
  EXPECT_EQ(other.RecountAll()->examined, 0);
}

class SameIds : public IdSource {
 public:
  bson::ObjectId Next() override { return n++ % 2 == 0 ? fixed : bson::ObjectId::Generate(); }
  bson::ObjectId fixed = bson::ObjectId::Generate();
  int n = 0;
};

TEST_P(CommentsTest, ATakenSlugIsAnother) {
  for (CommentDesign design : kCommentDesigns) {
    World world(GetParam());
    OpenDiscussion(&world, design);
    SameIds ids;
    Seams seams = world.seams();
    seams.ids = &ids;
    std::set<std::string> slugs;
    for (int i = 0; i < 4; ++i) {
      ids.n = 0;
      auto slug = CommentsOf(&world, design, seams).Post("d", {.text = "x"});
      ASSERT_TRUE(slug.ok()) << slug.status().ToString();
      EXPECT_EQ(slug->size(), 8u);
      slugs.insert(*slug);
    }
    EXPECT_EQ(slugs.size(), 4u);
    EXPECT_EQ(CommentsOf(&world, design).GetFrom("d", 0, 10)->size(), 4u);
  }
}

TEST_P(CommentsTest, ManyPostersLoseNothing) {
  for (CommentDesign design : kCommentDesigns) {
    for (bool soft : {false, true}) {
      if (soft && design != CommentDesign::kPages) {
        continue;
      }
      World world(GetParam());
      OpenDiscussion(&world, design);
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          Comments comments = CommentsOf(&world, design, world.seams(), soft);
          for (int i = 0; i < 10; ++i) {
            const std::string text = std::to_string(t) + "/" + std::to_string(i);
            auto slug = comments.Post("d", {.text = text}, text);
            EXPECT_TRUE(slug.ok()) << slug.status().ToString();
            auto again = comments.Post("d", {.text = text}, text);
            EXPECT_TRUE(again.ok() && *again == *slug);
            world.clock.Advance(milliseconds(1));
          }
        });
      }
      std::atomic<bool> done{false};
      std::thread reader([&] {
        const Comments comments = CommentsOf(&world, design, world.seams(), soft);
        auto list = [&](auto& p) { return comments.GetPage("d", CommentOrder::kChronological, p); };
        std::vector<std::string> before;
        // Where comments are kept in the order they came, what was read once stays as it is.
        for (int i = 0; i < 1000 && !done; ++i) {
          const std::vector<std::string> now = AllPages(list, 4);
          EXPECT_EQ(std::set<std::string>(now.begin(), now.end()).size(), now.size());
          if (design == CommentDesign::kArray || (design == CommentDesign::kPages && !soft)) {
            EXPECT_TRUE(before.size() <= now.size() &&
                        std::equal(before.begin(), before.end(), now.begin()));
          }
          before = now;
        }
      });
      for (std::thread& thread : threads) {
        thread.join();
      }
      done = true;
      reader.join();
      Comments comments = CommentsOf(&world, design, world.seams(), soft);
      std::set<std::string> texts;
      const auto listed = *comments.GetFrom("d", 0, 1000);
      for (const DiscussionComment& comment : listed) {
        EXPECT_TRUE(texts.insert(comment.text).second) << comment.text;
        EXPECT_TRUE(comments.Get("d", comment.slug).ok());
      }
      EXPECT_EQ(texts.size(), 40u);
      EXPECT_EQ(*comments.Count("d"), 40);
      ExpectNothingWrong(comments.CheckInvariants("d"));
    }
  }
}

// Pages of any size are read right: 100, 102, 101 and 22 comments, 50 from the 300th.
TEST_P(CommentsTest, SkippingCountsWholePages) {
  Comments comments = CommentsOf(&world_, CommentDesign::kPages);
  ASSERT_TRUE(comments.CreateDiscussion("d").ok());
  int n = 0;
  int32_t page = 0;
  for (int32_t count : {100, 102, 101, 22}) {
    std::vector<Document> all;
    for (int i = 0; i < count; ++i, ++n) {
      const std::string slug = "s" + std::to_string(n);
      all.push_back(Doc("slug", slug, "full_slug", slug, "posted", bson::Date{n}, "author",
                        Doc("id", "u", "name", "U"), "text", slug, "deleted", false, "call",
                        bson::ObjectId()));
    }
    ASSERT_TRUE(world_.store
                    .Insert("comment_pages", Doc("discussion_id", "d", "page", ++page, "count",
                                                 count, "comments", ListOf(all)))
                    .ok());
  }
  auto found = comments.GetFrom("d", 300, 50);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), 25u);
  EXPECT_EQ(found->front().text, "s300");
  EXPECT_EQ(found->back().text, "s324");
  EXPECT_EQ(
      AllPages([&](auto& p) { return comments.GetPage("d", CommentOrder::kChronological, p); }, 60)
          .size(),
      325u);
}

// Filled to another size than is set now, or shrunk: nothing ends early.
TEST_P(CommentsTest, ShortPagesAreReadToTheEnd) {
  Comments small = CommentsOf(&world_, CommentDesign::kPages);  // three to a page
  OpenDiscussion(&world_, CommentDesign::kPages);
  Comments large(world_.client, world_.database, {.seams = world_.seams()});
  std::vector<std::string> expected;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE((i < 8 ? small : large).Post("d", {{"u", "U"}, std::to_string(i)}).ok());
    expected.push_back("0:" + std::to_string(i));
    for (int64_t limit : {1, 2, 3, 4, 100}) {
      auto list = [&](auto& p) { return large.GetPage("d", CommentOrder::kChronological, p); };
      EXPECT_EQ(AllPages(list, limit), expected);
    }
    EXPECT_EQ(Texts(*large.GetFrom("d", 0, 100)), expected);
  }
}

// A page that was short when it was read, and is followed by another when that is looked for, has
// grown meanwhile.
TEST_P(CommentsTest, APageThatFillsWhileItIsReadIsReadToTheEnd) {
  OpenDiscussion(&world_, CommentDesign::kPages);
  const Comments comments = CommentsOf(&world_, CommentDesign::kPages);
  ASSERT_TRUE(comments.Post("d", {{"u", "U"}, "0"}).ok());
  class Posting : public QueryHook {
   public:
    void Asks(const Document& query) override {
      if (TextAt(query, "find") == "comment_pages" && IntegerAt(query, "filter.page") == 2) {
        std::exchange(post, [] {})();
      }
    }
    std::function<void()> post;
  } posting;
  posting.post = [&] {
    for (int i = 1; i < 5; ++i) {
      ASSERT_TRUE(comments.Post("d", {{"u", "U"}, std::to_string(i)}).ok());
    }
  };
  Seams seams = world_.seams();
  seams.queries = &posting;
  const Comments reader = CommentsOf(&world_, CommentDesign::kPages, seams);
  EXPECT_EQ(Texts(reader.GetPage("d", CommentOrder::kChronological)->comments),
            (std::vector<std::string>{"0:0", "0:1", "0:2", "0:3", "0:4"}));
}

TEST_P(CommentsTest, QueriesUseTheIndexes) {
  for (CommentDesign design : kCommentDesigns) {
    SCOPED_TRACE(static_cast<int>(design));
    World world(GetParam());
    QueryPaths paths;
    Seams seams = world.seams();
    seams.queries = &paths;
    Comments comments = CommentsOf(&world, design, seams);
    EXPECT_EQ(comments.MissingIndexes()->size(), comments.Indexes().size());
    OpenDiscussion(&world, design);
    EXPECT_TRUE(comments.MissingIndexes()->empty());
    ASSERT_TRUE(comments.CreateDiscussion("e").ok());
    std::string slug;
    for (int i = 0; i < 10; ++i) {
      slug = *comments.Post("d", {.text = "x"}, "k" + std::to_string(i));
      ASSERT_TRUE(comments.Post("e", {.text = "x"}).ok());
      ASSERT_TRUE(comments.Post("d", {.text = "y", .parent = slug}).ok());
    }
    ASSERT_TRUE(comments.Remove("d", slug, "r").ok());
    ASSERT_TRUE(comments.Get("d", slug).ok());
    ASSERT_TRUE(comments.GetAt("d", 7).ok());
    ASSERT_TRUE(comments.GetFrom("d", 4, 5).ok());
    ASSERT_TRUE(comments.Count("d").ok());
    ASSERT_TRUE(comments.Recount("d").ok());
    ASSERT_TRUE(comments.RecountAll().ok());
    for (int64_t limit : {3, 100}) {
      for (CommentOrder order : {CommentOrder::kChronological, CommentOrder::kThreaded}) {
        EXPECT_EQ(AllPages([&](auto& p) { return comments.GetPage("d", order, p); }, limit).size(),
                  20u);
      }
      EXPECT_EQ(AllPages([&](auto& p) { return comments.Subtree("d", slug, p); }, limit).size(),
                2u);
    }
    paths.ExpectIndexed(world.store);
  }
}

QUIRE_IN_BOTH_PLACES(CommentsTest);

}  // namespace
}  // namespace quire::patterns
