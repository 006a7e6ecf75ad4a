// SPDX-License-Identifier: Apache-2.0
//
// Every call of the toolkit, transfers, event log, reports, roll-ups, catalog, categories and
// inventory as the database sees it: all go by an index.
#include "patterns/testing/profiled_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "patterns/testing/shop.h"
#include "patterns/testing/tree.h"
#include "patterns/testing/world.h"
#include "quire/patterns/attributes.h"
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

// Values of $in and branches of $or, at any depth; at least one.
int64_t IntervalsOf(bson::View filter) {
  int64_t intervals = 1;
  for (const bson::Element& field : filter) {
    if (!field.value().is_document() && !field.value().is_array()) {
      continue;
    }
    if (field.name() == "$in" || field.name() == "$or") {
      intervals += static_cast<int64_t>(field.value().AsDocument().Count());
    }
    intervals += IntervalsOf(field.value().AsDocument()) - 1;
  }
  return intervals;
}

}  // namespace

int ExpectIndexed(World* world, const std::function<void()>& calls,
                  const std::vector<std::string>& more_keys, std::vector<std::string> databases) {
  databases.push_back(world->database);
  auto store = [&](const std::string& database) {
    return Store(world->client, database, world->seams());
  };
  for (const std::string& database : databases) {
    EXPECT_TRUE(store(database).Run(Doc("profile", 2)).ok());
  }
  calls();
  std::vector<bson::Document> entries;
  for (const std::string& database : databases) {
    EXPECT_TRUE(store(database).Run(Doc("profile", 0)).ok());
    std::vector<bson::Document> found = *store(database).Find("system.profile", Doc());
    entries.insert(entries.end(), found.begin(), found.end());
  }
  int seen = 0;
  for (const bson::Document& entry : entries) {
    const std::string_view plan = TextAt(entry, "planSummary");
    if (plan.empty()) {
      continue;  // neither a read nor a write by a filter
    }
    ++seen;
    SCOPED_TRACE(bson::ToJson(entry.view()));
    EXPECT_EQ(plan.find("COLLSCAN"), std::string::npos);
    EXPECT_LE(IntegerAt(entry, "docsExamined"), IntegerAt(entry, "keysExamined"));
    const std::string_view ns = TextAt(entry, "ns");
    const std::string collection(ns.substr(ns.find('.') + 1));
    const bson::Value filter = At(entry, "command.filter");
    if (TextAt(entry, "op") == "query" && filter.is_document() &&
        std::find(more_keys.begin(), more_keys.end(), collection) == more_keys.end()) {
      EXPECT_LE(IntegerAt(entry, "keysExamined"),
                IntegerAt(entry, "nreturned") + IntervalsOf(filter.AsDocument()));
    }
  }
  return seen;
}

namespace {

using bson::Date;
using bson::Document;
using bson::OwnedValue;
using bson::Value;
using std::chrono::hours;
using std::chrono::minutes;

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};

class ProfiledCallsTest : public ::testing::TestWithParam<Place> {};

TEST_P(ProfiledCallsTest, Contacts) {
  for (ContactModel model : {ContactModel::kEmbedded, ContactModel::kReferenced}) {
    for (Backend backend : kBackends) {
      World world(GetParam());
      Contacts book(world.client, world.database,
                    {.model = model, .backend = backend, .seams = world.seams()});
      ASSERT_TRUE(book.CreateIndexes().ok());
      for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(book.Create(std::to_string(i), "c", "0").ok());
        ASSERT_TRUE(book.AddNumber(std::to_string(i), "n" + std::to_string(i % 3)).ok());
      }
      auto calls = [&] {
        EXPECT_TRUE(book.Get("3").ok());
        EXPECT_EQ(book.FindByNumber("n1")->size(), 3u);
        EXPECT_TRUE(book.AddNumber("3", "m").ok());
        EXPECT_TRUE(book.RemoveNumber("3", "m").ok());
        EXPECT_TRUE(book.Delete("3").ok());
        EXPECT_TRUE(book.AddNumber("4", "m", "add").ok());
        EXPECT_TRUE(book.RemoveNumber("4", "m", "remove").ok());
        EXPECT_TRUE(book.Delete("4", "delete").ok());
        EXPECT_TRUE(book.SweepOrphans(minutes(5)).ok());
        world.clock.Advance(hours(25));
        EXPECT_TRUE(book.PurgeKeys().ok());
      };
      EXPECT_GE(ExpectIndexed(&world, calls), 5);
    }
  }
}

TEST_P(ProfiledCallsTest, NodesAndMigrations) {
  World world(GetParam());
  Nodes nodes(world.client, world.database, world.seams());
  nodes.Register("page", {});
  nodes.Register("photo", {});
  ASSERT_TRUE(nodes.CreateIndexes().ok());
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(nodes
                    .Insert(Doc("_id", i, "type", i % 2 == 0 ? "page" : "photo", "url",
                                "/" + std::to_string(i), "title", "t"))
                    .ok());
  }
  auto reads = [&] {
    EXPECT_TRUE(nodes.Load(Value(3)).ok());
    EXPECT_EQ(nodes.Find(Doc("url", "/3"))->size(), 1u);
    EXPECT_EQ(nodes.Find(Doc("type", "page"), {.sort = Doc("_id", 1)})->size(), 4u);
  };
  EXPECT_GE(ExpectIndexed(&world, reads), 3);
  Migrations migrations(world.client, world.database, world.seams());
  migrations.Define(
      "m", {"nodes", Doc("short", Doc("$exists", false)), Doc("$set", Doc("short", "")), 3});
  auto steps = [&] {
    while (migrations.GetState("m")->state != "complete") {
      ASSERT_TRUE(migrations.Step("m").ok());
    }
  };
  // In the order of _id, past documents that have the field already.
  EXPECT_GE(ExpectIndexed(&world, steps, {"nodes"}), 5);
}

TEST_P(ProfiledCallsTest, Attributes) {
  for (AttributeEncoding encoding :
       {AttributeEncoding::kDocument, AttributeEncoding::kPairs, AttributeEncoding::kKeyValue}) {
    World world(GetParam());
    AttributeCatalog catalog(world.client, world.database, encoding, {"capacity"}, world.seams());
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(catalog.Put(std::to_string(i), {{"capacity", OwnedValue(Value(i / 2))}}).ok());
    }
    auto calls = [&] {
      EXPECT_TRUE(catalog.Put("3", {{"capacity", OwnedValue(Value(9))}}).ok());
      EXPECT_TRUE(catalog.Get("3").ok());
      EXPECT_EQ(catalog.FindByAttribute("capacity", Value(2))->size(), 2u);
      if (encoding != AttributeEncoding::kPairs) {  // which reads everything for ranges
        EXPECT_EQ(catalog.FindByRange("capacity", Value(2), Value(4))->size(), 4u);
      }
    };
    // A pair is looked for as an element and as the whole array.
    const bool pairs = encoding == AttributeEncoding::kPairs;
    EXPECT_GE(
        ExpectIndexed(&world, calls,
                      pairs ? std::vector<std::string>{"products"} : std::vector<std::string>{}),
        3);
  }
}

TEST_P(ProfiledCallsTest, TransfersAndOrders) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Transfers bank(world.client, world.database, {.backend = backend, .seams = world.seams()});
    Orders orders(world.client, world.database, world.seams());
    ASSERT_TRUE(bank.CreateIndexes().ok() && orders.CreateIndexes().ok());
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(bank.OpenAccount(std::to_string(i), 100).ok());
      ASSERT_TRUE(orders.Create(std::to_string(i)).ok());
    }
    auto calls = [&] {
      for (int i = 0; i < 6; ++i) {
        TestCrash crash;  // one is left on its way at each point
        crash.at = "transfers.transfer.c" + std::to_string(i);
        Transfers client(world.client, world.database,
                         {.backend = backend, .seams = world.seams(&crash)});
        (void)client.Transfer(10, "1", "2", "k" + std::to_string(i));
      }
      EXPECT_TRUE(bank.Transfer(10, "1", "2", "k0").ok());
      EXPECT_FALSE(bank.Transfer(1000, "1", "2").ok());
      EXPECT_FALSE(bank.Transfer(10, "1", "none").ok());
      EXPECT_TRUE(bank.GetBalance("1").ok());
      EXPECT_TRUE(bank.GetStatus(Value("k0")).ok());
      world.clock.Advance(minutes(5));
      EXPECT_TRUE(bank.Cleanup().ok());
      world.clock.Advance(hours(25));
      EXPECT_TRUE(bank.Purge().ok());
      for (const char* key : {"a", "a", "b"}) {
        EXPECT_TRUE(orders.Add("3", "x", 5, 1, key).ok());
      }
      EXPECT_TRUE(orders.Get("3").ok());
      EXPECT_TRUE(orders.PurgeKeys().ok());
    };
    EXPECT_GE(ExpectIndexed(&world, calls), 20);
  }
}

TEST_P(ProfiledCallsTest, EventLog) {
  for (Retention retention : {Retention::kCapped, Retention::kTtl, Retention::kDailyCollections,
                              Retention::kMonthlyDatabases}) {
    const bool monthly = retention == Retention::kMonthlyDatabases;
    const int64_t step = monthly ? 86'400'000 : 3'600'000;
    World world(GetParam());
    EventLog log(world.client, world.database,
                 {.retention = retention, .horizon = hours(24 * 30), .seams = world.seams()});
    std::vector<Document> events;
    const int64_t now = world.clock.Now().millis;
    for (int i = 0; i < 40; ++i) {
      events.push_back(Doc("_id", i, "host", "h" + std::to_string(i % 3), "path",
                           "/p" + std::to_string(i % 4), "time", Date{now - i * step}));
    }
    ASSERT_EQ(log.InsertMany(events)->inserted, 40);
    const Date from{now - 30 * step};
    const Date to{now - step};
    std::vector<std::string> months;
    if (monthly) {
      months = {world.database + "_202008", world.database + "_202009"};
    }
    auto calls = [&] {
      for (const char* after : {"", "again"}) {
        PageRequest page{.limit = 4};
        if (*after != 0) {
          page.after = log.ByTime(from, to, {.limit = 3})->next;
        }
        EXPECT_TRUE(log.ByPath("/p1", page).ok());
        EXPECT_TRUE(log.ByTime(from, to, page).ok());
        EXPECT_TRUE(log.ByHost("h1", from, to, page).ok());
      }
      EXPECT_FALSE(log.CountByDayAndPath(from, to)->empty());
      EXPECT_TRUE(log.DropExpired().ok());
    };
    EXPECT_GE(ExpectIndexed(&world, calls, {}, months), monthly ? 9 : 7);
    for (const std::string& month : months) {
      EXPECT_TRUE(world.client.GetDatabase(month).Drop().ok());
    }
  }
}

TEST_P(ProfiledCallsTest, Reports) {
  for (ReportLayout layout :
       {ReportLayout::kFlat, ReportLayout::kHierarchical, ReportLayout::kSplit}) {
    World world(GetParam());
    Reports reports(world.client, world.database,
                    {.layout = layout, .stripes = 2, .seams = world.seams()});
    ASSERT_TRUE(reports.CreateIndexes().ok());
    const Date day = ToDate({2024, 1, 31, 12, 0, 0});
    const Date from = ToDate({2024, 1, 29, 0, 0, 0});
    const Date to = ToDate({2024, 2, 2, 0, 0, 0});
    auto calls = [&] {
      for (int i = 0; i < 6; ++i) {
        const Hit hit{Date{day.millis - i * 86'400'000}, "s", i % 2 == 0 ? "/p" : "/q", 1};
        EXPECT_TRUE(reports.LogHit(hit).ok());
        EXPECT_TRUE(reports.LogBatch("b" + std::to_string(i / 2), world.clock.Now(), {hit}).ok());
      }
      EXPECT_TRUE(reports.Preallocate(day, "s", "/p").ok());
      EXPECT_TRUE(reports.RebuildMonth(day, "s", "/p").ok());
      for (Level level : {Level::kMinute, Level::kHour, Level::kDay}) {
        EXPECT_TRUE(reports.Series("s", "/p", from, to, level).ok());
      }
    };
    EXPECT_GE(ExpectIndexed(&world, calls), 15);
  }
}

TEST_P(ProfiledCallsTest, Rollups) {
  World world(GetParam());
  Rollups rollups(world.client, world.database, {.seams = world.seams()});
  ASSERT_TRUE(rollups.CreateIndexes().ok());
  auto record = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(
          rollups.Record({"u" + std::to_string(i % 3), ToDate({2024, 1, 1 + i, i % 24, 0, 0}), 1.0})
              .ok());
    }
    world.clock.Advance(minutes(2));
  };
  auto calls = [&] {
    record(9);
    EXPECT_TRUE(rollups.Run().ok());
    EXPECT_TRUE(rollups.Close(ToDate({2024, 1, 5, 0, 0, 0})).ok());
    record(6);
    EXPECT_TRUE(rollups.Run().ok());  // some are late
    EXPECT_TRUE(rollups.Repair(ToDate({2024, 1, 1, 0, 0, 0}), ToDate({2024, 2, 1, 0, 0, 0})).ok());
    for (Level level : {Level::kHour, Level::kDay, Level::kWeek, Level::kMonth, Level::kYear}) {
      EXPECT_TRUE(rollups.Query("u1", level, Date{0}, Date{4'000'000'000'000}).ok());
    }
    EXPECT_TRUE(rollups.ReserveIds("s", 5).ok());
  };
  // Late events are looked for among all that are new.
  EXPECT_GE(ExpectIndexed(&world, calls, {"events"}), 40);
}

TEST_P(ProfiledCallsTest, Catalog) {
  for (bool registry : {false, true}) {
    World world(GetParam());
    Catalog catalog(world.client, world.database,
                    {.sku_registry = registry, .seams = world.seams()});
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    for (int i = 0; i < 24; ++i) {
      Product product{.sku = "s" + std::to_string(i),
                      .type = i % 2 == 0 ? kAlbum : kFilm,
                      .title = "A Few Good " + std::to_string(i % 5),
                      .list = 1000,
                      .retail = 100 * (i % 9)};
      product.details =
          i % 2 == 0 ? Doc("artist", "Ann", "genre", List("Jazz"), "issue_date", Date{i % 4})
                     : Doc("actor", List("Bob"), "director", List("Cy"), "issue_date", Date{i % 4});
      ASSERT_TRUE(catalog.Put(product).ok());
    }
    using Search = std::function<Result<ProductPage>(const SearchOptions&)>;
    const std::vector<Search> searches = {
        [&](auto& o) { return catalog.Discounted(30, o); },
        [&](auto& o) { return catalog.AlbumsByGenre("Jazz", o); },
        [&](auto& o) { return catalog.AlbumsByArtist("Ann", o); },
        [&](auto& o) { return catalog.FilmsByActor("Bob", o); },
        [&](auto& o) { return catalog.FilmsByDirector("Cy", o); },
        [&](auto& o) { return catalog.Newest(kFilm, o); },
        [&](auto& o) { return catalog.ByPrice(kFilm, 100, 700, PriceOrder::kCheapest, o); },
        [&](auto& o) { return catalog.ByPrice(kFilm, 100, 700, PriceOrder::kDearest, o); },
        [&](auto& o) { return catalog.TitlePrefix(kAlbum, "A Few", o); },
        [&](auto& o) { return catalog.TitlePrefixNoCase(kAlbum, "a few", o); },
    };
    auto calls = [&] {
      for (const Search& search : searches) {
        auto first = search({.page = {.limit = 3}});
        ASSERT_TRUE(first.ok()) << first.status().ToString();
        EXPECT_EQ(first->products.size(), 3u);
        EXPECT_TRUE(search({.page = {.limit = 3, .after = first->next}}).ok());
      }
      EXPECT_TRUE(catalog.Get("s3").ok());
      Product changed = *catalog.Get("s3");
      EXPECT_TRUE(catalog.Put(changed, 1, "key").ok());
      EXPECT_FALSE(catalog.Put(changed, 1).ok());
      world.clock.Advance(hours(25));
      EXPECT_TRUE(catalog.SweepSkus().ok());
      EXPECT_TRUE(catalog.PurgeKeys().ok());
    };
    EXPECT_GE(ExpectIndexed(&world, calls), 25);
    auto scored = [&] {
      EXPECT_FALSE(catalog.TitleContains(kAlbum, "Good 1")->products.empty());
      EXPECT_FALSE(catalog.Text("good", Words::kAny)->products.empty());
      EXPECT_TRUE(catalog.CountFacets({.type = kAlbum, .price_bands = {0, 500, 900}}).ok());
    };
    // Read the type's titles, or every text that matches.
    EXPECT_GE(ExpectIndexed(&world, scored, {"products"}), 3);
  }
}

TEST_P(ProfiledCallsTest, Categories) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    const Jazz jazz = MakeJazz(&world);
    Categories tree = TreeOf(&world, backend);
    ASSERT_TRUE(world.store.Insert("paths", Doc("_id", "ragtime:bop")).ok());
    auto calls = [&] {
      EXPECT_TRUE(tree.Get("bop").ok());
      EXPECT_TRUE(tree.GetById(jazz.bop).ok());
      EXPECT_TRUE(tree.Children({}).ok());
      const std::string next = tree.Children(jazz.ragtime, {.limit = 1})->next;
      EXPECT_TRUE(tree.Children(jazz.ragtime, {.limit = 1, .after = next}).ok());
      EXPECT_TRUE(tree.Descendants(jazz.ragtime).ok());
      EXPECT_TRUE(*tree.IsAncestor(jazz.ragtime, jazz.modal));
      EXPECT_TRUE(tree.BreadcrumbByParents(jazz.modal).ok());
      EXPECT_TRUE(tree.DescendantsByPath("paths", "ragtime").ok());
      const auto added = tree.Add("Cool", "cool", jazz.bop, "key");
      EXPECT_TRUE(added.ok());
      EXPECT_TRUE(tree.Move(jazz.bop, jazz.swing).ok());
      EXPECT_TRUE(tree.Rename(jazz.bop, "B", "b").ok());
      EXPECT_FALSE(tree.Remove(jazz.bop).ok());
      EXPECT_TRUE(tree.Remove(*added).ok());
      EXPECT_TRUE(tree.Remove(jazz.bop, {.keep_children = true}).ok());
      EXPECT_TRUE(tree.Recover().ok());
      EXPECT_TRUE(tree.RebuildAll().ok());
      world.clock.Advance(hours(25));
      EXPECT_TRUE(tree.Purge().ok());
    };
    // RebuildAll reads the whole tree, past what was removed.
    EXPECT_GE(ExpectIndexed(&world, calls, {"categories"}), 30);
  }
}

TEST_P(ProfiledCallsTest, Inventory) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    Inventory inventory = shop.At(&world, backend);
    auto calls = [&] {
      std::vector<std::string> carts;
      for (int i = 0; i < 4; ++i) {
        carts.push_back(*inventory.NewCart("c" + std::to_string(i)));
        EXPECT_TRUE(inventory.AddItem(carts.back(), {.sku = "x", .price = 2}).ok());
      }
      EXPECT_TRUE(inventory.AddItem(carts[0], {.sku = "x", .price = 2}, "more").ok());
      EXPECT_TRUE(inventory.SetQuantity(carts[0], "x", 2, 1).ok());
      EXPECT_TRUE(inventory.Checkout(carts[0], "pay").ok());
      shop.gateway.answer = PaymentGateway::Charged::kUnknown;
      EXPECT_FALSE(inventory.Checkout(carts[1]).ok());
      EXPECT_TRUE(inventory.GetStock("x").ok());
      EXPECT_TRUE(inventory.GetCart(carts[0]).ok());
      EXPECT_TRUE(inventory.Restock("x", 2, "in").ok());
      EXPECT_TRUE(inventory.WriteOff("x", 1, "out").ok());
      world.clock.Advance(minutes(31));
      RunJobs(&world, &shop);
      EXPECT_TRUE(inventory.PurgeKeys().ok());
    };
    // A product with several old reservations is found by each of them.
    EXPECT_GE(ExpectIndexed(&world, calls, {"product"}), 30);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, ProfiledCallsTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
