// SPDX-License-Identifier: Apache-2.0
//
// CheckInvariants of the toolkit, transfers, event log, reports, roll-ups, catalog, categories and
// inventory: silent after the systems' own calls, and not when something else has written.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "patterns/testing/breaking.h"
#include "patterns/testing/shop.h"
#include "patterns/testing/tree.h"
#include "patterns/walk.h"
#include "quire/patterns/attributes.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/catalog.h"
#include "quire/patterns/contacts.h"
#include "quire/patterns/event_log.h"
#include "quire/patterns/migrations.h"
#include "quire/patterns/nodes.h"
#include "quire/patterns/orders.h"
#include "quire/patterns/reports.h"
#include "quire/patterns/rollups.h"
#include "quire/patterns/transfers.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using bson::OwnedValue;
using bson::Value;
using std::chrono::minutes;

class InvariantsTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(InvariantsTest, EmbeddedContacts) {
  Contacts book(world_.client, world_.database, {.seams = world_.seams()});
  ASSERT_TRUE(book.Create("1", "a", "0").ok());
  ASSERT_TRUE(book.AddNumber("1", "n").ok());
  Breaking breaking(&world_, book);
  breaking.Update("contacts", Doc("_id", "1"), Doc("$push", Doc("numbers", "n")),
                  {"a number twice: 1"});
}

TEST_P(InvariantsTest, ReferencedContacts) {
  Contacts book(world_.client, world_.database,
                {.model = ContactModel::kReferenced, .seams = world_.seams()});
  for (const char* id : {"1", "2"}) {
    ASSERT_TRUE(book.Create(id, "a", "0", id).ok());
    ASSERT_TRUE(book.AddNumber(id, "n").ok());
  }
  ASSERT_TRUE(book.Delete("2").ok());
  Breaking breaking(&world_, book);
  breaking.Delete("contacts", Doc("_id", "1"), {"a number without a contact: n"});
}

TEST_P(InvariantsTest, Nodes) {
  Nodes nodes(world_.client, world_.database, world_.seams());
  nodes.Register("photo", {.required = {{"width", bson::Type::kInt64}}, .schema_version = 2});
  ASSERT_TRUE(
      nodes.Insert(Doc("_id", 1, "type", "photo", "url", "/a", "title", "t", "width", 5)).ok());
  Breaking breaking(&world_, nodes);
  breaking.Update("nodes", Doc("_id", 1), Doc("$unset", Doc("width", 1)),
                  {"1: MissingField: width"});
  breaking.Update("nodes", Doc("_id", 1), Doc("$set", Doc("type", "x")), {"1: UnknownType: \"x\""});
  // Of an older version: what it lacks is for a migration.
  breaking.Update("nodes", Doc("_id", 1),
                  Doc("$unset", Doc("width", 1), "$set", Doc("schema_version", 1)), {});
}

TEST_P(InvariantsTest, Migrations) {
  Migrations migrations(world_.client, world_.database, world_.seams());
  migrations.Define("m",
                    {"nodes", Doc("short", Doc("$exists", false)), Doc("$set", Doc("short", ""))});
  ASSERT_TRUE(world_.store.Insert("nodes", Doc("_id", 1)).ok());
  EXPECT_TRUE(migrations.CheckInvariants()->empty());  // it has not begun
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(migrations.Step("m").ok());
  }
  Breaking breaking(&world_, migrations);
  breaking.Insert("nodes", Doc("_id", 2), {"complete, but not for 2: m"});
}

TEST_P(InvariantsTest, Attributes) {
  AttributeCatalog catalog(world_.client, world_.database, AttributeEncoding::kKeyValue, {},
                           world_.seams());
  ASSERT_TRUE(catalog.Put("p", {{"size", OwnedValue(Value(1))}}).ok());
  Breaking breaking(&world_, catalog);
  breaking.Update("products", Doc("_id", "p"),
                  Doc("$push", Doc("properties", Doc("k", "size", "v", 2))),
                  {"p: NameClash: size"});
  breaking.Update("products", Doc("_id", "p"), Doc("$set", Doc("properties", 1)),
                  {"p: WrongType: 1"});
}

TEST_P(InvariantsTest, TransfersAndOrders) {
  Transfers bank(world_.client, world_.database, {.seams = world_.seams()});
  ASSERT_TRUE(bank.OpenAccount("a", 100).ok() && bank.OpenAccount("b", 0).ok());
  ASSERT_TRUE(bank.Transfer(60, "a", "b", "k").ok());
  ASSERT_FALSE(bank.Transfer(60, "a", "b").ok());
  {
    Breaking breaking(&world_, bank);
    breaking.Update("accounts", Doc("_id", "a"), Doc("$set", Doc("balance", -1)), {"below 0: a"});
    breaking.Update("accounts", Doc("_id", "b"), Doc("$push", Doc("txns", "x")),
                    {"takes part in a transfer: b"});
    breaking.Update("transactions", Doc("_id", "k"), Doc("$set", Doc("state", "commit")),
                    {"has not ended: \"k\""});
  }
  Orders orders(world_.client, world_.database, world_.seams());
  ASSERT_TRUE(orders.Create("o").ok() && orders.Add("o", "x", 11022, 3).ok());
  Breaking breaking(&world_, orders);
  breaking.Update("orders", Doc("_id", "o"), Doc("$inc", Doc("total", 1)), {"the total of o"});
  breaking.Update("orders", Doc("_id", "o"),
                  Doc("$push", Doc("items", Doc("sku", "x", "qty", 1, "price", 0))),
                  {"an article twice: o"});
}

TEST_P(InvariantsTest, EventLog) {
  EventLog daily(world_.client, world_.database,
                 {.retention = Retention::kDailyCollections, .seams = world_.seams()});
  const Date now = world_.clock.Now();
  ASSERT_EQ(daily.InsertMany({Doc("_id", 1, "time", now)})->inserted, 1);
  const std::string today = "events_" + DayKey(now);
  {
    Breaking breaking(&world_, daily);
    breaking.Insert(today, Doc("_id", 2, "time", Date{now.millis - 86'400'000}),
                    {"events of another time: " + world_.database + "." + today});
    breaking.Insert(today, Doc("_id", 2, "time", Date{now.millis + 86'400'000}),
                    {"events of another time: " + world_.database + "." + today});
  }
  EventLog renamed(world_.client, world_.database,
                   {.retention = Retention::kRenamedCollections, .seams = world_.seams()});
  ASSERT_EQ(renamed.InsertMany({Doc("_id", 1, "time", now)})->inserted, 1);
  ASSERT_EQ(renamed.Rotate()->changed, 1);
  Breaking breaking(&world_, renamed);
  breaking.Insert("events", Doc("_id", 1, "time", now), {"in two collections: 1"});
}

TEST_P(InvariantsTest, Reports) {
  for (ReportLayout layout :
       {ReportLayout::kFlat, ReportLayout::kHierarchical, ReportLayout::kSplit}) {
    World world(GetParam());
    Reports reports(world.client, world.database, {.layout = layout, .seams = world.seams()});
    const Date at = ToDate({2000, 10, 10, 23, 59, 30});
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(reports.LogHit({Date{at.millis - i * 3'600'000}, "s", "/p", 2}).ok());
    }
    ASSERT_TRUE(reports.Preallocate(at, "s", "/q").ok());
    const std::string id = "20001010/s/p";
    Breaking breaking(&world, reports);
    const bool split = layout == ReportLayout::kSplit;
    const std::string minute = layout == ReportLayout::kFlat ? "minute.0" : "minute.0.0";
    breaking.Update("stats.daily", Doc("_id", id), Doc("$inc", Doc(minute, 1)),
                    {"hour 0 of " + id});
    Lines lines = {"hour 3 of " + id, "the sum of " + id};
    if (split) {
      lines = {"hour 3 of " + id, "daily.10 of 200010/s/p"};
    }
    breaking.Update("stats.daily", Doc("_id", id), Doc("$inc", Doc("hourly.3", 1)), lines);
    if (split) {
      breaking.Update("stats.monthly", Doc("_id", "200010/s/p"), Doc("$inc", Doc("daily.9", 1)),
                      {"daily.9 of 200010/s/p"});
    }
  }
}

TEST_P(InvariantsTest, StripedReports) {
  Reports reports(world_.client, world_.database, {.stripes = 2, .seams = world_.seams()});
  const Date at = ToDate({2000, 10, 10, 23, 59, 30});
  for (const char* batch : {"a", "b", "c"}) {
    ASSERT_TRUE(reports.LogBatch(batch, world_.clock.Now(), {{at, "s", "/p#7", 2}}).ok());
  }
  Breaking breaking(&world_, reports);
  for (const char* stripe : {"#0", "#1"}) {
    const std::string month = std::string("200010/s/p#7") + stripe;
    breaking.Update("stats.monthly", Doc("_id", month), Doc("$inc", Doc("daily.9", 1)),
                    {"daily.9 of " + month});
  }
}

TEST_P(InvariantsTest, Rollups) {
  Rollups rollups(world_.client, world_.database, {.seams = world_.seams()});
  ASSERT_TRUE(rollups.CreateIndexes().ok());
  const Date at = ToDate({2010, 10, 10, 14, 17, 22});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(rollups.Record({"rick", Date{at.millis + i * 1000}, 10.0 + i}).ok());
  }
  world_.clock.Advance(minutes(2));
  ASSERT_TRUE(rollups.Run().ok());
  Breaking breaking(&world_, rollups);
  auto wrong = [](const char* level, const char* start) {
    return std::string("stats.") + level + " of rick, {\"$date\":\"" + start + "\"}";
  };
  breaking.Update("stats.yearly", Doc("_id.u", "rick"), Doc("$inc", Doc("value.count", 1)),
                  {wrong("yearly", "2010-01-01T00:00:00Z")});
  breaking.Update("stats.daily", Doc("_id.u", "rick"), Doc("$inc", Doc("value.total", 1.0)),
                  {wrong("daily", "2010-10-10T00:00:00Z"), wrong("weekly", "2010-10-10T00:00:00Z"),
                   wrong("monthly", "2010-10-01T00:00:00Z")});
  breaking.Delete("events", Doc("length", 10.0), {wrong("hourly", "2010-10-10T14:00:00Z")});
  breaking.Delete(
      "stats.hourly", Doc(),
      {wrong("hourly", "2010-10-10T14:00:00Z"), wrong("daily", "2010-10-10T00:00:00Z")});
  breaking.Delete("stats.yearly", Doc(), {wrong("yearly", "2010-01-01T00:00:00Z")});
  breaking.Update("stats.weekly", Doc(), Doc("$inc", Doc("value.mean", 1.0)),
                  {wrong("weekly", "2010-10-10T00:00:00Z")});
  ASSERT_TRUE(rollups.Close(ToDate({2010, 10, 11, 0, 0, 0})).ok());
  breaking.Delete("events", Doc("length", 10.0), {});  // closed
}

TEST_P(InvariantsTest, Catalog) {
  Catalog catalog(world_.client, world_.database, {.sku_registry = true, .seams = world_.seams()});
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  Product album;
  album.sku = "s";
  album.type = kAlbum;
  album.title = "Blue Train";
  album.list = 1200;
  album.retail = 1100;
  album.details = Doc("genre", List("jazz"));
  ASSERT_TRUE(catalog.Put(album).ok());
  Breaking breaking(&world_, catalog);
  const Document it = Doc("sku", "s");
  breaking.Update("products", it, Doc("$set", Doc("pricing.pct_savings", 9)), {"pricing of s"});
  breaking.Update("products", it, Doc("$set", Doc("title", "Giant Steps")), {"title_lc of s"});
  breaking.Update("products", it, Doc("$set", Doc("primary_genre", "x")), {"primary_genre of s"});
  breaking.Delete("sku_registry", Doc("_id", "s"), {"not registered: s"});
  Document copy = **world_.store.FindOne("products", it);
  bson::Builder twin;
  twin.Append("_id", bson::ObjectId());
  for (const bson::Element& field : copy.view()) {
    if (field.name() != "_id") {
      twin.Append(field);
    }
  }
  breaking.Insert("products", twin.Finish(), {"a sku twice: s"});
}

TEST_P(InvariantsTest, Categories) {
  const Jazz jazz = MakeJazz(&world_);
  Categories tree = TreeOf(&world_);
  ASSERT_TRUE(tree.Move(jazz.bop, jazz.swing).ok());
  ASSERT_TRUE(tree.Remove(jazz.modal).ok());
  const Document bop = Doc("_id", jazz.bop);
  Breaking breaking(&world_, tree);
  const Lines below = {"not below what its parents say: bop"};
  breaking.Update("categories", bop, Doc("$set", Doc("ancestors.1.name", "x")), below);
  breaking.Update("categories", bop, Doc("$pop", Doc("ancestors", 1)), below);
  breaking.Update("categories", bop, Doc("$inc", Doc("depth", 1)), below);
  breaking.Update("categories", bop, Doc("$set", Doc("parent", jazz.ragtime)), below);
  breaking.Update("categories", bop, Doc("$set", Doc("closing", true)),
                  {"not removed to the end: bop"});
  breaking.Update("categories", bop, Doc("$set", Doc("parent", jazz.modal)), below);  // removed
  breaking.Update("tree_lock", Doc("_id", "categories"), Doc("$set", Doc("op", Doc("kind", "x"))),
                  {"a change of the tree has not ended"});
}

TEST_P(InvariantsTest, Inventory) {
  Shop shop;
  Inventory inventory = shop.At(&world_);
  ASSERT_TRUE(inventory.CreateIndexes().ok());
  ASSERT_TRUE(inventory.Restock("x", 19).ok());
  const std::string sold = *inventory.NewCart();
  const std::string open = *inventory.NewCart();
  for (const std::string& cart : {sold, open}) {
    ASSERT_TRUE(inventory.AddItem(cart, {.sku = "x", .quantity = 2, .price = 5}).ok());
  }
  ASSERT_TRUE(inventory.Checkout(sold).ok());
  Breaking breaking(&world_, inventory);
  const Document it = Doc("_id", "x");
  breaking.Update("product", it, Doc("$set", Doc("qty", -1)), {"below 0: x"});
  breaking.Update("product", it, Doc("$inc", Doc("sold", 1)),
                  {"not what the carts say is sold: x"});
  breaking.Update("cart", Doc("_id", sold), Doc("$set", Doc("settled", false)),
                  {"paid for, and not booked as sold: cart " + sold});
  breaking.Update("cart", Doc("_id", open), Doc("$set", Doc("status", "expired")),
                  {"reserved for no cart that can use it: x"});
  breaking.Delete("cart", Doc("_id", open), {"reserved for no cart that can use it: x"});
  breaking.Delete("product", it, {"sold, and not there: x"});
  const Document product = **world_.store.FindOne("product", it);
  const Value entry = product["carted"].AsArray()["0"];
  breaking.Update("product", it, Doc("$push", Doc("carted", entry)),
                  {"reserved twice for a cart: x"});
}

// Ids of several types, more than a batch of them, some removed on the way.
TEST_P(InvariantsTest, WalksGoThroughEverything) {
  std::vector<Document> documents;
  for (int i = 0; i < 1001; ++i) {
    documents.push_back(i < 400   ? Doc("_id", i)
                        : i < 800 ? Doc("_id", std::to_string(i))
                                  : Doc("_id", Date{i}));
  }
  ASSERT_TRUE(
      world_.client.GetDatabase(world_.database).GetCollection("c").InsertMany(documents).ok());
  int seen = 0;
  auto visit = [&](const Document& document) {
    ++seen;
    return world_.store.DeleteOne("c", document).status();
  };
  ASSERT_TRUE(Walk(world_.store, "c", visit).ok());
  EXPECT_EQ(seen, 1001);
  EXPECT_TRUE(Walk(world_.store, "c", visit).ok());
  EXPECT_EQ(seen, 1001);
  ASSERT_TRUE(world_.store.Insert("c", Doc("_id", 1)).ok());
  EXPECT_TRUE(
      Is(Walk(world_.store, "c", [](const Document&) { return MakeError(Error::kConflict, ""); }),
         Error::kConflict));
}

INSTANTIATE_TEST_SUITE_P(Places, InvariantsTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
