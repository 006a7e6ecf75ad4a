// SPDX-License-Identifier: Apache-2.0
//
// A key stands for one call of the roll-ups, the catalog, the categories or the inventory with all
// its arguments.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "patterns/testing/catalog.h"
#include "patterns/testing/keys.h"
#include "patterns/testing/rollups.h"
#include "patterns/testing/shop.h"
#include "patterns/testing/tree.h"

namespace quire::patterns {
namespace {

class ShopKeyReuseTest : public BothPlaces {};

TEST_P(ShopKeyReuseTest, Rollups) {
  const Rollups rollups = RollupsOf(&world_);
  ASSERT_TRUE(rollups.Record({"u", bson::Date{1}, 2}, kKey).ok());
  ASSERT_TRUE(rollups.Record({"u", bson::Date{1}, 2}, kKey).ok());
  for (const RollupEvent& other :
       {RollupEvent{"v", bson::Date{1}, 2}, RollupEvent{"u", bson::Date{2}, 2},
        RollupEvent{"u", bson::Date{1}, 3}}) {
    EXPECT_TRUE(Is(rollups.Record(other, kKey), Error::kIdempotencyKeyReuse));
  }
  ASSERT_TRUE(rollups.ReserveIds("s", 2, kKey).ok());
  EXPECT_TRUE(Is(rollups.ReserveIds("t", 2, kKey).status(), Error::kIdempotencyKeyReuse));
  EXPECT_TRUE(Is(rollups.ReserveIds("s", 3, kKey).status(), Error::kIdempotencyKeyReuse));
}

TEST_P(ShopKeyReuseTest, Catalog) {
  const Catalog catalog = CatalogOf(&world_);
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  ASSERT_TRUE(catalog.Put(Album("old")).ok());
  auto put = [&](const std::function<void(Product*)>& edit,
                 std::optional<int64_t> rev = std::nullopt) -> std::function<Status()> {
    return [&catalog, edit, rev] {
      Product product = Album(rev ? "old" : "new");
      edit(&product);
      return catalog.Put(product, rev, kKey).status();
    };
  };
  auto same = [](Product*) {};
  ExpectKeyStandsForOne(
      &world_,
      {{"new",
        put(same),
        {put([](Product* p) { p->sku = "x"; }), put([](Product* p) { p->type = "x"; }),
         put([](Product* p) { p->title = "x"; }), put([](Product* p) { p->description = "x"; }),
         put([](Product* p) { p->asin = "x"; }),
         put([](Product* p) { p->shipping = Doc("weight", 1); }),
         put([](Product* p) { p->list += 1; }), put([](Product* p) { p->retail += 1; }),
         put([](Product* p) { p->details = Doc("artist", "x"); }),
         put([](Product* p) { p->category_ids = {bson::ObjectId::Generate()}; })}},
       {"change", put(same, 1), {put(same, 2), put([](Product* p) { p->list += 1; }, 1)}}});
}

TEST_P(ShopKeyReuseTest, Categories) {
  for (Backend backend : {Backend::kCompensating, Backend::kTransactional}) {
    World world(GetParam());
    const Jazz jazz = MakeJazz(&world);
    const Categories tree = TreeOf(&world, backend);
    auto add = [&](const char* name, const char* slug, const ParentId& parent) {
      return [=, &tree] { return tree.Add(name, slug, parent, kKey).status(); };
    };
    auto move = [&](const CategoryId& id, const ParentId& parent) {
      return [=, &tree] { return tree.Move(id, parent, kKey); };
    };
    auto rename = [&](const CategoryId& id, const std::optional<std::string>& name,
                      const std::optional<std::string>& slug) {
      return [=, &tree] { return tree.Rename(id, name, slug, kKey); };
    };
    auto remove = [&](const CategoryId& id, bool keep_children) {
      return [=, &tree] { return tree.Remove(id, {.keep_children = keep_children}, kKey); };
    };
    ExpectKeyStandsForOne(
        &world,
        {{"add",
          add("C", "c", jazz.bop),
          {add("D", "c", jazz.bop), add("C", "d", jazz.bop), add("C", "c", jazz.swing),
           add("C", "c", {})}},
         {"move",
          move(jazz.bop, jazz.swing),
          {move(jazz.modal, jazz.swing), move(jazz.bop, jazz.ragtime), move(jazz.bop, {})}},
         {"rename",
          rename(jazz.bop, "B", "b"),
          {rename(jazz.swing, "B", "b"), rename(jazz.bop, "C", "b"), rename(jazz.bop, "B", "c"),
           rename(jazz.bop, {}, "b"), rename(jazz.bop, "B", {})}},
         {"remove",
          remove(jazz.swing, false),
          {remove(jazz.swing, true), remove(jazz.modal, false)}}});
  }
}

TEST_P(ShopKeyReuseTest, Inventory) {
  for (Backend backend : {Backend::kCompensating, Backend::kTransactional}) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    const Inventory inventory = shop.At(&world, backend);
    const std::string other = *inventory.NewCart();
    auto restock = [&](const char* sku, int64_t quantity) {
      return [=, &inventory] { return inventory.Restock(sku, quantity, kKey); };
    };
    auto write_off = [&](const char* sku, int64_t quantity) {
      return [=, &inventory] { return inventory.WriteOff(sku, quantity, kKey); };
    };
    auto add = [&](const std::string& cart, const CartItem& item) {
      return [=, &inventory] { return inventory.AddItem(cart, item, kKey); };
    };
    auto set = [&](const std::string& cart, const char* sku, int64_t from, int64_t to) {
      return [=, &inventory] { return inventory.SetQuantity(cart, sku, from, to, kKey); };
    };
    auto checkout = [&](const std::string& cart) {
      return [=, &inventory] { return inventory.Checkout(cart, kKey); };
    };
    ExpectKeyStandsForOne(
        &world,
        {{"restock", restock("x", 2), {restock("y", 2), restock("x", 3)}},
         {"write off", write_off("x", 2), {write_off("y", 2), write_off("x", 3)}},
         {"new cart", [&] { return inventory.NewCart(kKey).status(); }, {}},
         {"add",
          add(shop.cart, {"x", 1, 7, Doc("a", 1)}),
          {add(other, {"x", 1, 7, Doc("a", 1)}), add(shop.cart, {"y", 1, 7, Doc("a", 1)}),
           add(shop.cart, {"x", 2, 7, Doc("a", 1)}), add(shop.cart, {"x", 1, 8, Doc("a", 1)}),
           add(shop.cart, {"x", 1, 7, Doc("a", 2)})}},
         {"set",
          set(shop.cart, "y", 3, 2),
          {set(other, "y", 3, 2), set(shop.cart, "x", 3, 2), set(shop.cart, "y", 2, 3),
           set(shop.cart, "y", 3, 1)}},
         {"checkout", checkout(shop.cart), {checkout(other)}}});
    ExpectStock(&world, shop);
  }
}

QUIRE_IN_BOTH_PLACES(ShopKeyReuseTest);

}  // namespace
}  // namespace quire::patterns
