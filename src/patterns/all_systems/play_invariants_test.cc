// SPDX-License-Identifier: Apache-2.0
//
// CheckInvariants of the inbox, the game and performance monitoring: silent after the systems' own
// calls, and not when something else has written.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "patterns/testing/breaking.h"
#include "patterns/testing/game.h"
#include "patterns/testing/inbox.h"
#include "patterns/testing/perf.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using bson::ObjectId;

class PlayInvariantsTest : public BothPlaces {};

// The two halves of the game's checks.
struct Things {
  Game game;
  Result<Lines> CheckInvariants() const { return game.AuditWorld(); }
};
struct Rooms {
  Game game;
  Result<Lines> CheckInvariants() const { return game.CheckSettled(); }
};

TEST_P(PlayInvariantsTest, InboxOnRead) {
  AddUsers(&world_, InboxDesign::kFanOutOnRead, {"a", "b", "c"});
  Inbox inbox = InboxOf(&world_, InboxDesign::kFanOutOnRead);
  const ObjectId id = *inbox.Send("j", {"a", "b"}, "t");
  ASSERT_TRUE(inbox.MarkRead("a", id).ok());
  const std::string name = bson::ToJson(bson::Value(id));
  Breaking breaking(&world_, inbox);
  breaking.Update("inbox_read", Doc(), Doc("$push", Doc("to", "a")),
                  {"a recipient twice in " + name});
  breaking.Update("inbox_flags", Doc(), Doc("$set", Doc("user", "c")),
                  {"a flag of no recipient " + name});
}

TEST_P(PlayInvariantsTest, InboxOnWrite) {
  AddUsers(&world_, InboxDesign::kFanOutOnWrite, {"a", "b"});
  Inbox inbox = InboxOf(&world_, InboxDesign::kFanOutOnWrite);
  const std::string id = bson::ToJson(bson::Value(*inbox.Send("j", {"a", "b"}, "t")));
  Breaking breaking(&world_, inbox);
  breaking.Update("inbox_write", Doc("recipient", "a"), Doc("$set", Doc("recipient", "c")),
                  {"not delivered: " + id + " to a"});
}

TEST_P(PlayInvariantsTest, InboxInBuckets) {
  AddUsers(&world_, InboxDesign::kBuckets, {"a"});
  Inbox inbox = InboxOf(&world_, InboxDesign::kBuckets);
  const ObjectId first = *inbox.Send("j", {"a"}, "1");
  const ObjectId second = *inbox.Send("j", {"a"}, "2");
  const std::string id = bson::ToJson(bson::Value(second));
  Breaking breaking(&world_, inbox);
  breaking.Update("inbox_bucket", Doc(), Doc("$set", Doc("messages.1.n", int64_t{51})),
                  {"message " + id + " of a in the wrong bucket"});
  breaking.Update("inbox_bucket", Doc(), Doc("$set", Doc("messages.1.n", int64_t{1})),
                  {"number 1 twice to a"});
  breaking.Update("inbox_bucket", Doc(), Doc("$set", Doc("messages.0.id", second)),
                  {"not delivered: " + bson::ToJson(bson::Value(first)) + " to a",
                   "message " + id + " twice to a"});
}

TEST_P(PlayInvariantsTest, GameThings) {
  BuildWorld(&world_);
  const ObjectId hat = Spawn(&world_, kTim, "hat");
  const ObjectId staff = Spawn(&world_, kTim, "staff");
  ASSERT_TRUE(GameOf(&world_).Equip("tim", hat).ok());
  ASSERT_TRUE(GameOf(&world_).Equip("tim", staff).ok());
  const Document tim = **world_.store.FindOne("character", Doc("_id", "tim"));
  const Document a_hat(tim["inventory"].AsArray().front().value().AsDocument());
  const Document is_tim = Doc("_id", "tim");
  const Things things{GameOf(&world_)};
  Breaking breaking(&world_, things);
  breaking.Update("location", Doc("_id", "shop"), Doc("$push", Doc("inventory", a_hat)),
                  {"item " + hat.ToHex() + " at tim and shop", "item:hat: 2 but the ledger has 1"});
  breaking.Update(
      "character", is_tim, Doc("$pull", Doc("inventory", Doc("id", hat))),
      {"the load of tim", "equipment of tim at head", "item:hat: 0 but the ledger has 1"});
  breaking.Update(
      "character", is_tim, Doc("$set", Doc("inventory.0.qty", 0)),
      {"an empty stack " + hat.ToHex(), "the load of tim", "item:hat: 0 but the ledger has 1"});
  breaking.Update("character", is_tim, Doc("$inc", Doc("gold", int64_t{-600})),
                  {"negative gold of tim", "gold: 123 but the ledger has 723"});
  breaking.Update("character", is_tim, Doc("$set", Doc("capacity", int64_t{1})),
                  {"too much on tim"});
  breaking.Update("character", is_tim,
                  Doc("$push", Doc("armor", Doc("id", staff, "region", "head"))),
                  {"equipment of tim at head"});
  breaking.Update("character", is_tim, Doc("$push", Doc("weapons", Doc("id", hat, "hand", "left"))),
                  {"three hands of tim"});
  breaking.Update("ledger", Doc("_id", "item:hat"), Doc("$inc", Doc("amount", int64_t{1})),
                  {"item:hat: 1 but the ledger has 2"});
}

TEST_P(PlayInvariantsTest, GameRooms) {
  BuildRooms(&world_);
  const Document tim = Doc("id", "tim", "name", "tim");
  const Rooms rooms{GameOf(&world_)};
  Breaking breaking(&world_, rooms);
  breaking.Update("location", Doc("_id", "street"), Doc("$push", Doc("players", tim)),
                  {"the players of street"});
  breaking.Update("location", Doc("_id", "shop"), Doc("$pull", Doc("players", Doc("id", "tim"))),
                  {"the players of shop"});
  breaking.Update("character", Doc("_id", "tim"), Doc("$set", Doc("moving", Doc("mid", 1))),
                  {"a move of tim has not ended"});
  breaking.Update("location", Doc("_id", "shop"), Doc("$push", Doc("txns", 1)),
                  {"a hand-over of shop has not ended"});
}

TEST_P(PlayInvariantsTest, PerformanceMonitoring) {
  Perf perf = PerfOf(&world_);
  ASSERT_TRUE(perf.CreateIndexes().ok());
  const Date day = BucketStart(world_.clock.Now(), Level::kDay);
  const std::string collection = "perf_" + DayKey(day);
  ASSERT_TRUE(perf.InsertMany({{"h", day, "p", 1}, {"h", Date{day.millis + 1}, "p", 0.2}}).ok());
  world_.clock.Advance(std::chrono::minutes(5));
  Folder folder;
  folder.Write("a.csv", CsvLines(&world_, 3));
  ASSERT_TRUE(perf.ScanFolder(folder.path(), ".csv").ok());
  world_.clock.Advance(std::chrono::hours(49));
  ASSERT_TRUE(perf.Rollup().ok());
  const std::string h_p = "the sums of h p ";
  Breaking breaking(&world_, perf);
  breaking.Update(collection, Doc(), Doc("$set", Doc("GeneratedOn", Date{0})),
                  {"samples of other days in " + collection, h_p + "on " + DayKey(day)});
  breaking.Update("perf_daily", Doc("_id.h", "h"), Doc("$inc", Doc("sum", 1.0)),
                  {h_p + "on " + DayKey(day), h_p + "in " + MonthKey(day)});
  breaking.Update("perf_monthly", Doc("_id.h", "h"), Doc("$inc", Doc("count", int64_t{1})),
                  {h_p + "in " + MonthKey(day)});
  breaking.Update("perf_catalog", Doc("_id", DayKey(day)), Doc("$inc", Doc("count", int64_t{1})),
                  {"the count of " + DayKey(day)});
  breaking.Update("import_files", Doc(), Doc("$inc", Doc("lines", int64_t{1})),
                  {"the counters of " + folder.path() + "/a.csv"});
}

QUIRE_IN_BOTH_PLACES(PlayInvariantsTest);

}  // namespace
}  // namespace quire::patterns
