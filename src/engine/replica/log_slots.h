// SPDX-License-Identifier: Apache-2.0
//
// The change log slot by slot.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/replica/replica_data.h"
#include "kv/kv.h"
#include "store/log/change_log.h"
#include "store/log/change_reader.h"

namespace quire::engine {

// Walks the slots forwards. Not safe for concurrent use.
class SlotCursor {
 public:
  // The slots behind `after`, which is the end of one, as the store has them now.
  static Result<std::unique_ptr<SlotCursor>> Open(kv::Store& store, uint64_t after);

  // False at the end.
  Result<bool> Next(LogSlot* slot);

 private:
  SlotCursor() = default;
  Status Advance();

  std::unique_ptr<kv::Txn> txn_;
  std::unique_ptr<kv::Cursor> cursor_;
  bool more_ = true;           // the cursor stands on a group
  store::GroupHeader header_;  // of that
  uint64_t previous_ = 0;      // end of the slot given last
};

// The last group of the log whose first time is not after `time`; nothing: there is none.
Result<std::optional<store::GroupHeader>> GroupBefore(kv::Txn& txn, uint64_t time);

// The last slot that all slots before it, from the one at `from` on, are linked to without a gap.
Result<store::LogEnd> LinkedEnd(kv::Store& store, uint64_t from);

// The log by its epochs, as `txn` sees it.
Result<LogEnds> ReadLogEnds(kv::Txn& txn, store::LogEnd last);

}  // namespace quire::engine
