// SPDX-License-Identifier: Apache-2.0
//
// What changes about a collection while its catalog description stays the same.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/bell.h"
#include "base/shared_gate.h"
#include "store/layout.h"
#include "store/log/document_key.h"
#include "store/records/beside.h"
#include "store/records/fold_notes.h"

namespace quire::store {

// Safe for concurrent use. Shared by every catalog version of one collection.
class CollectionState {
 public:
  explicit CollectionState(TableId record_table) : table(record_table) {}

  const TableId table;

  // Held shared by writers, closed by schema changes.
  SharedGate gate;

  // Committed totals.
  std::atomic<int64_t> documents{0};
  std::atomic<int64_t> bytes{0};

  // Scans of the whole collection, those that do not end (tailable) apart.
  std::atomic<int64_t> scans{0};
  std::atomic<int64_t> tailable_scans{0};

  std::atomic<RecordId> next_record_id{1};
  // Set before the first group of documents is committed.
  std::atomic<bool> has_groups{false};
  Beside beside;
  FoldNotes fold_notes;
  // CollectionInfo::version of what the catalog shows of it; 0: nothing. Stays while the gate is
  // held, so that a writer knows without a look whether what it found before is still true.
  std::atomic<uint64_t> published_version{0};
  // Dropped (or renamed away): cursors on it die.
  std::atomic<bool> dropped{false};

  // What names its documents in the log where it is sharded; null: _id alone.
  std::shared_ptr<const DocumentKey> document_key() const {
    return has_document_key_.load(std::memory_order_acquire) ? document_key_.load() : nullptr;
  }
  void SetDocumentKey(std::shared_ptr<const DocumentKey> key) {
    const bool has_key = key != nullptr;
    document_key_.store(std::move(key));
    has_document_key_.store(has_key, std::memory_order_release);
  }

  // Room for what another layer keeps with the collection (the planner's memory), made by `make`
  // on first use.
  struct Attachment {
    virtual ~Attachment() = default;
  };
  template <typename Make>
  Attachment& Attach(const Make& make) {
    std::call_once(attached_, [&] { attachment_ = make(); });
    return *attachment_;
  }

  // Grows with every committed insert into a capped collection, for tailable cursors.
  void NotifyInsert();
  uint64_t inserts() const { return inserts_.load(std::memory_order_acquire); }
  // Rings with every one of these inserts, and when the collection is dropped.
  Bell news;

 private:
  std::atomic<uint64_t> inserts_{0};
  std::atomic<bool> has_document_key_{false};  // spares writers of other collections a look
  std::atomic<std::shared_ptr<const DocumentKey>> document_key_;
  std::once_flag attached_;
  std::unique_ptr<Attachment> attachment_;
};

}  // namespace quire::store
