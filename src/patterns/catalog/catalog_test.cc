// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/catalog.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "patterns/testing/catalog.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

class CatalogTest : public BothPlaces {};

TEST_P(CatalogTest, PutComputesAndGuards) {
  for (bool registry : {false, true}) {
    World world(GetParam());
    Catalog catalog = CatalogOf(&world, registry);
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    ASSERT_EQ(*catalog.Put(Album("a")), 1);
    Product stored = *catalog.Get("a");
    EXPECT_EQ(stored.savings, 100);
    EXPECT_EQ(stored.pct_savings, 8);
    EXPECT_EQ(stored.primary_genre, "Jazz");
    EXPECT_EQ(stored.rev, 1);
    EXPECT_EQ(ErrorName(catalog.Put(Album("a")).status()), "DuplicateSku");
    EXPECT_EQ(*catalog.Put(Album("a", 1000, 900), 1), 2);
    EXPECT_EQ(catalog.Get("a")->pct_savings, 10);
    EXPECT_EQ(ErrorName(catalog.Put(Album("a"), 1).status()), "Conflict");
    EXPECT_EQ(ErrorName(catalog.Put(Album("b"), 1).status()), "NotFound");
    EXPECT_EQ(ErrorName(catalog.Get("b").status()), "NotFound");
    EXPECT_EQ(ErrorName(catalog.Put(Album("b", 10, 11)).status()), "InvalidPrice");
    EXPECT_EQ(ErrorName(catalog.Put(Album("b", -1, -2)).status()), "InvalidPrice");
    EXPECT_EQ(ErrorName(catalog.Put(Album("")).status()), "InvalidName");
    Product wrong = Album("b");
    wrong.details = Doc("genre", "Jazz");
    EXPECT_EQ(ErrorName(catalog.Put(wrong).status()), "WrongType");
    EXPECT_TRUE(catalog.Put(Album("free", 0, 0)).ok());
    EXPECT_EQ(catalog.Get("free")->pct_savings, 0);
    EXPECT_TRUE(catalog.Put(Album("dear", INT64_MAX, 1)).ok());
    EXPECT_EQ(catalog.Get("dear")->pct_savings, 99);
  }
}

TEST_P(CatalogTest, DocumentsHaveTheirFields) {
  for (bool registry : {false, true}) {
    World world(GetParam());
    Catalog catalog = CatalogOf(&world, registry);
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    const bson::ObjectId category = bson::ObjectId::Generate();
    const Document shipping =
        Doc("weight", 6, "dimensions", Doc("width", 10, "height", 10, "depth", 1));
    Product album{.sku = "00e8da9b",
                  .type = kAlbum,
                  .title = "A Love Supreme",
                  .description = "by John Coltrane",
                  .asin = "B0000A118M",
                  .shipping = shipping,
                  .list = 1200,
                  .retail = 1100,
                  .category_ids = {category}};
    album.details = Doc("artist", "John Coltrane", "genre", List("jazz", "General"), "tracks",
                        List("Resolution"), "issue_date", bson::Date{5});
    ASSERT_TRUE(catalog.Put(album).ok());
    const Document stored = world.All("products").at(0);
    EXPECT_EQ(
        JsonOf(stored),
        JsonOf(Doc("_id", stored["_id"], "sku", "00e8da9b", "type", "Audio Album", "title",
                   "A Love Supreme", "title_lc", "a love supreme", "description",
                   "by John Coltrane", "asin", "B0000A118M", "shipping", shipping, "pricing",
                   Doc("list", int64_t{1200}, "retail", int64_t{1100}, "savings", int64_t{100},
                       "pct_savings", 8),
                   "details",
                   Doc("artist", "John Coltrane", "genre", List("Jazz", "General"), "tracks",
                       List("Resolution"), "issue_date", bson::Date{5}),
                   "primary_genre", "Jazz", "category_ids", List(category), "rev", int64_t{1})));
    const Product read = *catalog.Get("00e8da9b");
    EXPECT_EQ(read.description, album.description);
    EXPECT_EQ(read.asin, album.asin);
    EXPECT_EQ(read.shipping.bytes(), shipping.bytes());
    EXPECT_EQ(read.category_ids, album.category_ids);
    if (registry) {
      EXPECT_EQ(JsonOf(world.All("sku_registry").at(0)),
                JsonOf(Doc("_id", "00e8da9b", "product", stored["_id"], "at", world.clock.Now(),
                           "used", true)));
    }
  }
}

// A product that is refused leaves its sku to the next one; a change that is refused, the product.
TEST_P(CatalogTest, WhatIsTooLargeChangesNothing) {
  for (bool registry : {false, true}) {
    World world(GetParam());
    Catalog catalog = CatalogOf(&world, registry);
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    Product large = Album("a");
    large.details = Doc("text", std::string(17 << 20, 'x'));
    EXPECT_EQ(ErrorName(catalog.Put(large).status()), "DocumentTooLarge");
    EXPECT_EQ(*world.store.Count("products", Doc()), 0);
    ASSERT_TRUE(catalog.Put(Album("a")).ok());
    EXPECT_EQ(ErrorName(catalog.Put(large, 1).status()), "DocumentTooLarge");
    EXPECT_EQ(catalog.Get("a")->rev, 1);
  }
}

// With the registry a change may give a product another place on the shards.
TEST_P(CatalogTest, AChangeMayGiveAnotherTypeAndGenre) {
  for (bool registry : {false, true}) {
    World world(GetParam());
    Catalog catalog = CatalogOf(&world, registry);
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    ASSERT_TRUE(catalog.Put(Album("a")).ok());
    Product film = *catalog.Get("a");
    film.type = kFilm;
    film.details = Doc("genre", List("Drama"));
    EXPECT_EQ(*catalog.Put(film, 1), 2);
    EXPECT_EQ(catalog.Get("a")->type, kFilm);
    EXPECT_EQ(catalog.Get("a")->primary_genre, "Drama");
    EXPECT_EQ(ErrorName(catalog.Put(film, 1).status()), "Conflict");
    EXPECT_EQ(ErrorName(catalog.Put(Album("b"), 1).status()), "NotFound");
    ExpectNothingWrong(catalog.CheckInvariants());
  }
}

TEST_P(CatalogTest, KeysGiveTheFirstOutcome) {
  Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*catalog.Put(Album("a"), std::nullopt, "new"), 1);
    EXPECT_EQ(*catalog.Put(Album("a", 1900), 1, "change"), 2);
    EXPECT_EQ(ErrorName(catalog.Put(Album("a", 1800), 1, "late").status()), "Conflict");
    EXPECT_EQ(ErrorName(catalog.Put(Album("c"), std::nullopt, "new").status()),
              "IdempotencyKeyReuse");
  }
  world_.clock.Advance(hours(25));
  EXPECT_EQ(catalog.PurgeKeys()->changed, 3);
}

TEST_P(CatalogTest, OneOfManyWriters) {
  for (bool registry : {false, true}) {
    World world(GetParam());
    ASSERT_TRUE(CatalogOf(&world, registry).CreateIndexes().ok());
    std::atomic<int> made{0};
    std::atomic<int> changed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Catalog catalog = CatalogOf(&world, registry);
        for (int i = 0; i < 6; ++i) {
          const std::string sku = "s" + std::to_string(i);
          auto put = catalog.Put(Album(sku, 1200 + t));
          made += put.ok() ? 1 : 0;
          EXPECT_TRUE(put.ok() || Is(put.status(), Error::kDuplicateSku));
          auto change = catalog.Put(Album(sku, 2000 + t), 1);
          changed += change.ok() ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(made, 6);
    EXPECT_EQ(changed, 6);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(CatalogOf(&world, registry).Get("s" + std::to_string(i))->rev, 2);
    }
  }
}

// Of three that crashed puts have kept, one cannot be freed just now.
TEST_P(CatalogTest, OneFailureDoesNotStopTheSweep) {
  ASSERT_TRUE(CatalogOf(&world_, true).CreateIndexes().ok());
  for (const char* sku : {"a", "b", "c"}) {
    TestCrash crash;
    crash.at = "catalog.put.c1";
    EXPECT_FALSE(CatalogOf(&world_, true, world_.seams(&crash)).Put(Album(sku)).ok());
  }
  const Catalog catalog = CatalogOf(&world_, true);
  EXPECT_EQ(catalog.SweepSkus()->examined, 0);  // not yet
  EXPECT_EQ(ErrorName(catalog.Put(Album("a")).status()), "DuplicateSku");
  world_.clock.Advance(hours(25));
  TestFaults faults;
  faults.at = 2;  // after the lease
  faults.fault = FaultHook::Fault::kFailBefore;
  auto report = CatalogOf(&world_, true, world_.seams(nullptr, &faults)).SweepSkus();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->errors, 1);
  EXPECT_EQ(report->changed, 2);
  EXPECT_EQ(catalog.SweepSkus()->changed, 1);
  EXPECT_TRUE(catalog.Put(Album("a")).ok());
}

QUIRE_IN_BOTH_PLACES(CatalogTest);

}  // namespace
}  // namespace quire::patterns
