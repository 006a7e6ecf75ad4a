// SPDX-License-Identifier: Apache-2.0
//
// A small world of the game, for its tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "patterns/testing/places.h"
#include "quire/patterns/game.h"

namespace quire::patterns {

inline constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};
inline const Holder kTim{Holder::kCharacter, "tim"};
inline const Holder kShop{Holder::kLocation, "shop"};

inline Game GameOf(World* world, Backend backend, const Seams& seams) {
  return Game(world->client, world->database, {.backend = backend, .seams = seams});
}
inline Game GameOf(World* world, Backend backend = Backend::kCompensating) {
  return GameOf(world, backend, world->seams());
}

inline void ExpectSoundGame(World* world) { ExpectNothingWrong(GameOf(world).AuditWorld()); }

// Two rooms and three who are in the shop.
inline void BuildRooms(World* world) {
  Game game = GameOf(world);
  ASSERT_TRUE(game.CreateIndexes().ok());
  ASSERT_TRUE(
      game.CreateLocation({.id = "shop",
                           .description = "a shop",
                           .exits = {{"north", "street"}, {"void", "nowhere"}, {"no. 7", "street"}},
                           .shopkeeper = "keeper"})
          .ok());
  ASSERT_TRUE(game.CreateLocation({.id = "street", .exits = {{"south", "shop"}}}).ok());
  for (const char* id : {"tim", "grue", "keeper"}) {
    Status made = game.CreateCharacter({.id = id, .name = id, .strength = 9, .location = "shop"});
    ASSERT_TRUE(made.ok()) << made.ToString();
  }
}

// Those rooms and people, Tim with 523 and Grue with 200, and all kinds of things.
inline void BuildWorld(World* world) {
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

inline bson::ObjectId Spawn(World* world, const Holder& holder, const char* tmpl,
                            int32_t quantity = 1) {
  auto id = GameOf(world).SpawnItem(holder, tmpl, quantity);
  EXPECT_TRUE(id.ok()) << id.status().ToString();
  return id.ok() ? *id : bson::ObjectId();
}

inline bool Has(World* world, std::string_view character, const bson::ObjectId& item) {
  auto view = GameOf(world).Load(character);
  return ItemIndex(view->inventory).contains(item.ToHex());
}

inline int64_t GoldOf(World* world, std::string_view character) {
  return GameOf(world).Load(character)->gold;
}

// Jobs until they change nothing.
inline void SettleGame(World* world) {
  world->clock.Advance(std::chrono::minutes(5));
  const Game game = GameOf(world);
  RunUntilQuiet({[&] { return game.Cleanup(); }, [&] { return game.ResumeMoves(); },
                 [&] { return game.RepairRooms(); }});
}

// Nothing is on its way; every player is listed in its room and in no other.
inline void ExpectSettledGame(World* world) { ExpectNothingWrong(GameOf(world).CheckSettled()); }

}  // namespace quire::patterns
