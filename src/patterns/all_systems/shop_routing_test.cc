// SPDX-License-Identifier: Apache-2.0
//
// Roll-ups, catalog, categories and inventory on shards: which calls a router sends to the shards
// of one key, and which to all.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "patterns/testing/catalog.h"
#include "patterns/testing/rollups.h"
#include "patterns/testing/router.h"
#include "patterns/testing/shop.h"
#include "patterns/testing/tree.h"

namespace quire::patterns {
namespace {

using std::chrono::minutes;

class ShopRoutingTest : public RoutingTest {};

// Only the search for what is new asks all shards; whatever is computed belongs to one user.
TEST_P(ShopRoutingTest, Rollups) {
  Router router(Rollups::ShardKeys());
  ExpectUniqueOnShards(Rollups::Indexes(), Rollups::ShardKeys());
  const Rollups rollups = RollupsOf(&world_, Through(&router));
  ASSERT_TRUE(rollups.CreateIndexes().ok());
  const RollupEvent event{"u", ToDate({2024, 1, 1, 10, 0, 0}), 1};
  const bson::Date day = ToDate({2024, 1, 2, 0, 0, 0});
  const std::set<std::string> stored = {"events",       "stats.hourly",  "stats.daily",
                                        "stats.weekly", "stats.monthly", "stats.yearly"};
  auto wait = [&] { world_.clock.Advance(minutes(2)); };
  ExpectRoutes(&router, {{"record", [&] { return rollups.Record(event).ok(); }},
                         {"run",
                          [&] {
                            wait();
                            return rollups.Run()->changed == 5;
                          },
                          {"events"}},
                         {"close", [&] { return rollups.Close(day).ok(); }, {"events"}},
                         {"run with what is late",
                          [&] {
                            const bool recorded = rollups.Record(event).ok();
                            wait();
                            return recorded && rollups.Run()->changed == 4;
                          },
                          {"events"}},
                         {"repair", [&] { return rollups.Repair(kFrom, kTo).ok(); }, stored}});
  for (Level level : kLevels) {
    ExpectRoutes(
        &router,
        {{"query", [&] { return rollups.Query("u", level, kFrom, kTo)->front().count == 2; }}});
  }
}

// Prices, texts and skus are of no type.
TEST_P(ShopRoutingTest, Catalog) {
  for (bool registry : {false, true}) {
    SCOPED_TRACE(registry);
    World world(GetParam());
    Router router(CatalogOf(&world, registry).ShardKeys());
    ExpectUniqueOnShards(CatalogOf(&world, registry).Indexes(),
                         CatalogOf(&world, registry).ShardKeys());
    Seams seams = world.seams();
    seams.queries = &router;
    const Catalog catalog = CatalogOf(&world, registry, seams);
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    const std::set<std::string> all = {"products"};
    const std::set<std::string> by_sku = registry ? all : std::set<std::string>();
    const std::set<std::string> by_type = registry ? std::set<std::string>() : all;
    auto page = [](const Result<ProductPage>& found) {
      return found.ok() && found->products.size() == 1;
    };
    ExpectRoutes(
        &router,
        {{"put", [&] { return catalog.Put(Album("a"), {}, "k").ok(); }},
         {"put again", [&] { return Is(catalog.Put(Album("a")).status(), Error::kDuplicateSku); }},
         {"get", [&] { return catalog.Get("a").ok(); }, by_sku},
         {"change", [&] { return catalog.Put(Album("a", 1300), 1).ok(); }, by_sku},
         {"genre", [&] { return page(catalog.AlbumsByGenre("jazz")); }, by_type},
         {"artist", [&] { return page(catalog.AlbumsByArtist("John Coltrane")); }, by_type},
         {"actor", [&] { return catalog.FilmsByActor("x").ok(); }, by_type},
         {"director", [&] { return catalog.FilmsByDirector("x").ok(); }, by_type},
         {"newest", [&] { return page(catalog.Newest(kAlbum)); }, by_type},
         {"price", [&] { return page(catalog.ByPrice(kAlbum, 0, 9999, PriceOrder::kDearest)); },
          by_type},
         {"prefix", [&] { return page(catalog.TitlePrefix(kAlbum, "Title")); }, by_type},
         {"nocase", [&] { return page(catalog.TitlePrefixNoCase(kAlbum, "TITLE")); }, by_type},
         {"contains", [&] { return page(catalog.TitleContains(kAlbum, "itl")); }, by_type},
         {"facets", [&] { return catalog.CountFacets({.type = kAlbum}).ok(); }, by_type},
         {"discounted", [&] { return page(catalog.Discounted(1)); }, all},
         {"text", [&] { return page(catalog.Text("title", Words::kAny)); }, all}});
    if (registry) {
      TestCrash crash;
      crash.at = "catalog.put.c2";
      EXPECT_FALSE(CatalogOf(&world, true, world.seams(&crash)).Put(Album("b")).ok());
      world.clock.Advance(std::chrono::hours(25));
      ExpectRoutes(&router, {{"sweep",
                              [&] { return catalog.SweepSkus()->changed == 1; },
                              {"products", "sku_registry"}}});
    }
  }
}

// Few enough for one shard. On several, by id, slugs and what is below are asked of all.
TEST_P(ShopRoutingTest, Categories) {
  for (const ShardKeySpec& key : Categories::ShardKeys()) {
    EXPECT_NE(key.collection, "categories");
  }
  Router router({{"categories", R"({"_id": "hashed"})"}, {"tree_lock", R"({"_id": "hashed"})"}});
  const Jazz jazz = MakeJazz(&world_);
  const Categories tree = TreeOf(&world_, Backend::kCompensating, Through(&router));
  const std::set<std::string> all = {"categories"};
  ExpectRoutes(&router,
               {{"add", [&] { return tree.Add("Cool", "cool", jazz.bop).ok(); }},
                {"by id", [&] { return tree.GetById(jazz.modal).ok(); }},
                {"is ancestor", [&] { return *tree.IsAncestor(jazz.bop, jazz.modal); }},
                {"by parents", [&] { return tree.BreadcrumbByParents(jazz.modal).ok(); }},
                {"slug", [&] { return tree.Get("bop").ok(); }, all},
                {"children", [&] { return tree.Children(jazz.bop)->categories.size() == 2; }, all},
                {"below", [&] { return tree.Descendants(jazz.bop)->categories.size() == 2; }, all},
                {"move", [&] { return tree.Move(jazz.bop, jazz.swing).ok(); }, all},
                {"rename", [&] { return tree.Rename(jazz.bop, "B", {}).ok(); }, all},
                {"remove", [&] { return tree.Remove(jazz.modal).ok(); }, all}});
}

// What a customer does goes to the shards of the cart and of its articles.
TEST_P(ShopRoutingTest, Inventory) {
  for (Backend backend : {Backend::kCompensating, Backend::kTransactional}) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    Router router(Inventory::ShardKeys());
    ExpectUniqueOnShards(Inventory::Indexes(), Inventory::ShardKeys());
    Seams seams = world.seams();
    seams.queries = &router;
    const Inventory inventory = shop.At(&world, backend, seams);
    const std::string left = *inventory.NewCart();
    ExpectRoutes(
        &router,
        {{"restock", [&] { return inventory.Restock("x", 2, "r").ok(); }},
         {"write off", [&] { return inventory.WriteOff("x", 2, "w").ok(); }},
         {"new cart", [&] { return inventory.NewCart("c").ok(); }},
         {"add", [&] { return inventory.AddItem(left, {.sku = "x", .price = 1}, "a").ok(); }},
         {"add more", [&] { return inventory.AddItem(left, {.sku = "x", .price = 1}).ok(); }},
         {"increase", [&] { return inventory.SetQuantity(left, "x", 2, 4).ok(); }},
         {"decrease", [&] { return inventory.SetQuantity(left, "x", 4, 1, "d").ok(); }},
         {"look", [&] { return inventory.GetStock("x").ok() && inventory.GetCart(left).ok(); }},
         {"decline",
          [&] {
            shop.gateway.answer = PaymentGateway::Charged::kDeclined;
            return Is(inventory.Checkout(shop.cart), Error::kPaymentFailed);
          }},
         {"checkout",
          [&] {
            shop.gateway.answer = PaymentGateway::Charged::kCharged;
            return inventory.Checkout(shop.cart, "p").ok();
          }},
         {"expire",
          [&] {
            world.clock.Advance(minutes(31));
            return inventory.Expire()->changed == 2;
          },
          {"cart", "product"}},
         {"recover", [&] { return inventory.Recover().ok(); }, {"cart"}},
         {"cleanup", [&] { return inventory.Cleanup().ok(); }, {"product"}}});
  }
}

QUIRE_IN_BOTH_PLACES(ShopRoutingTest);

}  // namespace
}  // namespace quire::patterns
