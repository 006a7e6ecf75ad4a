// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/inventory.h"

#include <utility>

#include "base/try.h"
#include "patterns/inventory/parts.h"

namespace quire::patterns {

namespace {

using bson::Document;

// 128 random bits.
std::string RandomHex(RandomSource* random) {
  std::string hex;
  for (int i = 0; i < 32; ++i) {
    hex += "0123456789abcdef"[static_cast<int>(random->Next() * 16) & 15];
  }
  return hex;
}

}  // namespace

Inventory::Work::Work(const Client& client, std::string_view database, InventoryOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "inventory") {}

Inventory::Inventory(const Client& client, std::string_view database, InventoryOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

Status Inventory::CreateIndexes() const { return work_->store().CreateIndexes(Indexes()); }
Result<std::vector<std::string>> Inventory::MissingIndexes() const {
  return work_->store().MissingIndexes(Indexes());
}
Status Inventory::Restock(std::string_view sku, int64_t quantity, const CallKey& key) const {
  return work_->Restock(sku, quantity, key);
}
Status Inventory::WriteOff(std::string_view sku, int64_t quantity, const CallKey& key) const {
  return work_->WriteOff(sku, quantity, key);
}
Result<Stock> Inventory::GetStock(std::string_view sku) const { return work_->GetStock(sku); }
Result<std::string> Inventory::NewCart(const CallKey& key) const { return work_->NewCart(key); }
Result<Cart> Inventory::GetCart(std::string_view cart) const { return work_->GetCart(cart); }
Status Inventory::AddItem(std::string_view cart, const CartItem& item, const CallKey& key) const {
  return work_->AddItem(cart, item, key);
}
Status Inventory::SetQuantity(std::string_view cart, std::string_view sku, int64_t old_quantity,
                              int64_t quantity, const CallKey& key) const {
  return work_->SetQuantity(cart, sku, old_quantity, quantity, key);
}
Status Inventory::Checkout(std::string_view cart, const CallKey& key) const {
  return work_->Checkout(cart, key);
}
Result<JobReport> Inventory::Expire() const { return work_->Expire(); }
Result<JobReport> Inventory::Recover() const { return work_->Recover(); }
Result<JobReport> Inventory::Cleanup() const { return work_->Cleanup(); }
Result<JobReport> Inventory::PurgeKeys() const { return work_->PurgeKeys(); }
Result<std::vector<std::string>> Inventory::CheckInvariants() const {
  return work_->CheckInvariants();
}

const std::vector<IndexSpec>& Inventory::Indexes() {
  static const std::vector<IndexSpec> kIndexes = {
      {kProduct, R"({"carted.cart_id": 1})"},
      {kProduct, R"({"carted.ts": 1})"},
      {kCart, R"({"status": 1, "settled": 1, "last_modified": 1})"},
      Idempotency::Index(),
  };
  return kIndexes;
}

const std::vector<ShardKeySpec>& Inventory::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {
      {kProduct, R"({"_id": "hashed"})"}, {kCart, R"({"_id": "hashed"})"}, Idempotency::ShardKey()};
  return kKeys;
}

Status Inventory::Work::Steps(const std::function<Status(const Store&)>& steps,
                              const std::function<Status()>& undo) const {
  if (options_.backend == Backend::kTransactional) {
    RETURN_IF_ERROR(store_.Transact(steps));
    return store_.seams().After("inventory.transact.c1");
  }
  Status status = steps(store_);
  if (undo && IsFinal(status)) {
    RETURN_IF_ERROR(undo());
  }
  return status;
}

Status Inventory::Work::Restock(std::string_view sku, int64_t quantity, const CallKey& key) const {
  if (quantity <= 0) {
    return MakeError(Error::kInvalidQuantity, sku);
  }
  const Document update =
      Doc("$inc", Doc("qty", quantity), "$setOnInsert", Doc("carted", List(), "sold", int64_t{0}));
  return calls_.DoOnce("inventory.restock", key, Doc("sku", sku, "qty", quantity),
                       [&](const Claim& claim) -> Status {
                         RETURN_IF_ERROR(UpsertOnce(store_, kProduct, sku, update, claim));
                         return store_.seams().After("inventory.restock.c1");
                       });
}

Status Inventory::Work::WriteOff(std::string_view sku, int64_t quantity, const CallKey& key) const {
  if (quantity <= 0) {
    return MakeError(Error::kInvalidQuantity, sku);
  }
  return calls_.DoOnce(
      "inventory.write_off", key, Doc("sku", sku, "qty", quantity),
      [&](const Claim& claim) -> Status {
        ASSIGN_OR_RETURN(
            int64_t matched,
            store_.UpdateOne(kProduct,
                             Unmarked(Doc("_id", sku, "qty", Doc("$gte", quantity)), claim),
                             Marking(Doc("$inc", Doc("qty", -quantity)), claim)));
        if (matched == 1) {
          return store_.seams().After("inventory.write_off.c1");
        }
        ASSIGN_OR_RETURN(auto product, store_.FindOne(kProduct, Doc("_id", sku)));
        if (product && Marked(*product, claim)) {
          return Status::Ok();
        }
        return MakeError(product ? Error::kInadequateInventory : Error::kUnknownSku, sku);
      });
}

Result<Stock> Inventory::Work::GetStock(std::string_view sku) const {
  ASSIGN_OR_RETURN(auto product, store_.FindOne(kProduct, Doc("_id", sku)));
  if (!product) {
    return MakeError(Error::kUnknownSku, sku);
  }
  Stock stock{IntegerAt(*product, "qty"), 0, IntegerAt(*product, "sold")};
  for (const Entry& entry : Entry::All(*product)) {
    stock.carted += entry.quantity;
  }
  return stock;
}

// A crashed call leaves an empty cart that expires.
Result<std::string> Inventory::Work::NewCart(const CallKey& key) const {
  auto make = [&](const Claim&) -> Result<Document> {
    const std::string id = RandomHex(store_.seams().random);
    RETURN_IF_ERROR(store_.Insert(
        kCart, Doc("_id", id, "status", "active", "last_modified", store_.Now(), "pay_key",
                   bson::Value::Null(), "items", List(), "settled", false)));
    RETURN_IF_ERROR(store_.seams().After("inventory.new_cart.c1"));
    return Doc("cart", id);
  };
  ASSIGN_OR_RETURN(Document made, calls_.Once("inventory.new_cart", key, Doc(), make));
  return std::string(TextAt(made, "cart"));
}

Result<Cart> Inventory::Work::GetCart(std::string_view cart) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kCart, Doc("_id", cart)));
  if (!found) {
    return MakeError(Error::kNotFound, cart);
  }
  Cart result{
      std::string(cart), std::string(TextAt(*found, "status")), {}, (*found)["settled"].AsBool()};
  for (const bson::Element& element : (*found)["items"].AsArray()) {
    bson::View item = element.value().AsDocument();
    result.items.push_back({std::string(TextAt(item, "sku")), IntegerAt(item, "qty"),
                            IntegerAt(item, "price"), Document(item["details"].AsDocument())});
  }
  return result;
}

Document Inventory::Work::EntryDocument(std::string_view cart, int64_t quantity,
                                        const bson::Value& pin, const bson::ObjectId& call) const {
  return Doc("cart_id", cart, "qty", quantity, "ts", store_.Now(), "pin", pin, "call", call);
}

// Why a write to an active cart matched nothing.
Status Inventory::Work::CartRefusal(const Store& store, std::string_view cart) const {
  ASSIGN_OR_RETURN(auto found, store.FindOne(kCart, Doc("_id", cart)));
  const bool active = found && TextAt(*found, "status") == "active";
  return MakeError(active ? Error::kConflict : Error::kCartInactive, cart);
}

// The write to the cart decides whether a call was done.
Result<bool> Inventory::Work::Done(std::string_view cart, const Claim& claim) const {
  if (!claim.repeated) {
    return false;
  }
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kCart, Doc("_id", cart)));
  return found && Marked(*found, claim);
}

Status Inventory::Work::AddItem(std::string_view cart, const CartItem& item,
                                const CallKey& key) const {
  int64_t amount = 0;
  if (item.quantity <= 0 || __builtin_mul_overflow(item.quantity, item.price, &amount)) {
    return MakeError(Error::kInvalidQuantity, item.sku);
  }
  if (item.price < 0) {
    return MakeError(Error::kInvalidPrice, item.sku);
  }
  const Document arguments = Doc("cart", cart, "sku", item.sku, "qty", item.quantity, "price",
                                 item.price, "details", item.details);
  return calls_.DoOnce("inventory.add_item", key, arguments, [&](const Claim& claim) -> Status {
    ASSIGN_OR_RETURN(bool done, Done(cart, claim));
    return done ? Status::Ok() : Add(cart, item, claim);
  });
}

// An article that the cart has already grows.
Status Inventory::Work::Add(std::string_view cart, const CartItem& item, const Claim& claim) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kCart, Doc("_id", cart)));
  if (!found || TextAt(*found, "status") != "active") {
    return MakeError(Error::kCartInactive, cart);
  }
  if (const int64_t has = LineQuantity(*found, item.sku); has > 0) {
    int64_t sum = 0;
    return __builtin_add_overflow(has, item.quantity, &sum)
               ? MakeError(Error::kInadequateInventory, item.sku)
               : Increase({cart, item.sku, sum}, has, claim);
  }
  auto push = [&](const Store& store) -> Status {
    const Document line =
        Doc("sku", item.sku, "qty", item.quantity, "price", item.price, "details", item.details);
    const Document without =
        Doc("_id", cart, "status", "active", "items.sku", Doc("$ne", item.sku));
    ASSIGN_OR_RETURN(int64_t written,
                     store.UpdateOne(kCart, Unmarked(without, claim),
                                     Marking(Doc("$push", Doc("items", line), "$set",
                                                 Doc("last_modified", store.Now())),
                                             claim)));
    return written == 1 ? Status::Ok() : CartRefusal(store, cart);
  };
  return Grow("inventory.add_item", {cart, item.sku, item.quantity}, claim, push);
}

Status Inventory::Work::SetQuantity(std::string_view cart, std::string_view sku,
                                    int64_t old_quantity, int64_t quantity,
                                    const CallKey& key) const {
  if (quantity < 0 || old_quantity <= 0) {
    return MakeError(Error::kInvalidQuantity, sku);
  }
  const Document arguments = Doc("cart", cart, "sku", sku, "old", old_quantity, "new", quantity);
  return calls_.DoOnce("inventory.set_quantity", key, arguments, [&](const Claim& claim) -> Status {
    ASSIGN_OR_RETURN(bool done, Done(cart, claim));
    return done ? Status::Ok() : Change({cart, sku, quantity}, old_quantity, claim);
  });
}

Status Inventory::Work::Change(const Line& line, int64_t old_quantity, const Claim& claim) const {
  return line.quantity > old_quantity ? Increase(line, old_quantity, claim)
                                      : Decrease(line, old_quantity, claim);
}

// The line from its old quantity to the new one, in an active cart.
Status Inventory::Work::WriteLine(const Store& store, const Line& line, int64_t old_quantity,
                                  const Claim& claim) const {
  const Document as_seen = Doc("_id", line.cart, "status", "active", "items",
                               Doc("$elemMatch", Doc("sku", line.sku, "qty", old_quantity)));
  const Document now = Doc("last_modified", store.Now());
  const Document update =
      line.quantity == 0
          ? Doc("$pull", Doc("items", Doc("sku", line.sku)), "$set", now)
          : Doc("$set", Doc("items.$.qty", line.quantity, "last_modified", store.Now()));
  ASSIGN_OR_RETURN(int64_t written,
                   store.UpdateOne(kCart, Unmarked(as_seen, claim), Marking(update, claim)));
  return written == 1 ? Status::Ok() : CartRefusal(store, line.cart);
}

Status Inventory::Work::Increase(const Line& line, int64_t old_quantity, const Claim& claim) const {
  return Grow("inventory.increase", line, claim,
              [&](const Store& store) { return WriteLine(store, line, old_quantity, claim); });
}

// 1 make the reservation what the line will be, whatever it was, 2 write the line. Of two calls at
// once the one whose line is written keeps it; the other gives back only what is still its own.
Status Inventory::Work::Grow(std::string_view operation, const Line& line, const Claim& claim,
                             const std::function<Status(const Store&)>& write) const {
  const Document entry = EntryDocument(line.cart, line.quantity, bson::Value::Null(), claim.id);
  ASSIGN_OR_RETURN(auto product, store_.FindOne(kProduct, Doc("_id", line.sku)));
  if (!product) {
    return MakeError(Error::kUnknownSku, line.sku);
  }
  const std::optional<Entry> held = Entry::OfCart(*product, line.cart);
  if (held && !held->pin.empty()) {
    Status refusal = CartRefusal(store_, line.cart);
    return Is(refusal, Error::kConflict) ? MakeError(Error::kContention, "it is being paid")
                                         : refusal;
  }
  const bool mine = held && held->quantity == line.quantity &&
                    held->exact["call"].BinaryEquals(bson::Value(claim.id));
  auto steps = [&](const Store& store) -> Status {
    if (!mine) {
      ASSIGN_OR_RETURN(bool reserved, Reserve(store, line, held, entry));
      if (!reserved) {
        const int64_t more = line.quantity - (held ? held->quantity : 0);
        return IntegerAt(*product, "qty") < more
                   ? MakeError(Error::kInadequateInventory, line.sku)
                   : MakeError(Error::kContention, "others took the stock, or this line");
      }
      RETURN_IF_ERROR(store.seams().After(operation, 1));
    }
    RETURN_IF_ERROR(write(store));
    return store.seams().After(operation, 2);
  };
  return Steps(steps, [&]() -> Status {
    if (mine) {
      return Status::Ok();  // what it was before is not known here: Cleanup asks the cart
    }
    return Resize(line.sku, Entry::Of(entry), held ? held->quantity : 0).status();
  });
}

// Puts `entry` in the place of what the cart holds, if that is still so and there is enough stock.
Result<bool> Inventory::Work::Reserve(const Store& store, const Line& line,
                                      const std::optional<Entry>& held,
                                      const Document& entry) const {
  const int64_t more = line.quantity - (held ? held->quantity : 0);
  bson::Builder filter;
  filter.Append("_id", line.sku).Append("qty", Doc("$gte", more));
  Document update = Doc("$inc", Doc("qty", -more));
  if (held) {
    filter.Append("carted", held->Unchanged());
    update = MergeUpdates(update, Doc("$set", Doc("carted.$", entry)));
  } else {
    filter.Append("carted.cart_id", Doc("$ne", line.cart));
    update = MergeUpdates(update, Doc("$push", Doc("carted", entry)));
  }
  ASSIGN_OR_RETURN(int64_t reserved, store.UpdateOne(kProduct, filter.Finish(), update));
  return reserved == 1;
}

// 1 write the line, 2 give the stock back; when its entry is not as it was, Cleanup does.
Status Inventory::Work::Decrease(const Line& line, int64_t old_quantity, const Claim& claim) const {
  ASSIGN_OR_RETURN(auto product, store_.FindOne(kProduct, Doc("_id", line.sku)));
  if (!product) {
    return MakeError(Error::kUnknownSku, line.sku);
  }
  const std::optional<Entry> held = Entry::OfCart(*product, line.cart);
  auto steps = [&](const Store& store) -> Status {
    RETURN_IF_ERROR(WriteLine(store, line, old_quantity, claim));
    RETURN_IF_ERROR(store.seams().After("inventory.decrease.c1"));
    if (held && held->quantity == old_quantity && held->pin.empty()) {
      Document update = Doc("$inc", Doc("qty", old_quantity - line.quantity));
      update = MergeUpdates(
          update, line.quantity == 0
                      ? Doc("$pull", Doc("carted", Doc("cart_id", line.cart)))
                      : Doc("$set", Doc("carted.$", EntryDocument(line.cart, line.quantity,
                                                                  bson::Value::Null(), claim.id))));
      RETURN_IF_ERROR(
          store.UpdateOne(kProduct, Doc("_id", line.sku, "carted", held->Unchanged()), update)
              .status());
    }
    return store.seams().After("inventory.decrease.c2");
  };
  return Steps(steps, nullptr);
}

}  // namespace quire::patterns
