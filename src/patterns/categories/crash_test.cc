// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "patterns/testing/random_crash.h"
#include "patterns/testing/tree.h"

namespace quire::patterns {
namespace {

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};

class CategoriesCrashTest : public ::testing::TestWithParam<Place> {};

// Every operation, every point, both back ends, with and without a key that is repeated.
TEST_P(CategoriesCrashTest, SurvivesEveryCrashAndLateWrite) {
  using Operation = std::function<Status(const Categories&, const Jazz&, const CallKey&)>;
  const struct {
    const char* name;
    Operation run;
    int min_runs;
  } kOperations[] = {
      {"add", [](auto& t, auto& j, auto& k) { return t.Add("New", "new", j.modal, k).status(); },
       5},
      {"move", [](auto& t, auto& j, auto& k) { return t.Move(j.bop, j.swing, k); }, 15},
      {"cycle", [](auto& t, auto& j, auto& k) { return t.Move(j.bop, j.modal, k); }, 5},
      {"rename", [](auto& t, auto& j, auto& k) { return t.Rename(j.bop, "B", "b", k); }, 15},
      {"taken", [](auto& t, auto& j, auto& k) { return t.Rename(j.bop, "B", "swing", k); }, 5},
      {"remove",
       [](auto& t, auto& j, auto& k) { return t.Remove(j.bop, {.keep_children = true}, k); }, 15},
      {"not empty", [](auto& t, auto& j, auto& k) { return t.Remove(j.bop, {}, k); }, 10},
  };
  for (Backend backend : kBackends) {
    for (const auto& row : kOperations) {
      for (bool keyed : KeyedAt(GetParam())) {
        SCOPED_TRACE(std::string(row.name) + (backend == kBackends[0] ? " locked" : " tx") +
                     (keyed ? " keyed" : ""));
        const CallKey call = keyed ? CallKey("k") : std::nullopt;
        Jazz jazz;
        CrashCase test;
        test.once = [&](World* world) { jazz = MakeJazz(world); };
        test.operation = [&](World* world, const Seams& seams) {
          Status first = row.run(TreeOf(world, backend, seams), jazz, call);
          if (call && !first.ok()) {
            (void)row.run(TreeOf(world, backend), jazz, call);
          }
          return first;
        };
        test.settle = SettleTree;
        test.always = ExpectTree;
        test.settled = ExpectBreadcrumbs;
        EXPECT_GE(RunCrashCase(GetParam(), test), row.min_runs);
      }
    }
  }
}

// The jobs themselves, over a move that was left after each of its steps, breadcrumbs that are
// wrong and a category that was removed long ago.
TEST_P(CategoriesCrashTest, JobsSurviveTheirOwnCrashes) {
  const struct {
    const char* name;
    std::function<Status(const Categories&)> run;
  } kJobs[] = {{"recover", [](auto& tree) { return tree.Recover().status(); }},
               {"rebuild", [](auto& tree) { return tree.RebuildAll().status(); }},
               {"purge", [](auto& tree) { return tree.Purge().status(); }}};
  for (const auto& job : kJobs) {
    for (int step = 1; step <= (job.name == std::string("recover") ? 4 : 1); ++step) {
      SCOPED_TRACE(job.name + std::to_string(step));
      CrashCase test;
      test.once = [&](World* world) {
        const Jazz jazz = MakeJazz(world);
        const CategoryId cool = *TreeOf(world).Add("Cool", "cool", jazz.swing, "key");
        ASSERT_TRUE(TreeOf(world).Remove(cool).ok());
        world->clock.Advance(std::chrono::hours(25));
        if (job.name == std::string("recover")) {
          TestCrash crash;
          crash.at = "categories.move.c" + std::to_string(step);
          (void)TreeOf(world, Backend::kCompensating, world->seams(&crash))
              .Move(jazz.bop, jazz.swing);
          EXPECT_TRUE(crash.fired);
        } else {
          ASSERT_TRUE(world->store
                          .UpdateMany("categories", Doc("depth", Doc("$gt", 0)),
                                      Doc("$set", Doc("ancestors", List())))
                          .ok());
        }
        world->clock.Advance(std::chrono::minutes(2));
      };
      test.operation = [&](World* world, const Seams& seams) {
        return job.run(TreeOf(world, Backend::kCompensating, seams));
      };
      test.settle = [](World* world) {
        SettleTree(world);
        EXPECT_TRUE(TreeOf(world).Purge().ok());
      };
      test.always = ExpectTree;
      test.settled = [&](World* world) {
        ExpectBreadcrumbs(world);
        EXPECT_EQ(Crumbs(TreeOf(world).Get("modal-jazz")),
                  job.name == std::string("recover") ? "Ragtime > Swing > Bop > Modal Jazz"
                                                     : "Ragtime > Bop > Modal Jazz");
        EXPECT_EQ(*world->store.Count("categories", Doc("gone", true)), 0);
      };
      EXPECT_GE(RunCrashCase(GetParam(), test), 6);
    }
  }
}

// Editors of one tree.
class RandomCategories : public RandomWorkload {
 public:
  explicit RandomCategories(Backend backend) : backend_(backend) {}

  void Setup(World* world) override {
    const Jazz jazz = MakeJazz(world);
    ids_ = {jazz.ragtime, jazz.bop, jazz.modal, jazz.swing};
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    Categories tree = TreeOf(world, backend_, seams);
    const CategoryId id = chance->Pick(ids_);
    const ParentId other = chance->OneIn(6) ? ParentId() : ParentId(chance->Pick(ids_));
    const std::string tag = "t" + std::to_string(chance->Below(6));
    const CallKey key = chance->OneIn(2) ? CallKey("k" + std::to_string(++keys_)) : std::nullopt;
    const std::string names = id.ToHex() + " " + (other ? other->ToHex() : "-") + " " + tag;
    switch (chance->Below(8)) {
      case 0:
      case 1: {
        chance->Note("add " + names);
        auto added = tree.Add(tag, tag, other, key);
        if (added.ok()) {
          ids_.push_back(*added);
        }
        return added.status();
      }
      case 2:
      case 3:
      case 4:
        chance->Note("move " + names);
        return tree.Move(id, other, key);
      case 5:
        chance->Note("rename " + names);
        return tree.Rename(id, tag, chance->OneIn(2) ? std::optional(tag) : std::nullopt, key);
      case 6:
        chance->Note("remove " + names);
        return tree.Remove(id, {.keep_children = chance->OneIn(2)}, key);
      default:
        world->clock.Advance(std::chrono::seconds(40));
        if (chance->OneIn(2)) {
          chance->Note("recover");
          return tree.Recover().status();
        }
        chance->Note("rebuild all");
        return tree.RebuildAll().status();
    }
  }

  void Settle(World* world) override { SettleTree(world); }
  void ExpectAlways(World* world) override { ExpectTree(world); }
  void ExpectSettled(World* world) override { ExpectBreadcrumbs(world); }

  void Rest(World* world) override {
    world->clock.Advance(std::chrono::hours(25));
    EXPECT_TRUE(TreeOf(world).Purge().ok());
  }

 private:
  Backend backend_;
  std::vector<CategoryId> ids_;
  int keys_ = 0;
};

const RandomSystem kRandom("Categories", [](Chance* chance) {
  return std::make_unique<RandomCategories>(chance->OneIn(2) ? Backend::kTransactional
                                                             : Backend::kCompensating);
});

INSTANTIATE_TEST_SUITE_P(Places, CategoriesCrashTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
