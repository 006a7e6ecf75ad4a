// SPDX-License-Identifier: Apache-2.0
//
// Resume tokens of change streams: {_data: <hex>}. The bytes are an order-preserving encoding, so
// that comparing tokens is comparing places in the log:
//   0x82, seconds (4), increment (4), version, kind, index in the transaction, whether it is the
//   invalidation that follows the event, and for an event the collection's uuid, what identifies
//   the event, and the number of its fragment when it was split.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::engine {

// A place in the log as a stream sees it.
struct ResumePoint {
  bson::Timestamp time;
  // False: before every event of that time (a high-water mark).
  bool event = false;
  uint32_t index = 0;
  bool invalidate = false;
  // The fragment of a split event, from 0.
  uint32_t fragment = 0;
  bool split = false;

  // The order of events; the fragments of one are equal.
  friend std::strong_ordering operator<=>(const ResumePoint& a, const ResumePoint& b) {
    if (auto order = a.time <=> b.time; order != 0) {
      return order;
    }
    if (auto order = a.event <=> b.event; order != 0) {
      return order;
    }
    if (auto order = a.index <=> b.index; order != 0) {
      return order;
    }
    return a.invalidate <=> b.invalidate;
  }
  friend bool operator==(const ResumePoint& a, const ResumePoint& b) { return (a <=> b) == 0; }
};

// The document {_data}. `uuid` and `identifier` are those of an event.
bson::Document MakeResumeToken(const ResumePoint& point, std::string_view uuid,
                               bson::View identifier);

// The token of one fragment of the event with that token.
bson::Document FragmentToken(bson::View token, uint32_t fragment);

// Errors: 40647 (no _data), 40648 (_typeBits), 40649 (empty), FailedToParse (not hex), 50811
// (unknown type), Overflow (ends too soon).
Result<ResumePoint> ReadResumeToken(bson::View token);

}  // namespace quire::engine
