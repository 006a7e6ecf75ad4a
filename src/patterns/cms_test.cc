// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/cms.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/try.h"
#include "patterns/clocked_ids.h"
#include "patterns/test_world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

Cms CmsOf(World* world, const Seams& seams) {
  return Cms(world->client, world->database, {.chunk_size = 4, .seams = seams});
}
Cms CmsOf(World* world) { return CmsOf(world, world->seams()); }

Node Page(const std::string& slug, const std::string& section = "docs") {
  return {.section = section,
          .slug = slug,
          .type = "basic-page",
          .title = "T " + slug,
          .author = {"a1", "Ann"},
          .detail = Doc("text", "text of " + slug)};
}
Node Blog(const std::string& slug, std::optional<bson::Date> published) {
  return {.section = "blog",
          .slug = slug,
          .type = "blog-entry",
          .title = "B <" + slug + ">",
          .author = {"a1", "Ann & Co"},
          .tags = {"news"},
          .published = published,
          .detail = Doc("text", "x", "publish_on", bson::Date{5})};
}
Photo Picture(const std::string& bytes) {
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

std::string PhotoBytes(const Cms& cms, const std::string& slug) {
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

class CmsTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(CmsTest, EditorsConflictOnce) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  auto n1 = cms.CreateNode(Page("p"));
  ASSERT_TRUE(n1.ok()) << n1.status().ToString();
  auto n2 = cms.UpdateText("docs", "p", *n1, "Alice's");
  ASSERT_TRUE(n2.ok());
  Status bob = cms.UpdateText("docs", "p", *n1, "Bob's").status();
  EXPECT_EQ(ErrorName(bob), "ConflictError");
  const bson::View stored(bob.extra().data());
  EXPECT_EQ(TextAt(stored, "detail.text"), "Alice's");
  EXPECT_EQ(stored["nonce"].AsObjectId(), *n2);
  EXPECT_TRUE(cms.UpdateText("docs", "p", *n2, "both").ok());
  EXPECT_EQ(TextAt(cms.GetNode("docs", "p")->detail, "text"), "both");
  EXPECT_EQ(ErrorName(cms.UpdateText("docs", "none", *n2, "x").status()), "NotFound");
  EXPECT_EQ(ErrorName(cms.CreateNode(Page("p")).status()), "SlugTaken");
  EXPECT_TRUE(cms.CreateNode(Page("p", "other")).ok());
  EXPECT_EQ(ErrorName(cms.CreateNode(Page("")).status()), "InvalidName");
  Node wrong = Page("w");
  wrong.detail = Doc();
  EXPECT_EQ(ErrorName(cms.CreateNode(wrong).status()), "MissingField");
  wrong.detail = Doc("text", 1);
  EXPECT_EQ(ErrorName(cms.CreateNode(wrong).status()), "WrongType");
  wrong.type = "photo";
  EXPECT_EQ(ErrorName(cms.CreateNode(wrong).status()), "UnknownType");
  EXPECT_EQ(ErrorName(cms.OpenPhoto("docs", "p").status()), "WrongType");
}

TEST_P(CmsTest, OfManyEditorsOneWins) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  bson::ObjectId nonce = *cms.CreateNode(Page("p"));
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> won{0};
    std::mutex mutex;
    bson::ObjectId next;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Cms mine = CmsOf(&world_);
        auto saved = mine.UpdateText("docs", "p", nonce, "by " + std::to_string(t));
        EXPECT_TRUE(mine.AddTags("docs", "p", {"t" + std::to_string(t), "all"}).ok());
        EXPECT_TRUE(saved.ok() || Is(saved.status(), Error::kEditConflict));
        if (saved.ok()) {
          std::lock_guard lock(mutex);
          won += 1;
          next = *saved;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(won, 1);
    nonce = next;
  }
  EXPECT_EQ(cms.GetNode("docs", "p")->tags.size(), 5u);
}

TEST_P(CmsTest, TagsFeedsAndDrafts) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  const int64_t now = world_.clock.Now().millis;
  std::vector<std::string> expected;
  for (int i = 0; i < 9; ++i) {
    const std::string slug = "e" + std::to_string(i);
    ASSERT_TRUE(cms.CreateNode(Blog(slug, bson::Date{now - i / 2 * 1000})).ok());
    expected.push_back(slug);
  }
  ASSERT_TRUE(cms.CreateNode(Blog("draft", std::nullopt)).ok());
  ASSERT_TRUE(cms.CreateNode(Blog("future", bson::Date{now + 1})).ok());
  std::vector<std::string> slugs;
  PageRequest page{.limit = 2};
  do {
    auto feed = cms.Feed("blog", page);
    ASSERT_TRUE(feed.ok()) << feed.status().ToString();
    for (const Node& node : feed->nodes) {
      slugs.push_back(node.slug);
    }
    page.after = feed->next;
  } while (!page.after.empty());
  EXPECT_EQ(slugs, expected);
  ASSERT_TRUE(cms.Publish("blog", "draft", bson::Date{now}).ok());
  EXPECT_EQ(cms.Feed("blog")->nodes.size(), 10u);
  ASSERT_TRUE(cms.Unpublish("blog", "draft").ok());
  EXPECT_EQ(cms.Feed("blog")->nodes.size(), 9u);
  EXPECT_EQ(ErrorName(cms.Publish("blog", "none", bson::Date{1})), "NotFound");
  EXPECT_EQ(ErrorName(cms.Feed("blog", {.after = "x"}).status()), "BadCursor");

  Node photo{.section = "photos", .slug = "ph", .tags = {"news"}, .published = bson::Date{now}};
  ASSERT_TRUE(cms.UploadPhoto(photo, Picture("bytes")).ok());
  EXPECT_EQ(cms.ByTag("news")->nodes.size(), 10u);
  ASSERT_TRUE(cms.AddTags("photos", "ph", {"x", "y", "x"}).ok());
  EXPECT_EQ(cms.GetNode("photos", "ph")->tags.size(), 3u);
  ASSERT_TRUE(cms.RemoveTags("photos", "ph", {"news", "x"}).ok());
  EXPECT_EQ(cms.GetNode("photos", "ph")->tags, std::vector<std::string>{"y"});

  const std::string atom =
      AtomFeed({"Site", "https://example.com"}, cms.Feed("blog", {.limit = 1})->nodes);
  EXPECT_NE(atom.find("<title>B &lt;e0&gt;</title>"), std::string::npos) << atom;
  EXPECT_NE(atom.find("<name>Ann &amp; Co</name>"), std::string::npos) << atom;
  EXPECT_NE(atom.find("<updated>2020-09-13T12:26:40Z</updated>"), std::string::npos) << atom;
}

TEST_P(CmsTest, PhotosAreReplacedWhole) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  Node photo{.section = "photos", .slug = "ph"};
  auto n1 = cms.UploadPhoto(photo, Picture("first picture"));
  ASSERT_TRUE(n1.ok()) << n1.status().ToString();
  EXPECT_EQ(PhotoBytes(cms, "ph"), "first picture");
  EXPECT_EQ(ErrorName(cms.UploadPhoto(photo, Picture("other")).status()), "SlugTaken");
  auto n2 = cms.ReplacePhoto("photos", "ph", *n1, Picture("second"));
  ASSERT_TRUE(n2.ok()) << n2.status().ToString();
  EXPECT_EQ(ErrorName(cms.ReplacePhoto("photos", "ph", *n1, Picture("late")).status()),
            "ConflictError");
  EXPECT_EQ(ErrorName(cms.ReplacePhoto("photos", "none", *n1, Picture("x")).status()), "NotFound");
  EXPECT_EQ(PhotoBytes(cms, "ph"), "second");
  EXPECT_EQ(*world_.store.Count("cms.assets.files", Doc()), 3);
  for (int i = 0; i < 2; ++i) {
    world_.clock.Advance(hours(25));
    ASSERT_TRUE(cms.GcFiles().ok());
  }
  EXPECT_EQ(*world_.store.Count("cms.assets.files", Doc()), 1);
  EXPECT_EQ(PhotoBytes(cms, "ph"), "second");
}

TEST_P(CmsTest, KeysGiveTheFirstOutcome) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  const bson::ObjectId n1 = *cms.CreateNode(Page("p"), "c");
  EXPECT_EQ(*cms.CreateNode(Page("p"), "c"), n1);
  const bson::ObjectId n2 = *cms.UpdateText("docs", "p", n1, "a", "u");
  ASSERT_TRUE(cms.UpdateText("docs", "p", n2, "b").ok());
  EXPECT_EQ(*cms.UpdateText("docs", "p", n1, "a", "u"), n2);
  EXPECT_EQ(TextAt(cms.GetNode("docs", "p")->detail, "text"), "b");
  Status refused = cms.UpdateText("docs", "p", n1, "z", "late").status();
  EXPECT_EQ(cms.UpdateText("docs", "p", n1, "z", "late").status().extra(), refused.extra());
}

// A photo node never points at a missing file; after the jobs no file and no chunk is left over.
TEST_P(CmsTest, SurvivesEveryCrashAndLateWrite) {
  using Operation = std::function<Status(const Cms&, const bson::ObjectId&)>;
  const struct {
    const char* name;
    Operation run;
    int min_runs;
  } kOperations[] = {
      {"upload",
       [](auto& c, auto&) {
         return c.UploadPhoto({.section = "photos", .slug = "new"}, Picture("new one")).status();
       },
       20},
      {"taken",
       [](auto& c, auto&) {
         return c.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("new one")).status();
       },
       15},
      {"replace",
       [](auto& c, auto& n) {
         return c.ReplacePhoto("photos", "ph", n, Picture("second")).status();
       },
       20},
      {"create", [](auto& c, auto&) { return c.CreateNode(Page("p"), "k").status(); }, 10},
      {"update", [](auto& c, auto& n) { return c.UpdateText("docs", "d", n, "x", "k").status(); },
       5},
      {"tags", [](auto& c, auto&) { return c.AddTags("photos", "ph", {"t"}); }, 5},
  };
  for (const auto& row : kOperations) {
    SCOPED_TRACE(row.name);
    std::map<World*, std::unique_ptr<ClockedIds>> ids;
    std::map<World*, bson::ObjectId> nonces;
    auto seams_of = [&](World* world, Seams seams) {
      seams.ids = ids[world].get();
      return seams;
    };
    CrashCase test;
    test.setup = [&](World* world) {
      ids[world] = std::make_unique<ClockedIds>(&world->clock);
      Cms cms = CmsOf(world, seams_of(world, world->seams()));
      ASSERT_TRUE(cms.CreateIndexes().ok());
      nonces[world] = *cms.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("first"));
    };
    test.operation = [&](World* world, const Seams& seams) {
      return row.run(CmsOf(world, seams_of(world, seams)), nonces[world]);
    };
    test.settle = [&](World* world) {
      world->clock.Advance(hours(25));
      Cms cms = CmsOf(world);
      for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(cms.GcFiles().ok());
        ASSERT_TRUE(cms.GcChunks().ok());
      }
    };
    test.always = [&](World* world) {
      Cms cms = CmsOf(world);
      const std::string shown = PhotoBytes(cms, "ph");
      EXPECT_TRUE(shown == "first" || shown == "second") << shown;
      const std::string made = PhotoBytes(cms, "new");
      EXPECT_TRUE(made == "new one" || made == "NotFound") << made;
    };
    test.settled = [&](World* world) {
      const auto listed = *world->store.Find("cms.assets.files", Doc());
      for (const Document& file : listed) {
        auto node = world->store.FindOne("cms.nodes", Doc("metadata.detail.file_id", file["_id"]));
        EXPECT_EQ((*node).has_value(), TextAt(file, "metadata.state") == "live");
      }
      GridFs files(world->client, world->database, {.bucket = "cms.assets"});
      const auto chunks = *world->store.Find("cms.assets.chunks", Doc());
      for (const Document& chunk : chunks) {
        EXPECT_TRUE(files.Get(chunk["files_id"]).ok());
      }
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), row.min_runs);
  }
}

TEST_P(CmsTest, QueriesUseTheIndexes) {
  Cms cms = CmsOf(&world_);
  EXPECT_EQ(cms.MissingIndexes()->size(), Cms::Indexes().size());
  ASSERT_TRUE(cms.CreateIndexes().ok());
  EXPECT_TRUE(cms.MissingIndexes()->empty());
  const bson::Date now = world_.clock.Now();
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(cms.CreateNode(Blog("b" + std::to_string(i), now)).ok());
    ASSERT_TRUE(cms.CreateNode(Page("p" + std::to_string(i))).ok());
  }
  ASSERT_TRUE(cms.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("x")).ok());
  const Document newest = Doc("metadata.published", -1, "_id", 1);
  struct {
    const char* collection;
    Document filter;
    Document sort;
  } const kQueries[] = {
      {"cms.nodes", Doc("metadata.section", "blog", "metadata.slug", "b1"), Doc()},
      {"cms.nodes", Doc("metadata.section", "blog", "metadata.slug", "b1", "metadata.nonce", 1),
       Doc()},
      {"cms.nodes",
       Doc("metadata.section", "blog", "metadata.type", "blog-entry", "metadata.published",
           Doc("$lte", now)),
       newest},
      {"cms.nodes", Doc("metadata.tags", "news", "metadata.published", Doc("$lte", now)), newest},
      {"cms.nodes", Doc("metadata.detail.file_id", bson::ObjectId()), Doc()},
      {"cms.assets.files", Doc("metadata.state", "live", "metadata.at", Doc("$lt", now)), Doc()},
  };
  for (const auto& query : kQueries) {
    Explained explained = Explain(
        world_.store, Doc("find", query.collection, "filter", query.filter, "sort", query.sort));
    SCOPED_TRACE(bson::ToJson(query.filter.view()) + explained.plan);
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos);
    EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos);
    EXPECT_LE(explained.keys, explained.returned + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, CmsTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
