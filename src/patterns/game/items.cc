// SPDX-License-Identifier: Apache-2.0
//
// Items and gold that change hands, come and go.
#include <utility>

#include "base/try.h"
#include "patterns/game/documents.h"
#include "patterns/game/work.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::ObjectId;

Document Role(const char* collection, const bson::Value& id) {
  return Doc("c", collection, "id", id);
}
Document Role(const Holder& holder) { return Doc("c", CollectionOf(holder), "id", holder.id); }

// The item on the holder's floor or in hand, not inside another; nothing when it is not there.
std::optional<Document> Held(const Document& holder, const ObjectId& item) {
  for (const bson::Element& element : holder["inventory"].AsArray()) {
    bson::View one = element.value().AsDocument();
    if (one["id"].AsObjectId() == item) {
      return Document(one);
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Document> Game::Work::Get(const Holder& holder) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(CollectionOf(holder), Doc("_id", holder.id)));
  return found ? Result<Document>(*std::move(found)) : MakeError(Error::kNotFound, holder.id);
}

Result<int64_t> Game::Work::WeightOf(const GameItem& item) const {
  ASSIGN_OR_RETURN(auto tmpl, store_.FindOne(kTemplates, Doc("_id", item.tmpl)));
  int64_t weight = tmpl ? IntegerAt(*tmpl, "weight") * item.quantity : 0;
  for (const GameItem& inside : item.inventory) {
    ASSIGN_OR_RETURN(int64_t more, WeightOf(inside));
    weight += more;
  }
  return weight;
}

// A key that was used goes on with the plan of then: the world has changed since.
Result<Document> Game::Work::Act(const Document& arguments, const CallKey& key,
                                 const Plan& plan) const {
  const ObjectId made = store_.seams().ids->Next();
  const bson::OwnedValue id(key ? bson::Value(std::string_view(*key)) : bson::Value(made));
  std::optional<Document> before;
  if (key) {
    ASSIGN_OR_RETURN(before, store_.FindOne(kGameRecords, Doc("_id", id)));
  }
  Document fields;
  if (before) {
    fields = Doc("_id", id, "args", arguments, "plan", (*before)["plan"]);
  } else {
    ASSIGN_OR_RETURN(Document planned, plan(id));
    fields = Doc("_id", id, "args", arguments, "plan", planned);
  }
  return options_.backend == Backend::kCompensating ? saga_.Run(fields)
                                                    : saga_.RunInTransaction(fields);
}

// `place`: where both must be; missing when it does not matter.
Result<Document> Game::Work::Transfer(const Holder& from, const Holder& to, const ObjectId& item,
                                      const bson::Value& place) const {
  ASSIGN_OR_RETURN(Document giver, Get(from));
  ASSIGN_OR_RETURN(Document receiver, Get(to));
  for (const Document* one : {&giver, &receiver}) {
    const bson::Value where = At(*one, "location.id");
    if (!place.missing() && !where.missing() && !where.BinaryEquals(place)) {
      return MakeError(Error::kNotHere, bson::ToJson((*one)["_id"]));
    }
  }
  std::optional<Document> held = Held(giver, item);
  if (!held) {
    return MakeError(Error::kNoSuchItem, item.ToHex());
  }
  ASSIGN_OR_RETURN(int64_t weight, WeightOf(ItemOf(*held)));
  Document receives = Role(to);
  if (to.kind == Holder::kCharacter) {
    const int64_t most = IntegerAt(receiver, "capacity") - weight;
    if (IntegerAt(receiver, "load") > most) {
      return MakeError(Error::kTooHeavy, item.ToHex());
    }
    receives = Doc("c", kCharacters, "id", to.id, "max_load", most);
  }
  return Doc("item", *held, "weight", weight, "place", place, "receiver", receives, "giver",
             Role(from));
}

Status Game::Work::PickUp(std::string_view character, const ObjectId& item,
                          const CallKey& key) const {
  return Act(Doc("op", "pick_up", "who", character, "item", item), key,
             [&](const bson::OwnedValue&) -> Result<Document> {
               const Holder to{Holder::kCharacter, std::string(character)};
               ASSIGN_OR_RETURN(Document who, Get(to));
               const bson::Value place = At(who, "location.id");
               return Transfer({Holder::kLocation, std::string(place.AsString())}, to, item, place);
             })
      .status();
}

Status Game::Work::Drop(std::string_view character, const ObjectId& item,
                        const CallKey& key) const {
  return Act(Doc("op", "drop", "who", character, "item", item), key,
             [&](const bson::OwnedValue&) -> Result<Document> {
               const Holder from{Holder::kCharacter, std::string(character)};
               ASSIGN_OR_RETURN(Document who, Get(from));
               const bson::Value place = At(who, "location.id");
               return Transfer(from, {Holder::kLocation, std::string(place.AsString())}, item,
                               place);
             })
      .status();
}

Status Game::Work::Give(std::string_view from, std::string_view to, const ObjectId& item,
                        const CallKey& key) const {
  if (from == to) {
    return MakeError(Error::kConflict, "to oneself");
  }
  return Act(Doc("op", "give", "who", from, "to", to, "item", item), key,
             [&](const bson::OwnedValue&) -> Result<Document> {
               const Holder giver{Holder::kCharacter, std::string(from)};
               ASSIGN_OR_RETURN(Document who, Get(giver));
               return Transfer(giver, {Holder::kCharacter, std::string(to)}, item,
                               At(who, "location.id"));
             })
      .status();
}

// The plan of a transfer with the keeper and the price in it.
Result<Document> Game::Work::Trade(std::string_view character, const ObjectId& item,
                                   bool buys) const {
  const Holder customer{Holder::kCharacter, std::string(character)};
  ASSIGN_OR_RETURN(Document who, Get(customer));
  const bson::Value place = At(who, "location.id");
  const Holder shop{Holder::kLocation, std::string(place.AsString())};
  ASSIGN_OR_RETURN(Document room, Get(shop));
  const std::string_view keeper = TextAt(room, "shopkeeper");
  if (keeper.empty() || keeper == character) {
    return MakeError(Error::kNotForSale, "no keeper to trade with");
  }
  ASSIGN_OR_RETURN(Document plan, buys ? Transfer(shop, customer, item, place)
                                       : Transfer(customer, shop, item, place));
  ASSIGN_OR_RETURN(auto tmpl, store_.FindOne(kTemplates, Doc("_id", At(plan, "item.tmpl"))));
  int64_t price = 0;
  if (!tmpl || IntegerAt(*tmpl, "price") <= 0 ||
      __builtin_mul_overflow(IntegerAt(*tmpl, "price"), IntegerAt(plan, "item.qty"), &price)) {
    return MakeError(Error::kNotForSale, item.ToHex());
  }
  ASSIGN_OR_RETURN(Document payer,
                   Get({Holder::kCharacter, std::string(buys ? character : keeper)}));
  if (IntegerAt(payer, "gold") < price) {
    return MakeError(Error::kInsufficientFunds, bson::ToJson(payer["_id"]));
  }
  bson::Builder out;
  out.AppendFields(plan).Append("price", price);
  out.Append("keeper", Role(kCharacters, bson::Value(keeper)));
  return out.Finish();
}

Status Game::Work::Buy(std::string_view character, const ObjectId& item, const CallKey& key) const {
  return Act(Doc("op", "buy", "who", character, "item", item), key,
             [&](const bson::OwnedValue&) { return Trade(character, item, true); })
      .status();
}

Status Game::Work::Sell(std::string_view character, const ObjectId& item,
                        const CallKey& key) const {
  return Act(Doc("op", "sell", "who", character, "item", item), key,
             [&](const bson::OwnedValue&) { return Trade(character, item, false); })
      .status();
}

Result<ObjectId> Game::Work::SpawnItem(const Holder& holder, std::string_view tmpl,
                                       int32_t quantity, const CallKey& key) const {
  auto plan = [&](const bson::OwnedValue&) -> Result<Document> {
    if (quantity < 1) {
      return MakeError(Error::kInvalidAmount, std::to_string(quantity));
    }
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kTemplates, Doc("_id", tmpl)));
    if (!found) {
      return MakeError(Error::kNoSuchItem, tmpl);
    }
    GameItem item{store_.seams().ids->Next(), std::string(tmpl),
                  std::string(TextAt(*found, "name")), quantity};
    if ((*found)["bonus"].is_number()) {
      item.bonus = static_cast<int32_t>(IntegerAt(*found, "bonus"));
    }
    ASSIGN_OR_RETURN(Document to, Get(holder));
    const int64_t weight = IntegerAt(*found, "weight") * quantity;
    const int64_t most = IntegerAt(to, "capacity") - weight;
    if (holder.kind == Holder::kCharacter && IntegerAt(to, "load") > most) {
      return MakeError(Error::kTooHeavy, tmpl);
    }
    return Doc("item", ItemDocument(item), "weight", weight, "receiver",
               Doc("c", CollectionOf(holder), "id", holder.id, "max_load", most), "account",
               Doc("c", kLedger, "id", ItemAccount(tmpl)), "change", int64_t{quantity});
  };
  ASSIGN_OR_RETURN(
      Document record,
      Act(Doc("op", "spawn", "to", Role(holder), "tmpl", tmpl, "qty", quantity), key, plan));
  return At(record, "plan.item.id").AsObjectId();
}

Status Game::Work::DestroyItem(const Holder& holder, const ObjectId& item,
                               const CallKey& key) const {
  auto plan = [&](const bson::OwnedValue&) -> Result<Document> {
    ASSIGN_OR_RETURN(Document from, Get(holder));
    std::optional<Document> held = Held(from, item);
    if (!held) {
      return MakeError(Error::kNoSuchItem, item.ToHex());
    }
    if (!(*held)["inventory"].AsArray().empty()) {
      return MakeError(Error::kConflict, "there is something in it");
    }
    ASSIGN_OR_RETURN(int64_t weight, WeightOf(ItemOf(*held)));
    return Doc("item", *held, "weight", weight, "giver", Role(holder), "account",
               Doc("c", kLedger, "id", ItemAccount(TextAt(*held, "tmpl"))), "change",
               -IntegerAt(*held, "qty"));
  };
  return Act(Doc("op", "destroy", "who", Role(holder), "item", item), key, plan).status();
}

Status Game::Work::SpawnGold(std::string_view character, int64_t amount, const CallKey& key) const {
  auto plan = [&](const bson::OwnedValue&) -> Result<Document> {
    if (amount <= 0) {
      return MakeError(Error::kInvalidAmount, std::to_string(amount));
    }
    return Doc("price", amount, "payee", Role(kCharacters, bson::Value(character)), "account",
               Doc("c", kLedger, "id", kGoldAccount), "change", amount);
  };
  return Act(Doc("op", "spawn_gold", "to", character, "amount", amount), key, plan).status();
}

}  // namespace quire::patterns
