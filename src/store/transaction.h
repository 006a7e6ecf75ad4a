// SPDX-License-Identifier: Apache-2.0
//
// A storage transaction as the document layer uses it: the key-value transaction plus what must
// happen exactly when it commits (exact document counts) or ends (collections released).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "kv/kv.h"
#include "store/collection_state.h"
#include "store/log/change_log.h"
#include "store/records/pending_groups.h"

namespace quire::store {

// Not safe for concurrent use; may move between threads.
class Transaction {
 public:
  // A given `hold` is entered before the snapshot is taken: no schema change of the collection
  // lies between the two.
  static Result<std::unique_ptr<Transaction>> Begin(
      kv::Store& store, bool read_only, const std::shared_ptr<CollectionState>& hold = nullptr);
  // A read-only one of the snapshot of `as_of`, which is one, too.
  static Result<std::unique_ptr<Transaction>> BeginAsOf(kv::Store& store,
                                                        std::shared_ptr<kv::Txn> as_of);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  kv::Txn& kv() { return *kv_; }
  bool read_only() const { return read_only_; }

  // Keeps schema changes of the collection out until the transaction ends. LockTimeout when one is
  // under way and does not end soon (two such waits could wait for each other).
  Status Hold(const std::shared_ptr<CollectionState>& state);

  // The collection gains (or loses) documents and bytes when this commits.
  void Count(const std::shared_ptr<CollectionState>& state, int64_t documents, int64_t bytes);
  // Documents this transaction has added to the collection so far.
  int64_t PendingDocuments(const CollectionState& state) const;
  int64_t PendingBytes(const CollectionState& state) const;

  // Keeps what it writes into from going away before it ends.
  void Keep(const std::shared_ptr<void>& table) {
    if (std::find(kept_.begin(), kept_.end(), table) == kept_.end()) {
      kept_.push_back(table);
    }
  }

  // Run after a successful commit, in order.
  void OnCommit(std::function<void()> action) { on_commit_.push_back(std::move(action)); }

  // What the change log is told when this commits: noted here by whoever changes a document.
  ChangeBuffer& changes(ChangeLog& log) {
    if (log_ == nullptr) {
      log_ = &log;
      log.SetNotes(&changes_);
    }
    return changes_;
  }
  // The changes are those of this multi-document transaction.
  void SetTransaction(std::string_view lsid, int64_t txn_number) {
    changes_.SetTransaction(lsid, txn_number);
  }

  // New documents of this transaction that are to lie in groups. Whoever reads documents calls
  // WriteGroups before.
  PendingGroups& groups() { return groups_; }
  Status WriteGroups() { return groups_.written() ? Status::Ok() : groups_.Write(*kv_); }

  // Undo support within the transaction; nests.
  void SetSavepoint();
  Status RollbackToSavepoint();
  void ReleaseSavepoint();

  // After it, ok or not, the transaction is over.
  Status Commit(kv::Durability durability);
  bool wrote() const { return wrote_; }
  void MarkWrote() { wrote_ = true; }

 private:
  struct Delta {
    std::shared_ptr<CollectionState> state;
    int64_t documents;
    int64_t bytes;
  };
  explicit Transaction(bool read_only) : read_only_(read_only) {}
  void Release();
  // Documents of one collection are mostly counted one after the other.
  void MergeLastDeltas();

  PendingGroups groups_;
  std::unique_ptr<kv::Txn> kv_;
  bool read_only_;
  bool wrote_ = false;
  std::vector<std::shared_ptr<CollectionState>> held_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<Delta> deltas_;
  struct Savepoint {
    size_t deltas;
    size_t on_commit;
    ChangeBuffer::Mark changes;
    PendingGroups::Mark groups;
  };
  std::vector<Savepoint> savepoints_;
  std::vector<std::function<void()>> on_commit_;
  ChangeLog* log_ = nullptr;
  ChangeBuffer changes_;
};

}  // namespace quire::store
