// SPDX-License-Identifier: Apache-2.0
//
// Content management under crashes: every operation at every point, and random histories.
#include <map>
#include <set>

#include "patterns/testing/clocked_ids.h"
#include "patterns/testing/cms.h"
#include "patterns/testing/random_crash.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;

// Ids of the test's time: the jobs look at the age of chunks.
class CmsWorlds {
 public:
  Cms Open(World* world, Seams seams) {
    auto& ids = ids_[world];
    if (!ids) {
      ids = std::make_unique<ClockedIds>(&world->clock);
    }
    seams.ids = ids.get();
    return CmsOf(world, seams);
  }
  Cms Open(World* world) { return Open(world, world->seams()); }

 private:
  std::map<World*, std::unique_ptr<ClockedIds>> ids_;
};

void SettleCms(World* world) {
  world->clock.Advance(hours(23));
  const Cms cms = CmsOf(world);
  RunUntilQuiet({[&] { return cms.GcFiles(); }, [&] { return cms.GcChunks(); }});
}

// Files are shown by a node or wait for their end; no chunk is without its file for ever.
void ExpectSettledFiles(World* world) {
  GridFs files(world->client, world->database, {.bucket = "cms.assets"});
  const auto listed = *world->store.Find("cms.assets.files", Doc());
  for (const Document& file : listed) {
    auto node = world->store.FindOne("cms.nodes", Doc("metadata.detail.file_id", file["_id"]));
    EXPECT_TRUE(!(*node).has_value() || TextAt(file, "metadata.state") != "staged");
  }
}

// Two days later.
void ExpectNothingLeft(World* world) {
  for (int i = 0; i < 3; ++i) {
    world->clock.Advance(hours(25));
    SettleCms(world);
  }
  const auto listed = *world->store.Find("cms.assets.files", Doc());
  for (const Document& file : listed) {
    EXPECT_EQ(TextAt(file, "metadata.state"), "live");
    auto node = world->store.FindOne("cms.nodes", Doc("metadata.detail.file_id", file["_id"]));
    EXPECT_TRUE((*node).has_value());
  }
  GridFs files(world->client, world->database, {.bucket = "cms.assets"});
  const auto chunks = *world->store.Find("cms.assets.chunks", Doc());
  for (const Document& chunk : chunks) {
    EXPECT_TRUE(files.Get(chunk["files_id"]).ok()) << "a chunk of no file";
  }
}

struct Start {
  ObjectId photo;  // nonces
  ObjectId page;
};

struct Operation {
  const char* name;
  std::function<Status(const Cms&, const Start&, const CallKey&)> run;
  std::function<bool(const Cms&)> done;
  bool refused = false;
};

Node NodeAt(const Cms& cms, const char* section, const char* slug) {
  auto node = cms.GetNode(section, slug);
  return node.ok() ? *node : Node();
}

const Operation kOperations[] = {
    {"upload",
     [](auto& c, auto&, auto& key) {
       return c.UploadPhoto({.section = "photos", .slug = "new"}, Picture("new one"), key).status();
     },
     [](auto& c) { return PhotoBytes(c, "new") == "new one"; }},
    {"taken",
     [](auto& c, auto&, auto& key) {
       return c.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("new one"), key).status();
     },
     [](auto& c) { return PhotoBytes(c, "ph") == "first"; }, true},
    {"replace",
     [](auto& c, auto& s, auto& key) {
       return c.ReplacePhoto("photos", "ph", s.photo, Picture("second"), key).status();
     },
     [](auto& c) { return PhotoBytes(c, "ph") == "second"; }},
    {"create", [](auto& c, auto&, auto& key) { return c.CreateNode(PageNode("p"), key).status(); },
     [](auto& c) { return NodeAt(c, "docs", "p").title == "T p"; }},
    {"update",
     [](auto& c, auto& s, auto& key) {
       return c.UpdateText("docs", "d", s.page, "x", key).status();
     },
     [](auto& c) {
       const Node node = NodeAt(c, "docs", "d");
       return TextAt(node.detail, "text") == "x";
     }},
    {"add tags",
     [](auto& c, auto&, auto& key) {
       return c.AddTags("docs", "d", {"t", "u"}, key);
     },
     [](auto& c) { return NodeAt(c, "docs", "d").tags.size() == 3; }},
    {"remove tags", [](auto& c, auto&, auto& key) { return c.RemoveTags("docs", "d", {"o"}, key); },
     [](auto& c) { return NodeAt(c, "docs", "d").tags.empty(); }},
    {"publish",
     [](auto& c, auto&, auto& key) { return c.Publish("docs", "d", bson::Date{5}, key); },
     [](auto& c) { return NodeAt(c, "docs", "d").published == bson::Date{5}; }},
    {"unpublish", [](auto& c, auto&, auto& key) { return c.Unpublish("photos", "ph", key); },
     [](auto& c) { return !NodeAt(c, "photos", "ph").published; }},
};

Start Fill(const Cms& cms) {
  EXPECT_TRUE(cms.CreateIndexes().ok());
  Start start;
  start.photo = *cms.UploadPhoto({.section = "photos", .slug = "ph", .published = bson::Date{1}},
                                 Picture("first"));
  Node page = PageNode("d");
  page.tags = {"o"};
  start.page = *cms.CreateNode(page);
  return start;
}

class CmsCrashTest : public BothPlaces {};

TEST_P(CmsCrashTest, EveryOperationAtEveryPoint) {
  for (const Operation& operation : kOperations) {
    for (bool keyed : KeyedAt(GetParam())) {
      SCOPED_TRACE(std::string(operation.name) + (keyed ? " with a key" : ""));
      const CallKey key = keyed ? CallKey("k") : CallKey();
      CmsWorlds worlds;
      Start start;
      CrashCase test;
      test.once = [&](World* world) { start = Fill(worlds.Open(world)); };
      test.operation = [&](World* world, const Seams& seams) {
        return operation.run(worlds.Open(world, seams), start, key);
      };
      if (keyed) {
        test.repeated = [&](const Status& again) {
          EXPECT_EQ(again.ok(), !operation.refused) << again.ToString();
        };
      }
      test.settle = SettleCms;
      test.always = [&](World* world) {
        ExpectNothingWrong(CmsOf(world).CheckInvariants());
        const std::string shown = PhotoBytes(CmsOf(world), "ph");
        EXPECT_TRUE(shown == "first" || shown == "second") << shown;
      };
      test.settled = ExpectSettledFiles;
      test.done = [&](World* world) { EXPECT_TRUE(operation.done(CmsOf(world))); };
      EXPECT_GE(RunCrashCase(GetParam(), test), 6);
    }
  }
}

// After any crash or late write nothing is left over in the end.
TEST_P(CmsCrashTest, NoFileIsLeftOver) {
  for (const Operation& operation : kOperations) {
    if (std::string_view(operation.name) == "create") {
      break;  // the others have no files
    }
    SCOPED_TRACE(operation.name);
    CmsWorlds worlds;
    Start start;
    CrashCase test;
    test.once = [&](World* world) { start = Fill(worlds.Open(world)); };
    test.operation = [&](World* world, const Seams& seams) {
      Status status = operation.run(worlds.Open(world, seams), start, "k");
      ExpectNothingLeft(world);
      return status;
    };
    test.settle = SettleCms;
    test.always = [&](World* world) { ExpectNothingWrong(CmsOf(world).CheckInvariants()); };
    test.settled = [](World*) {};
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
}

// Jobs that crash, or are paused while others do their work: a replaced photo, an upload that was
// never finished.
TEST_P(CmsCrashTest, TheJobsAtEveryPoint) {
  for (bool chunks : {false, true}) {
    CmsWorlds worlds;
    CrashCase test;
    test.once = [&](World* world) {
      const Start start = Fill(worlds.Open(world));
      EXPECT_TRUE(
          worlds.Open(world).ReplacePhoto("photos", "ph", start.photo, Picture("second")).ok());
      TestCrash crash;
      crash.at = "gridfs.upload.c1";
      (void)worlds.Open(world, world->seams(&crash))
          .UploadPhoto({.section = "photos", .slug = "x"}, Picture("never"));
      EXPECT_TRUE(crash.fired);
      world->clock.Advance(hours(30));
    };
    test.operation = [&](World* world, const Seams& seams) {
      Cms cms = worlds.Open(world, seams);
      return chunks ? cms.GcChunks().status() : cms.GcFiles().status();
    };
    test.settle = SettleCms;
    test.always = [&](World* world) {
      ExpectNothingWrong(CmsOf(world).CheckInvariants());
      EXPECT_EQ(PhotoBytes(CmsOf(world), "ph"), "second");
    };
    test.settled = ExpectNothingLeft;
    EXPECT_GE(RunCrashCase(GetParam(), test), 4);
  }
}

QUIRE_IN_BOTH_PLACES(CmsCrashTest);

class RandomCms : public RandomWorkload {
 public:
  void Setup(World* world) override {
    Cms cms = worlds_.Open(world);
    const Start start = Fill(cms);
    nonces_ = {start.photo, start.page};
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    const Cms cms = worlds_.Open(world, seams);
    const CallKey key =
        chance->OneIn(2) ? CallKey("k" + std::to_string(chance->Below(30))) : CallKey();
    const std::string slug = chance->OneIn(2) ? "ph" : "q" + std::to_string(chance->Below(3));
    const std::string bytes = "bytes " + std::to_string(chance->Below(100));
    const std::string tag = "t" + std::to_string(chance->Below(3));
    const int action = chance->Below(8);
    chance->Note("action " + std::to_string(action) + " on " + slug + (key ? " key " + *key : ""));
    auto known = [&](const Result<ObjectId>& nonce) {
      if (nonce.ok()) {
        nonces_.push_back(*nonce);
      }
      return nonce.status();
    };
    // The current nonce, mostly.
    auto node = CmsOf(world).GetNode("photos", slug);
    const ObjectId nonce = node.ok() && !chance->OneIn(3) ? node->nonce : chance->Pick(nonces_);
    switch (action) {
      case 0:
        return known(cms.UploadPhoto({.section = "photos", .slug = slug}, Picture(bytes), key));
      case 1:
      case 2:
        return known(cms.ReplacePhoto("photos", slug, nonce, Picture(bytes), key));
      case 3:
        return known(cms.CreateNode(PageNode(slug), key));
      case 4: {
        auto page = CmsOf(world).GetNode("docs", "d");
        return known(cms.UpdateText("docs", "d", page.ok() ? page->nonce : nonce, bytes, key));
      }
      case 5:
        return chance->OneIn(2) ? cms.AddTags("photos", slug, {tag, "x"}, key)
                                : cms.RemoveTags("photos", slug, {tag}, key);
      case 6:
        return chance->OneIn(2) ? cms.Publish("photos", slug, bson::Date{7}, key)
                                : cms.Unpublish("photos", slug, key);
      default:
        return chance->OneIn(2) ? cms.GcFiles().status() : cms.GcChunks().status();
    }
  }

  void Settle(World* world) override {
    world->clock.Advance(hours(1));
    const Cms cms = CmsOf(world);
    RunUntilQuiet({[&] { return cms.GcFiles(); }, [&] { return cms.GcChunks(); }});
  }
  void ExpectAlways(World* world) override {
    ExpectNothingWrong(CmsOf(world).CheckInvariants());
    EXPECT_NE(PhotoBytes(CmsOf(world), "ph"), "NotFound");
  }
  void ExpectSettled(World* world) override { ExpectSettledFiles(world); }
  void Rest(World* world) override {
    ExpectNothingLeft(world);
    EXPECT_TRUE(CmsOf(world).PurgeKeys().ok());
  }

 private:
  CmsWorlds worlds_;
  std::vector<ObjectId> nonces_;
};

const RandomSystem kRandom("Cms", [](Chance*) { return std::make_unique<RandomCms>(); });

}  // namespace
}  // namespace quire::patterns
