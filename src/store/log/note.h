// SPDX-License-Identifier: Apache-2.0
//
// Entries of the log that change nothing.
#pragma once

#include <string_view>

#include "kv/kv.h"
#include "store/log/change_log.h"
#include "store/log/change_reader.h"

namespace quire::store {

// What the entry says that a new log begins with.
inline constexpr std::string_view kFirstMessage = "initiating set";

// Whether it is that entry: nothing was cut off before it.
bool BeginsLog(const Change& change);

// Commits a no-op that says `o`, which no change stream shows; where it is in a set's log.
Result<ChangeBuffer::Place> WriteNote(kv::Store& store, ChangeLog& log, bson::View o,
                                      kv::Durability durability);

}  // namespace quire::store
