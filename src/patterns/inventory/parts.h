// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the inventory share: lines of carts, and their reservations on products.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/doc.h"
#include "quire/patterns/inventory.h"

namespace quire::patterns {

inline constexpr char kProduct[] = "product";
inline constexpr char kCart[] = "cart";

struct Inventory::Line {
  std::string_view cart;
  std::string_view sku;
  int64_t quantity;
};

// A reservation as it was read: any change of it gives it another `call`.
struct Inventory::Entry {
  std::string cart;
  int64_t quantity = 0;
  bson::Date at;
  std::string pin;  // empty: not pinned
  bson::Document exact;

  static Entry Of(bson::View entry) {
    return {std::string(TextAt(entry, "cart_id")), IntegerAt(entry, "qty"), entry["ts"].AsDate(),
            std::string(TextAt(entry, "pin")), bson::Document(entry)};
  }
  static std::vector<Entry> All(const bson::Document& product) {
    std::vector<Entry> entries;
    for (const bson::Element& entry : product["carted"].AsArray()) {
      entries.push_back(Of(entry.value().AsDocument()));
    }
    return entries;
  }
  static std::optional<Entry> OfCart(const bson::Document& product, std::string_view cart) {
    for (Entry& entry : All(product)) {
      if (entry.cart == cart) {
        return std::move(entry);
      }
    }
    return std::nullopt;
  }
  // In a filter: the product still has exactly this entry.
  bson::Document Unchanged() const { return Doc("$elemMatch", exact); }
};

// How many of the article the cart has; 0 without a line.
inline int64_t LineQuantity(const bson::Document& cart, std::string_view sku) {
  for (const bson::Element& item : cart["items"].AsArray()) {
    if (TextAt(item.value().AsDocument(), "sku") == sku) {
      return IntegerAt(item.value().AsDocument(), "qty");
    }
  }
  return 0;
}

}  // namespace quire::patterns
