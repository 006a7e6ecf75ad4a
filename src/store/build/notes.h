// SPDX-License-Identifier: Apache-2.0
//
// What writers note about an index that is being built: in a table beside it, each within the
// transaction that changes the document.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kv/kv.h"
#include "store/catalog.h"
#include "store/transaction.h"

namespace quire::store {

// What an index under construction has beside an index.
struct IndexBuild {
  Uuid uuid = GenerateUuid();
  std::shared_ptr<TableGuard> notes;
  std::atomic<uint64_t> next_note{0};
  std::atomic<const char*> aborted{nullptr};  // why nobody wants it any more
};

// The entry is there now, or no longer.
struct Note {
  bool there;
  std::string_view key;
  std::string_view value;
};

// The notes' table stays until `txn` ends, also when the build ends before.
Status PutNote(Transaction& txn, const IndexInfo& index, const Note& note);

// Where the notes so far are, in their order.
kv::Range NotesSoFar(const IndexBuild& build);

// A stored note: a view of it. REQUIRES: a value of that range.
Note ReadNote(std::string_view stored);

}  // namespace quire::store
