// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "patterns/testing/catalog.h"
#include "patterns/testing/random_crash.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

class CatalogCrashTest : public ::testing::TestWithParam<Place> {};

// At most one product per sku at any time; once settled, registry and products agree.
TEST_P(CatalogCrashTest, SurvivesEveryCrashAndLateWrite) {
  struct {
    bool registry;
    bool change;
    const char* key;
    int min_runs;
  } const kCases[] = {{false, false, "", 5},  {false, false, "k", 12}, {false, true, "", 5},
                      {false, true, "k", 12}, {true, false, "", 12},   {true, false, "k", 20}};
  for (const auto& row : kCases) {
    SCOPED_TRACE(std::string(row.registry ? "registry " : "") + (row.change ? "change " : "put ") +
                 row.key);
    const CallKey key = *row.key != 0 ? CallKey(row.key) : std::nullopt;
    CrashCase test;
    test.once = [&](World* world) {
      Catalog catalog = CatalogOf(world, row.registry);
      ASSERT_TRUE(catalog.CreateIndexes().ok());
      ASSERT_TRUE(!row.change || catalog.Put(Album("a")).ok());
    };
    test.operation = [&](World* world, const Seams& seams) {
      const std::optional<int64_t> rev = row.change ? std::optional<int64_t>(1) : std::nullopt;
      Status first = CatalogOf(world, row.registry, seams).Put(Album("a", 1500), rev, key).status();
      if (key) {
        EXPECT_EQ(*CatalogOf(world, row.registry).Put(Album("a", 1500), rev, key),
                  row.change ? 2 : 1);
      }
      return first;
    };
    test.settle = [&](World* world) {
      world->clock.Advance(hours(25));
      Catalog catalog = CatalogOf(world, row.registry);
      for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(catalog.SweepSkus().ok());
      }
    };
    test.always = [&](World* world) {
      auto found = *world->store.Find("products", Doc());
      EXPECT_LE(found.size(), 1u);
      for (const Document& one : found) {
        EXPECT_LE(IntegerAt(one, "rev"), 2);
        EXPECT_EQ(IntegerAt(one, "pricing.savings"),
                  IntegerAt(one, "pricing.list") - IntegerAt(one, "pricing.retail"));
      }
    };
    test.settled = [&](World* world) {
      if (row.registry) {
        auto products = *world->store.Find("products", Doc());
        auto skus = *world->store.Find("sku_registry", Doc());
        ASSERT_EQ(products.size(), skus.size());
        EXPECT_TRUE(skus.empty() || skus[0]["product"].BinaryEquals(products[0]["_id"]));
      }
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), row.min_runs);
  }
}

// The sweeper itself, over a sku that a crashed put has kept and one whose product is there.
TEST_P(CatalogCrashTest, JobsSurviveTheirOwnCrashes) {
  for (const char* job : {"sweep", "purge"}) {
    SCOPED_TRACE(job);
    CrashCase test;
    test.once = [](World* world) {
      ASSERT_TRUE(CatalogOf(world, true).CreateIndexes().ok());
      for (const char* point : {"catalog.put.c1", "catalog.put.c2"}) {
        TestCrash crash;
        crash.at = point;
        EXPECT_TRUE(Is(CatalogOf(world, true, world->seams(&crash))
                           .Put(Album(point), std::nullopt, point)
                           .status(),
                       Error::kCrashed));
      }
      world->clock.Advance(hours(25));
    };
    test.operation = [&](World* world, const Seams& seams) {
      Catalog catalog = CatalogOf(world, true, seams);
      return job == std::string("sweep") ? catalog.SweepSkus().status()
                                         : catalog.PurgeKeys().status();
    };
    test.settle = [](World* world) {
      EXPECT_TRUE(CatalogOf(world, true).SweepSkus().ok());
      EXPECT_TRUE(CatalogOf(world, true).PurgeKeys().ok());
    };
    test.always = [](World* world) {
      EXPECT_EQ(*world->store.Count("products", Doc()), 1);
      EXPECT_EQ(*world->store.Count("sku_registry", Doc("_id", "catalog.put.c2")), 1);
    };
    test.settled = [](World* world) {
      EXPECT_EQ(*world->store.Count("sku_registry", Doc()), 1);
      EXPECT_EQ(*world->store.Count("idempotency", Doc()), 0);
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
}

// New products and changes of the same few skus, with and without the registry of skus.
class RandomCatalog : public RandomWorkload {
 public:
  explicit RandomCatalog(bool registry) : registry_(registry) {}

  void Setup(World* world) override {
    ASSERT_TRUE(CatalogOf(world, registry_).CreateIndexes().ok());
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    Catalog catalog = CatalogOf(world, registry_, seams);
    if (chance->OneIn(8)) {
      chance->Note("sweep");
      return catalog.SweepSkus().status();
    }
    const std::string sku = "s" + std::to_string(chance->Below(3));
    const CallKey key = chance->OneIn(2) ? CallKey("k" + std::to_string(++keys_)) : std::nullopt;
    std::optional<int64_t> rev;
    if (auto now = catalog.Get(sku); now.ok() && !chance->OneIn(4)) {
      rev = now->rev - (chance->OneIn(4) ? 1 : 0);
    }
    chance->Note("put " + sku + " " + (rev ? std::to_string(*rev) : "new"));
    return catalog.Put(Album(sku, 1200 + chance->Below(500)), rev, key).status();
  }

  void Settle(World* world) override {
    world->clock.Advance(std::chrono::minutes(10));
    EXPECT_TRUE(CatalogOf(world, registry_).SweepSkus().ok());
  }

  // One product per sku, and its sku is kept for it.
  void ExpectAlways(World* world) override {
    for (const Document& product : world->All("products")) {
      const std::string sku(TextAt(product, "sku"));
      EXPECT_EQ(*world->store.Count("products", Doc("sku", sku)), 1) << sku;
      EXPECT_EQ(IntegerAt(product, "pricing.savings"),
                IntegerAt(product, "pricing.list") - IntegerAt(product, "pricing.retail"));
      if (registry_) {
        EXPECT_EQ(*world->store.Count("sku_registry", Doc("_id", sku, "product", product["_id"])),
                  1)
            << sku;
      }
    }
  }
  void ExpectSettled(World* /*world*/) override {}

  // Skus that crashed puts have kept are free again.
  void Rest(World* world) override {
    world->clock.Advance(hours(25));
    Catalog catalog = CatalogOf(world, registry_);
    EXPECT_TRUE(catalog.PurgeKeys().ok());
    ASSERT_TRUE(catalog.SweepSkus().ok());
    EXPECT_EQ(catalog.SweepSkus()->changed, 0);
    if (registry_) {
      EXPECT_EQ(world->All("sku_registry").size(), world->All("products").size());
    }
  }

 private:
  bool registry_;
  int keys_ = 0;
};

const RandomSystem kRandom("Catalog", [](Chance* chance) {
  return std::make_unique<RandomCatalog>(chance->OneIn(2));
});

INSTANTIATE_TEST_SUITE_P(Places, CatalogCrashTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
