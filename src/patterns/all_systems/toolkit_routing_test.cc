// SPDX-License-Identifier: Apache-2.0
//
// The toolkit, transfers, orders, event log and reports on shards: which calls a router sends to
// the shards of one key, and which to all.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "patterns/testing/bank.h"
#include "patterns/testing/router.h"
#include "quire/patterns/attributes.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/contacts.h"
#include "quire/patterns/event_log.h"
#include "quire/patterns/nodes.h"
#include "quire/patterns/orders.h"
#include "quire/patterns/reports.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Value;
using std::chrono::hours;
using std::chrono::minutes;

class ToolkitRoutingTest : public RoutingTest {};

TEST_P(ToolkitRoutingTest, Contacts) {
  for (ContactModel model : {ContactModel::kEmbedded, ContactModel::kReferenced}) {
    SCOPED_TRACE(static_cast<int>(model));
    World world(GetParam());
    ContactsOptions options{.model = model, .seams = world.seams()};
    Router router(Contacts(world.client, world.database, options).ShardKeys());
    options.seams.queries = &router;
    const Contacts book(world.client, world.database, options);
    ASSERT_TRUE(book.CreateIndexes().ok());
    ExpectUniqueOnShards(book.Indexes(), book.ShardKeys());
    const bool embedded = model == ContactModel::kEmbedded;
    const std::set<std::string> holder = {embedded ? "contacts" : "numbers"};
    ExpectRoutes(
        &router,
        {{"create", [&] { return book.Create("1", "a", "0", "k").ok(); }},
         {"create again", [&] { return !book.Create("1", "b", "0", "l").ok(); }},
         {"get", [&] { return book.Get("1").ok(); }},
         {"add",
          [&] { return book.AddNumber("1", "n").ok() && book.AddNumber("1", "m", "m").ok(); }},
         {"by number", [&] { return book.FindByNumber("n")->size() == 1; }, holder},
         {"remove",
          [&] {
            return book.RemoveNumber("1", "n").ok() && book.RemoveNumber("1", "m", "r").ok();
          }},
         {"delete", [&] { return book.Delete("1", "d").ok(); }},
         {"sweep", [&] { return book.SweepOrphans(minutes(5)).ok(); },
          embedded ? std::set<std::string>() : std::set<std::string>{"numbers"}}});
  }
}

// A number without its contact is deleted on its shard.
TEST_P(ToolkitRoutingTest, SweptNumbers) {
  ContactsOptions options{.model = ContactModel::kReferenced, .seams = world_.seams()};
  ASSERT_TRUE(Contacts(world_.client, world_.database, options).CreateIndexes().ok());
  for (const char* id : {"1", "2"}) {
    ASSERT_TRUE(world_.store
                    .Insert("numbers", Doc("_id", id, "contact_id", id, "number", "n", "at",
                                           world_.clock.Now()))
                    .ok());
  }
  world_.clock.Advance(minutes(6));
  class Deletions : public QueryHook {
   public:
    void Asks(const bson::Document& query) override {
      const bson::View filter = query["filter"].AsDocument();
      if (TextAt(query, "find") == "numbers" && Names(filter, "_id")) {
        routed += Names(filter, "contact_id") ? 1 : 0;
      }
    }
    int routed = 0;
  } deletions;
  options.seams.queries = &deletions;
  EXPECT_EQ(Contacts(world_.client, world_.database, options).SweepOrphans(minutes(5))->changed, 2);
  EXPECT_EQ(deletions.routed, 2);
}

TEST_P(ToolkitRoutingTest, NodesAndAttributes) {
  Router router(Nodes::ShardKeys());
  Nodes nodes(world_.client, world_.database, Through(&router));
  nodes.Register("page", {});
  ASSERT_TRUE(nodes.CreateIndexes().ok());
  ExpectUniqueOnShards(Nodes::Indexes(), Nodes::ShardKeys());
  const bson::Document page = Doc("_id", 1, "type", "page", "url", "/a", "title", "A");
  ExpectRoutes(
      &router,
      {{"insert", [&] { return nodes.Insert(page, "k").ok(); }},
       {"by url", [&] { return nodes.Find(Doc("url", "/a"))->size() == 1; }},
       {"by id", [&] { return nodes.Load(Value(1)).ok(); }, {"nodes"}},
       {"by type", [&] { return nodes.Find(Doc("type", "page"))->size() == 1; }, {"nodes"}}});
  Router products(AttributeCatalog::ShardKeys());
  const AttributeCatalog catalog(world_.client, world_.database, AttributeEncoding::kKeyValue, {},
                                 Through(&products));
  ASSERT_TRUE(catalog.CreateIndexes().ok());
  const bson::OwnedValue one(Value(1));
  ExpectRoutes(&products, {{"put",
                            [&] {
                              return catalog.Put("p", {{"a", one}}, "k").ok();
                            }},
                           {"get", [&] { return catalog.Get("p").ok(); }},
                           {"find",
                            [&] { return catalog.FindByAttribute("a", Value(1))->size() == 1; },
                            {"products"}}});
}

TEST_P(ToolkitRoutingTest, TransfersAndOrders) {
  OpenTwo(&world_);
  Router router(Transfers::ShardKeys());
  ExpectUniqueOnShards(Transfers::Indexes(), Transfers::ShardKeys());
  for (Backend backend : {Backend::kCompensating, Backend::kTransactional}) {
    const Transfers bank = BankOf(&world_, backend, Through(&router));
    const std::string name = std::to_string(static_cast<int>(backend));
    const std::string key = "k" + name;
    ExpectRoutes(&router,
                 {{"open", [&] { return bank.OpenAccount("c" + name, 5, "o" + name).ok(); }},
                  {"transfer", [&] { return bank.Transfer(10, "a", "b", key).ok(); }},
                  {"repeat", [&] { return bank.Transfer(10, "a", "b", key).ok(); }},
                  {"refused", [&] { return !bank.Transfer(1000, "a", "b", "r" + name).ok(); }},
                  {"unknown", [&] { return !bank.Transfer(1, "a", "none").ok(); }},
                  {"status", [&] { return bank.GetStatus(Value(key)).ok(); }},
                  {"balance", [&] { return bank.GetBalance("a").ok(); }},
                  {"cleanup", [&] { return bank.Cleanup().ok(); }, {"transactions"}}});
  }
  Router to_orders(Orders::ShardKeys());
  const Orders orders(world_.client, world_.database, Through(&to_orders));
  ExpectRoutes(&to_orders, {{"create", [&] { return orders.Create("o", "c").ok(); }},
                            {"add", [&] { return orders.Add("o", "s", 1, 1, "a").ok(); }},
                            {"more", [&] { return orders.Add("o", "s", 1, 1).ok(); }},
                            {"price", [&] { return !orders.Add("o", "s", 2, 1).ok(); }},
                            {"get", [&] { return orders.Get("o")->total == 2; }}});
}

TEST_P(ToolkitRoutingTest, EventLog) {
  const std::string collection = "events_" + DayKey(world_.clock.Now());
  std::vector<ShardKeySpec> keys = EventLog::ShardKeys();
  ASSERT_EQ(keys[0].collection, "events");
  keys[0].collection = collection;
  Router router(keys);
  const EventLog log(world_.client, world_.database,
                     {.retention = Retention::kDailyCollections, .seams = Through(&router)});
  const Date from = world_.clock.Now();
  const Date to{from.millis + 9};
  ExpectRoutes(
      &router,
      {{"insert",
        [&] {
          return log.InsertMany({Doc("path", "/p", "host", "h", "time", from)})->inserted == 1;
        }},
       {"by path",
        [&] {
          auto page = log.ByPath("/p", {.limit = 1});
          return page->documents.size() == 1 &&
                 log.ByPath("/p", {.after = page->next})->documents.empty();
        }},
       {"by time", [&] { return log.ByTime(from, to, {}).ok(); }, {collection}},
       {"by host", [&] { return log.ByHost("h", from, to, {}).ok(); }, {collection}},
       {"count", [&] { return log.CountByDayAndPath(from, to)->size() == 1; }, {collection}}});
}

TEST_P(ToolkitRoutingTest, Reports) {
  for (ReportLayout layout : {ReportLayout::kFlat, ReportLayout::kSplit}) {
    World world(GetParam());
    Router router(Reports::ShardKeys());
    Seams seams = world.seams();
    seams.queries = &router;
    const Reports reports(world.client, world.database,
                          {.layout = layout, .stripes = 2, .seams = seams});
    ASSERT_TRUE(reports.CreateIndexes().ok());
    const Hit hit{ToDate({2024, 1, 31, 12, 0, 0}), "s", "/p", 1};
    const Date from = ToDate({2024, 1, 30, 0, 0, 0});
    const Date to = ToDate({2024, 2, 1, 0, 0, 0});
    auto log = [&] { return reports.LogBatch("b", world.clock.Now(), {hit}).ok(); };
    ExpectRoutes(
        &router,
        {{"hit", [&] { return reports.LogHit(hit).ok(); }},
         {"batch", log},
         {"batch again", log},
         {"preallocate", [&] { return reports.Preallocate(to, "s", "/p").ok(); }},
         {"minutes", [&] { return reports.Series("s", "/p", from, to, Level::kMinute).ok(); }},
         {"days", [&] { return reports.Series("s", "/p", from, to, Level::kDay).ok(); }},
         {"rebuild", [&] { return reports.RebuildMonth(from, "s", "/p").ok(); }}});
  }
}

QUIRE_IN_BOTH_PLACES(ToolkitRoutingTest);

}  // namespace
}  // namespace quire::patterns
