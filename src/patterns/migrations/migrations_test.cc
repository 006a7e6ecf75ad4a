// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/migrations.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "patterns/testing/random_crash.h"
#include "patterns/testing/world.h"
#include "quire/patterns/nodes.h"

namespace quire::patterns {
namespace {

using bson::Document;

const char kName[] = "short_description";

Migrations MigrationsOf(World* world, int batch, const Seams& seams) {
  Migrations migrations(world->client, world->database, seams);
  migrations.Define(kName, {"nodes", Doc("short", Doc("$exists", false)),
                            Doc("$set", Doc("short", "default")), batch});
  return migrations;
}

Nodes NodesOf(World* world) {
  Nodes nodes(world->client, world->database, world->seams());
  nodes.Register(
      "page", {.required = {{"body", bson::Type::kString}}, .defaults = Doc("short", "default")});
  nodes.Register("photo", {.required = {{"width", bson::Type::kInt64}},
                           .validate =
                               [](bson::View node) {
                                 return IntegerAt(node, "width") > 0
                                            ? Status::Ok()
                                            : MakeError(Error::kWrongType, "a width is positive");
                               },
                           .schema_version = 3});
  return nodes;
}

void InsertNodes(World* world, int from, int to, bool with_field) {
  for (int i = from; i < to; ++i) {
    Document node = with_field
                        ? Doc("_id", i, "type", "page", "url", std::to_string(i), "short", "own")
                        : Doc("_id", i, "type", "page", "url", std::to_string(i));
    ASSERT_TRUE(world->store.Insert("nodes", node).ok());
  }
}

class MigrationsTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(MigrationsTest, GoesInBatches) {
  InsertNodes(&world_, 0, 250, false);
  Migrations migrations = MigrationsOf(&world_, Migration().batch, world_.seams());
  EXPECT_EQ(migrations.GetState(kName)->state, "pending");
  const bson::Date started = world_.clock.Now();
  for (int64_t expected : {100, 100, 50}) {
    EXPECT_EQ(*migrations.Step(kName), expected);
    EXPECT_EQ(migrations.GetState(kName)->state, "running");
    world_.clock.Advance(std::chrono::minutes(1));
  }
  EXPECT_EQ(*migrations.Step(kName), 0);
  EXPECT_EQ(migrations.GetState(kName)->state, "complete");
  EXPECT_EQ(migrations.GetState(kName)->done, 250);
  const Document progress =
      Doc("_id", kName, "batch", 100, "done", int64_t{250}, "started", started, "state", "complete",
          "last_id", 249, "finished", world_.clock.Now());
  EXPECT_EQ(world_.All("migrations").at(0).bytes(), progress.bytes())
      << bson::ToJson(world_.All("migrations").at(0).view());
  EXPECT_EQ(*migrations.Step(kName), 0);
  EXPECT_TRUE(Is(migrations.Step("other").status(), Error::kUnknownMigration));
}

// Between the reading of the ids and their update.
TEST_P(MigrationsTest, AValueWrittenMeanwhileStays) {
  InsertNodes(&world_, 0, 3, false);
  TestCrash pause;
  pause.at = "migrations.step.c1";
  pause.action = [&] {
    EXPECT_TRUE(
        world_.store.UpdateOne("nodes", Doc("_id", 1), Doc("$set", Doc("short", "own"))).ok());
    return true;
  };
  EXPECT_EQ(*MigrationsOf(&world_, 10, world_.seams(&pause)).Step(kName), 2);
  EXPECT_EQ(*world_.store.Count("nodes", Doc("_id", 1, "short", "own")), 1);
  EXPECT_EQ(*world_.store.Count("nodes", Doc("short", "default")), 2);
}

TEST_P(MigrationsTest, CatchesWhatOldWritersInsertBehindIt) {
  InsertNodes(&world_, 10, 15, false);
  Migrations migrations = MigrationsOf(&world_, 10, world_.seams());
  EXPECT_EQ(*migrations.Step(kName), 5);
  InsertNodes(&world_, 0, 3, false);
  ASSERT_TRUE(world_.store.Insert("nodes", Doc("_id", "text", "url", "x")).ok());
  EXPECT_EQ(*migrations.Step(kName), 4);
  EXPECT_EQ(*migrations.Step(kName), 0);
  EXPECT_EQ(migrations.GetState(kName)->state, "complete");
}

TEST_P(MigrationsTest, SurvivesEveryCrash) {
  CrashCase test;
  test.once = [](World* world) {
    InsertNodes(world, 0, 5, false);
    InsertNodes(world, 5, 8, true);
  };
  test.operation = [](World* world, const Seams& seams) {
    Migrations migrations = MigrationsOf(world, 2, seams);
    for (int i = 0; i < 6; ++i) {
      auto step = migrations.Step(kName);
      if (!step.ok()) {
        return step.status();
      }
    }
    return Status::Ok();
  };
  test.settle = [](World* world) {
    Migrations migrations = MigrationsOf(world, 3, world->seams());
    for (int i = 0; i < 10 && migrations.GetState(kName)->state != "complete"; ++i) {
      EXPECT_TRUE(migrations.Step(kName).ok());
    }
  };
  test.always = [](World* world) {
    EXPECT_EQ(*world->store.Count("nodes", Doc()), 8);
    EXPECT_EQ(*world->store.Count("nodes", Doc("short", "own")), 3);
    auto nodes = NodesOf(world).Find(Doc("type", "page"));
    ASSERT_TRUE(nodes.ok());
    for (const Document& node : *nodes) {
      EXPECT_FALSE(TextAt(node, "short").empty());
    }
  };
  test.settled = [](World* world) {
    EXPECT_EQ(*world->store.Count("nodes", Doc("short", Doc("$exists", false))), 0);
    EXPECT_EQ(MigrationsOf(world, 2, world->seams()).GetState(kName)->state, "complete");
  };
  EXPECT_GE(RunCrashCase(GetParam(), test), 20);
}

TEST_P(MigrationsTest, NodesComeWholeOrNotAtAll) {
  CrashCase test;
  test.once = [](World* world) { ASSERT_TRUE(NodesOf(world).CreateIndexes().ok()); };
  test.operation = [](World* world, const Seams& seams) {
    Nodes nodes(world->client, world->database, seams);
    nodes.Register("page", {.required = {{"body", bson::Type::kString}}});
    return nodes.Insert(Doc("_id", 1, "type", "page", "url", "/a", "title", "A", "body", "text"))
        .status();
  };
  test.settle = [](World*) {};
  test.always = [](World* world) {
    for (const Document& node : world->All("nodes")) {
      EXPECT_EQ(
          bson::ToJson(node.view()),
          R"({"_id":1,"type":"page","url":"/a","title":"A","body":"text","schema_version":1})");
    }
  };
  test.settled = test.always;
  EXPECT_GE(RunCrashCase(GetParam(), test), 6);
}

TEST_P(MigrationsTest, WorkersAndWritersSideBySide) {
  InsertNodes(&world_, 0, 60, false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this] {
      Migrations migrations = MigrationsOf(&world_, 5, world_.seams());
      while (migrations.GetState(kName)->state != "complete") {
        ASSERT_TRUE(migrations.Step(kName).ok());
      }
    });
  }
  threads.emplace_back([this] {  // sets the field itself where it is absent
    for (int i = 0; i < 60; i += 3) {
      EXPECT_TRUE(world_.store
                      .UpdateOne("nodes", Doc("_id", i, "short", Doc("$exists", false)),
                                 Doc("$set", Doc("short", "own")))
                      .ok());
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(*world_.store.Count("nodes", Doc("short", Doc("$exists", false))), 0);
  EXPECT_EQ(*world_.store.Count("nodes", Doc()), 60);
}

TEST_P(MigrationsTest, NodesAreCheckedAndFilled) {
  Nodes nodes = NodesOf(&world_);
  EXPECT_EQ(nodes.MissingIndexes()->size(), 3u);
  ASSERT_TRUE(nodes.CreateIndexes().ok());
  struct {
    Document node;
    const char* error;
  } const kRows[] = {
      {Doc("type", "page", "url", "/a", "title", "A", "body", "text"), "OK"},
      {Doc("type", "photo", "url", "/b", "title", "B", "width", 5), "OK"},
      {Doc("type", "video", "url", "/c", "title", "C"), "UnknownType"},
      {Doc("url", "/c", "title", "C"), "UnknownType"},
      {Doc("type", "page", "url", "/c", "title", "C"), "MissingField"},
      {Doc("type", "page", "title", "C", "body", "text"), "MissingField"},
      {Doc("type", "page", "url", "/c", "title", "C", "body", 7), "WrongType"},
      {Doc("type", "photo", "url", "/c", "title", "C", "width", -1), "WrongType"},
      {Doc("type", "page", "url", "/a", "title", "C", "body", "text"), "DuplicateKey"},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(ErrorName(nodes.Insert(row.node).status()), row.error)
        << bson::ToJson(row.node.view());
  }
  auto found = nodes.Find(Doc("title", Doc("$in", List("A", "B"))), {.sort = Doc("title", 1)});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(TextAt((*found)[0], "short"), "default");
  EXPECT_EQ((*found)[1]["schema_version"].type(), bson::Type::kInt32);
  EXPECT_EQ(IntegerAt((*found)[1], "schema_version"), 3);
  auto loaded = nodes.Load((*found)[0]["_id"]);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(TextAt(*loaded, "short"), "default");
  EXPECT_EQ(*world_.store.Count("nodes", Doc("short", Doc("$exists", true))), 0);  // not written
  EXPECT_TRUE(Is(nodes.Load(bson::Value(1)).status(), Error::kNotFound));
  Explained explained = Explain(
      world_.store, Doc("find", "nodes", "filter", Doc("type", "page"), "sort", Doc("_id", 1)));
  EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
}

// Workers that crash, writers that know the field and writers that do not: the latter stop before
// the last look, as a migration asks of them.
class RandomMigration : public RandomWorkload {
 public:
  void Setup(World* world) override {
    ASSERT_TRUE(NodesOf(world).CreateIndexes().ok());
    for (int i = 0; i < 7; ++i) {
      Insert(world, 10 * i, false);
    }
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    const int id = chance->Below(80);
    switch (chance->Below(6)) {
      case 0:
        chance->Note("a new writer inserts " + std::to_string(id));
        Insert(world, id, true);
        return Status::Ok();
      case 1: {
        chance->Note("a new writer changes " + std::to_string(id));
        auto matched =
            world->store.UpdateOne("nodes", Doc("_id", id), Doc("$set", Doc("short", "own")));
        if (matched.ok() && *matched == 1) {
          own_.insert(id);
        }
        return matched.status();
      }
      case 2:
        if (steps_on_their_way_ > 0 || StateOf(world) == "complete") {
          return Status::Ok();
        }
        chance->Note("an old writer inserts " + std::to_string(id));
        Insert(world, id, false);
        return Status::Ok();
      default: {
        chance->Note("step");
        ++steps_on_their_way_;
        Status status = MigrationsOf(world, 1 + chance->Below(3), seams).Step(kName).status();
        --steps_on_their_way_;
        return status;
      }
    }
  }

  // As far as a step: the end would end the history.
  void Settle(World* world) override {
    EXPECT_TRUE(MigrationsOf(world, 2, world->seams()).Step(kName).ok());
  }

  void ExpectAlways(World* world) override {
    const std::vector<Document> nodes = *NodesOf(world).Find(Doc("type", "page"));
    EXPECT_EQ(nodes.size(), ids_.size());
    for (const Document& node : nodes) {
      const bool own = own_.contains(static_cast<int>(IntegerAt(node, "_id")));
      EXPECT_EQ(TextAt(node, "short"), own ? "own" : "default");
    }
  }

  void ExpectSettled(World* world) override {
    if (StateOf(world) == "complete") {
      EXPECT_EQ(*world->store.Count("nodes", Doc("short", Doc("$exists", false))), 0);
    }
  }

 private:
  static std::string StateOf(World* world) {
    return MigrationsOf(world, 1, world->seams()).GetState(kName)->state;
  }
  void Insert(World* world, int id, bool with_field) {
    if (ids_.insert(id).second) {
      InsertNodes(world, id, id + 1, with_field);
      if (with_field) {
        own_.insert(id);
      }
    }
  }

  std::set<int> ids_;
  std::set<int> own_;
  int steps_on_their_way_ = 0;
};

const RandomSystem kRandom("Migrations",
                           [](Chance*) { return std::make_unique<RandomMigration>(); });

INSTANTIATE_TEST_SUITE_P(Places, MigrationsTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
