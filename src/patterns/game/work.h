// SPDX-License-Identifier: Apache-2.0
//
// All of a Game: its calls, and the steps they are made of.
#pragma once

#include <functional>

#include "quire/patterns/game.h"
#include "quire/patterns/saga.h"

namespace quire::patterns {

class Game::Work {
 public:
  Work(const Client& client, std::string_view database, GameOptions options = {});
  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Status CreateTemplate(const ItemTemplate& item, const CallKey& key = std::nullopt) const;
  Status CreateLocation(const NewLocation& location, const CallKey& key = std::nullopt) const;
  Status CreateCharacter(const NewCharacter& character, const CallKey& key = std::nullopt) const;
  Result<CharacterView> Load(std::string_view character) const;
  Result<RoomView> ViewRoom(std::string_view location) const;
  Result<std::vector<std::string>> PlayersIn(std::string_view location) const;
  Status PickUp(std::string_view character, const bson::ObjectId& item,
                const CallKey& key = std::nullopt) const;
  Status Drop(std::string_view character, const bson::ObjectId& item,
              const CallKey& key = std::nullopt) const;
  Status Give(std::string_view from, std::string_view to, const bson::ObjectId& item,
              const CallKey& key = std::nullopt) const;
  Status Buy(std::string_view character, const bson::ObjectId& item,
             const CallKey& key = std::nullopt) const;
  Status Sell(std::string_view character, const bson::ObjectId& item,
              const CallKey& key = std::nullopt) const;
  Result<bson::ObjectId> SpawnItem(const Holder& holder, std::string_view tmpl, int32_t quantity,
                                   const CallKey& key = std::nullopt) const;
  Status DestroyItem(const Holder& holder, const bson::ObjectId& item,
                     const CallKey& key = std::nullopt) const;
  Status SpawnGold(std::string_view character, int64_t amount,
                   const CallKey& key = std::nullopt) const;
  Status TakeFromContainer(const Holder& holder, const bson::ObjectId& container,
                           const bson::ObjectId& item, const CallKey& key = std::nullopt) const;
  Status PutInContainer(const Holder& holder, const bson::ObjectId& item,
                        const bson::ObjectId& container, const CallKey& key = std::nullopt) const;
  Status Equip(std::string_view character, const bson::ObjectId& item, std::string_view hand = "",
               const CallKey& key = std::nullopt) const;
  Status Unequip(std::string_view character, const bson::ObjectId& item,
                 const CallKey& key = std::nullopt) const;
  Result<bson::ObjectId> SplitStack(const Holder& holder, const bson::ObjectId& item,
                                    int32_t quantity, const CallKey& key = std::nullopt) const;
  Status MergeStacks(const Holder& holder, const bson::ObjectId& from, const bson::ObjectId& into,
                     const CallKey& key = std::nullopt) const;
  Status Move(std::string_view character, std::string_view direction,
              const CallKey& key = std::nullopt) const;
  Result<JobReport> Cleanup() const { return saga_.Cleanup(); }
  Result<JobReport> Purge() const { return saga_.Purge(calls_); }
  Result<JobReport> ResumeMoves() const;
  Result<bool> RepairPlayers(std::string_view location) const;
  Result<JobReport> RepairRooms(int64_t batch = 100) const;
  Result<std::vector<std::string>> AuditWorld() const;
  Result<std::vector<std::string>> CheckSettled() const;

 private:
  struct Things;
  Status Enter(const NewCharacter& character, const bson::Document& self, const Claim& claim) const;
  using Plan = std::function<Result<bson::Document>(const bson::OwnedValue& id)>;
  Result<bson::Document> Act(const bson::Document& arguments, const CallKey& key,
                             const Plan& plan) const;
  Result<bson::Document> Transfer(const Holder& from, const Holder& to, const bson::ObjectId& item,
                                  const bson::Value& place) const;
  Result<bson::Document> Trade(std::string_view character, const bson::ObjectId& item,
                               bool buys) const;
  Result<bson::Document> Get(const Holder& holder) const;
  Result<int64_t> WeightOf(const GameItem& item) const;
  using Change = std::function<Status(Things* things, const Claim& claim)>;
  Result<Claim> Rearrange(const Holder& holder, const bson::Document& arguments, const CallKey& key,
                          const Change& change) const;
  Status RearrangeOnce(const Holder& holder, std::string_view operation, const Claim& claim,
                       const Change& change) const;
  Status Leave(std::string_view character, std::string_view direction, const Claim& claim) const;
  Status FinishMove(std::string_view character, bson::View moving) const;

  GameOptions options_;
  Store store_;
  Saga saga_;
  Idempotency calls_;
};

}  // namespace quire::patterns
