// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/game.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "patterns/testing/game.h"
#include "patterns/testing/query_paths.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;

class GameTest : public BothPlaces {};

TEST_P(GameTest, ItemsGoFromHandToHand) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    BuildWorld(&world);
    Game game = GameOf(&world, backend);
    const ObjectId scroll = Spawn(&world, kShop, "scroll");
    EXPECT_TRUE(game.PickUp("tim", scroll).ok());
    EXPECT_TRUE(Has(&world, "tim", scroll));
    EXPECT_TRUE(Is(game.PickUp("grue", scroll), Error::kNoSuchItem));
    EXPECT_TRUE(game.Give("tim", "grue", scroll).ok());
    EXPECT_TRUE(Has(&world, "grue", scroll));
    EXPECT_TRUE(Is(game.Give("tim", "grue", scroll), Error::kNoSuchItem));
    EXPECT_TRUE(Is(game.Give("grue", "grue", scroll), Error::kConflict));
    EXPECT_TRUE(Is(game.Give("grue", "none", scroll), Error::kNotFound));
    ASSERT_TRUE(game.Move("tim", "north").ok());
    EXPECT_TRUE(Is(game.Give("grue", "tim", scroll), Error::kNotHere));
    EXPECT_TRUE(game.Drop("grue", scroll).ok());
    EXPECT_EQ(game.ViewRoom("shop")->inventory.size(), 1u);
    const ObjectId anvil = Spawn(&world, kShop, "anvil");
    EXPECT_TRUE(Is(game.PickUp("grue", anvil), Error::kTooHeavy));
    EXPECT_TRUE(Is(game.SpawnItem(kTim, "anvil", 1).status(), Error::kTooHeavy));
    EXPECT_TRUE(Is(game.SpawnItem(kTim, "none", 1).status(), Error::kNoSuchItem));
    EXPECT_TRUE(Is(game.SpawnItem(kTim, "scroll", 0).status(), Error::kInvalidAmount));
    EXPECT_TRUE(Is(game.SpawnGold("tim", 0), Error::kInvalidAmount));
    EXPECT_TRUE(Is(game.SpawnGold("none", 1), Error::kNotFound));
    EXPECT_TRUE(game.DestroyItem(kShop, anvil).ok());
    EXPECT_TRUE(Is(game.DestroyItem(kShop, anvil), Error::kNoSuchItem));
    ExpectSoundGame(&world);
    SettleGame(&world);
    ExpectSettledGame(&world);
  }
}

TEST_P(GameTest, AKeyHasOneOutcome) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    BuildWorld(&world);
    Game game = GameOf(&world, backend);
    const ObjectId scroll = Spawn(&world, kShop, "scroll");
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(game.Buy("tim", scroll, "k").ok());
      EXPECT_TRUE(game.SpawnGold("tim", 10, "g").ok());
    }
    EXPECT_EQ(GoldOf(&world, "tim"), 373);
    EXPECT_TRUE(Is(game.PickUp("tim", scroll, "k"), Error::kIdempotencyKeyReuse));
    auto first = game.SpawnItem(kTim, "arrow", 5, "s");
    auto again = game.SpawnItem(kTim, "arrow", 5, "s");
    ASSERT_TRUE(first.ok() && again.ok() && *first == *again);
    auto part = game.SplitStack(kTim, *first, 2, "p");
    auto same_part = game.SplitStack(kTim, *first, 2, "p");
    ASSERT_TRUE(part.ok() && same_part.ok() && *part == *same_part);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(game.MergeStacks(kTim, *part, *first, "m").ok());
      EXPECT_TRUE(game.Move("tim", "north", "go").ok());
    }
    EXPECT_EQ(game.Load("tim")->location.id, "street");
    EXPECT_TRUE(Is(game.Move("tim", "south", "go"), Error::kIdempotencyKeyReuse));
    ExpectSoundGame(&world);
  }
}

TEST_P(GameTest, ShopsTradeAtTheTemplatesPrice) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    BuildWorld(&world);
    Game game = GameOf(&world, backend);
    const ObjectId scroll = Spawn(&world, kShop, "scroll");
    const ObjectId arrows = Spawn(&world, kShop, "arrow", 50);
    const ObjectId hat = Spawn(&world, kShop, "hat");
    EXPECT_TRUE(game.Buy("tim", scroll).ok());
    EXPECT_EQ(GoldOf(&world, "tim"), 363);
    EXPECT_EQ(GoldOf(&world, "keeper"), 160);
    EXPECT_TRUE(Has(&world, "tim", scroll));
    EXPECT_TRUE(game.ViewRoom("shop")->inventory.size() == 2);
    EXPECT_TRUE(Is(game.Buy("grue", scroll), Error::kNoSuchItem));
    EXPECT_TRUE(Is(game.Buy("tim", hat), Error::kNotForSale));
    EXPECT_TRUE(Is(game.Buy("keeper", arrows), Error::kNotForSale));
    const ObjectId many = Spawn(&world, kShop, "arrow", 1000);
    EXPECT_TRUE(Is(game.Buy("grue", many), Error::kInsufficientFunds));
    EXPECT_TRUE(game.Buy("grue", arrows).ok());
    EXPECT_EQ(GoldOf(&world, "grue"), 100);
    EXPECT_TRUE(game.Sell("tim", scroll).ok());
    EXPECT_EQ(GoldOf(&world, "tim"), 523);
    EXPECT_EQ(GoldOf(&world, "keeper"), 100);
    EXPECT_TRUE(game.Buy("tim", scroll).ok());
    ASSERT_TRUE(game.Move("tim", "north").ok());
    EXPECT_TRUE(Is(game.Sell("tim", scroll), Error::kNotForSale));
    const ObjectId more = Spawn(&world, {Holder::kCharacter, "grue"}, "scroll", 5);
    EXPECT_TRUE(Is(game.Sell("grue", more), Error::kInsufficientFunds));
    ExpectSoundGame(&world);
  }
}

TEST_P(GameTest, ContainersStacksAndEquipment) {
  BuildWorld(&world_);
  Game game = GameOf(&world_);
  const ObjectId pack = Spawn(&world_, kTim, "pack");
  const ObjectId inner = Spawn(&world_, kTim, "pack");
  const ObjectId hat = Spawn(&world_, kTim, "hat");
  const ObjectId robe = Spawn(&world_, kTim, "robe");
  const ObjectId robe2 = Spawn(&world_, kTim, "robe");
  EXPECT_TRUE(game.Equip("tim", hat).ok());
  EXPECT_TRUE(game.Equip("tim", hat).ok());
  EXPECT_TRUE(game.Equip("tim", robe).ok());
  EXPECT_TRUE(Is(game.Equip("tim", robe2), Error::kWrongRegion));
  EXPECT_TRUE(Is(game.Equip("tim", hat, "left"), Error::kWrongRegion));
  EXPECT_TRUE(Is(game.Equip("tim", pack), Error::kWrongRegion));
  EXPECT_TRUE(Is(game.Equip("tim", ObjectId()), Error::kNoSuchItem));
  auto view = game.Load("tim");
  EXPECT_EQ(view->armor["head"], std::vector<std::string>{"+3 wizard's hat"});
  EXPECT_EQ(view->armor["body"], std::vector<std::string>{"wizard's robe"});
  EXPECT_TRUE(view->armor["feet"].empty());

  const ObjectId wand = Spawn(&world_, kTim, "wand");
  const ObjectId wand2 = Spawn(&world_, kTim, "wand");
  const ObjectId staff = Spawn(&world_, kTim, "staff");
  EXPECT_TRUE(game.Equip("tim", wand).ok());
  EXPECT_TRUE(Is(game.Equip("tim", staff), Error::kHandsFull));
  EXPECT_TRUE(Is(game.Equip("tim", wand2, "right"), Error::kHandsFull));
  EXPECT_TRUE(Is(game.Equip("tim", wand2, "both"), Error::kWrongRegion));
  EXPECT_TRUE(game.Equip("tim", wand2).ok());
  EXPECT_EQ(game.Load("tim")->weapons["left"], "-1 wand");
  EXPECT_TRUE(game.Unequip("tim", wand).ok());
  EXPECT_TRUE(game.Unequip("tim", wand2).ok());
  EXPECT_TRUE(Is(game.Unequip("tim", wand2), Error::kNoSuchItem));
  EXPECT_TRUE(game.Equip("tim", staff).ok());
  EXPECT_TRUE(Is(game.Equip("tim", wand), Error::kHandsFull));

  EXPECT_TRUE(game.PutInContainer(kTim, hat, inner).ok());
  EXPECT_TRUE(game.Load("tim")->armor["head"].empty());
  EXPECT_TRUE(game.PutInContainer(kTim, inner, pack).ok());
  EXPECT_TRUE(Is(game.PutInContainer(kTim, pack, inner), Error::kCycleError));
  EXPECT_TRUE(Is(game.PutInContainer(kTim, pack, pack), Error::kCycleError));
  EXPECT_TRUE(Is(game.PutInContainer(kTim, wand, robe), Error::kNotAContainer));
  EXPECT_TRUE(Is(game.PutInContainer(kTim, ObjectId(), pack), Error::kNoSuchItem));
  EXPECT_TRUE(Is(game.TakeFromContainer(kTim, pack, hat), Error::kNoSuchItem));
  EXPECT_TRUE(Is(game.Drop("tim", hat), Error::kNoSuchItem));  // inside
  EXPECT_TRUE(game.Drop("tim", pack).ok());
  EXPECT_TRUE(game.TakeFromContainer(kShop, inner, hat).ok());  // a chest in the room
  EXPECT_EQ(game.ViewRoom("shop")->inventory.size(), 2u);
  EXPECT_TRUE(Is(game.DestroyItem(kShop, pack), Error::kConflict));

  EXPECT_TRUE(game.Equip("tim", robe).ok());
  EXPECT_TRUE(game.Drop("tim", robe).ok());  // takes it off
  EXPECT_TRUE(game.Load("tim")->armor["body"].empty());

  const ObjectId arrows = Spawn(&world_, kTim, "arrow", 20);
  auto part = game.SplitStack(kTim, arrows, 8);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(ItemIndex(game.Load("tim")->inventory)[part->ToHex()]->quantity, 8);
  EXPECT_TRUE(Is(game.SplitStack(kTim, arrows, 12).status(), Error::kInvalidAmount));
  EXPECT_TRUE(Is(game.SplitStack(kTim, arrows, 0).status(), Error::kInvalidAmount));
  EXPECT_TRUE(Is(game.MergeStacks(kTim, arrows, wand), Error::kConflict));
  EXPECT_TRUE(Is(game.MergeStacks(kTim, arrows, arrows), Error::kConflict));
  EXPECT_TRUE(game.MergeStacks(kTim, arrows, *part).ok());
  EXPECT_TRUE(Is(game.MergeStacks(kTim, arrows, *part), Error::kNoSuchItem));
  ExpectSoundGame(&world_);

  ObjectId outer = Spawn(&world_, kShop, "pack");
  Status deepest;
  for (int i = 0; i < 20 && deepest.ok(); ++i) {
    const ObjectId next = Spawn(&world_, kShop, "pack");
    deepest = game.PutInContainer(kShop, outer, next);
    outer = next;
  }
  EXPECT_TRUE(Is(deepest, Error::kTooDeep));
  ExpectSoundGame(&world_);
}

TEST_P(GameTest, PlayersMoveBetweenRooms) {
  BuildWorld(&world_);
  Game game = GameOf(&world_);
  EXPECT_TRUE(game.Move("tim", "north").ok());
  auto tim = game.Load("tim");
  EXPECT_EQ(tim->location.id, "street");
  EXPECT_EQ(tim->location.players.size(), 1u);
  EXPECT_FALSE(tim->moving);
  EXPECT_EQ(*game.PlayersIn("street"), std::vector<std::string>{"tim"});
  EXPECT_TRUE(Is(game.Move("tim", "north"), Error::kNoExit));
  EXPECT_TRUE(Is(game.Move("grue", "void"), Error::kNoExit));
  EXPECT_TRUE(Is(game.Move("grue", ""), Error::kNoExit));
  EXPECT_EQ(game.ViewRoom("shop")->exits.count("no. 7"), 1u);
  EXPECT_TRUE(game.Move("keeper", "no. 7").ok());
  EXPECT_TRUE(game.Move("keeper", "south").ok());
  EXPECT_TRUE(Is(game.Move("none", "north"), Error::kNotFound));
  // The others in the shop still see Tim in their cached view, until it is refreshed.
  EXPECT_EQ(game.ViewRoom("shop")->players.size(), 2u);
  EXPECT_GT(game.RepairRooms()->changed, 0);
  EXPECT_EQ(game.Load("grue")->location.players.size(), 2u);
  TestCrash crash;
  crash.at = "game.move.c2";
  EXPECT_TRUE(
      Is(GameOf(&world_, Backend::kCompensating, world_.seams(&crash)).Move("grue", "north"),
         Error::kCrashed));
  EXPECT_TRUE(Is(game.Move("grue", "south"), Error::kBusy));
  EXPECT_EQ(game.PlayersIn("street")->size(), 2u);
  SettleGame(&world_);
  EXPECT_TRUE(game.Move("grue", "south").ok());
  EXPECT_TRUE(
      Is(game.CreateCharacter({.id = "x", .name = "x", .location = "none"}), Error::kNotFound));
  EXPECT_TRUE(
      Is(game.CreateTemplate({.id = "y", .name = "y", .weight = -1}), Error::kInvalidAmount));
}

// A paused grab, while another takes the item away and a third puts it back.
TEST_P(GameTest, TwoWhoGrabGetOneItem) {
  for (int step = 1; step <= 3; ++step) {
    World world(GetParam());
    BuildWorld(&world);
    const ObjectId scroll = Spawn(&world, kShop, "scroll");
    TestCrash crash;
    crash.at = "game.hand_over.c" + std::to_string(step);
    Status other;
    crash.action = [&] {
      other = GameOf(&world).PickUp("grue", scroll);
      ExpectSoundGame(&world);
      return true;
    };
    Status first =
        GameOf(&world, Backend::kCompensating, world.seams(&crash)).PickUp("tim", scroll);
    EXPECT_NE(first.ok(), other.ok()) << first.ToString() << other.ToString();
    EXPECT_TRUE(first.ok() || Is(first, Error::kConflict)) << first.ToString();
    EXPECT_TRUE(other.ok() || Is(other, Error::kNoSuchItem)) << other.ToString();
    EXPECT_NE(Has(&world, "tim", scroll), Has(&world, "grue", scroll));
    ExpectSoundGame(&world);
  }
}

TEST_P(GameTest, ManyPlayersLoseAndDoubleNothing) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    BuildWorld(&world);
    std::vector<ObjectId> items;
    for (int i = 0; i < 3; ++i) {
      items.push_back(Spawn(&world, kShop, "scroll"));
    }
    const std::set<std::string> kExpected = {"",           "NoSuchItem", "NotHere",
                                             "Conflict",   "NotForSale", "InsufficientFunds",
                                             "NoExit",     "Busy",       "TransactionExpired",
                                             "Contention", "TooHeavy"};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        Game game = GameOf(&world, backend);
        const std::string me = t == 0 ? "tim" : t == 1 ? "grue" : "keeper";
        const std::string friend_of_mine = t == 0 ? "grue" : "tim";
        for (int i = 0; i < 60; ++i) {
          const ObjectId& item = items[static_cast<size_t>(i + t) % items.size()];
          Status done;
          switch ((i + t) % 6) {
            case 0:
              done = game.PickUp(me, item);
              break;
            case 1:
              done = game.Give(me, friend_of_mine, item);
              break;
            case 2:
              done = game.Buy(me, item);
              break;
            case 3:
              done = game.Drop(me, item);
              break;
            case 4:
              done = game.Move(me, i % 2 == 0 ? "north" : "south");
              break;
            default:
              done = game.Sell(me, item);
          }
          EXPECT_TRUE(kExpected.contains(done.ok() ? "" : ErrorName(done))) << done.ToString();
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        world.clock.Advance(std::chrono::seconds(20));
        Game game = GameOf(&world);
        EXPECT_TRUE(game.Cleanup().ok());
        EXPECT_TRUE(game.ResumeMoves().ok());
        EXPECT_TRUE(game.RepairRooms().ok());
        ExpectSoundGame(&world);
      }
    });
    for (std::thread& thread : threads) {
      thread.join();
    }
    ExpectSoundGame(&world);
    SettleGame(&world);
    ExpectSettledGame(&world);
    ExpectSoundGame(&world);
  }
}

TEST_P(GameTest, PurgeForgetsWithTheTombstones) {
  BuildWorld(&world_);
  Game game = GameOf(&world_);
  ASSERT_TRUE(game.PickUp("tim", Spawn(&world_, kShop, "scroll")).ok());
  world_.clock.Advance(hours(25));
  EXPECT_GT(game.Purge()->changed, 0);
  EXPECT_EQ(*world_.store.Count("game_records", Doc()), 0);
  ExpectSoundGame(&world_);
}

TEST_P(GameTest, QueriesUseTheIndexes) {
  EXPECT_EQ(GameOf(&world_).MissingIndexes()->size(), Game::Indexes().size());
  BuildWorld(&world_);
  EXPECT_TRUE(GameOf(&world_).MissingIndexes()->empty());
  EXPECT_EQ(Game::ShardKeys().size(), 5u);
  QueryPaths paths;
  Seams seams = world_.seams();
  seams.queries = &paths;
  for (Backend backend : kBackends) {
    const Game game = GameOf(&world_, backend, seams);
    const ObjectId scroll = *game.SpawnItem(kShop, "scroll", 1);
    const ObjectId pack = *game.SpawnItem(kTim, "pack", 1);
    const ObjectId hat = *game.SpawnItem(kTim, "hat", 1);
    const ObjectId arrows = *game.SpawnItem(kTim, "arrow", 9);
    ASSERT_TRUE(game.SpawnGold("tim", 500).ok());
    ASSERT_TRUE(game.Buy("tim", scroll, "b" + scroll.ToHex()).ok());
    ASSERT_TRUE(game.Sell("tim", scroll).ok());
    ASSERT_TRUE(game.PickUp("grue", scroll).ok());
    ASSERT_TRUE(game.Give("grue", "tim", scroll).ok());
    ASSERT_TRUE(game.Drop("tim", scroll).ok());
    ASSERT_TRUE(game.DestroyItem(kShop, scroll).ok());
    ASSERT_TRUE(game.Equip("tim", hat).ok());
    ASSERT_TRUE(game.Unequip("tim", hat).ok());
    ASSERT_TRUE(game.PutInContainer(kTim, hat, pack).ok());
    ASSERT_TRUE(game.TakeFromContainer(kTim, pack, hat).ok());
    auto part = game.SplitStack(kTim, arrows, 3, "s" + arrows.ToHex());
    ASSERT_TRUE(game.MergeStacks(kTim, *part, arrows).ok());
    ASSERT_TRUE(game.Move("tim", "north", "m" + arrows.ToHex()).ok());
    ASSERT_TRUE(game.Move("tim", "south").ok());
    ASSERT_TRUE(game.Load("tim").ok());
    ASSERT_TRUE(game.ViewRoom("shop").ok());
    ASSERT_TRUE(game.PlayersIn("shop").ok());
  }
  const Game game = GameOf(&world_, Backend::kCompensating, seams);
  for (const char* point : {"game.hand_over.c2", "game.hand_over.c4", "game.move.c2"}) {
    TestCrash crash;
    crash.at = point;
    Game dying = GameOf(&world_, Backend::kCompensating, world_.seams(&crash));
    (void)dying.PickUp("grue", Spawn(&world_, kShop, "hat"));
    (void)dying.Move("grue", "north");
  }
  world_.clock.Advance(hours(1));
  ASSERT_TRUE(game.Cleanup().ok());
  ASSERT_TRUE(game.ResumeMoves().ok());
  ASSERT_TRUE(game.RepairRooms(1).ok());
  world_.clock.Advance(hours(25));
  ASSERT_TRUE(game.Purge().ok());
  // Of the characters in a room those whose picture of it is old.
  paths.ExpectIndexed(world_.store, {"find character location.id,moving,location"});
}

QUIRE_IN_BOTH_PLACES(GameTest);

}  // namespace
}  // namespace quire::patterns
