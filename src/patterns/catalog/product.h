// SPDX-License-Identifier: Apache-2.0
//
// A product as the catalog stores it.
#pragma once

#include "quire/patterns/catalog.h"

namespace quire::patterns {

// Errors as Catalog::Put.
Status CheckProduct(const Product& product);

// The stored fields but _id, rev and marks. REQUIRES: CheckProduct(product).
bson::Document ProductFields(const Product& product);

Product ProductOf(const bson::Document& document);

}  // namespace quire::patterns
