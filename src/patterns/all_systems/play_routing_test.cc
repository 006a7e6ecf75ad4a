// SPDX-License-Identifier: Apache-2.0
//
// Links, the inbox, the game and performance monitoring on shards: which calls a router sends to
// the shards of one key, and which to all.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "patterns/testing/game.h"
#include "patterns/testing/inbox.h"
#include "patterns/testing/links.h"
#include "patterns/testing/perf.h"
#include "patterns/testing/router.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::ObjectId;

class PlayRoutingTest : public RoutingTest {};

TEST_P(PlayRoutingTest, Links) {
  FillShelf(&world_);
  Router router(Shelf(&world_)->ShardKeys());
  const Shelf shelf(&world_, Through(&router));
  ExpectRoutes(
      &router,
      {{"add",
        [&] { return shelf->AddOwner("r", Doc()).ok() && shelf->AddTarget("d", Doc()).ok(); }},
       {"link", [&] { return shelf->Link("r", "d", "k").ok(); }},
       {"unlink", [&] { return shelf->Unlink("r", "d").ok(); }},
       {"targets", [&] { return shelf->TargetsOf("q").ok(); }},
       {"owners", [&] { return shelf->OwnersOf("a").ok(); }, {"books"}},
       {"delete owner", [&] { return shelf->DeleteOwner("r").ok(); }},
       {"delete target", [&] { return shelf->DeleteTarget("d").ok(); }, {"books"}},
       {"sweep", [&] { return shelf->Sweep().ok(); }, {"authors", "books"}}});
}

TEST_P(PlayRoutingTest, Inbox) {
  for (InboxDesign design : kInboxDesigns) {
    SCOPED_TRACE(static_cast<int>(design));
    World world(GetParam());
    AddUsers(&world, design, {"a", "b"});
    Router router(Inbox::ShardKeys(design));
    ExpectUniqueOnShards(Inbox::Indexes(design), Inbox::ShardKeys(design));
    Seams seams = world.seams();
    seams.queries = &router;
    const Inbox inbox = InboxOf(&world, design, seams);
    const bool on_read = design == InboxDesign::kFanOutOnRead;
    const std::set<std::string> all =
        on_read ? std::set<std::string>{"inbox_read"} : std::set<std::string>();
    ObjectId id;
    ExpectRoutes(&router, {{"send",
                            [&] {
                              auto sent = inbox.Send("j", {"a", "b"}, "t", "k");
                              id = sent.ok() ? *sent : id;
                              return sent.ok();
                            }},
                           {"read", [&] { return inbox.Read("a", {})->messages.size() == 1; }, all},
                           {"mark", [&] { return inbox.MarkRead("a", id).ok(); }, all},
                           {"count", [&] { return *inbox.UnreadCount("b") == 1; }, all},
                           {"remove", [&] { return inbox.Remove("a", id).ok(); }, all},
                           {"resume", [&] { return inbox.Resume().ok(); },
                            on_read ? std::set<std::string>() : std::set<std::string>{"outbox"}}});
  }
}

TEST_P(PlayRoutingTest, Game) {
  BuildWorld(&world_);
  const ObjectId scroll = Spawn(&world_, kShop, "scroll");
  Router router(Game::ShardKeys());
  ExpectUniqueOnShards(Game::Indexes(), Game::ShardKeys());
  for (Backend backend : kBackends) {
    const Game game = GameOf(&world_, backend, Through(&router));
    ExpectRoutes(
        &router,
        {{"pick up", [&] { return game.PickUp("tim", scroll).ok(); }},
         {"give", [&] { return game.Give("tim", "grue", scroll).ok(); }},
         {"drop", [&] { return game.Drop("grue", scroll).ok(); }},
         {"buy",
          [&] {
            return game.Buy("tim", scroll, "b" + std::to_string(static_cast<int>(backend))).ok();
          }},
         {"sell", [&] { return game.Sell("tim", scroll).ok(); }},
         {"move",
          [&] { return game.Move("grue", "north").ok() && game.Move("grue", "south").ok(); }},
         {"load", [&] { return game.Load("tim").ok() && game.ViewRoom("shop").ok(); }},
         {"who is there", [&] { return game.PlayersIn("shop").ok(); }, {"character"}},
         {"clean up", [&] { return game.Cleanup().ok(); }, {"game_records"}},
         {"resume", [&] { return game.ResumeMoves().ok(); }, {"character"}},
         {"audit",
          [&] { return game.AuditWorld()->empty(); },
          {"character", "location", "ledger", "game_records"}}});
  }
}

TEST_P(PlayRoutingTest, Perf) {
  const Date day = BucketStart(world_.clock.Now(), Level::kDay);
  const std::string collection = "perf_" + DayKey(day);
  std::vector<ShardKeySpec> keys = Perf::ShardKeys();
  ASSERT_EQ(keys[0].collection, "perf_YYYYMMDD");
  keys[0].collection = collection;
  Router router(keys);
  const Perf perf(world_.client, world_.database, Quick(Through(&router)));
  const Date to{day.millis + kDay};
  ExpectRoutes(
      &router,
      {{"insert",
        [&] {
          return perf.Insert({"h", day, "p", 1}, {}, "k").ok();
        }},
       {"by host", [&] { return perf.ByHost("h", day, to, {})->documents.size() == 1; }},
       {"by parameter", [&] { return perf.ByHostAndParameter("h", "p", day, to, {}).ok(); }},
       {"latest", [&] { return perf.Latest("h").ok(); }},
       {"by range", [&] { return perf.ByRange(day, to, {}).ok(); }, {collection}},
       {"sums", [&] { return perf.Aggregate({.host = true}, day, to).ok(); }, {collection}},
       {"days", [&] { return perf.Daily("h", "p", day, to).ok(); }},
       {"months", [&] { return perf.Monthly("h", "p", day, to).ok(); }}});
}

QUIRE_IN_BOTH_PLACES(PlayRoutingTest);

}  // namespace
}  // namespace quire::patterns
