// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "base/try.h"
#include "patterns/inventory/parts.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr int kAttempts = 10;

// Nothing when it is more than a number holds.
std::optional<int64_t> AmountOf(const Document& cart) {
  int64_t amount = 0;
  for (const bson::Element& item : cart["items"].AsArray()) {
    const bson::View line = item.value().AsDocument();
    int64_t price = 0;
    if (__builtin_mul_overflow(IntegerAt(line, "qty"), IntegerAt(line, "price"), &price) ||
        __builtin_add_overflow(amount, price, &amount)) {
      return std::nullopt;
    }
  }
  return amount;
}

// The cart while this payment is the one it waits for.
Document Paying(const Document& cart) {
  return Doc("_id", cart["_id"], "status", "pending", "pay_key", cart["pay_key"]);
}

}  // namespace

// The call's id is the payment's key: a repeat goes on with the same payment.
Status Inventory::Work::Checkout(std::string_view cart, const CallKey& key) const {
  return calls_.DoOnce("inventory.checkout", key, Doc("cart", cart), [&](const Claim& claim) {
    return BeginPayment(store_, cart, claim.id.ToHex());
  });
}

Status Inventory::Work::BeginPayment(const Store& store, std::string_view cart,
                                     const std::string& pay_key) const {
  const Document filter = Doc("_id", cart, "status", "active", "items.0", Doc("$exists", true));
  const Document pend =
      Doc("$set", Doc("status", "pending", "pay_key", pay_key, "last_modified", store.Now()));
  ASSIGN_OR_RETURN(auto begun, store.FindOne(kCart, Doc("_id", cart, "pay_key", pay_key)));
  if (begun && TextAt(*begun, "status") == "complete") {
    return Complete(*begun);
  }
  if (options_.backend == Backend::kTransactional && !begun) {
    Status status = store.Transact([&](const Store& inside) -> Status {
      ASSIGN_OR_RETURN(begun, inside.FindAndUpdate(kCart, filter, pend));
      RETURN_IF_ERROR(inside.seams().After("inventory.checkout.c1"));
      return begun ? Pin(inside, *begun) : Status::Ok();
    });
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(store.seams().After("inventory.transact.c2"));
  } else if (!begun) {
    ASSIGN_OR_RETURN(begun, store.FindAndUpdate(kCart, filter, pend));
    RETURN_IF_ERROR(store.seams().After("inventory.checkout.c1"));
  }
  if (!begun) {
    ASSIGN_OR_RETURN(auto found, store.FindOne(kCart, Doc("_id", cart, "status", "active")));
    return MakeError(found ? Error::kEmptyCart : Error::kCartInactive, cart);
  }
  Status pinned = Pin(store, *begun);
  if (Is(pinned, Error::kLineUnavailable)) {
    return GiveUp(*begun, pinned);
  }
  RETURN_IF_ERROR(pinned);
  return Pay(*begun);
}

Status Inventory::Work::Pin(const Store& store, const Document& cart) const {
  const std::string pay_key(TextAt(cart, "pay_key"));
  int step = 0;
  for (const bson::Element& element : cart["items"].AsArray()) {
    bson::View item = element.value().AsDocument();
    RETURN_IF_ERROR(PinLine(
        store, {TextAt(cart, "_id"), TextAt(item, "sku"), IntegerAt(item, "qty")}, pay_key));
    RETURN_IF_ERROR(store.seams().After("inventory.checkout_pin", ++step));
  }
  return Status::Ok();
}

// Makes the reservation what the cart says and keeps everyone but this payment away from it.
Status Inventory::Work::PinLine(const Store& store, const Line& line,
                                const std::string& pay_key) const {
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(auto product, store.FindOne(kProduct, Doc("_id", line.sku)));
    const std::optional<Entry> held =
        product ? Entry::OfCart(*product, line.cart) : std::optional<Entry>();
    if (held && held->pin == pay_key) {
      return Status::Ok();
    }
    const int64_t more = line.quantity - (held ? held->quantity : 0);
    if (!product || (held && !held->pin.empty()) || IntegerAt(*product, "qty") < more) {
      return MakeError(Error::kLineUnavailable, line.sku);
    }
    const Document entry =
        EntryDocument(line.cart, line.quantity, bson::Value(std::string_view(pay_key)),
                      store.seams().ids->Next());
    ASSIGN_OR_RETURN(bool pinned, Reserve(store, line, held, entry));
    if (pinned) {
      return Status::Ok();
    }
  }
  return MakeError(Error::kContention, line.sku);
}

Status Inventory::Work::Pay(const Document& cart) const {
  const std::string pay_key(TextAt(cart, "pay_key"));
  const std::optional<int64_t> amount = AmountOf(cart);
  if (!amount) {
    return GiveUp(cart, MakeError(Error::kInvalidPrice, TextAt(cart, "_id")));
  }
  switch (options_.gateway->Charge(pay_key, *amount)) {
    case PaymentGateway::Charged::kUnknown:
      return MakeError(Error::kPaymentPending, TextAt(cart, "_id"));
    case PaymentGateway::Charged::kDeclined:
      return GiveUp(cart, MakeError(Error::kPaymentFailed, TextAt(cart, "_id")));
    case PaymentGateway::Charged::kCharged:
      break;
  }
  RETURN_IF_ERROR(store_.seams().After("inventory.checkout.c3"));
  return Complete(cart);
}

// What was charged is sold. Others may be completing it too.
Status Inventory::Work::Complete(const Document& cart) const {
  const Document complete = Doc("$set", Doc("status", "complete", "last_modified", store_.Now()));
  if (options_.backend == Backend::kTransactional) {
    Status status = store_.Transact([&](const Store& inside) -> Status {
      RETURN_IF_ERROR(inside.UpdateOne(kCart, Paying(cart), complete).status());
      return Settle(inside, cart);
    });
    RETURN_IF_ERROR(status);
    return store_.seams().After("inventory.transact.c3");
  }
  RETURN_IF_ERROR(store_.UpdateOne(kCart, Paying(cart), complete).status());
  RETURN_IF_ERROR(store_.seams().After("inventory.checkout.c4"));
  return Settle(store_, cart);
}

Status Inventory::Work::Settle(const Store& store, const Document& cart) const {
  int step = 0;
  for (const bson::Element& element : cart["items"].AsArray()) {
    bson::View item = element.value().AsDocument();
    const Document pinned = Doc("cart_id", cart["_id"], "pin", cart["pay_key"]);
    RETURN_IF_ERROR(
        store
            .UpdateOne(
                kProduct, Doc("_id", item["sku"], "carted", Doc("$elemMatch", pinned)),
                Doc("$pull", Doc("carted", pinned), "$inc", Doc("sold", IntegerAt(item, "qty"))))
            .status());
    RETURN_IF_ERROR(store.seams().After("inventory.checkout_settle", ++step));
  }
  RETURN_IF_ERROR(
      store
          .UpdateOne(kCart,
                     Doc("_id", cart["_id"], "status", "complete", "pay_key", cart["pay_key"]),
                     Doc("$set", Doc("settled", true)))
          .status());
  return store.seams().After("inventory.checkout.c6");
}

Result<bool> Inventory::Work::Unpin(const Store& store, std::string_view sku, std::string_view cart,
                                    std::string_view pay_key) const {
  ASSIGN_OR_RETURN(
      int64_t unpinned,
      store.UpdateOne(
          kProduct,
          Doc("_id", sku, "carted", Doc("$elemMatch", Doc("cart_id", cart, "pin", pay_key))),
          Doc("$set", Doc("carted.$.pin", bson::Value::Null(), "carted.$.ts", store.Now(),
                          "carted.$.call", store.seams().ids->Next()))));
  return unpinned == 1;
}

// The payment is not made any more: the cart goes back to its shopper. If it was made after all,
// it counts.
Status Inventory::Work::GiveUp(const Document& cart, const Status& why) const {
  switch (options_.gateway->Cancel(std::string(TextAt(cart, "pay_key")))) {
    case PaymentGateway::Cancelled::kAlreadyCharged:
      return Complete(cart);
    case PaymentGateway::Cancelled::kUnknown:
      return MakeError(Error::kPaymentPending, TextAt(cart, "_id"));
    case PaymentGateway::Cancelled::kCancelled:
      break;
  }
  RETURN_IF_ERROR(store_.seams().After("inventory.give_up.c1"));
  auto steps = [&](const Store& store) -> Status {
    int step = 1;
    for (const bson::Element& item : cart["items"].AsArray()) {
      RETURN_IF_ERROR(Unpin(store, TextAt(item.value().AsDocument(), "sku"), TextAt(cart, "_id"),
                            TextAt(cart, "pay_key"))
                          .status());
      RETURN_IF_ERROR(store.seams().After("inventory.give_up", ++step));
    }
    RETURN_IF_ERROR(
        store
            .UpdateOne(kCart, Paying(cart),
                       Doc("$set", Doc("status", "active", "pay_key", bson::Value::Null(),
                                       "last_modified", store.Now())))
            .status());
    return store.seams().After("inventory.give_up", ++step);
  };
  RETURN_IF_ERROR(Steps(steps, nullptr));
  return why;
}

}  // namespace quire::patterns
