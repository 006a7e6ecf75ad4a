// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/concerns.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "patterns/testing/places.h"
#include "quire/patterns/event_log.h"
#include "quire/patterns/game.h"
#include "quire/patterns/inventory.h"
#include "quire/patterns/orders.h"
#include "quire/patterns/perf.h"
#include "quire/patterns/reports.h"
#include "quire/patterns/rollups.h"
#include "quire/patterns/transfers.h"

namespace quire::patterns {
namespace {

constexpr int kUnknownWriteConcern = 79;

using bson::Document;

class ConcernsTest : public BothPlaces {};

TEST_P(ConcernsTest, EveryWriteHasIt) {
  const Store store(world_.client, world_.database, world_.seams(),
                    {.writes = Doc("w", "never heard of")});
  const Document one = Doc("_id", 1);
  const Document more = Doc("$inc", Doc("n", 1));
  const std::vector<std::pair<const char*, Status>> writes = {
      {"Insert", store.Insert("c", one)},
      {"UpdateOne", store.UpdateOne("c", one, more).status()},
      {"UpdateMany", store.UpdateMany("c", one, more).status()},
      {"FindAndUpdate", store.FindAndUpdate("c", one, more).status()},
      {"DeleteOne", store.DeleteOne("c", one).status()},
      {"DeleteMany", store.DeleteMany("c", one).status()},
  };
  for (const auto& [name, status] : writes) {
    EXPECT_EQ(status.code(), kUnknownWriteConcern) << name << ": " << status.ToString();
  }
  auto ran = store.RunWrite(Doc("insert", "c", "documents", List(one)));
  ASSERT_TRUE(ran.ok()) << ran.status().ToString();
  EXPECT_EQ(IntegerAt(*ran, "writeConcernError.code"), kUnknownWriteConcern);
  // One of its own stands above it.
  EXPECT_TRUE(store.InsertBatch("c", {Doc("_id", 2)}, true, Doc("w", 1)).ok());
}

TEST_P(ConcernsTest, TransactionsHaveTheirOwn) {
  const Store plain(world_.client, world_.database, world_.seams());
  ASSERT_TRUE(plain.Insert("c", Doc("_id", 1)).ok());
  const Store store(world_.client, world_.database, world_.seams(), KeptByPrimary());
  const Status moved =
      store.Transact([](const Store& inside) { return inside.Insert("c", Doc("_id", 2)); });
  EXPECT_TRUE(moved.ok()) << moved.ToString();
}

TEST_P(ConcernsTest, SystemsWriteWithTheirs) {
  const Concerns unknown{.writes = Doc("w", "never heard of")};
  const Seams seams = world_.seams();
  const Client& client = world_.client;
  const std::string& database = world_.database;
  const Transfers transfers(client, database, {.concerns = unknown, .seams = seams});
  const Reports reports(client, database, {.concerns = unknown, .seams = seams});
  const Rollups rollups(client, database, {.concerns = unknown, .seams = seams});
  const Orders orders(client, database, seams, unknown);
  const std::vector<std::pair<const char*, Status>> writes = {
      {"transfers", transfers.OpenAccount("a", 100)},
      {"reports", reports.LogHit({seams.clock->Now(), "site", "/page"})},
      {"rollups", rollups.Record({"user", seams.clock->Now(), 1.0})},
      {"orders", orders.Create("o")},
  };
  for (const auto& [name, status] : writes) {
    EXPECT_EQ(status.code(), kUnknownWriteConcern) << name << ": " << status.ToString();
  }
}

QUIRE_IN_BOTH_PLACES(ConcernsTest);

TEST(ConcernsDefaultsTest, PerSystem) {
  const Document majority = KeptByMajority().writes;
  const Document primary = KeptByPrimary().writes;
  auto same = [](const Concerns& concerns, const Document& wanted) {
    return concerns.writes.bytes() == wanted.bytes();
  };
  EXPECT_TRUE(same(TransfersOptions().concerns, majority));
  EXPECT_TRUE(same(InventoryOptions().concerns, majority));
  EXPECT_TRUE(same(GameOptions().concerns, majority));
  EXPECT_TRUE(same(EventLogOptions().concerns, primary));
  EXPECT_TRUE(same(PerfOptions().concerns, primary));
  EXPECT_TRUE(same(ReportsOptions().concerns, primary));
  EXPECT_TRUE(same(RollupsOptions().concerns, primary));
}

// Only a replica set has someone else to ask: see tests/cluster.
TEST(ReportsOfSecondariesTest, Served) {
  const Client client = ClientOf(Place::kServed);
  auto hello = client.GetDatabase("admin").RunCommand(Doc("hello", 1));
  ASSERT_TRUE(hello.ok()) << hello.status().ToString();
  const bool set = hello->view().Has("hosts") && (*hello)["hosts"].AsArray().Count() > 1;
  World world(Place::kServed);
  const Store store(client, world.database, world.seams(),
                    {.writes = Doc("w", set ? 3 : 1), .reports = {ReadFrom::kSecondaryPreferred}});
  ASSERT_TRUE(store.Insert("c", Doc("_id", 1)).ok());
  const Pipeline who = {Doc("$collStats", Doc("count", Doc()))};
  auto told = store.ForReports().Aggregate("c", who);
  ASSERT_TRUE(told.ok()) << told.status().ToString();
  const std::string primary(set ? (*hello)["primary"].AsString() : std::string_view());
  EXPECT_NE((*told)[0]["host"].AsString(), primary);
  auto here = store.Aggregate("c", who);
  ASSERT_TRUE(here.ok()) << here.status().ToString();
  if (set) {
    EXPECT_EQ((*here)[0]["host"].AsString(), primary);
  }
  auto found = store.ForReports().FindOne("c", Doc("_id", 1));
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_TRUE(found->has_value());
  auto count = store.ForReports().Count("c", Doc());
  ASSERT_TRUE(count.ok()) << count.status().ToString();
  EXPECT_EQ(*count, 1);
}

}  // namespace
}  // namespace quire::patterns
