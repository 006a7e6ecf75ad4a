// SPDX-License-Identifier: Apache-2.0
//
// Lists in pages: where a page ended, as an opaque text for the next call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/patterns/error.h"

namespace quire::patterns {

struct PageRequest {
  int64_t limit = 100;
  std::string after{};  // `next` of the page before; empty: from the start
};

struct Page {
  std::vector<bson::Document> documents;
  std::string next;  // empty: this was the last page
};

// The sort key of a page's last document as text that is safe in an address.
std::string EncodePageEnd(const bson::Document& key);
// The key that such a text is of. Error: BadCursor when the text is not one, or its fields are not
// `names` in order.
Result<bson::Document> DecodePageEnd(std::string_view text,
                                     const std::vector<std::string_view>& names);
// The same for lists by time: {time, _id}, or nothing when `text` is empty. Error: BadCursor, also
// when the time is no date.
Result<bson::Document> DecodeTimedPageEnd(std::string_view text);
// The place in a list that `key` has under `name`. Error: BadCursor when it is no whole number or
// lies before `first`.
Result<int64_t> PlaceIn(const bson::Document& key, std::string_view name, int64_t first);

}  // namespace quire::patterns
