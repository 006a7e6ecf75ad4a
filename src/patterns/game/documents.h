// SPDX-License-Identifier: Apache-2.0
//
// The game's structs as documents, and the participants of its hand-overs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patterns/doc.h"
#include "quire/patterns/game.h"
#include "quire/patterns/saga.h"

namespace quire::patterns {

inline constexpr char kCharacters[] = "character";
inline constexpr char kLocations[] = "location";
inline constexpr char kTemplates[] = "item";
inline constexpr char kLedger[] = "ledger";
inline constexpr char kGameRecords[] = "game_records";
inline constexpr char kGoldAccount[] = "gold";

inline std::string ItemAccount(std::string_view tmpl) { return "item:" + std::string(tmpl); }
inline const char* CollectionOf(const Holder& holder) {
  return holder.kind == Holder::kCharacter ? kCharacters : kLocations;
}

bson::Document ItemDocument(const GameItem& item);
GameItem ItemOf(bson::View document);
// Of an array of them; empty when it is none.
std::vector<GameItem> ItemsOf(const bson::Value& array);
Array ItemList(const std::vector<GameItem>& items);

// What a character caches of its room: {id, description, exits, players, inventory}.
bson::Document RoomCache(bson::View location);
RoomView RoomViewOf(bson::View cache);

// A record is {_id, args, plan, state, ts...}; its plan is {item, weight, price, quantity, place,
// receiver: {c, id, max_load}, giver: {c, id}, payer, payee, account, ...}, each where it applies.
// Receivers come before givers: what is in transit belongs to the world until its receiver has it.
std::vector<Participant> PlanHandOver(bson::View record);

}  // namespace quire::patterns
