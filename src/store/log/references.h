// SPDX-License-Identifier: Apache-2.0
//
// Where the log of a single server refers to documents instead of holding them: those of a bulk
// insert lie in groups (records/group.h), which the same commit writes. A group that the log refers
// to stays as it is; before it changes or goes, the documents are written into the log, in one
// transaction with that, so a snapshot always shows both as they belong together. PERSISTED:
//
//   <table> 'R' <group number>   which of the log's groups refers to it, by its key behind the
//                                prefix: time (8), index (4), big-endian
//
// Such a key may outlive what it names: what is cut off the log is not looked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kv/kv.h"
#include "quire/status.h"
#include "store/layout.h"

namespace quire::store {

std::string ReferenceKey(TableId table, int64_t group);
// All of a table.
kv::Range ReferenceRange(TableId table);

// A group of the log with the documents it refers to.
struct WrittenOut {
  std::string value;
  std::vector<std::string> references;  // keys of what told of them; empty: it refers to none
};
// Error: DataCorruptionDetected.
Result<WrittenOut> WriteOut(kv::Txn& txn, std::string_view key, std::string_view value);

}  // namespace quire::store
