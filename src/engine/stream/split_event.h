// SPDX-License-Identifier: Apache-2.0
//
// $changeStreamSplitLargeEvent: an event too large for one document becomes fragments, each with
// some of its fields, splitEvent: {fragment, of}, and a token of its own to resume after.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/operator.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::engine {

class EventSplitter {
 public:
  explicit EventSplitter(uint32_t max_size = 16 << 20) : max_size_(max_size) {}

  // Puts the first fragment that was not delivered before (`skip` of them were) in the place of
  // an event that is too large. BSONObjectTooLarge when one field alone is.
  Status Split(exec::Row* row, uint32_t skip);
  // The next fragment of the event last split; false when there is none.
  bool Next(exec::Row* row);

 private:
  const uint32_t max_size_;
  std::vector<bson::Document> fragments_;
  size_t next_ = 0;
};

}  // namespace quire::engine
