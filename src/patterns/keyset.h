// SPDX-License-Identifier: Apache-2.0
//
// Pages of a sorted list, by the sort key of the page before.
#pragma once

#include <string_view>

#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

// The documents of `filter` in the order of `sort` ({field: 1 or -1...}, integers, which must tell
// any two documents apart: it ends with _id), from where the page before ended. An index of the
// filter's equalities and then the sort's fields serves it with at most one key more than it
// returns per field of the sort. The values of a field of the sort are of one type or missing, none
// an array. `options` gives the projection (which keeps the sort's fields) and `extra`. Error:
// BadCursor.
Result<Page> FindPage(const Store& store, std::string_view collection, const bson::Document& filter,
                      const bson::Document& sort, const PageRequest& page,
                      FindOptions options = {});

// The documents after `key` in the order of `sort`, as a filter.
bson::Document BeyondKey(const bson::Document& sort, const bson::Document& key);

}  // namespace quire::patterns
