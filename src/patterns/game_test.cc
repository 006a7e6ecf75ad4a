// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/game.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "patterns/test_world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;
using std::chrono::minutes;
using std::string_view_literals::operator""sv;

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};
const Holder kTim{Holder::kCharacter, "tim"};
const Holder kShop{Holder::kLocation, "shop"};

Game GameOf(World* world, Backend backend, const Seams& seams) {
  return Game(world->client, world->database, {.backend = backend, .seams = seams});
}
Game GameOf(World* world, Backend backend = Backend::kCompensating) {
  return GameOf(world, backend, world->seams());
}

void ExpectSound(World* world) {
  auto wrong = GameOf(world).AuditWorld();
  ASSERT_TRUE(wrong.ok()) << wrong.status().ToString();
  EXPECT_TRUE(wrong->empty()) << wrong->front();
}

// Two rooms and three who are in the shop.
void BuildRooms(World* world) {
  Game game = GameOf(world);
  ASSERT_TRUE(game.CreateIndexes().ok());
  ASSERT_TRUE(game.CreateLocation({.id = "shop",
                                   .description = "a shop",
                                   .exits = {{"north", "street"}, {"void", "nowhere"}},
                                   .shopkeeper = "keeper"})
                  .ok());
  ASSERT_TRUE(game.CreateLocation({.id = "street", .exits = {{"south", "shop"}}}).ok());
  for (const char* id : {"tim", "grue", "keeper"}) {
    Status made = game.CreateCharacter({.id = id, .name = id, .strength = 9, .location = "shop"});
    ASSERT_TRUE(made.ok()) << made.ToString();
  }
}

// Those, Tim with 523 and Grue with 200, and all kinds of things.
void Build(World* world) {
  BuildRooms(world);
  Game game = GameOf(world);
  const ItemTemplate kTemplates[] = {
      {.id = "scroll", .name = "scroll of light", .weight = 1, .price = 160},
      {.id = "hat", .name = "wizard's hat", .bonus = 3, .weight = 2, .region = "head"},
      {.id = "robe", .name = "wizard's robe", .bonus = 0, .weight = 3, .region = "body"},
      {.id = "pack", .name = "backpack", .weight = 1, .container = true},
      {.id = "wand", .name = "wand", .bonus = -1, .weight = 1, .hand = "any"},
      {.id = "staff", .name = "staff", .weight = 4, .hand = "both"},
      {.id = "arrow", .name = "arrow", .price = 2},
      {.id = "anvil", .name = "anvil", .weight = 500, .price = 1},
  };
  for (const ItemTemplate& item : kTemplates) {
    ASSERT_TRUE(game.CreateTemplate(item).ok());
  }
  ASSERT_TRUE(game.SpawnGold("tim", 523).ok());
  ASSERT_TRUE(game.SpawnGold("grue", 200).ok());
}

ObjectId Spawn(World* world, const Holder& holder, const char* tmpl, int32_t quantity = 1) {
  auto id = GameOf(world).SpawnItem(holder, tmpl, quantity);
  EXPECT_TRUE(id.ok()) << id.status().ToString();
  return id.ok() ? *id : ObjectId();
}

bool Has(World* world, std::string_view character, const ObjectId& item) {
  auto view = GameOf(world).Load(character);
  return ItemIndex(view->inventory).contains(item.ToHex());
}

int64_t GoldOf(World* world, std::string_view character) {
  return GameOf(world).Load(character)->gold;
}

// Jobs until they change nothing.
void Settle(World* world) {
  world->clock.Advance(minutes(5));
  Game game = GameOf(world);
  for (int i = 0; i < 10; ++i) {
    auto sagas = game.Cleanup();
    auto moves = game.ResumeMoves();
    auto rooms = game.RepairRooms();
    ASSERT_TRUE(sagas.ok() && moves.ok() && rooms.ok())
        << sagas.status().ToString() << moves.status().ToString() << rooms.status().ToString();
    if (sagas->changed + moves->changed + rooms->changed == 0) {
      return;
    }
  }
  FAIL() << "the jobs never end";
}

// Nothing is on its way; every player is listed in its room and in no other.
void ExpectSettled(World* world) {
  for (const char* collection : {"character", "location"}) {
    auto holders = world->store.Find(collection, Doc());
    for (const Document& holder : *holders) {
      EXPECT_TRUE(holder["txns"].AsArray().empty());
      EXPECT_TRUE(holder["transit"].AsArray().empty());
      EXPECT_TRUE(holder["moving"].nullish());
    }
  }
  for (const char* room : {"shop", "street"}) {
    std::vector<std::string> listed;
    auto view = GameOf(world).ViewRoom(room);
    for (const auto& player : view->players) {
      listed.push_back(player.first);
    }
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(listed, *GameOf(world).PlayersIn(room)) << room;
  }
}

class GameTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(GameTest, ItemsGoFromHandToHand) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Build(&world);
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
    ExpectSound(&world);
    Settle(&world);
    ExpectSettled(&world);
  }
}

TEST_P(GameTest, AKeyHasOneOutcome) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Build(&world);
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
    ExpectSound(&world);
  }
}

TEST_P(GameTest, ShopsTradeAtTheTemplatesPrice) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Build(&world);
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
    ExpectSound(&world);
  }
}

TEST_P(GameTest, ContainersStacksAndEquipment) {
  Build(&world_);
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
  ExpectSound(&world_);

  ObjectId outer = Spawn(&world_, kShop, "pack");
  Status deepest;
  for (int i = 0; i < 20 && deepest.ok(); ++i) {
    const ObjectId next = Spawn(&world_, kShop, "pack");
    deepest = game.PutInContainer(kShop, outer, next);
    outer = next;
  }
  EXPECT_TRUE(Is(deepest, Error::kTooDeep));
  ExpectSound(&world_);
}

TEST_P(GameTest, PlayersMoveBetweenRooms) {
  Build(&world_);
  Game game = GameOf(&world_);
  EXPECT_TRUE(game.Move("tim", "north").ok());
  auto tim = game.Load("tim");
  EXPECT_EQ(tim->location.id, "street");
  EXPECT_EQ(tim->location.players.size(), 1u);
  EXPECT_FALSE(tim->moving);
  EXPECT_EQ(*game.PlayersIn("street"), std::vector<std::string>{"tim"});
  EXPECT_TRUE(Is(game.Move("tim", "north"), Error::kNoExit));
  EXPECT_TRUE(Is(game.Move("grue", "void"), Error::kNoExit));
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
  Settle(&world_);
  EXPECT_TRUE(game.Move("grue", "south").ok());
  EXPECT_TRUE(
      Is(game.CreateCharacter({.id = "x", .name = "x", .location = "none"}), Error::kNotFound));
  EXPECT_TRUE(
      Is(game.CreateTemplate({.id = "y", .name = "y", .weight = -1}), Error::kInvalidAmount));
}

// Every operation and every point of it, on both back ends; through an address, of three of them.
TEST_P(GameTest, SurvivesEveryCrashAndLateWrite) {
  using Operation = std::function<Status(const Game&, const ObjectId& floor, const ObjectId& held)>;
  struct {
    const char* name;
    Operation run;
    bool hand_over;  // has a key, and two back ends
    int min_runs;
  } const kOperations[] = {
      {"pick up",
       [](const Game& game, const ObjectId& floor, const ObjectId&) {
         return game.PickUp("tim", floor, "k");
       },
       true, 12},
      {"drop",
       [](const Game& game, const ObjectId&, const ObjectId& held) {
         return game.Drop("tim", held, "k");
       },
       true, 12},
      {"give",
       [](const Game& game, const ObjectId&, const ObjectId& held) {
         return game.Give("tim", "grue", held, "k");
       },
       true, 12},
      {"buy",
       [](const Game& game, const ObjectId& floor, const ObjectId&) {
         return game.Buy("tim", floor, "k");
       },
       true, 12},
      {"sell",
       [](const Game& game, const ObjectId&, const ObjectId& held) {
         return game.Sell("tim", held, "k");
       },
       true, 12},
      {"spawn",
       [](const Game& game, const ObjectId&, const ObjectId&) {
         return game.SpawnItem(kTim, "arrow", 3, "k").status();
       },
       true, 12},
      {"destroy",
       [](const Game& game, const ObjectId&, const ObjectId& held) {
         return game.DestroyItem(kTim, held, "k");
       },
       true, 12},
      {"gold",
       [](const Game& game, const ObjectId&, const ObjectId&) {
         return game.SpawnGold("tim", 7, "k");
       },
       true, 12},
      {"move",
       [](const Game& game, const ObjectId&, const ObjectId&) {
         return game.Move("tim", "north", "k");
       },
       false, 20},
      {"equip",
       [](const Game& game, const ObjectId&, const ObjectId& held) {
         return game.SplitStack(kTim, held, 1, "k").status();
       },
       false, 5},
  };
  ObjectId floor;
  ObjectId held;
  for (Backend backend : kBackends) {
    for (const auto& operation : kOperations) {
      const bool through_address =
          operation.name == "buy"sv || operation.name == "move"sv || operation.name == "spawn"sv;
      if ((!operation.hand_over && backend == Backend::kTransactional) ||
          (GetParam() == Place::kServed && !through_address)) {
        continue;
      }
      SCOPED_TRACE(std::string(operation.name) + std::to_string(static_cast<int>(backend)));
      CrashCase test;
      test.setup = [&](World* world) {
        BuildRooms(world);
        ASSERT_TRUE(GameOf(world).CreateTemplate({.id = "arrow", .name = "a", .price = 2}).ok());
        floor = Spawn(world, kShop, "arrow");
        held = Spawn(world, kTim, "arrow", 2);
        const Document ten = Doc("$inc", Doc("gold", int64_t{10}));
        ASSERT_EQ(*world->store.UpdateMany("character", Doc(), ten), 3);
        ASSERT_EQ(*world->store.UpdateOne("ledger", Doc("_id", "gold"),
                                          Doc("$inc", Doc("amount", int64_t{30}))),
                  1);
        Settle(world);  // or the jobs would wait for a paused transaction to let go of a character
      };
      test.operation = [&](World* world, const Seams& seams) {
        Status first = operation.run(GameOf(world, backend, seams), floor, held);
        if (operation.hand_over && !first.ok()) {
          Status again = operation.run(GameOf(world, backend), floor, held);
          EXPECT_TRUE(again.ok() || Is(again, Error::kTransactionExpired)) << again.ToString();
        }
        return first;
      };
      test.settle = Settle;
      test.always = ExpectSound;
      test.settled = ExpectSettled;
      EXPECT_GE(RunCrashCase(GetParam(), test), operation.min_runs);
    }
  }
}

// A paused grab, while another takes the item away and a third puts it back.
TEST_P(GameTest, TwoWhoGrabGetOneItem) {
  for (int step = 1; step <= 3; ++step) {
    World world(GetParam());
    Build(&world);
    const ObjectId scroll = Spawn(&world, kShop, "scroll");
    TestCrash crash;
    crash.at = "game.hand_over.c" + std::to_string(step);
    Status other;
    crash.action = [&] {
      other = GameOf(&world).PickUp("grue", scroll);
      ExpectSound(&world);
      return true;
    };
    Status first =
        GameOf(&world, Backend::kCompensating, world.seams(&crash)).PickUp("tim", scroll);
    EXPECT_NE(first.ok(), other.ok()) << first.ToString() << other.ToString();
    EXPECT_TRUE(first.ok() || Is(first, Error::kConflict)) << first.ToString();
    EXPECT_TRUE(other.ok() || Is(other, Error::kNoSuchItem)) << other.ToString();
    EXPECT_NE(Has(&world, "tim", scroll), Has(&world, "grue", scroll));
    ExpectSound(&world);
  }
}

TEST_P(GameTest, ManyPlayersLoseAndDoubleNothing) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Build(&world);
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
        ExpectSound(&world);
      }
    });
    for (std::thread& thread : threads) {
      thread.join();
    }
    ExpectSound(&world);
    Settle(&world);
    ExpectSettled(&world);
    ExpectSound(&world);
  }
}

TEST_P(GameTest, PurgeForgetsWithTheTombstones) {
  Build(&world_);
  Game game = GameOf(&world_);
  ASSERT_TRUE(game.PickUp("tim", Spawn(&world_, kShop, "scroll")).ok());
  world_.clock.Advance(hours(25));
  EXPECT_GT(game.Purge()->changed, 0);
  EXPECT_EQ(*world_.store.Count("game_records", Doc()), 0);
  ExpectSound(&world_);
}

TEST_P(GameTest, QueriesUseTheIndexes) {
  EXPECT_EQ(GameOf(&world_).MissingIndexes()->size(), Game::Indexes().size());
  Build(&world_);
  EXPECT_TRUE(GameOf(&world_).MissingIndexes()->empty());
  EXPECT_EQ(Game::ShardKeys().size(), 5u);
  const bson::Date now = world_.clock.Now();
  const Document kFinds[] = {
      Doc("find", "character", "filter", Doc("location.id", "shop")),
      Doc("find", "character", "filter", Doc("moving.ts", Doc("$lt", now))),
      Doc("find", "character", "filter", Doc("inventory.id", ObjectId())),
      Doc("find", "character", "filter", Doc("transit.ts", Doc("$lt", now))),
      Doc("find", "location", "filter", Doc("players.id", "tim")),
      Doc("find", "location", "filter", Doc("inventory.id", ObjectId())),
      Doc("find", "location", "filter", Doc("_id", Doc("$gt", "")), "sort", Doc("_id", 1)),
      Doc("find", "game_records", "filter", Doc("state", "new", "ts", Doc("$lt", now))),
  };
  for (const Document& find : kFinds) {
    Explained explained = Explain(world_.store, find);
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
    EXPECT_LE(explained.keys, explained.returned + 1) << explained.plan;
  }
}

INSTANTIATE_TEST_SUITE_P(Places, GameTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
