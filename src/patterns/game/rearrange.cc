// SPDX-License-Identifier: Apache-2.0
//
// What happens inside one holder: read, rearranged in memory, and stored while nothing changed.
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/game/documents.h"
#include "patterns/game/work.h"

namespace quire::patterns {

namespace {

using bson::Document;
using bson::ObjectId;

constexpr int kAttempts = 20;
constexpr int kMaxDepth = 16;  // of containers in containers; BSON itself ends at 100 levels

struct Worn {
  ObjectId id;
  std::string where;
};

std::vector<Worn> WornOf(const bson::Value& array, std::string_view field) {
  std::vector<Worn> worn;
  for (const bson::Element& one : array.is_array() ? array.AsArray() : bson::View()) {
    bson::View document = one.value().AsDocument();
    worn.push_back({document["id"].AsObjectId(), std::string(TextAt(document, field))});
  }
  return worn;
}

Array WornList(const std::vector<Worn>& worn, std::string_view field) {
  std::vector<Document> documents;
  for (const Worn& one : worn) {
    documents.push_back(Doc("id", one.id, field, one.where));
  }
  return ListOf(documents);
}

void TakeOff(std::vector<Worn>* worn, const ObjectId& id) {
  worn->erase(
      std::remove_if(worn->begin(), worn->end(), [&](const Worn& one) { return one.id == id; }),
      worn->end());
}

bool Wears(const std::vector<Worn>& worn, std::string_view where) {
  return std::any_of(worn.begin(), worn.end(), [&](const Worn& one) { return one.where == where; });
}

// The list that has the item itself; nothing when no list has.
std::vector<GameItem>* ListWith(std::vector<GameItem>* items, const ObjectId& id) {
  for (GameItem& item : *items) {
    if (item.id == id) {
      return items;
    }
    if (std::vector<GameItem>* found = ListWith(&item.inventory, id)) {
      return found;
    }
  }
  return nullptr;
}

GameItem* ItemIn(std::vector<GameItem>* list, const ObjectId& id) {
  auto found =
      std::find_if(list->begin(), list->end(), [&](const GameItem& item) { return item.id == id; });
  return found == list->end() ? nullptr : &*found;
}

GameItem* Find(std::vector<GameItem>* items, const ObjectId& id) {
  std::vector<GameItem>* list = ListWith(items, id);
  return list == nullptr ? nullptr : ItemIn(list, id);
}

GameItem TakeOut(std::vector<GameItem>* list, const ObjectId& id) {
  auto found =
      std::find_if(list->begin(), list->end(), [&](const GameItem& item) { return item.id == id; });
  GameItem item = std::move(*found);
  list->erase(found);
  return item;
}

int DepthOf(const std::vector<GameItem>& items) {
  int deepest = 0;
  for (const GameItem& item : items) {
    deepest = std::max(deepest, 1 + DepthOf(item.inventory));
  }
  return deepest;
}

Status Missing(const ObjectId& item) { return MakeError(Error::kNoSuchItem, item.ToHex()); }

}  // namespace

struct Game::Work::Things {
  std::vector<GameItem> inventory;
  std::vector<Worn> armor;
  std::vector<Worn> weapons;
};

Result<Claim> Game::Work::Rearrange(const Holder& holder, const Document& arguments,
                                    const CallKey& key, const Change& change) const {
  const std::string operation(TextAt(arguments, "op"));
  auto body = [&](const Claim& claim) -> Result<Document> {
    RETURN_IF_ERROR(RearrangeOnce(holder, operation, claim, change));
    return Doc("id", claim.id);
  };
  const Document all = Doc("holder", CollectionOf(holder), "id", holder.id, "args", arguments);
  ASSIGN_OR_RETURN(Document done, calls_.Once(operation, key, all, body));
  return Claim{done["id"].AsObjectId(), key.has_value(), false};
}

Status Game::Work::RearrangeOnce(const Holder& holder, std::string_view operation,
                                 const Claim& claim, const Change& change) const {
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(Document before, Get(holder));
    if (Marked(before, claim)) {
      return Status::Ok();
    }
    Things things{ItemsOf(before["inventory"]), WornOf(before["armor"], "region"),
                  WornOf(before["weapons"], "hand")};
    RETURN_IF_ERROR(change(&things, claim));
    if (DepthOf(things.inventory) > kMaxDepth) {
      return MakeError(Error::kTooDeep, holder.id);
    }
    Document set = Doc("inventory", ItemList(things.inventory));
    if (holder.kind == Holder::kCharacter) {
      set = Doc("inventory", ItemList(things.inventory), "armor", WornList(things.armor, "region"),
                "weapons", WornList(things.weapons, "hand"));
    }
    const Document as_read = Doc("_id", holder.id, "rev", before["rev"]);
    ASSIGN_OR_RETURN(
        int64_t matched,
        store_.UpdateOne(CollectionOf(holder), Unmarked(as_read, claim),
                         Marking(Doc("$set", set, "$inc", Doc("rev", int64_t{1})), claim)));
    RETURN_IF_ERROR(store_.seams().After(operation, 1));
    if (matched == 1) {
      return Status::Ok();
    }
  }
  return MakeError(Error::kContention, holder.id);
}

Status Game::Work::TakeFromContainer(const Holder& holder, const ObjectId& container,
                                     const ObjectId& item, const CallKey& key) const {
  return Rearrange(holder, Doc("op", "game.take", "item", item, "from", container), key,
                   [&](Things* things, const Claim&) {
                     GameItem* from = Find(&things->inventory, container);
                     if (from == nullptr || ItemIn(&from->inventory, item) == nullptr) {
                       return Missing(from == nullptr ? container : item);
                     }
                     GameItem taken = TakeOut(&from->inventory, item);
                     things->inventory.push_back(std::move(taken));
                     return Status::Ok();
                   })
      .status();
}

Status Game::Work::PutInContainer(const Holder& holder, const ObjectId& item,
                                  const ObjectId& container, const CallKey& key) const {
  auto put = [&](Things* things, const Claim&) -> Status {
    GameItem* into = Find(&things->inventory, container);
    std::vector<GameItem>* list = ListWith(&things->inventory, item);
    if (into == nullptr || list == nullptr) {
      return Missing(into == nullptr ? container : item);
    }
    ASSIGN_OR_RETURN(auto tmpl, store_.FindOne(kTemplates, Doc("_id", into->tmpl)));
    if (!tmpl || !(*tmpl)["container"].AsBool() || into->quantity != 1) {
      return MakeError(Error::kNotAContainer, container.ToHex());
    }
    GameItem* moved = ItemIn(list, item);
    if (item == container || Find(&moved->inventory, container) != nullptr) {
      return MakeError(Error::kCycleError, item.ToHex());
    }
    GameItem taken = TakeOut(list, item);
    Find(&things->inventory, container)->inventory.push_back(std::move(taken));
    TakeOff(&things->armor, item);
    TakeOff(&things->weapons, item);
    return Status::Ok();
  };
  return Rearrange(holder, Doc("op", "game.put", "item", item, "into", container), key, put)
      .status();
}

Status Game::Work::Equip(std::string_view character, const ObjectId& item, std::string_view hand,
                         const CallKey& key) const {
  auto equip = [&](Things* things, const Claim&) -> Status {
    const GameItem* held = ItemIn(&things->inventory, item);
    if (held == nullptr) {
      return Missing(item);
    }
    ASSIGN_OR_RETURN(auto tmpl, store_.FindOne(kTemplates, Doc("_id", held->tmpl)));
    const std::string region(tmpl ? TextAt(*tmpl, "region") : "");
    const std::string own(tmpl ? TextAt(*tmpl, "hand") : "");
    TakeOff(&things->armor, item);
    TakeOff(&things->weapons, item);
    if (!region.empty() && hand.empty()) {
      if (Wears(things->armor, region)) {
        return MakeError(Error::kWrongRegion, region + " has something on");
      }
      things->armor.push_back({item, region});
      return Status::Ok();
    }
    std::string where(hand.empty() ? own : std::string(hand));
    if (where == "any") {
      where = Wears(things->weapons, "right") ? "left" : "right";
    }
    const bool one_hand = where == "left" || where == "right";
    if (own.empty() || (where != own && !(own == "any" && one_hand))) {
      return MakeError(Error::kWrongRegion, where);
    }
    if (Wears(things->weapons, where) || Wears(things->weapons, "both") ||
        (where == "both" && !things->weapons.empty())) {
      return MakeError(Error::kHandsFull, where);
    }
    things->weapons.push_back({item, where});
    return Status::Ok();
  };
  return Rearrange({Holder::kCharacter, std::string(character)},
                   Doc("op", "game.equip", "item", item, "hand", hand), key, equip)
      .status();
}

Status Game::Work::Unequip(std::string_view character, const ObjectId& item,
                           const CallKey& key) const {
  auto unequip = [&](Things* things, const Claim&) {
    const size_t before = things->armor.size() + things->weapons.size();
    TakeOff(&things->armor, item);
    TakeOff(&things->weapons, item);
    return things->armor.size() + things->weapons.size() < before ? Status::Ok() : Missing(item);
  };
  return Rearrange({Holder::kCharacter, std::string(character)},
                   Doc("op", "game.unequip", "item", item), key, unequip)
      .status();
}

Result<ObjectId> Game::Work::SplitStack(const Holder& holder, const ObjectId& item,
                                        int32_t quantity, const CallKey& key) const {
  auto split = [&](Things* things, const Claim& claim) {
    std::vector<GameItem>* list = ListWith(&things->inventory, item);
    if (list == nullptr) {
      return Missing(item);
    }
    GameItem* stack = ItemIn(list, item);
    if (quantity < 1 || quantity >= stack->quantity) {
      return MakeError(Error::kInvalidAmount, std::to_string(quantity));
    }
    GameItem part = *stack;
    part.id = claim.id;
    part.quantity = quantity;
    stack->quantity -= quantity;
    list->push_back(std::move(part));
    return Status::Ok();
  };
  ASSIGN_OR_RETURN(
      Claim made,
      Rearrange(holder, Doc("op", "game.split", "item", item, "qty", quantity), key, split));
  return made.id;
}

Status Game::Work::MergeStacks(const Holder& holder, const ObjectId& from, const ObjectId& into,
                               const CallKey& key) const {
  auto merge = [&](Things* things, const Claim&) {
    std::vector<GameItem>* list = ListWith(&things->inventory, from);
    GameItem* target = Find(&things->inventory, into);
    if (list == nullptr || target == nullptr) {
      return Missing(list == nullptr ? from : into);
    }
    const GameItem* source = ItemIn(list, from);
    int32_t sum = 0;
    if (from == into || source->tmpl != target->tmpl || source->bonus != target->bonus ||
        !source->inventory.empty() || !target->inventory.empty() ||
        __builtin_add_overflow(source->quantity, target->quantity, &sum)) {
      return MakeError(Error::kConflict, "they are not alike");
    }
    target->quantity = sum;
    TakeOut(list, from);
    TakeOff(&things->armor, from);
    TakeOff(&things->weapons, from);
    return Status::Ok();
  };
  return Rearrange(holder, Doc("op", "game.merge", "from", from, "into", into), key, merge)
      .status();
}

}  // namespace quire::patterns
