// SPDX-License-Identifier: Apache-2.0
//
// Every item and coin of the world, counted.
#include <algorithm>
#include <set>

#include "base/try.h"
#include "patterns/game/documents.h"
#include "patterns/game/work.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;

// All documents as of one instant.
struct Census {
  std::vector<Document> holders;  // characters, then locations
  size_t characters = 0;
  std::vector<Document> ledger;
  std::vector<Document> records;
  std::map<std::string, const Document*> by_id{};  // all of them, by collection and _id
  std::map<std::string, int64_t> weights;          // by template

  std::map<std::string, std::vector<std::string>> places;  // item: where it is
  std::map<std::string, int64_t> amounts;                  // by account
  std::vector<std::string> wrong;
};

Status ReadAll(const Store& inside, Census* census) {
  *census = Census();
  ASSIGN_OR_RETURN(census->holders, inside.Find(kCharacters, Doc()));
  census->characters = census->holders.size();
  ASSIGN_OR_RETURN(auto locations, inside.Find(kLocations, Doc()));
  std::move(locations.begin(), locations.end(), std::back_inserter(census->holders));
  ASSIGN_OR_RETURN(census->ledger, inside.Find(kLedger, Doc()));
  ASSIGN_OR_RETURN(census->records, inside.Find(kGameRecords, Doc()));
  ASSIGN_OR_RETURN(auto templates, inside.Find(kTemplates, Doc()));
  for (const Document& one : templates) {
    census->weights[std::string(TextAt(one, "_id"))] = IntegerAt(one, "weight");
  }
  return Status::Ok();
}

int64_t CountItem(const GameItem& item, const std::string& where, Census* census) {
  census->places[item.id.ToHex()].push_back(where);
  census->amounts[ItemAccount(item.tmpl)] += item.quantity;
  int64_t weight = census->weights[item.tmpl] * item.quantity;
  if (item.quantity < 1) {
    census->wrong.push_back("an empty stack " + item.id.ToHex());
  }
  for (const GameItem& inside : item.inventory) {
    weight += CountItem(inside, where, census);
  }
  return weight;
}

std::string KeyOf(std::string_view collection, const bson::Value& id) {
  return std::string(collection) + " " + bson::ToJson(id);
}

void IndexAll(Census* census) {
  for (size_t i = 0; i < census->holders.size(); ++i) {
    const Document& holder = census->holders[i];
    census->by_id[KeyOf(i < census->characters ? kCharacters : kLocations, holder["_id"])] =
        &holder;
  }
  for (const Document& account : census->ledger) {
    census->by_id[KeyOf(kLedger, account["_id"])] = &account;
  }
  for (const Document& record : census->records) {
    census->by_id[KeyOf(kGameRecords, record["_id"])] = &record;
  }
}

const Document* Find(const Census& census, std::string_view collection, const bson::Value& id) {
  const auto found = census.by_id.find(KeyOf(collection, id));
  return found == census.by_id.end() ? nullptr : found->second;
}

// Whether who has that role in the record's plan is prepared, and not retired yet.
bool Pending(const Census& census, const Document& record, const char* role) {
  const bson::Value part = At(record, std::string("plan.") + role);
  if (!part.is_document()) {
    return false;
  }
  bson::View who = part.AsDocument();
  const Document* participant = Find(census, TextAt(who, "c"), who["id"]);
  return participant != nullptr && Holds((*participant)["txns"], record["_id"]);
}

// What a transit entry holds is in the world until its receiver has it, or the ledger has written
// it off.
bool StillThere(const Census& census, const Document& record) {
  const std::string_view state = TextAt(record, "state");
  if (state != "commit" && state != "done") {
    return true;
  }
  const bool received = !At(record, "plan.receiver").missing();
  return Pending(census, record, received ? "receiver" : "account");
}

void CountTransit(const Document& holder, Census* census) {
  for (const bson::Element& element : holder["transit"].AsArray()) {
    bson::View entry = element.value().AsDocument();
    const Document* record = Find(*census, kGameRecords, entry["t"]);
    if (record == nullptr || StillThere(*census, *record)) {
      CountItem(ItemOf(entry["item"].AsDocument()), "transit", census);
    }
  }
}

// Gold that was paid and not received, and what the ledger counts already and nobody has yet.
void CountOnTheWay(const Document& record, Census* census) {
  const std::string_view state = TextAt(record, "state");
  const std::string_view op = TextAt(record, "args.op");
  bson::View plan = record["plan"].AsDocument();
  auto pending = [&](const char* role) { return Pending(*census, record, role); };
  const bool undecided = state == "new" || state == "rollback";
  if (op == "buy" || op == "sell") {
    const char* payer = op == "buy" ? "receiver" : "keeper";
    const char* payee = op == "buy" ? "keeper" : "giver";
    if ((undecided && pending(payer)) || (state == "commit" && pending(payee))) {
      census->amounts[kGoldAccount] += IntegerAt(plan, "price");
    }
  }
  if (state != "commit" || pending("account")) {
    return;
  }
  if (op == "spawn_gold" && pending("payee")) {
    census->amounts[kGoldAccount] += IntegerAt(plan, "price");
  }
  if (op == "spawn" && pending("receiver")) {
    CountItem(ItemOf(plan["item"].AsDocument()), "spawning", census);
  }
}

void CheckCharacter(const Document& character, int64_t carried, Census* census) {
  const std::string id(TextAt(character, "_id"));
  if (IntegerAt(character, "gold") < 0) {
    census->wrong.push_back("negative gold of " + id);
  }
  census->amounts[kGoldAccount] += IntegerAt(character, "gold");
  if (character["txns"].AsArray().empty() && IntegerAt(character, "load") != carried) {
    census->wrong.push_back("the load of " + id);
  }
  if (IntegerAt(character, "load") > IntegerAt(character, "capacity")) {
    census->wrong.push_back("too much on " + id);
  }
  std::set<std::string> taken;
  for (const char* list : {"armor", "weapons"}) {
    for (const bson::Element& element : character[list].AsArray()) {
      bson::View worn = element.value().AsDocument();
      bool has = false;
      for (const bson::Element& item : character["inventory"].AsArray()) {
        has = has || item.value().AsDocument()["id"].BinaryEquals(worn["id"]);
      }
      const std::string where(TextAt(worn, worn.Has("hand") ? "hand" : "region"));
      if (!has || !taken.insert(list + where).second) {
        census->wrong.push_back("equipment of " + id + " at " + where);
      }
    }
  }
  if (taken.contains("weaponsboth") &&
      (taken.contains("weaponsleft") || taken.contains("weaponsright"))) {
    census->wrong.push_back("three hands of " + id);
  }
}

}  // namespace

Result<std::vector<std::string>> Game::Work::AuditWorld() const {
  Census census;
  RETURN_IF_ERROR(store_.Transact([&](const Store& inside) { return ReadAll(inside, &census); }));
  IndexAll(&census);
  for (size_t i = 0; i < census.holders.size(); ++i) {
    const Document& holder = census.holders[i];
    int64_t carried = 0;
    for (const GameItem& item : ItemsOf(holder["inventory"])) {
      carried += CountItem(item, std::string(TextAt(holder, "_id")), &census);
    }
    CountTransit(holder, &census);
    if (i < census.characters) {
      CheckCharacter(holder, carried, &census);
    }
  }
  for (const Document& record : census.records) {
    CountOnTheWay(record, &census);
  }
  for (const auto& [item, places] : census.places) {
    if (places.size() != 1) {
      census.wrong.push_back("item " + item + " at " + places[0] + " and " + places[1]);
    }
  }
  for (const Document& account : census.ledger) {
    const std::string id(TextAt(account, "_id"));
    if (census.amounts[id] != IntegerAt(account, "amount")) {
      census.wrong.push_back(id + ": " + std::to_string(census.amounts[id]) +
                             " but the ledger has " + std::to_string(IntegerAt(account, "amount")));
    }
  }
  return census.wrong;
}

Result<std::vector<std::string>> Game::Work::CheckSettled() const {
  std::vector<std::string> wrong;
  auto check = [&](const Document& holder) {
    if (!holder["txns"].AsArray().empty() || !holder["transit"].AsArray().empty()) {
      wrong.push_back("a hand-over of " + std::string(TextAt(holder, "_id")) + " has not ended");
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kCharacters, [&](const Document& character) {
    if (!character["moving"].nullish()) {
      wrong.push_back("a move of " + std::string(TextAt(character, "_id")) + " has not ended");
    }
    return check(character);
  }));
  RETURN_IF_ERROR(Walk(store_, kLocations, [&](const Document& room) -> Status {
    const std::string id(TextAt(room, "_id"));
    std::vector<std::string> listed;
    for (const bson::Element& player : room["players"].AsArray()) {
      listed.emplace_back(TextAt(player.value().AsDocument(), "id"));
    }
    std::sort(listed.begin(), listed.end());
    ASSIGN_OR_RETURN(std::vector<std::string> there, PlayersIn(id));
    if (listed != there) {
      wrong.push_back("the players of " + id);
    }
    return check(room);
  }));
  return wrong;
}

}  // namespace quire::patterns
