// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/cms.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "patterns/testing/cms.h"
#include "patterns/testing/query_paths.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

class CmsTest : public BothPlaces {};

TEST_P(CmsTest, EditorsConflictOnce) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  auto n1 = cms.CreateNode(PageNode("p"));
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
  EXPECT_EQ(ErrorName(cms.CreateNode(PageNode("p")).status()), "SlugTaken");
  EXPECT_TRUE(cms.CreateNode(PageNode("p", "other")).ok());
  EXPECT_EQ(ErrorName(cms.CreateNode(PageNode("")).status()), "InvalidName");
  Node wrong = PageNode("w");
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
  bson::ObjectId nonce = *cms.CreateNode(PageNode("p"));
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

// Whoever reads sees one whole picture, and in the end one file is left.
TEST_P(CmsTest, ManyPhotographersShowOnePicture) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  ASSERT_TRUE(cms.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("picture 0")).ok());
  std::atomic<int> shown{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Cms mine = CmsOf(&world_);
      for (int i = 0; i < 10; ++i) {
        const std::string bytes = "picture " + std::to_string(t * 10 + i);
        auto replaced = mine.ReplacePhoto("photos", "ph", mine.GetNode("photos", "ph")->nonce,
                                          Picture(bytes), bytes);
        EXPECT_TRUE(replaced.ok() || Is(replaced.status(), Error::kEditConflict))
            << replaced.status().ToString();
        shown += replaced.ok() ? 1 : 0;
      }
    });
  }
  std::thread reader([&] {
    for (int i = 0; i < 1000 && !done; ++i) {
      EXPECT_EQ(PhotoBytes(CmsOf(&world_), "ph").substr(0, 8), "picture ");
      ExpectNothingWrong(CmsOf(&world_).CheckInvariants());
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  done = true;
  reader.join();
  EXPECT_GE(shown.load(), 1);
  for (int i = 0; i < 3; ++i) {
    world_.clock.Advance(hours(25));
    ASSERT_TRUE(cms.GcFiles().ok());
  }
  EXPECT_EQ(*world_.store.Count("cms.assets.files", Doc()), 1);
  ExpectNothingWrong(cms.CheckInvariants());
}

TEST_P(CmsTest, TagsFeedsAndDrafts) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  const int64_t now = world_.clock.Now().millis;
  std::vector<std::string> expected;
  for (int i = 0; i < 9; ++i) {
    const std::string slug = "e" + std::to_string(i);
    ASSERT_TRUE(cms.CreateNode(BlogNode(slug, bson::Date{now - i / 2 * 1000})).ok());
    expected.push_back(slug);
  }
  ASSERT_TRUE(cms.CreateNode(BlogNode("draft", std::nullopt)).ok());
  ASSERT_TRUE(cms.CreateNode(BlogNode("future", bson::Date{now + 1})).ok());
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

  Node about = PageNode("about", "blog");  // no entry, though of the section
  about.published = bson::Date{now};
  ASSERT_TRUE(cms.CreateNode(about).ok());
  EXPECT_EQ(cms.Feed("blog")->nodes.size(), 9u);

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
  const std::string address = "https://example.com/blog/e0";
  EXPECT_NE(atom.find("<link href=\"" + address + "\"/>"), std::string::npos) << atom;
  EXPECT_NE(atom.find("<id>" + address + "</id>"), std::string::npos) << atom;
}

TEST_P(CmsTest, DocumentsHaveTheirFields) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  const bson::Date created = world_.clock.Now();
  const bson::ObjectId n1 = *cms.CreateNode(PageNode("p"));
  ASSERT_TRUE(cms.AddTags("docs", "p", {"t"}).ok());
  world_.clock.Advance(hours(1));
  const bson::ObjectId n2 = *cms.UpdateText("docs", "p", n1, "new");
  const Document page = **world_.store.FindOne("cms.nodes", Doc());
  EXPECT_EQ(page.view().Count(), 2u);  // _id and metadata
  EXPECT_EQ(At(page, "metadata.nonce").AsObjectId(), n2);
  EXPECT_EQ(At(page, "metadata.created").AsDate(), created);
  EXPECT_EQ(At(page, "metadata.updated").AsDate(), world_.clock.Now());
  EXPECT_EQ(At(page, "metadata.published").type(), bson::Type::kNull);
  EXPECT_EQ(TextAt(page, "metadata.author.name"), "Ann");
  EXPECT_EQ(TextAt(page, "metadata.detail.text"), "new");
  EXPECT_EQ(At(page, "metadata.tags").AsArray()["0"].AsString(), "t");
  const Node photo{.section = "photos", .slug = "ph"};
  ASSERT_TRUE(cms.UploadPhoto(photo, Picture("bytes")).ok());
  const Document node = **world_.store.FindOne("cms.nodes", Doc("metadata.slug", "ph"));
  const Document file = **world_.store.FindOne("cms.assets.files", Doc());
  const Document detail(At(node, "metadata.detail").AsDocument());
  EXPECT_TRUE(detail["file_id"].BinaryEquals(file["_id"]));
  EXPECT_EQ(TextAt(detail, "filename"), "p.jpg");
  EXPECT_EQ(TextAt(detail, "content_type"), "image/jpeg");
  EXPECT_EQ(IntegerAt(detail, "length"), 5);
  EXPECT_EQ(bson::ToJson(detail["resolution"]), "[4,3]");
  EXPECT_EQ(TextAt(file, "metadata.node_key.section"), "photos");
  EXPECT_EQ(TextAt(file, "metadata.node_key.slug"), "ph");
  EXPECT_EQ(TextAt(file, "metadata.uploaded_by"), "ann");
  EXPECT_EQ(TextAt(file, "metadata.state"), "live");
  EXPECT_EQ(ErrorName(cms.UpdateText("photos", "ph", node["_id"].AsObjectId(), "x").status()),
            "WrongType");
  EXPECT_EQ(ErrorName(cms.ReplacePhoto("docs", "p", n2, Picture("x")).status()), "WrongType");
}

// No lock that runs out: the second uploader's picture is shown, and the first, whose bytes come
// slowly, hears of it. Nothing of the old picture goes before the new one is there.
TEST_P(CmsTest, ASlowUploaderDoesNotMixWithASecond) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  const bson::ObjectId nonce =
      *cms.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("old"));
  Photo slow = Picture("slow picture");
  Photo pieces = slow;
  int piece = 0;
  slow.read = [&]() -> Result<std::string> {
    EXPECT_EQ(PhotoBytes(cms, "ph"), piece < 2 ? "old" : "quick");
    if (++piece == 2) {
      world_.clock.Advance(hours(1));
      EXPECT_TRUE(cms.ReplacePhoto("photos", "ph", nonce, Picture("quick")).ok());
    }
    return pieces.read();
  };
  EXPECT_EQ(ErrorName(cms.ReplacePhoto("photos", "ph", nonce, slow).status()), "ConflictError");
  EXPECT_GT(piece, 2);
  EXPECT_EQ(PhotoBytes(cms, "ph"), "quick");
  std::map<std::string, int64_t> states;
  for (const Document& file : world_.All("cms.assets.files")) {
    states[std::string(TextAt(file, "metadata.state"))] += 1;
  }
  EXPECT_EQ(states, (std::map<std::string, int64_t>{{"live", 1}, {"dead", 2}}));
  EXPECT_EQ(ErrorName(cms.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("z")).status()),
            "SlugTaken");
  EXPECT_EQ(*world_.store.Count("cms.assets.files", Doc("metadata.state", "dead")), 3);
}

TEST_P(CmsTest, APageFitsInADocument) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  const bson::ObjectId nonce = *cms.CreateNode(PageNode("p"));
  const std::string huge(17 << 20, 'x');
  EXPECT_EQ(ErrorName(cms.UpdateText("docs", "p", nonce, huge).status()), "DocumentTooLarge");
  Node page = PageNode("q");
  page.detail = Doc("text", huge);
  EXPECT_EQ(ErrorName(cms.CreateNode(page).status()), "DocumentTooLarge");
  EXPECT_EQ(cms.GetNode("docs", "p")->nonce, nonce);
  EXPECT_EQ(world_.All("cms.nodes").size(), 1u);
}

// The source of the bytes fails: nothing of them stays.
TEST_P(CmsTest, AnUploadThatBreaksOffIsTakenBack) {
  Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  Photo broken = Picture("never read to the end");
  broken.read = [read = broken.read, pieces = 0]() mutable -> Result<std::string> {
    return ++pieces < 4 ? read() : MakeError(Error::kNotFound, "the disk");
  };
  EXPECT_EQ(ErrorName(cms.UploadPhoto({.section = "photos", .slug = "ph"}, broken).status()),
            "NotFound");
  EXPECT_TRUE(world_.All("cms.assets.chunks").empty());
  EXPECT_TRUE(world_.All("cms.assets.files").empty());
  EXPECT_EQ(ErrorName(cms.GetNode("photos", "ph").status()), "NotFound");
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
  const bson::ObjectId n1 = *cms.CreateNode(PageNode("p"), "c");
  EXPECT_EQ(*cms.CreateNode(PageNode("p"), "c"), n1);
  const bson::ObjectId n2 = *cms.UpdateText("docs", "p", n1, "a", "u");
  ASSERT_TRUE(cms.UpdateText("docs", "p", n2, "b").ok());
  EXPECT_EQ(*cms.UpdateText("docs", "p", n1, "a", "u"), n2);
  EXPECT_EQ(TextAt(cms.GetNode("docs", "p")->detail, "text"), "b");
  Status refused = cms.UpdateText("docs", "p", n1, "z", "late").status();
  EXPECT_EQ(cms.UpdateText("docs", "p", n1, "z", "late").status().extra(), refused.extra());
}

TEST_P(CmsTest, QueriesUseTheIndexes) {
  QueryPaths paths;
  Seams seams = world_.seams();
  seams.queries = &paths;
  Cms cms = CmsOf(&world_, seams);
  EXPECT_EQ(cms.MissingIndexes()->size(), Cms::Indexes().size());
  ASSERT_TRUE(cms.CreateIndexes().ok());
  EXPECT_TRUE(cms.MissingIndexes()->empty());
  const bson::Date now = world_.clock.Now();
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(cms.CreateNode(BlogNode("b" + std::to_string(i), now)).ok());
    ASSERT_TRUE(cms.CreateNode(PageNode("p" + std::to_string(i)), "k" + std::to_string(i)).ok());
    ASSERT_TRUE(cms.UploadPhoto({.section = "photos", .slug = "x" + std::to_string(i)},
                                Picture("a photo"), "ph" + std::to_string(i))
                    .ok());
  }
  auto nonce = cms.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("x"));
  ASSERT_TRUE(cms.ReplacePhoto("photos", "ph", *nonce, Picture("y"), "r").ok());
  ASSERT_FALSE(cms.ReplacePhoto("photos", "ph", *nonce, Picture("y")).ok());
  ASSERT_FALSE(cms.CreateNode(PageNode("p1")).ok());
  ASSERT_TRUE(cms.UpdateText("docs", "p1", cms.GetNode("docs", "p1")->nonce, "t", "u").ok());
  ASSERT_TRUE(cms.AddTags("docs", "p1", {"news"}, "a").ok());
  ASSERT_TRUE(cms.Publish("docs", "p1", now).ok());
  EXPECT_EQ(PhotoBytes(cms, "ph"), "y");
  for (int64_t limit : {3, 100}) {
    PageRequest page{.limit = limit};
    do {
      page.after = cms.Feed("blog", page)->next;
    } while (!page.after.empty());
    do {
      page.after = cms.ByTag("news", page)->next;
    } while (!page.after.empty());
  }
  for (int i = 0; i < 3; ++i) {
    world_.clock.Advance(hours(25));
    ASSERT_TRUE(cms.GcFiles().ok());
    ASSERT_TRUE(cms.GcChunks().ok());
    ASSERT_TRUE(cms.PurgeKeys().ok());
  }
  GridFs files(world_.client, world_.database, {.bucket = "cms.assets", .seams = seams});
  EXPECT_EQ(*files.DownloadByName("p.jpg", -1), "y");
  EXPECT_TRUE(files.Rename(files.GetByName("p.jpg")->id.value(), "q.jpg").ok());
  // Whether there is any file at all is asked before an upload; the sweep reads the index from end
  // to end.
  paths.ExpectIndexed(world_.store, {"find cms.assets.files ",
                                     "aggregate cms.assets.chunks "
                                     "$sort $group $lookup $match"});
}

QUIRE_IN_BOTH_PLACES(CmsTest);

}  // namespace
}  // namespace quire::patterns
