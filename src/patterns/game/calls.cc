// SPDX-License-Identifier: Apache-2.0
//
// The calls of Game, each in its Work.
#include <utility>

#include "patterns/game/work.h"

namespace quire::patterns {

Game::Game(const Client& client, std::string_view database, GameOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

const std::vector<IndexSpec>& Game::Indexes() { return Work::Indexes(); }
const std::vector<ShardKeySpec>& Game::ShardKeys() { return Work::ShardKeys(); }
Status Game::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Game::MissingIndexes() const { return work_->MissingIndexes(); }
Status Game::CreateTemplate(const ItemTemplate& item, const CallKey& key) const {
  return work_->CreateTemplate(item, key);
}
Status Game::CreateLocation(const NewLocation& location, const CallKey& key) const {
  return work_->CreateLocation(location, key);
}
Status Game::CreateCharacter(const NewCharacter& character, const CallKey& key) const {
  return work_->CreateCharacter(character, key);
}
Result<CharacterView> Game::Load(std::string_view character) const {
  return work_->Load(character);
}
Result<RoomView> Game::ViewRoom(std::string_view location) const {
  return work_->ViewRoom(location);
}
Result<std::vector<std::string>> Game::PlayersIn(std::string_view location) const {
  return work_->PlayersIn(location);
}
Status Game::PickUp(std::string_view character, const bson::ObjectId& item,
                    const CallKey& key) const {
  return work_->PickUp(character, item, key);
}
Status Game::Drop(std::string_view character, const bson::ObjectId& item,
                  const CallKey& key) const {
  return work_->Drop(character, item, key);
}
Status Game::Give(std::string_view from, std::string_view to, const bson::ObjectId& item,
                  const CallKey& key) const {
  return work_->Give(from, to, item, key);
}
Status Game::Buy(std::string_view character, const bson::ObjectId& item, const CallKey& key) const {
  return work_->Buy(character, item, key);
}
Status Game::Sell(std::string_view character, const bson::ObjectId& item,
                  const CallKey& key) const {
  return work_->Sell(character, item, key);
}
Result<bson::ObjectId> Game::SpawnItem(const Holder& holder, std::string_view tmpl,
                                       int32_t quantity, const CallKey& key) const {
  return work_->SpawnItem(holder, tmpl, quantity, key);
}
Status Game::DestroyItem(const Holder& holder, const bson::ObjectId& item,
                         const CallKey& key) const {
  return work_->DestroyItem(holder, item, key);
}
Status Game::SpawnGold(std::string_view character, int64_t amount, const CallKey& key) const {
  return work_->SpawnGold(character, amount, key);
}
Status Game::TakeFromContainer(const Holder& holder, const bson::ObjectId& container,
                               const bson::ObjectId& item, const CallKey& key) const {
  return work_->TakeFromContainer(holder, container, item, key);
}
Status Game::PutInContainer(const Holder& holder, const bson::ObjectId& item,
                            const bson::ObjectId& container, const CallKey& key) const {
  return work_->PutInContainer(holder, item, container, key);
}
Status Game::Equip(std::string_view character, const bson::ObjectId& item, std::string_view hand,
                   const CallKey& key) const {
  return work_->Equip(character, item, hand, key);
}
Status Game::Unequip(std::string_view character, const bson::ObjectId& item,
                     const CallKey& key) const {
  return work_->Unequip(character, item, key);
}
Result<bson::ObjectId> Game::SplitStack(const Holder& holder, const bson::ObjectId& item,
                                        int32_t quantity, const CallKey& key) const {
  return work_->SplitStack(holder, item, quantity, key);
}
Status Game::MergeStacks(const Holder& holder, const bson::ObjectId& from,
                         const bson::ObjectId& into, const CallKey& key) const {
  return work_->MergeStacks(holder, from, into, key);
}
Status Game::Move(std::string_view character, std::string_view direction,
                  const CallKey& key) const {
  return work_->Move(character, direction, key);
}
Result<JobReport> Game::Cleanup() const { return work_->Cleanup(); }
Result<JobReport> Game::Purge() const { return work_->Purge(); }
Result<JobReport> Game::ResumeMoves() const { return work_->ResumeMoves(); }
Result<bool> Game::RepairPlayers(std::string_view location) const {
  return work_->RepairPlayers(location);
}
Result<JobReport> Game::RepairRooms(int64_t batch) const { return work_->RepairRooms(batch); }
Result<std::vector<std::string>> Game::AuditWorld() const { return work_->AuditWorld(); }
Result<std::vector<std::string>> Game::CheckSettled() const { return work_->CheckSettled(); }

}  // namespace quire::patterns
