// SPDX-License-Identifier: Apache-2.0
//
// The game under crashes: every operation at every point, and random histories.
#include <set>

#include "patterns/testing/game.h"
#include "patterns/testing/random_crash.h"

namespace quire::patterns {
namespace {

using bson::ObjectId;
using std::chrono::hours;

const Holder kStreet{Holder::kLocation, "street"};

// A shop with arrows on its floor; Tim has two arrows, a pack with a hat in it, a wand and a robe
// on.
struct Things {
  ObjectId floor, held, more, pack, hat, wand, robe;
};

Things Furnish(World* world) {
  BuildRooms(world);
  Game game = GameOf(world);
  const ItemTemplate kTemplates[] = {
      {.id = "arrow", .name = "arrow", .price = 2},
      {.id = "pack", .name = "backpack", .weight = 1, .container = true},
      {.id = "hat", .name = "hat", .weight = 1, .region = "head"},
      {.id = "robe", .name = "robe", .weight = 1, .region = "body"},
      {.id = "wand", .name = "wand", .weight = 1, .hand = "any"},
  };
  for (const ItemTemplate& item : kTemplates) {
    EXPECT_TRUE(game.CreateTemplate(item).ok());
  }
  for (const char* who : {"tim", "grue", "keeper"}) {
    EXPECT_TRUE(game.SpawnGold(who, 10).ok());
  }
  Things things{Spawn(world, kShop, "arrow"), Spawn(world, kTim, "arrow", 2),
                Spawn(world, kTim, "arrow"),  Spawn(world, kTim, "pack"),
                Spawn(world, kTim, "hat"),    Spawn(world, kTim, "wand"),
                Spawn(world, kTim, "robe")};
  EXPECT_TRUE(game.PutInContainer(kTim, things.hat, things.pack).ok());
  EXPECT_TRUE(game.Equip("tim", things.robe).ok());
  SettleGame(world);
  world->clock.Advance(hours(25));
  EXPECT_TRUE(game.Purge().ok());
  return things;
}

struct Operation {
  const char* name;
  std::function<Status(const Game&, const Things&)> run;
  bool hand_over = false;  // has two back ends
};

const Operation kOperations[] = {
    {"pick up", [](auto& g, auto& t) { return g.PickUp("tim", t.floor, "k"); }, true},
    {"drop", [](auto& g, auto& t) { return g.Drop("tim", t.held, "k"); }, true},
    {"drop what is worn", [](auto& g, auto& t) { return g.Drop("tim", t.robe, "k"); }, true},
    {"give", [](auto& g, auto& t) { return g.Give("tim", "grue", t.held, "k"); }, true},
    {"buy", [](auto& g, auto& t) { return g.Buy("tim", t.floor, "k"); }, true},
    {"sell", [](auto& g, auto& t) { return g.Sell("tim", t.held, "k"); }, true},
    {"spawn", [](auto& g, auto&) { return g.SpawnItem(kTim, "arrow", 3, "k").status(); }, true},
    {"destroy", [](auto& g, auto& t) { return g.DestroyItem(kTim, t.held, "k"); }, true},
    {"gold", [](auto& g, auto&) { return g.SpawnGold("tim", 7, "k"); }, true},
    {"move", [](auto& g, auto&) { return g.Move("tim", "north", "k"); }},
    {"split", [](auto& g, auto& t) { return g.SplitStack(kTim, t.held, 1, "k").status(); }},
    {"merge", [](auto& g, auto& t) { return g.MergeStacks(kTim, t.more, t.held, "k"); }},
    {"take", [](auto& g, auto& t) { return g.TakeFromContainer(kTim, t.pack, t.hat, "k"); }},
    {"put", [](auto& g, auto& t) { return g.PutInContainer(kTim, t.wand, t.pack, "k"); }},
    {"equip", [](auto& g, auto& t) { return g.Equip("tim", t.wand, "left", "k"); }},
    {"unequip", [](auto& g, auto& t) { return g.Unequip("tim", t.robe, "k"); }},
    {"new template",
     [](auto& g, auto&) { return g.CreateTemplate({.id = "x", .name = "x"}, "k"); }},
    {"new location", [](auto& g, auto&) { return g.CreateLocation({.id = "x"}, "k"); }},
    {"new character",
     [](auto& g, auto&) {
       return g.CreateCharacter({.id = "x", .name = "x", .location = "shop"}, "k");
     }},
};

class GameCrashTest : public BothPlaces {};

TEST_P(GameCrashTest, EveryOperationAtEveryPoint) {
  for (Backend backend : kBackends) {
    for (const Operation& operation : kOperations) {
      if (!operation.hand_over && backend == Backend::kTransactional) {
        continue;
      }
      SCOPED_TRACE(std::string(operation.name) + std::to_string(static_cast<int>(backend)));
      Things things;
      CrashCase test;
      test.once = [&](World* world) { things = Furnish(world); };
      test.operation = [&](World* world, const Seams& seams) {
        return operation.run(GameOf(world, backend, seams), things);
      };
      test.repeated = [](const Status& again) {
        EXPECT_TRUE(again.ok() || Is(again, Error::kTransactionExpired)) << again.ToString();
      };
      test.settle = SettleGame;
      test.always = ExpectSoundGame;
      test.settled = ExpectSettledGame;
      EXPECT_GE(RunCrashCase(GetParam(), test), 5);
    }
  }
}

// The jobs themselves crash, or are paused until others have done their work: of a hand-over and of
// a move that stopped in the middle.
TEST_P(GameCrashTest, TheJobsAtEveryPoint) {
  const struct {
    const char* name;
    const char* stops_at;
    std::function<Status(const Game&)> run;
  } kJobs[] = {
      {"undo", "game.hand_over.c3", [](const Game& g) { return g.Cleanup().status(); }},
      {"finish", "game.hand_over.c4", [](const Game& g) { return g.Cleanup().status(); }},
      {"move", "game.move.c2", [](const Game& g) { return g.ResumeMoves().status(); }},
      {"rooms", "game.move.c2", [](const Game& g) { return g.RepairRooms().status(); }},
      {"purge", "", [](const Game& g) { return g.Purge().status(); }},
  };
  for (const auto& job : kJobs) {
    SCOPED_TRACE(job.name);
    CrashCase test;
    test.once = [&](World* world) {
      const Things things = Furnish(world);
      TestCrash crash;
      crash.at = job.stops_at;
      Game game = GameOf(world, Backend::kCompensating, world->seams(&crash));
      (void)game.PickUp("tim", things.floor, "k");
      if (!crash.fired) {
        (void)game.Move("tim", "north", "m");
      }
      EXPECT_EQ(crash.fired, *job.stops_at != 0);
      world->clock.Advance(*job.stops_at != 0 ? std::chrono::milliseconds(std::chrono::minutes(5))
                                              : hours(25));
    };
    test.operation = [&](World* world, const Seams& seams) {
      return job.run(GameOf(world, Backend::kCompensating, seams));
    };
    test.settle = SettleGame;
    test.always = ExpectSoundGame;
    test.settled = ExpectSettledGame;
    EXPECT_GE(RunCrashCase(GetParam(), test), 5);
  }
}

QUIRE_IN_BOTH_PLACES(GameCrashTest);

// Three characters, two rooms, a few things, and whatever they do to each other.
class RandomGame : public RandomWorkload {
 public:
  explicit RandomGame(Backend backend) : backend_(backend) {}

  void Setup(World* world) override {
    const Things things = Furnish(world);
    items_ = {things.floor, things.held, things.more, things.pack,
              things.hat,   things.wand, things.robe};
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    const Game game = GameOf(world, backend_, seams);
    const CallKey key =
        chance->OneIn(2) ? CallKey("k" + std::to_string(chance->Below(20))) : CallKey();
    const std::string who = chance->Pick(kPeople);
    const std::string other = chance->Pick(kPeople);
    const ObjectId item = chance->Pick(items_);
    const ObjectId second = chance->Pick(items_);
    const Holder holder = chance->OneIn(2)   ? Holder{Holder::kCharacter, who}
                          : chance->OneIn(2) ? kShop
                                             : kStreet;
    const int action = chance->Below(17);
    chance->Note(who + " does " + std::to_string(action) + " with " + item.ToHex() + " " +
                 second.ToHex() + (key ? " key " + *key : ""));
    switch (action) {
      case 0:
      case 1:
        return game.PickUp(who, item, key);
      case 2:
        return game.Drop(who, item, key);
      case 3:
        return game.Give(who, other, item, key);
      case 4:
        return game.Buy(who, item, key);
      case 5:
        return game.Sell(who, item, key);
      case 6:
      case 7:
        return game.Move(who, chance->OneIn(2) ? "north" : "south", key);
      case 8: {
        auto made = game.SpawnItem(holder, "arrow", 1 + chance->Below(3), key);
        if (made.ok()) {
          items_.push_back(*made);
        }
        return made.status();
      }
      case 9:
        return game.DestroyItem(holder, item, key);
      case 10:
        return game.SpawnGold(who, 1 + chance->Below(5), key);
      case 11: {
        auto made = game.SplitStack(holder, item, 1, key);
        if (made.ok()) {
          items_.push_back(*made);
        }
        return made.status();
      }
      case 12:
        return game.MergeStacks(holder, item, second, key);
      case 13:
        return game.PutInContainer(holder, item, second, key);
      case 14:
        return game.TakeFromContainer(holder, second, item, key);
      case 15:
        return chance->OneIn(3) ? game.Unequip(who, item, key) : game.Equip(who, item, "", key);
      default:
        return chance->OneIn(2)   ? game.Cleanup().status()
               : chance->OneIn(2) ? game.ResumeMoves().status()
                                  : game.RepairRooms().status();
    }
  }

  void Settle(World* world) override { SettleGame(world); }
  void ExpectAlways(World* world) override { ExpectSoundGame(world); }
  void ExpectSettled(World* world) override { ExpectSettledGame(world); }
  void Rest(World* world) override {
    SettleGame(world);
    world->clock.Advance(hours(25));
    EXPECT_TRUE(GameOf(world, backend_).Purge().ok());
  }

 private:
  static inline const std::vector<std::string> kPeople = {"tim", "grue", "keeper"};

  Backend backend_;
  std::vector<ObjectId> items_;
};

const RandomSystem kRandom("Game", [](Chance* chance) {
  return std::make_unique<RandomGame>(chance->Pick(kBackends));
});

}  // namespace
}  // namespace quire::patterns
