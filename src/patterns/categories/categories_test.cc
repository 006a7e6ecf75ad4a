// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/categories.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "patterns/testing/tree.h"
#include "patterns/testing/world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};

class CategoriesTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(CategoriesTest, TheTreeChangesAsAsked) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    const Jazz jazz = MakeJazz(&world);
    Categories tree = TreeOf(&world, backend);
    EXPECT_EQ(Crumbs(tree.Get("modal-jazz")), "Ragtime > Bop > Modal Jazz");
    ASSERT_TRUE(tree.Move(jazz.bop, jazz.swing).ok());
    EXPECT_EQ(Crumbs(tree.Get("modal-jazz")), "Ragtime > Swing > Bop > Modal Jazz");
    ASSERT_TRUE(tree.Rename(jazz.bop, "BeBop", std::nullopt).ok());
    EXPECT_EQ(Crumbs(tree.Get("modal-jazz")), "Ragtime > Swing > BeBop > Modal Jazz");
    EXPECT_EQ(tree.Get("modal-jazz")->ancestors[0].slug, "bop");
    ASSERT_TRUE(tree.Rename(jazz.bop, std::nullopt, "bebop").ok());
    EXPECT_EQ(tree.Get("modal-jazz")->ancestors[0].slug, "bebop");
    EXPECT_EQ(ErrorName(tree.Get("bop").status()), "NotFound");
    ExpectBreadcrumbs(&world);

    const CategoryId none = bson::ObjectId::Generate();
    EXPECT_EQ(ErrorName(tree.Move(jazz.ragtime, jazz.modal)), "CycleError");
    EXPECT_EQ(ErrorName(tree.Move(jazz.ragtime, jazz.ragtime)), "CycleError");
    EXPECT_EQ(ErrorName(tree.Move(jazz.bop, none)), "UnknownParent");
    EXPECT_EQ(ErrorName(tree.Move(none, jazz.bop)), "NotFound");
    EXPECT_EQ(ErrorName(tree.Rename(none, "x", "x")), "NotFound");
    EXPECT_EQ(ErrorName(tree.Rename(jazz.bop, "x", "swing")), "DuplicateSlug");
    EXPECT_EQ(ErrorName(tree.Rename(jazz.bop, "", std::nullopt)), "InvalidName");
    EXPECT_EQ(ErrorName(tree.Remove(jazz.swing)), "NotEmpty");
    EXPECT_EQ(ErrorName(tree.Remove(none)), "NotFound");
    EXPECT_EQ(ErrorName(tree.Add("x", "swing", jazz.bop).status()), "DuplicateSlug");
    EXPECT_EQ(ErrorName(tree.Add("x", "x", none).status()), "UnknownParent");
    EXPECT_EQ(ErrorName(tree.Add("x", "~x").status()), "InvalidName");
    EXPECT_EQ(ErrorName(tree.Add("", "x").status()), "InvalidName");
    ExpectBreadcrumbs(&world);

    ASSERT_TRUE(tree.Remove(jazz.swing, {.keep_children = true}).ok());
    EXPECT_EQ(Crumbs(tree.Get("modal-jazz")), "Ragtime > BeBop > Modal Jazz");
    ASSERT_TRUE(tree.Remove(jazz.modal).ok());
    EXPECT_EQ(ErrorName(tree.Get("modal-jazz").status()), "NotFound");
    EXPECT_EQ(ErrorName(tree.GetById(jazz.modal).status()), "NotFound");
    EXPECT_EQ(ErrorName(tree.Remove(jazz.modal)), "NotFound");
    EXPECT_EQ(ErrorName(tree.Add("x", "x", jazz.modal).status()), "UnknownParent");
    EXPECT_TRUE(tree.Add("Modal", "modal-jazz", jazz.bop).ok());  // the slug is free again
    ASSERT_TRUE(tree.Move(jazz.bop, {}).ok());
    EXPECT_EQ(Crumbs(tree.Get("modal-jazz")), "BeBop > Modal");
    ExpectTree(&world);
    ExpectBreadcrumbs(&world);
    EXPECT_EQ(tree.Purge()->changed, 0);  // late additions must find them
    world.clock.Advance(hours(25));
    EXPECT_EQ(tree.Purge()->changed, 2);
    EXPECT_EQ(tree.Purge()->changed, 0);
  }
}

TEST_P(CategoriesTest, ListsAndOlderReaders) {
  const Jazz jazz = MakeJazz(&world_);
  Categories tree = TreeOf(&world_);
  EXPECT_EQ(tree.Children({})->categories.size(), 1u);
  EXPECT_EQ(tree.Children(jazz.ragtime)->categories.size(), 2u);
  CategoryPage page = *tree.Descendants(jazz.ragtime, {.limit = 2});
  ASSERT_EQ(page.categories.size(), 2u);
  page = *tree.Descendants(jazz.ragtime, {.limit = 2, .after = page.next});
  ASSERT_EQ(page.categories.size(), 1u);
  EXPECT_EQ(page.categories[0].slug, "swing");
  EXPECT_TRUE(page.next.empty());
  EXPECT_EQ(ErrorName(tree.Children({}, {.after = "x"}).status()), "BadCursor");
  EXPECT_TRUE(*tree.IsAncestor(jazz.ragtime, jazz.modal));
  EXPECT_FALSE(*tree.IsAncestor(jazz.modal, jazz.ragtime));
  EXPECT_FALSE(*tree.IsAncestor(jazz.swing, jazz.modal));
  auto crumbs = tree.BreadcrumbByParents(jazz.modal);
  ASSERT_EQ(crumbs->size(), 3u);
  EXPECT_EQ(crumbs->front().slug, "ragtime");
  for (const char* path : {"ragtime", "ragtime:bop", "ragtime:bop:modal-jazz", "ragtimes"}) {
    ASSERT_TRUE(world_.store.Insert("paths", Doc("_id", path)).ok());
  }
  EXPECT_EQ(tree.DescendantsByPath("paths", "ragtime")->documents.size(), 2u);
  EXPECT_EQ(tree.DescendantsByPath("paths", "ragtime:bop")->documents.size(), 1u);
}

TEST_P(CategoriesTest, DepthHasABound) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Categories tree = TreeOf(&world, backend, world.seams(), 2);
    ASSERT_TRUE(tree.CreateIndexes().ok());
    CategoryId a = *tree.Add("a", "a");
    CategoryId b = *tree.Add("b", "b", a);
    CategoryId c = *tree.Add("c", "c", b);
    EXPECT_EQ(ErrorName(tree.Add("d", "d", c).status()), "TooDeep");
    CategoryId e = *tree.Add("e", "e");
    CategoryId f = *tree.Add("f", "f", e);
    EXPECT_EQ(ErrorName(tree.Move(e, b)), "TooDeep");
    EXPECT_EQ(ErrorName(tree.Move(f, c)), "TooDeep");
    EXPECT_TRUE(tree.Move(f, b).ok());
    EXPECT_TRUE(tree.Move(e, b).ok());
    ExpectBreadcrumbs(&world);
  }
}

TEST_P(CategoriesTest, KeysGiveTheFirstOutcome) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    const Jazz jazz = MakeJazz(&world);
    Categories tree = TreeOf(&world, backend);
    CategoryId first = *tree.Add("Cool", "cool", jazz.bop, "add");
    ASSERT_TRUE(tree.Move(jazz.modal, jazz.swing, "move").ok());
    ASSERT_TRUE(tree.Move(jazz.modal, jazz.ragtime).ok());
    EXPECT_TRUE(tree.Move(jazz.modal, jazz.swing, "move").ok());  // not moved again
    EXPECT_EQ(*tree.GetById(jazz.modal)->parent, jazz.ragtime);
    EXPECT_EQ(*tree.Add("Cool", "cool", jazz.bop, "add"), first);
    EXPECT_EQ(ErrorName(tree.Move(jazz.modal, jazz.bop, "move")), "IdempotencyKeyReuse");
    EXPECT_TRUE(tree.Remove(first, {}, "gone").ok());
    EXPECT_TRUE(tree.Remove(first, {}, "gone").ok());
  }
}

// A move that was paused after each of its steps, for longer than another's whole life.
TEST_P(CategoriesTest, ALateMoveDoesNotUndoLaterChanges) {
  for (const char* point : {"categories.move.c1", "categories.move.c2", "categories.move.c3",
                            "categories.rebuild.c1", "categories.move.c4"}) {
    SCOPED_TRACE(point);
    World world(GetParam());
    const Jazz jazz = MakeJazz(&world);
    TestCrash crash;
    crash.at = point;
    crash.action = [&] {
      SettleTree(&world);
      Categories tree = TreeOf(&world);
      EXPECT_TRUE(tree.Move(jazz.bop, {}).ok());
      EXPECT_TRUE(tree.Rename(jazz.swing, "Swing!", std::nullopt).ok());
      EXPECT_TRUE(tree.Add("Cool", "cool", jazz.bop).ok());
      return true;
    };
    (void)TreeOf(&world, Backend::kCompensating, world.seams(&crash)).Move(jazz.bop, jazz.swing);
    EXPECT_TRUE(crash.fired);
    ExpectTree(&world);
    ExpectBreadcrumbs(&world);
    EXPECT_EQ(Crumbs(TreeOf(&world).Get("modal-jazz")), "Bop > Modal Jazz");
  }
}

// The parent is moved, renamed or removed while a category is added below it.
TEST_P(CategoriesTest, AnAdditionFollowsItsParent) {
  const struct {
    std::function<Status(const Categories&, const Jazz&)> change;
    const char* crumbs;
  } kCases[] = {
      {[](auto& t, auto& j) { return t.Move(j.bop, j.swing); }, "Ragtime > Swing > Bop > New"},
      {[](auto& t, auto& j) { return t.Rename(j.ragtime, "R", std::nullopt); }, "R > Bop > New"},
      {[](auto& t, auto& j) { return t.Remove(j.bop, {.keep_children = true}); }, "NotFound"},
  };
  for (const auto& row : kCases) {
    World world(GetParam());
    const Jazz jazz = MakeJazz(&world);
    TestFaults faults;  // before the insert, when the parent has been read
    faults.at = 1;
    faults.before = [&] { EXPECT_TRUE(row.change(TreeOf(&world), jazz).ok()); };
    auto added = TreeOf(&world, Backend::kCompensating, world.seams(nullptr, &faults))
                     .Add("New", "new", jazz.bop);
    EXPECT_EQ(Crumbs(TreeOf(&world).Get("new")), row.crumbs);
    EXPECT_EQ(added.ok(), std::string(row.crumbs) != "NotFound");
    ExpectTree(&world);
    ExpectBreadcrumbs(&world);
  }
}

TEST_P(CategoriesTest, RebuildRepairsAnything) {
  const Jazz jazz = MakeJazz(&world_);
  const Store& store = world_.store;
  ASSERT_TRUE(store
                  .UpdateOne("categories", Doc("_id", jazz.modal),
                             Doc("$set", Doc("ancestors", List(), "depth", 9)))
                  .ok());
  ASSERT_TRUE(store.DeleteOne("categories", Doc("_id", jazz.bop)).ok());  // modal hangs in the air
  Categories tree = TreeOf(&world_);
  CategoryId a = *tree.Add("a", "a");
  CategoryId b = *tree.Add("b", "b", a);
  ASSERT_TRUE(store.UpdateOne("categories", Doc("_id", a), Doc("$set", Doc("parent", b))).ok());
  auto report = tree.RebuildAll();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GE(report->changed, 2);
  ExpectTree(&world_);
  ExpectBreadcrumbs(&world_);
  EXPECT_EQ(tree.RebuildAll()->changed, 0);
}

TEST_P(CategoriesTest, DocumentsHaveTheirFields) {
  const Jazz jazz = MakeJazz(&world_);
  auto stored = [&](const CategoryId& id) {
    return JsonOf(**world_.store.FindOne("categories", Doc("_id", id)));
  };
  const Document ragtime = Doc("_id", jazz.ragtime, "slug", "ragtime", "name", "Ragtime");
  const Document bop = Doc("_id", jazz.bop, "slug", "bop", "name", "Bop");
  EXPECT_EQ(stored(jazz.ragtime),
            JsonOf(Doc("_id", jazz.ragtime, "slug", "ragtime", "name", "Ragtime", "parent",
                       bson::Value::Null(), "ancestors", List(), "depth", 0, "rev", int64_t{1},
                       "fence", int64_t{0})));
  EXPECT_EQ(stored(jazz.modal),
            JsonOf(Doc("_id", jazz.modal, "slug", "modal-jazz", "name", "Modal Jazz", "parent",
                       jazz.bop, "ancestors", List(bop, ragtime), "depth", 2, "rev", int64_t{1},
                       "fence", int64_t{0})));
  TestCrash crash;
  crash.at = "categories.move.c1";
  EXPECT_TRUE(
      Is(TreeOf(&world_, Backend::kCompensating, world_.seams(&crash)).Move(jazz.bop, jazz.swing),
         Error::kCrashed));
  const Document lock = world_.All("tree_lock").at(0);
  EXPECT_EQ(JsonOf(lock),
            JsonOf(Doc("_id", "categories", "op",
                       Doc("kind", "move", "id", jazz.bop, "parent", jazz.swing, "call",
                           At(lock, "op.call"), "keyed", false, "at", world_.clock.Now()),
                       "rev", int64_t{1})));
  SettleTree(&world_);
  const Document modal = **world_.store.FindOne("categories", Doc("_id", jazz.modal));
  EXPECT_EQ(IntegerAt(modal, "depth"), 3);
  EXPECT_EQ(modal["depth"].type(), bson::Type::kInt32);
  EXPECT_GT(IntegerAt(modal, "rev"), 1);
}

// A change is on its way, from its first step to its last: others are refused and change nothing,
// additions and readers go on.
TEST_P(CategoriesTest, OneChangeAtATime) {
  using Change = std::function<Status(const Categories&, const Jazz&)>;
  const struct {
    Change change;
    std::vector<std::string> points;
  } kCases[] = {
      {[](auto& t, auto& j) { return t.Move(j.bop, j.swing); },
       {"categories.move.c1", "categories.move.c2", "categories.move.c3", "categories.rebuild.c1",
        "categories.rebuild.c2", "categories.move.c4"}},
      {[](auto& t, auto& j) { return t.Rename(j.bop, "B", "b"); },
       {"categories.rename.c1", "categories.rename.c2", "categories.rename.c3"}},
      {[](auto& t, auto& j) { return t.Remove(j.bop, {.keep_children = true}); },
       {"categories.remove.c1", "categories.remove.c2", "categories.rebuild.c1",
        "categories.remove.c3", "categories.remove.c4"}},
  };
  for (const auto& row : kCases) {
    for (const std::string& point : row.points) {
      SCOPED_TRACE(point);
      World world(GetParam());
      const Jazz jazz = MakeJazz(&world);
      TestCrash crash;
      crash.at = point;
      crash.action = [&] {
        for (Backend backend : kBackends) {
          const Categories other = TreeOf(&world, backend);
          EXPECT_EQ(ErrorName(other.Move(jazz.swing, {})), "TreeBusy");
          EXPECT_EQ(ErrorName(other.Rename(jazz.swing, "S", "s")), "TreeBusy");
          EXPECT_EQ(ErrorName(other.Remove(jazz.swing)), "TreeBusy");
          EXPECT_EQ(ErrorName(other.RebuildAll().status()), "TreeBusy");
        }
        EXPECT_TRUE(TreeOf(&world).Add("Cool", "cool", jazz.swing).ok());
        EXPECT_EQ(TreeOf(&world).Recover()->examined, 0);  // not yet
        ExpectKnownAncestors(&world);
        return true;
      };
      EXPECT_TRUE(
          row.change(TreeOf(&world, Backend::kCompensating, world.seams(&crash)), jazz).ok());
      EXPECT_TRUE(crash.fired);
      EXPECT_EQ(Crumbs(TreeOf(&world).Get("swing")), "Ragtime > Swing");
      ExpectTree(&world);
      ExpectBreadcrumbs(&world);
    }
  }
}

// Two moves, each below the other: the second is checked when the first is done.
TEST_P(CategoriesTest, OppositeMovesMakeNoRing) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    const Jazz jazz = MakeJazz(&world);
    TestFaults faults;
    faults.at = 1;
    faults.before = [&] { EXPECT_TRUE(TreeOf(&world, backend).Move(jazz.bop, jazz.swing).ok()); };
    EXPECT_EQ(
        ErrorName(
            TreeOf(&world, backend, world.seams(nullptr, &faults)).Move(jazz.swing, jazz.modal)),
        "CycleError");
    ExpectTree(&world);
    ExpectBreadcrumbs(&world);
  }
}

// A category that says it is being removed, and nobody removes it.
TEST_P(CategoriesTest, ARemovalLeftBehindIsGivenUp) {
  const Jazz jazz = MakeJazz(&world_);
  ASSERT_TRUE(
      world_.store.UpdateOne("categories", Doc("_id", jazz.bop), Doc("$set", Doc("closing", true)))
          .ok());
  Categories tree = TreeOf(&world_);
  EXPECT_EQ(ErrorName(tree.Add("Cool", "cool", jazz.bop).status()), "TreeBusy");
  EXPECT_EQ(tree.RebuildAll()->changed, 1);
  EXPECT_TRUE(tree.Add("Cool", "cool", jazz.bop).ok());
  ExpectNothingWrong(tree.CheckInvariants());
}

// It is closing, and a later change has written it, before it becomes a tombstone.
TEST_P(CategoriesTest, ALateRemovalThatComesToNothingSaysSo) {
  const Jazz jazz = MakeJazz(&world_);
  TestCrash crash;
  crash.at = "categories.remove.c3";
  crash.action = [&] {
    EXPECT_TRUE(world_.store
                    .UpdateOne("categories", Doc("_id", jazz.swing),
                               Doc("$set", Doc("fence", int64_t{9}), "$unset", Doc("closing", 1)))
                    .ok());
    return true;
  };
  EXPECT_EQ(
      ErrorName(TreeOf(&world_, Backend::kCompensating, world_.seams(&crash)).Remove(jazz.swing)),
      "Contention");
  EXPECT_TRUE(TreeOf(&world_).Get("swing").ok());
}

TEST_P(CategoriesTest, ManyEditorsKeepATree) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Categories setup = TreeOf(&world);
    ASSERT_TRUE(setup.CreateIndexes().ok());
    std::vector<CategoryId> ids;
    for (int i = 0; i < 6; ++i) {
      ids.push_back(*setup.Add("n", "n" + std::to_string(i),
                               i < 2 ? ParentId() : ParentId(ids[static_cast<size_t>(i) / 2])));
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        Categories tree = TreeOf(&world, backend);
        for (int i = 0; i < 12; ++i) {
          const CategoryId& id = ids[random() % ids.size()];
          const CategoryId& other = ids[random() % ids.size()];
          const std::string tag = std::to_string(t) + "-" + std::to_string(i);
          switch (random() % 4) {
            case 0:
              (void)tree.Move(id, other);
              break;
            case 1:
              (void)tree.Rename(id, "r" + tag, std::nullopt);
              break;
            case 2:
              (void)tree.Add("a" + tag, "a" + tag, id);
              break;
            default:
              (void)tree.Remove(id, {.keep_children = true});
          }
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    ExpectTree(&world);
    ExpectBreadcrumbs(&world);
  }
}

TEST_P(CategoriesTest, QueriesUseTheIndexes) {
  EXPECT_EQ(TreeOf(&world_).MissingIndexes()->size(), Categories::Indexes().size());
  const Jazz jazz = MakeJazz(&world_);
  EXPECT_TRUE(TreeOf(&world_).MissingIndexes()->empty());
  struct {
    Document filter;
    Document sort;
  } const kQueries[] = {
      {Doc("slug", "bop"), Doc()},
      {Doc("parent", jazz.ragtime), Doc("_id", 1)},
      {Doc("parent", bson::Value::Null()), Doc("_id", 1)},
      {Doc("$and", List(Doc("parent", jazz.ragtime), Doc("_id", Doc("$gt", jazz.bop)))),
       Doc("_id", 1)},
      {Doc("ancestors._id", jazz.ragtime), Doc("_id", 1)},
      {Doc("_id", jazz.modal, "ancestors._id", jazz.bop), Doc()},
      {Doc("ancestors._id", jazz.ragtime, "fence", Doc("$lte", int64_t{9})), Doc()},
      {Doc("gone", true, "at", Doc("$lt", world_.clock.Now())), Doc()},
  };
  for (const auto& query : kQueries) {
    Explained explained = Explain(
        world_.store, Doc("find", "categories", "filter", query.filter, "sort", query.sort));
    SCOPED_TRACE(bson::ToJson(query.filter.view()) + explained.plan);
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos);
    EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos);
    EXPECT_LE(explained.keys, explained.returned + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, CategoriesTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
