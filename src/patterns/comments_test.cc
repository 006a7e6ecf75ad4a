// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/comments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "patterns/query_paths.h"
#include "patterns/test_comments.h"

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
  Comments comments(
      world_.client, world_.database,
      {.design = CommentDesign::kArray, .max_text = 9 << 20, .seams = world_.seams()});
  ASSERT_TRUE(comments.CreateDiscussion("d").ok());
  const std::string text(9 << 20, 'x');
  ASSERT_TRUE(comments.Post("d", {.text = text}).ok());
  EXPECT_EQ(ErrorName(comments.Post("d", {.text = text}).status()), "DocumentTooLarge");
  EXPECT_EQ(*comments.Count("d"), 1);
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
      for (std::thread& thread : threads) {
        thread.join();
      }
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
