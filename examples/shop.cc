// SPDX-License-Identifier: Apache-2.0
//
// A shop: stock that is never sold twice, carts, and payments as transfers between accounts.
#include <iostream>
#include <string>

#include "quire/patterns/inventory.h"
#include "quire/patterns/transfers.h"
#include "quire/quire.h"

namespace patterns = quire::patterns;
using quire::Status;

// Charges Ann's account. A key is charged once, however often the shop asks.
class Till : public patterns::PaymentGateway {
 public:
  explicit Till(const quire::Client& client) : bank_(client, "bank") {}
  patterns::Transfers& bank() { return bank_; }

  Charged Charge(const std::string& key, int64_t amount) override {
    Status moved = bank_.Transfer(amount, "ann", "shop", key).status();
    if (moved.ok()) {
      return Charged::kCharged;
    }
    return patterns::IsFinal(moved) ? Charged::kDeclined : Charged::kUnknown;
  }
  // Asked about charges that did not happen: a declined transfer never does.
  Cancelled Cancel(const std::string&) override { return Cancelled::kCancelled; }

 private:
  patterns::Transfers bank_;
};

void PrintStock(const patterns::Inventory& shop) {
  auto stock = shop.GetStock("book");
  std::cout << "available " << stock->available << ", carted " << stock->carted << ", sold "
            << stock->sold << "\n";
}

// Puts books into a new cart and pays for them.
Status Pay(const patterns::Inventory& shop, int64_t books) {
  auto cart = shop.NewCart();
  if (!cart.ok()) {
    return cart.status();
  }
  Status added = shop.AddItem(*cart, {.sku = "book", .quantity = books, .price = 1100});
  if (!added.ok()) {
    return added;
  }
  PrintStock(shop);
  return shop.Checkout(*cart);
}

void Buy(const patterns::Inventory& shop, int64_t books) {
  Status paid = Pay(shop, books);
  std::cout << books << " books: " << patterns::ErrorName(paid) << "\n";
}

int main() {
  auto client = quire::OpenInMemory();
  if (!client.ok()) {
    std::cerr << client.status().ToString() << "\n";
    return 1;
  }
  Till till(*client);
  patterns::Inventory shop(*client, "shop", {.gateway = &till});
  for (const Status& status :
       {shop.CreateIndexes(), till.bank().CreateIndexes(), till.bank().OpenAccount("ann", 5000),
        till.bank().OpenAccount("shop", 0), shop.Restock("book", 5)}) {
    if (!status.ok()) {
      std::cerr << status.ToString() << "\n";
      return 1;
    }
  }
  Buy(shop, 3);
  Buy(shop, 3);
  Buy(shop, 2);
  PrintStock(shop);
  std::cout << "ann has " << till.bank().GetBalance("ann")->balance << ", the shop "
            << till.bank().GetBalance("shop")->balance << "\n";
  std::cout << "problems: " << shop.CheckInvariants()->size() << "\n";
  return 0;
}
