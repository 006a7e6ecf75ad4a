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
#include <tuple>

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
  // What tells events of one time and index apart, as those of several shards: the collection's
  // uuid and the key of the document, in the order of the tokens.
  std::string identity = {};
  // The fragment of a split event, from 0.
  uint32_t fragment = 0;
  bool split = false;

  // The order of places in the log of one node, which do not need the identity.
  std::strong_ordering CompareInLog(const ResumePoint& other) const {
    return std::tie(time, event, index, invalidate) <=>
           std::tie(other.time, other.event, other.index, other.invalidate);
  }
  // The order of events, that of their tokens; the fragments of one are equal.
  friend std::strong_ordering operator<=>(const ResumePoint& a, const ResumePoint& b) {
    const std::strong_ordering in_log = a.CompareInLog(b);
    return in_log != 0 ? in_log : a.identity <=> b.identity;
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
