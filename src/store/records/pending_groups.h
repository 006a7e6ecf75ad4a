// SPDX-License-Identifier: Apache-2.0
//
// The groups that one transaction fills with new documents. They are written when it commits, or
// before it reads documents itself.
#pragma once

#include <deque>
#include <optional>

#include "base/memory_charge.h"
#include "kv/kv.h"
#include "store/collection_state.h"
#include "store/records/group.h"

namespace quire::store {

// Not safe for concurrent use. Outlives the kv::Txn its groups are written to.
class PendingGroups {
 public:
  // Adds a document behind all that the transaction has added before; its record id.
  // REQUIRES: it is not larger than kLargestGrouped.
  RecordId Append(CollectionState& state, std::string_view document);
  // What is added next gets a group of its own.
  void Close() {
    open_ = false;
    spare_.reset();
  }

  bool written() const { return written_ == groups_.size(); }
  // Writes what is not written yet.
  Status Write(kv::Txn& txn);

  struct Mark {
    size_t groups = 0;
    int documents = 0;  // of the last group
    size_t written = 0;
  };
  Mark mark() const {
    return {groups_.size(), groups_.empty() ? 0 : groups_.back().builder.count(), written_};
  }
  // Forgets what was added since. REQUIRES: the transaction forgets what was written since.
  void RollBack(const Mark& mark);

 private:
  struct Place {
    TableId table;
    int64_t number;
  };
  struct Group {
    Place place;
    GroupBuilder builder;
  };

  std::deque<Group> groups_;    // the transaction shows their bytes where they are
  size_t written_ = 0;          // of groups_, the first so many
  bool open_ = false;           // the last one takes more
  std::optional<Place> spare_;  // taken for a group that was forgotten
  size_t bytes_ = 0;
  MemoryCharge charge_;
};

}  // namespace quire::store
