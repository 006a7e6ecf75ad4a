// SPDX-License-Identifier: Apache-2.0
#include "patterns/game/documents.h"

#include <utility>

#include "quire/patterns/names.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::OwnedValue;

std::map<std::string, std::string> ExitsOf(const bson::Value& exits) {
  std::map<std::string, std::string> found;
  for (const bson::Element& exit : exits.is_document() ? exits.AsDocument() : bson::View()) {
    found.emplace(DecodeName(exit.name()), exit.value().AsString());
  }
  return found;
}

// What every participant of one record shares.
struct HandOver {
  explicit HandOver(bson::View record)
      : id(record["_id"]),
        plan(record["plan"].AsDocument()),
        weight(IntegerAt(plan, "weight")),
        price(IntegerAt(plan, "price")) {}

  bool Has(std::string_view role) const { return plan.Has(role); }
  std::string Collection(const std::string& role) const {
    return std::string(TextAt(plan, role + ".c"));
  }
  OwnedValue Id(const std::string& role) const { return OwnedValue(At(plan, role + ".id")); }
  bool IsCharacter(const std::string& role) const { return Collection(role) == kCharacters; }
  // A character takes part only where the hand-over happens.
  Document Present(const std::string& role) const {
    return IsCharacter(role) && plan.Has("place") ? Doc("location.id", plan["place"]) : Doc();
  }

  OwnedValue id;
  bson::View plan;
  int64_t weight;
  int64_t price;
};

Document Joined(const Document& a, const Document& b) {
  bson::Builder out;
  out.AppendFields(a).AppendFields(b);
  return out.Finish();
}

// Room for the weight is kept when it is prepared, and given up when the item is gone for good.
Participant Receiver(const HandOver& over) {
  Participant part{over.Collection("receiver"),
                   over.Id("receiver"),
                   over.Present("receiver"),
                   {},
                   {},
                   {},
                   Error::kNotFound,
                   Error::kNotHere};
  part.retire = Doc("$push", Doc("inventory", over.plan["item"]), "$inc", Doc("rev", int64_t{1}));
  if (over.IsCharacter("receiver")) {
    part.guard = Joined(part.guard, Doc("load", Doc("$lte", At(over.plan, "receiver.max_load"))));
    part.prepare = Doc("$inc", Doc("load", over.weight));
    part.rollback = Doc("$inc", Doc("load", -over.weight));
  }
  return part;
}

// The guard asks for the item as it was read, whole.
Participant Giver(const HandOver& over, bson::View record) {
  Participant part{over.Collection("giver"), over.Id("giver"), {}, {}, {}, {},
                   Error::kNotFound,         Error::kConflict};
  const Document this_item = Doc("id", At(over.plan, "item.id"));
  const Document this_record = Doc("t", over.id);
  part.guard = Joined(over.Present("giver"), Doc("inventory", over.plan["item"]));
  Document pull = Doc("inventory", this_item);
  if (over.IsCharacter("giver")) {
    pull = Doc("inventory", this_item, "armor", this_item, "weapons", this_item);
  }
  const Document transit = Doc("t", over.id, "item", over.plan["item"], "to",
                               At(over.plan, "receiver.id"), "ts", record["ts"]);
  part.prepare =
      Doc("$pull", pull, "$push", Doc("transit", transit), "$inc", Doc("rev", int64_t{1}));
  part.rollback = Doc("$pull", Doc("transit", this_record), "$push",
                      Doc("inventory", over.plan["item"]), "$inc", Doc("rev", int64_t{1}));
  part.retire = Doc("$pull", Doc("transit", this_record));
  if (over.IsCharacter("giver")) {
    part.retire = MergeUpdates(part.retire, Doc("$inc", Doc("load", -over.weight)));
  }
  return part;
}

void AddPaying(const HandOver& over, Participant* part) {
  part->guard = Joined(part->guard, Doc("gold", Doc("$gte", over.price)));
  part->prepare = MergeUpdates(part->prepare, Doc("$inc", Doc("gold", -over.price)));
  part->rollback = MergeUpdates(part->rollback, Doc("$inc", Doc("gold", over.price)));
  part->refused = Error::kInsufficientFunds;
}

void AddPaid(const HandOver& over, Participant* part) {
  part->retire = MergeUpdates(part->retire, Doc("$inc", Doc("gold", over.price)));
}

Participant Plain(const HandOver& over, const std::string& role) {
  return {over.Collection(role), over.Id(role),     {}, {}, {}, {},
          Error::kNotFound,      Error::kContention};
}

}  // namespace

Document ItemDocument(const GameItem& item) {
  bson::Builder out;
  out.Append("id", item.id).Append("tmpl", item.tmpl).Append("name", item.name);
  out.Append("qty", item.quantity);
  if (item.bonus) {
    out.Append("bonus", *item.bonus);
  }
  Put(&out, "inventory", ItemList(item.inventory));
  return out.Finish();
}

GameItem ItemOf(bson::View document) {
  GameItem item{document["id"].AsObjectId(), std::string(TextAt(document, "tmpl")),
                std::string(TextAt(document, "name")),
                static_cast<int32_t>(IntegerAt(document, "qty"))};
  if (document["bonus"].is_number()) {
    item.bonus = static_cast<int32_t>(IntegerAt(document, "bonus"));
  }
  item.inventory = ItemsOf(document["inventory"]);
  return item;
}

std::vector<GameItem> ItemsOf(const bson::Value& array) {
  std::vector<GameItem> items;
  for (const bson::Element& item : array.is_array() ? array.AsArray() : bson::View()) {
    items.push_back(ItemOf(item.value().AsDocument()));
  }
  return items;
}

Array ItemList(const std::vector<GameItem>& items) {
  std::vector<Document> documents;
  for (const GameItem& item : items) {
    documents.push_back(ItemDocument(item));
  }
  return ListOf(documents);
}

Document RoomCache(bson::View location) {
  return Doc("id", location["_id"], "description", location["description"], "exits",
             location["exits"], "players", location["players"], "inventory", location["inventory"]);
}

RoomView RoomViewOf(bson::View cache) {
  RoomView view{std::string(TextAt(cache, "id")),
                std::string(TextAt(cache, "description")),
                ExitsOf(cache["exits"]),
                {},
                ItemsOf(cache["inventory"])};
  bson::Value players = cache["players"];
  for (const bson::Element& player : players.is_array() ? players.AsArray() : bson::View()) {
    bson::View one = player.value().AsDocument();
    view.players.emplace_back(TextAt(one, "id"), TextAt(one, "name"));
  }
  return view;
}

std::vector<Participant> PlanHandOver(bson::View record) {
  const HandOver over(record);
  const std::string_view op = TextAt(record, "args.op");
  std::vector<Participant> parts;
  if (over.Has("account")) {
    Participant account = Plain(over, "account");
    account.retire = Doc("$inc", Doc("amount", over.plan["change"]));
    parts.push_back(std::move(account));
  }
  if (op == "spawn_gold") {
    Participant payee = Plain(over, "payee");
    AddPaid(over, &payee);
    parts.push_back(std::move(payee));
    return parts;
  }
  if (over.Has("receiver")) {
    parts.push_back(Receiver(over));
  }
  if (op == "buy" || op == "sell") {
    Participant keeper = Plain(over, "keeper");
    op == "buy" ? AddPaying(over, &parts.back()) : AddPaying(over, &keeper);
    if (op == "buy") {
      AddPaid(over, &keeper);
    }
    parts.push_back(std::move(keeper));
  }
  if (over.Has("giver")) {
    parts.push_back(Giver(over, record));
  }
  if (op == "sell") {
    AddPaid(over, &parts.back());
  }
  return parts;
}

}  // namespace quire::patterns
