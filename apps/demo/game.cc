// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/game.h"

#include <optional>

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Game;
using patterns::Holder;

constexpr int64_t kRooms = 10;
constexpr int64_t kItems = 3;  // of a character

std::string RoomOf(int64_t i) { return Numbered("room", i % kRooms); }
std::string HeroOf(int64_t i) { return Numbered("hero", i); }

Status Furnish(const Game& game) {
  RETURN_IF_ERROR(
      game.CreateTemplate({.id = "scroll", .name = "scroll", .weight = 1, .price = 10}));
  for (int64_t i = 0; i < kRooms; ++i) {
    RETURN_IF_ERROR(game.CreateLocation(
        {.id = RoomOf(i), .description = "a room", .exits = {{"north", RoomOf(i + 1)}}}));
  }
  return Status::Ok();
}

Status AddHero(const Game& game, int64_t i) {
  RETURN_IF_ERROR(game.CreateCharacter(
      {.id = HeroOf(i), .name = "Hero", .strength = 9, .location = RoomOf(i)}));
  RETURN_IF_ERROR(game.SpawnGold(HeroOf(i), 100));
  for (int64_t k = 0; k < kItems; ++k) {
    RETURN_IF_ERROR(game.SpawnItem({Holder::kCharacter, HeroOf(i)}, "scroll", 1).status());
  }
  return Status::Ok();
}

// The first thing the hero has, or the first that lies in the hero's room.
Result<std::optional<bson::ObjectId>> FirstThing(const Game& game, const std::string& hero,
                                                 bool in_room) {
  ASSIGN_OR_RETURN(patterns::CharacterView view, game.Load(hero));
  std::vector<patterns::GameItem> inventory = view.inventory;
  if (in_room) {
    ASSIGN_OR_RETURN(patterns::RoomView room, game.ViewRoom(view.location.id));
    inventory = room.inventory;
  }
  return inventory.empty() ? std::optional<bson::ObjectId>() : inventory[0].id;
}

std::vector<Step> Steps(const DesignRun& run, const Game& game) {
  auto any = [&run](Worker& w) { return HeroOf(w.chance.Below(run.size())); };
  return {
      {"load character", 40, [&game, any](Worker& w) { return game.Load(any(w)).status(); }},
      {"move", 20, [&game, any](Worker& w) { return game.Move(any(w), "north"); }},
      {"drop", 15,
       [&game, any](Worker& w) {
         const std::string hero = any(w);
         ASSIGN_OR_RETURN(auto item, FirstThing(game, hero, false));
         return item ? game.Drop(hero, *item) : Status::Ok();
       }},
      {"pick up", 15,
       [&game, any](Worker& w) {
         const std::string hero = any(w);
         ASSIGN_OR_RETURN(auto item, FirstThing(game, hero, true));
         return item ? game.PickUp(hero, *item) : Status::Ok();
       }},
      {"give", 10,
       [&game, any](Worker& w) {
         const std::string hero = any(w);
         const std::string other = any(w);
         ASSIGN_OR_RETURN(auto item, FirstThing(game, hero, false));
         return item && hero != other ? game.Give(hero, other, *item) : Status::Ok();
       }},
  };
}

Status RunWorld(DesignRun* run, patterns::Backend backend) {
  Game game(run->client(), run->database(), {.backend = backend});
  RETURN_IF_ERROR(game.CreateIndexes());
  RETURN_IF_ERROR(Furnish(game));
  RETURN_IF_ERROR(
      run->Load("characters", run->size(), [&](int64_t i) { return AddHero(game, i); }));
  RETURN_IF_ERROR(run->Work(Steps(*run, game)));
  RETURN_IF_ERROR(game.Cleanup().status());
  RETURN_IF_ERROR(game.ResumeMoves().status());
  RETURN_IF_ERROR(run->Explain("characters in a room", "character", Doc("location.id", RoomOf(0))));
  ASSIGN_OR_RETURN(std::vector<std::string> wrong, game.AuditWorld());
  run->Check("items are in one place, totals are the ledger's", wrong);
  return Status::Ok();
}

}  // namespace

Status DemoGame(DemoRun* run) {
  struct Row {
    const char* name;
    patterns::Backend backend;
  };
  constexpr Row kRows[] = {{"compensating", patterns::Backend::kCompensating},
                           {"transactional", patterns::Backend::kTransactional}};
  return run->Designs(
      kRows, [](DesignRun* design, const Row& row) { return RunWorld(design, row.backend); });
}

}  // namespace quire::apps
