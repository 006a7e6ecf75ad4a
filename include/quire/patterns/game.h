// SPDX-License-Identifier: Apache-2.0
//
// Characters, rooms and items of a role-playing game: no item is ever lost or in two places.
//
//   patterns::Game game(client, "mud");
//   game.CreateIndexes();
//   game.CreateTemplate({.id = "scroll", .name = "scroll of light", .weight = 1, .price = 160});
//   game.CreateLocation({.id = "shop", .exits = {{"north", "street"}}, .shopkeeper = "keeper"});
//   game.CreateCharacter({.id = "tim", .name = "Tim", .strength = 9, .location = "shop"});
//   game.CreateCharacter({.id = "keeper", .name = "Keeper", .strength = 9, .location = "shop"});
//   game.SpawnGold("tim", 523);
//   auto scroll = game.SpawnItem({patterns::Holder::kLocation, "shop"}, "scroll", 1);
//   game.Buy("tim", *scroll);
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

// Immutable: what all items of a kind share.
struct ItemTemplate {
  std::string id;
  std::string name;
  std::optional<int32_t> bonus{};
  int64_t weight = 0;
  int64_t price = 0;  // minor units; 0: not for sale
  bool container = false;
  std::string region{};  // where armor is worn: head, hands, body, feet
  std::string hand{};    // how a weapon is held: left, right, both, any (left or right)
};

struct GameItem {
  bson::ObjectId id;  // one in the world
  std::string tmpl;
  std::string name;
  int32_t quantity = 1;
  std::optional<int32_t> bonus{};
  std::vector<GameItem> inventory{};  // of a container
};

// "+3 wizard's hat"; the name alone without a bonus or with 0.
std::string DescribeItem(const GameItem& item);
// Every item, at any depth, by its id in hexadecimal.
std::map<std::string, const GameItem*> ItemIndex(const std::vector<GameItem>& inventory);

struct Holder {
  enum Kind { kCharacter, kLocation };
  Kind kind = kCharacter;
  std::string id;
};

struct NewLocation {
  std::string id;
  std::string description{};
  std::map<std::string, std::string> exits{};  // direction: location
  std::string shopkeeper{};                    // a character; "": no shop
};

struct NewCharacter {
  std::string id;
  std::string name;
  std::string klass{};
  int32_t strength = 1;
  int32_t dexterity = 1;
  int32_t intelligence = 1;
  int32_t charisma = 1;
  int32_t health = 1;
  int32_t mana = 0;
  std::string location;
};

struct RoomView {
  std::string id;
  std::string description;
  std::map<std::string, std::string> exits;
  std::vector<std::pair<std::string, std::string>> players;  // id, name
  std::vector<GameItem> inventory;
};

struct CharacterView {
  std::string id;
  std::string name;
  int64_t gold = 0;
  bool moving = false;
  RoomView location;  // as cached: a first paint, perhaps stale
  std::vector<GameItem> inventory;
  std::map<std::string, std::vector<std::string>> armor{};  // region: described items
  std::map<std::string, std::string> weapons{};             // hand: described item
};

struct GameOptions {
  Backend backend = Backend::kCompensating;
  int64_t capacity_per_strength = 10;                            // the weight a character can carry
  std::chrono::milliseconds max_time = std::chrono::minutes(1);  // of a hand-over
  std::chrono::milliseconds grace = std::chrono::minutes(1);     // of a move
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);
  std::chrono::milliseconds lease = std::chrono::minutes(1);
  std::string worker = "worker";
  // Gold and items change hands: no failover takes back what was acknowledged.
  Concerns concerns = KeptByMajority();
  Seams seams = {};
};

// Documents: character {_id, name, character, location (cached), gold, armor, weapons, inventory,
// rev, load, capacity, txns, voided, transit, moving}, location {_id, description, exits, players,
// inventory, rev, txns, voided, transit, shopkeeper}, item {_id, name, bonus, weight, price,
// container, region, hand}, ledger {_id: "item:template" or "gold", amount, txns, voided},
// game_records (see saga.h), idempotency. Characters and locations also have the marks of keyed
// calls. Safe for concurrent use.
class Game {
 public:
  Game(const Client& client, std::string_view database, GameOptions options = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // Errors: InvalidName, InvalidAmount, DuplicateKey, IdempotencyKeyReuse; CreateCharacter:
  // NotFound (the location).
  Status CreateTemplate(const ItemTemplate& item, const CallKey& key = std::nullopt) const;
  Status CreateLocation(const NewLocation& location, const CallKey& key = std::nullopt) const;
  Status CreateCharacter(const NewCharacter& character, const CallKey& key = std::nullopt) const;

  // Error: NotFound.
  Result<CharacterView> Load(std::string_view character) const;
  Result<RoomView> ViewRoom(std::string_view location) const;
  // The characters whose record says that they are there.
  Result<std::vector<std::string>> PlayersIn(std::string_view location) const;

  // Items go from hand to hand with one outcome per key. Errors of all: NotFound (a character),
  // NoSuchItem (the giver has it not, or inside something), NotHere (the two are not in one place),
  // TooHeavy, Conflict (somebody else got it first), IdempotencyKeyReuse, TransactionExpired. After
  // any other error the outcome is open until the call is repeated with its key, or Cleanup ran.
  Status PickUp(std::string_view character, const bson::ObjectId& item,
                const CallKey& key = std::nullopt) const;
  Status Drop(std::string_view character, const bson::ObjectId& item,
              const CallKey& key = std::nullopt) const;
  Status Give(std::string_view from, std::string_view to, const bson::ObjectId& item,
              const CallKey& key = std::nullopt) const;
  // With the keeper of the shop that the character is in, at the template's price. Errors also:
  // NotForSale, InsufficientFunds.
  Status Buy(std::string_view character, const bson::ObjectId& item,
             const CallKey& key = std::nullopt) const;
  Status Sell(std::string_view character, const bson::ObjectId& item,
              const CallKey& key = std::nullopt) const;

  // The only ways in which items and gold come and go; the ledger knows the totals. Errors also:
  // InvalidAmount.
  Result<bson::ObjectId> SpawnItem(const Holder& holder, std::string_view tmpl, int32_t quantity,
                                   const CallKey& key = std::nullopt) const;
  Status DestroyItem(const Holder& holder, const bson::ObjectId& item,
                     const CallKey& key = std::nullopt) const;
  Status SpawnGold(std::string_view character, int64_t amount,
                   const CallKey& key = std::nullopt) const;

  // Within one holder, with one outcome per key. Errors of all: IdempotencyKeyReuse, NotFound,
  // NoSuchItem, Contention; NotAContainer, CycleError, TooDeep, WrongRegion (also: the region has
  // something on), HandsFull, InvalidAmount (a split), Conflict (two that are not alike).
  Status TakeFromContainer(const Holder& holder, const bson::ObjectId& container,
                           const bson::ObjectId& item, const CallKey& key = std::nullopt) const;
  Status PutInContainer(const Holder& holder, const bson::ObjectId& item,
                        const bson::ObjectId& container, const CallKey& key = std::nullopt) const;
  // Armor on its region, a weapon in `hand` (its own when "").
  Status Equip(std::string_view character, const bson::ObjectId& item, std::string_view hand = "",
               const CallKey& key = std::nullopt) const;
  Status Unequip(std::string_view character, const bson::ObjectId& item,
                 const CallKey& key = std::nullopt) const;
  // The id of the new stack.
  Result<bson::ObjectId> SplitStack(const Holder& holder, const bson::ObjectId& item,
                                    int32_t quantity, const CallKey& key = std::nullopt) const;
  Status MergeStacks(const Holder& holder, const bson::ObjectId& from, const bson::ObjectId& into,
                     const CallKey& key = std::nullopt) const;

  // Errors: NotFound, NoExit, Busy (a move is under way), Conflict (moved meanwhile),
  // IdempotencyKeyReuse.
  Status Move(std::string_view character, std::string_view direction,
              const CallKey& key = std::nullopt) const;

  // The jobs. skipped is 1 (Purge: above 0) while another worker is at it.
  // Finishes or undoes what crashed clients left of hand-overs.
  Result<JobReport> Cleanup() const;
  // Forgets ended hand-overs and keys after the retention.
  Result<JobReport> Purge() const;
  // Finishes moves.
  Result<JobReport> ResumeMoves() const;
  // Sets a room's list of players, a cache, from the characters. Whether it changed.
  Result<bool> RepairPlayers(std::string_view location) const;
  // RepairPlayers for all rooms, `batch` at a time, and the rooms as cached in the characters
  // there.
  Result<JobReport> RepairRooms(int64_t batch = 100) const;

  // What is wrong, a line each, as of one instant: items in no or two places, totals that differ
  // from the ledger, negative gold, things equipped that are not there.
  Result<std::vector<std::string>> AuditWorld() const;
  // What is wrong, a line each, once nothing is under way and the jobs have run: hand-overs and
  // moves that have not ended, players who are not listed in their room alone.
  Result<std::vector<std::string>> CheckSettled() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
