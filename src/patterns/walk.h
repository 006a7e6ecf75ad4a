// SPDX-License-Identifier: Apache-2.0
//
// A whole collection, some documents at a time.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "quire/patterns/store.h"

namespace quire::patterns {

// Calls `visit` for all documents in the order of _id, of whatever types, until it fails: with some
// hundred at a time (and what the projection leaves, _id at least), or with each. It may remove
// what it gets.
Status WalkBatches(const Store& store, std::string_view collection,
                   const bson::Document& projection,
                   const std::function<Status(const std::vector<bson::Document>&)>& visit);
Status Walk(const Store& store, std::string_view collection,
            const std::function<Status(const bson::Document&)>& visit);

}  // namespace quire::patterns
