// SPDX-License-Identifier: Apache-2.0
//
// Every item and coin of the world, counted.
#include <set>

#include "base/try.h"
#include "patterns/game_documents.h"

namespace quire::patterns {

namespace {

using bson::Document;

// All documents as of one instant.
struct Census {
  std::vector<Document> holders;  // characters, then locations
  size_t characters = 0;
  std::vector<Document> ledger;
  std::vector<Document> records;
  std::map<std::string, int64_t> weights;  // by template

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

const Document* HolderOf(const Census& census, bson::View role) {
  const bool character = TextAt(role, "c") == kCharacters;
  const size_t from = character ? 0 : census.characters;
  const size_t to = character ? census.characters : census.holders.size();
  for (size_t i = from; i < to; ++i) {
    if (census.holders[i]["_id"].BinaryEquals(role["id"])) {
      return &census.holders[i];
    }
  }
  return nullptr;
}

bool Pending(const Document* participant, const bson::Value& record) {
  return participant != nullptr && Holds((*participant)["txns"], record);
}

bool AccountPending(const Census& census, bson::View plan, const bson::Value& record) {
  for (const Document& account : census.ledger) {
    if (account["_id"].BinaryEquals(At(plan, "account.id"))) {
      return Holds(account["txns"], record);
    }
  }
  return false;
}

// What a transit entry holds is in the world until its receiver has it, or the ledger has written
// it off.
bool StillThere(const Census& census, const Document& record) {
  const std::string_view state = TextAt(record, "state");
  if (state != "commit" && state != "done") {
    return true;
  }
  bson::View plan = record["plan"].AsDocument();
  if (!plan.Has("receiver")) {
    return AccountPending(census, plan, record["_id"]);
  }
  return Pending(HolderOf(census, plan["receiver"].AsDocument()), record["_id"]);
}

void CountTransit(const Document& holder, Census* census) {
  for (const bson::Element& element : holder["transit"].AsArray()) {
    bson::View entry = element.value().AsDocument();
    bool there = true;
    for (const Document& record : census->records) {
      if (record["_id"].BinaryEquals(entry["t"])) {
        there = StillThere(*census, record);
      }
    }
    if (there) {
      CountItem(ItemOf(entry["item"].AsDocument()), "transit", census);
    }
  }
}

// Gold that was paid and not received, and what the ledger counts already and nobody has yet.
void CountOnTheWay(const Document& record, Census* census) {
  const std::string_view state = TextAt(record, "state");
  const std::string_view op = TextAt(record, "args.op");
  bson::View plan = record["plan"].AsDocument();
  auto pending = [&](const char* role) {
    return Pending(HolderOf(*census, plan[role].AsDocument()), record["_id"]);
  };
  const bool undecided = state == "new" || state == "rollback";
  if (op == "buy" || op == "sell") {
    const char* payer = op == "buy" ? "receiver" : "keeper";
    const char* payee = op == "buy" ? "keeper" : "giver";
    if ((undecided && pending(payer)) || (state == "commit" && pending(payee))) {
      census->amounts[kGoldAccount] += IntegerAt(plan, "price");
    }
  }
  if (state != "commit" || AccountPending(*census, plan, record["_id"])) {
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

Result<std::vector<std::string>> Game::AuditWorld() const {
  Census census;
  RETURN_IF_ERROR(store_.Transact([&](const Store& inside) { return ReadAll(inside, &census); }));
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

}  // namespace quire::patterns
