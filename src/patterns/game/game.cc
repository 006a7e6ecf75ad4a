// SPDX-License-Identifier: Apache-2.0
//
// Characters and rooms, and the way from one to another.
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/game/documents.h"
#include "patterns/game/work.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"
#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kSystem[] = "game";

// Unless there is one.
Status OpenAccount(const Store& store, std::string_view id) {
  Status opened =
      store.Insert(kLedger, Doc("_id", id, "amount", int64_t{0}, "txns", List(), "voided", List()));
  return IsDuplicateKey(opened) ? Status::Ok() : opened;
}

void IndexInto(const std::vector<GameItem>& items, std::map<std::string, const GameItem*>* index) {
  for (const GameItem& item : items) {
    index->emplace(item.id.ToHex(), &item);
    IndexInto(item.inventory, index);
  }
}

}  // namespace

std::string DescribeItem(const GameItem& item) {
  const int32_t bonus = item.bonus.value_or(0);
  if (bonus == 0) {
    return item.name;
  }
  return (bonus > 0 ? "+" : "") + std::to_string(bonus) + " " + item.name;
}

std::map<std::string, const GameItem*> ItemIndex(const std::vector<GameItem>& inventory) {
  std::map<std::string, const GameItem*> index;
  IndexInto(inventory, &index);
  return index;
}

Game::Work::Work(const Client& client, std::string_view database, GameOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      saga_(store_, {.system = kSystem,
                     .name = "game.hand_over",
                     .records = kGameRecords,
                     .plan = PlanHandOver,
                     .max_time = options_.max_time,
                     .tombstone_retention = options_.tombstone_retention,
                     .worker = options_.worker,
                     .lease = options_.lease}),
      calls_(store_, kSystem) {}

const std::vector<IndexSpec>& Game::Work::Indexes() {
  static const std::vector<IndexSpec> kIndexes = {
      {kCharacters, R"({"location.id": 1})"},
      {kCharacters, R"({"moving.ts": 1})", false, -1, R"({"sparse": true})"},
      {kCharacters, R"({"inventory.id": 1})"},
      {kCharacters, R"({"transit.ts": 1})", false, -1, R"({"sparse": true})"},
      {kLocations, R"({"players.id": 1})"},
      {kLocations, R"({"inventory.id": 1})"},
      {kLocations, R"({"transit.ts": 1})", false, -1, R"({"sparse": true})"},
      {kGameRecords, R"({"state": 1, "ts": 1})"},
      Idempotency::Index()};
  return kIndexes;
}

const std::vector<ShardKeySpec>& Game::Work::ShardKeys() {
  static constexpr char kHashed[] = R"({"_id": "hashed"})";
  static const std::vector<ShardKeySpec> kKeys = {{kCharacters, kHashed},
                                                  {kLocations, kHashed},
                                                  {kLedger, kHashed},
                                                  {kGameRecords, kHashed},
                                                  Idempotency::ShardKey()};
  return kKeys;
}

// The ledger's account first: no template is without one.
Status Game::Work::CreateTemplate(const ItemTemplate& item, const CallKey& key) const {
  if (item.id.empty()) {
    return MakeError(Error::kInvalidName, "a template has an id");
  }
  if (item.weight < 0 || item.price < 0) {
    return MakeError(Error::kInvalidAmount, item.id);
  }
  bson::Builder out;
  out.Append("_id", item.id).Append("name", item.name);
  if (item.bonus) {
    out.Append("bonus", *item.bonus);
  }
  out.Append("weight", item.weight).Append("price", item.price);
  out.Append("container", item.container).Append("region", item.region).Append("hand", item.hand);
  const Document tmpl = out.Finish();
  return calls_.DoOnce("game.create_template", key, tmpl, [&](const Claim& claim) -> Status {
    int step = 0;
    for (const std::string& account : {std::string(kGoldAccount), ItemAccount(item.id)}) {
      RETURN_IF_ERROR(OpenAccount(store_, account));
      RETURN_IF_ERROR(store_.seams().After("game.create_template", ++step));
    }
    RETURN_IF_ERROR(InsertOnce(store_, kTemplates, tmpl, claim));
    return store_.seams().After("game.create_template", ++step);
  });
}

Status Game::Work::CreateLocation(const NewLocation& location, const CallKey& key) const {
  bson::Builder exits;
  for (const auto& [direction, to] : location.exits) {
    ASSIGN_OR_RETURN(std::string name, EncodeName(direction));
    exits.Append(name, to);
  }
  if (location.id.empty()) {
    return MakeError(Error::kInvalidName, "a location has an id");
  }
  const Document room =
      Doc("_id", location.id, "description", location.description, "exits", exits.Finish(),
          "players", List(), "inventory", List(), "rev", int64_t{0}, "txns", List(), "voided",
          List(), "transit", List(), "shopkeeper", location.shopkeeper);
  return calls_.DoOnce("game.create_location", key, room, [&](const Claim& claim) -> Status {
    RETURN_IF_ERROR(InsertOnce(store_, kLocations, room, claim));
    return store_.seams().After("game.create_location.c1");
  });
}

Status Game::Work::CreateCharacter(const NewCharacter& character, const CallKey& key) const {
  if (character.id.empty()) {
    return MakeError(Error::kInvalidName, "a character has an id");
  }
  const Document intrinsics =
      Doc("strength", character.strength, "dexterity", character.dexterity, "intelligence",
          character.intelligence, "charisma", character.charisma);
  const Document self = Doc("intrinsics", intrinsics, "class", character.klass, "health",
                            character.health, "mana", character.mana);
  const Document arguments =
      Doc("id", character.id, "name", character.name, "self", self, "location", character.location);
  return calls_.DoOnce("game.create_character", key, arguments,
                       [&](const Claim& claim) { return Enter(character, self, claim); });
}

Status Game::Work::Enter(const NewCharacter& character, const Document& self,
                         const Claim& claim) const {
  ASSIGN_OR_RETURN(Document room, Get({Holder::kLocation, character.location}));
  RETURN_IF_ERROR(OpenAccount(store_, kGoldAccount));
  RETURN_IF_ERROR(store_.seams().After("game.create_character.c1"));
  const int64_t capacity = options_.capacity_per_strength * character.strength;
  RETURN_IF_ERROR(InsertOnce(
      store_, kCharacters,
      Doc("_id", character.id, "name", character.name, "character", self, "location",
          RoomCache(room), "gold", int64_t{0}, "armor", List(), "weapons", List(), "inventory",
          List(), "rev", int64_t{0}, "load", int64_t{0}, "capacity", capacity, "txns", List(),
          "voided", List(), "transit", List(), "moving", bson::Value::Null()),
      claim));
  RETURN_IF_ERROR(store_.seams().After("game.create_character.c2"));
  const Document player = Doc("id", character.id, "name", character.name);
  RETURN_IF_ERROR(
      store_
          .UpdateOne(kLocations,
                     Doc("_id", character.location, "players.id", Doc("$ne", character.id)),
                     Doc("$push", Doc("players", player)))
          .status());
  return store_.seams().After("game.create_character.c3");
}

Result<CharacterView> Game::Work::Load(std::string_view character) const {
  ASSIGN_OR_RETURN(Document found, Get({Holder::kCharacter, std::string(character)}));
  CharacterView view{std::string(character),
                     std::string(TextAt(found, "name")),
                     IntegerAt(found, "gold"),
                     !found["moving"].nullish(),
                     RoomViewOf(found["location"].AsDocument()),
                     ItemsOf(found["inventory"])};
  const auto index = ItemIndex(view.inventory);
  auto described = [&](bson::View worn) {
    auto item = index.find(worn["id"].AsObjectId().ToHex());
    return item == index.end() ? std::string() : DescribeItem(*item->second);
  };
  view.armor = {{"head", {}}, {"hands", {}}, {"feet", {}}, {"body", {}}};
  for (const bson::Element& worn : found["armor"].AsArray()) {
    bson::View one = worn.value().AsDocument();
    view.armor[std::string(TextAt(one, "region"))].push_back(described(one));
  }
  view.weapons = {{"left", ""}, {"right", ""}, {"both", ""}};
  for (const bson::Element& held : found["weapons"].AsArray()) {
    bson::View one = held.value().AsDocument();
    view.weapons[std::string(TextAt(one, "hand"))] = described(one);
  }
  return view;
}

Result<RoomView> Game::Work::ViewRoom(std::string_view location) const {
  ASSIGN_OR_RETURN(Document room, Get({Holder::kLocation, std::string(location)}));
  const Document cache = RoomCache(room);
  return RoomViewOf(cache);
}

Result<std::vector<std::string>> Game::Work::PlayersIn(std::string_view location) const {
  ASSIGN_OR_RETURN(auto found, store_.Find(kCharacters, Doc("location.id", location),
                                           {.projection = Doc("_id", 1)}));
  std::vector<std::string> players;
  for (const Document& one : found) {
    players.emplace_back(TextAt(one, "_id"));
  }
  std::sort(players.begin(), players.end());
  return players;
}

Status Game::Work::Move(std::string_view character, std::string_view direction,
                        const CallKey& key) const {
  auto move = [&](const Claim& claim) -> Result<Document> {
    RETURN_IF_ERROR(Leave(character, direction, claim));
    return Document();
  };
  return calls_.Once("game.move", key, Doc("who", character, "direction", direction), move)
      .status();
}

// The character's document says where it is: from the first write on it is in the new room. A
// repeat that finds its mark there goes on with the move if nobody has.
Status Game::Work::Leave(std::string_view character, std::string_view direction,
                         const Claim& claim) const {
  ASSIGN_OR_RETURN(Document who, Get({Holder::kCharacter, std::string(character)}));
  const bson::Value under_way = who["moving"];
  if (Marked(who, claim)) {
    return under_way.nullish() ? Status::Ok() : FinishMove(character, under_way.AsDocument());
  }
  if (!under_way.nullish()) {
    return MakeError(Error::kBusy, character);
  }
  const std::string from(TextAt(who, "location.id"));
  ASSIGN_OR_RETURN(Document room, Get({Holder::kLocation, from}));
  Result<std::string> exit = EncodeName(direction);
  const bson::Value to = exit.ok() ? room["exits"].AsDocument()[*exit] : bson::Value();
  if (!to.is_string()) {
    return MakeError(Error::kNoExit, direction);
  }
  ASSIGN_OR_RETURN(auto next, store_.FindOne(kLocations, Doc("_id", to)));
  if (!next) {
    return MakeError(Error::kNoExit, direction);
  }
  const Document moving =
      Doc("from", from, "to", to, "mid", store_.seams().ids->Next(), "ts", store_.Now());
  const Document still_there =
      Doc("_id", character, "location.id", from, "moving", bson::Value::Null());
  ASSIGN_OR_RETURN(
      int64_t left,
      store_.UpdateOne(kCharacters, Unmarked(still_there, claim),
                       Marking(Doc("$set", Doc("location.id", to, "moving", moving)), claim)));
  if (left == 0) {
    ASSIGN_OR_RETURN(Document now, Get({Holder::kCharacter, std::string(character)}));
    return Marked(now, claim) ? Status::Ok() : MakeError(Error::kConflict, character);
  }
  RETURN_IF_ERROR(store_.seams().After("game.move.c2"));
  return FinishMove(character, moving);
}

Status Game::Work::FinishMove(std::string_view character, bson::View moving) const {
  ASSIGN_OR_RETURN(
      auto who, store_.FindOne(kCharacters, Doc("_id", character), {.projection = Doc("name", 1)}));
  const Document player = Doc("id", character, "name", who ? TextAt(*who, "name") : "");
  RETURN_IF_ERROR(store_
                      .UpdateOne(kLocations, Doc("_id", moving["from"]),
                                 Doc("$pull", Doc("players", Doc("id", character))))
                      .status());
  RETURN_IF_ERROR(store_.seams().After("game.move.c3"));
  RETURN_IF_ERROR(store_
                      .UpdateOne(kLocations,
                                 Doc("_id", moving["to"], "players.id", Doc("$ne", character)),
                                 Doc("$push", Doc("players", player)))
                      .status());
  RETURN_IF_ERROR(store_.seams().After("game.move.c4"));
  ASSIGN_OR_RETURN(auto room, store_.FindOne(kLocations, Doc("_id", moving["to"])));
  if (room) {
    RETURN_IF_ERROR(store_
                        .UpdateOne(kCharacters, Doc("_id", character, "moving.mid", moving["mid"]),
                                   Doc("$set", Doc("location", RoomCache(*room), "moving",
                                                   bson::Value::Null())))
                        .status());
  }
  return store_.seams().After("game.move.c5");
}

Result<JobReport> Game::Work::ResumeMoves() const {
  constexpr int64_t kBatch = 1000;
  const Document late = Doc("moving.ts", Doc("$lt", store_.Ago(options_.grace)));
  OldestFirst movers(store_, kCharacters, late, "moving.ts");
  auto finish = [&](const Document& mover) -> Result<int64_t> {
    RETURN_IF_ERROR(FinishMove(TextAt(mover, "_id"), mover["moving"].AsDocument()));
    return 1;
  };
  return RepeatLeased(Lease(store_, "game.resume_moves", options_.worker, options_.lease),
                      [&](JobReport* report) -> Result<bool> {
                        ASSIGN_OR_RETURN(auto batch, movers.Next(kBatch));
                        for (const Document& mover : batch) {
                          RETURN_IF_ERROR(report->Count(finish(mover)));
                        }
                        return movers.more();
                      });
}

// The list is read before the characters, and written only while it is as it was: who leaves in
// between changes it, and the next run sees to it.
Result<bool> Game::Work::RepairPlayers(std::string_view location) const {
  ASSIGN_OR_RETURN(Document room, Get({Holder::kLocation, std::string(location)}));
  ASSIGN_OR_RETURN(auto there, store_.Find(kCharacters, Doc("location.id", location),
                                           {.projection = Doc("name", 1)}));
  std::map<std::string, std::string> names;
  for (const Document& one : there) {
    names.emplace(TextAt(one, "_id"), TextAt(one, "name"));
  }
  std::vector<Document> players;
  size_t kept = 0;
  for (const bson::Element& element : room["players"].AsArray()) {
    bson::View player = element.value().AsDocument();
    kept += names.erase(std::string(TextAt(player, "id")));
    if (kept > players.size()) {
      players.emplace_back(player);
    }
  }
  if (names.empty() && kept == room["players"].AsArray().Count()) {
    return false;
  }
  for (const auto& [id, name] : names) {
    players.push_back(Doc("id", id, "name", name));
  }
  ASSIGN_OR_RETURN(int64_t changed,
                   store_.UpdateOne(kLocations, Doc("_id", location, "players", room["players"]),
                                    Doc("$set", Doc("players", ListOf(players)))));
  RETURN_IF_ERROR(store_.seams().After("game.repair_players.c1"));
  return changed == 1;
}

Result<JobReport> Game::Work::RepairRooms(int64_t batch) const {
  return SweepLeased(
      store_, Lease(store_, "game.repair_rooms", options_.worker, options_.lease),
      {kLocations, batch, Doc("_id", 1)}, [&](const Document& one, JobReport* report) -> Status {
        const std::string id(TextAt(one, "_id"));
        ASSIGN_OR_RETURN(bool repaired, RepairPlayers(id));
        ASSIGN_OR_RETURN(Document room, Get({Holder::kLocation, id}));
        ASSIGN_OR_RETURN(int64_t refreshed,
                         store_.UpdateMany(kCharacters,
                                           Doc("location.id", id, "moving", bson::Value::Null(),
                                               "location", Doc("$ne", RoomCache(room))),
                                           Doc("$set", Doc("location", RoomCache(room)))));
        RETURN_IF_ERROR(store_.seams().After("game.repair_rooms.c1"));
        report->examined += 1;
        report->changed += (repaired ? 1 : 0) + refreshed;
        return Status::Ok();
      });
}

}  // namespace quire::patterns
