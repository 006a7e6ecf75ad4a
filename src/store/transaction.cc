// SPDX-License-Identifier: Apache-2.0
#include "store/transaction.h"

#include <algorithm>
#include <cassert>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"

namespace quire::store {

Result<std::unique_ptr<Transaction>> Transaction::Begin(
    kv::Store& store, bool read_only, const std::shared_ptr<CollectionState>& hold) {
  std::unique_ptr<Transaction> txn(new Transaction(read_only));
  if (hold != nullptr) {
    Status stopped;
    auto stop = [&] {
      stopped = CheckCurrentOpNow();
      return !stopped.ok();
    };
    if (!hold->gate.EnterUnless(stop)) {
      return stopped;
    }
    txn->held_.push_back(hold);
  }
  ASSIGN_OR_RETURN(txn->kv_, store.Begin({.read_only = read_only}));
  return txn;
}

Result<std::unique_ptr<Transaction>> Transaction::BeginAsOf(kv::Store& store,
                                                            std::shared_ptr<kv::Txn> as_of) {
  std::unique_ptr<Transaction> txn(new Transaction(true));
  ASSIGN_OR_RETURN(txn->kv_, store.Begin({.read_only = true, .as_of = std::move(as_of)}));
  return txn;
}

Transaction::~Transaction() { Release(); }

void Transaction::Release() {
  kv_.reset();
  for (auto& state : held_) {
    state->gate.Leave();
  }
  held_.clear();
  kept_.clear();
}

Status Transaction::Hold(const std::shared_ptr<CollectionState>& state) {
  if (std::find(held_.begin(), held_.end(), state) != held_.end()) {
    return Status::Ok();
  }
  constexpr auto kTimeout = std::chrono::milliseconds(5);
  if (!state->gate.TryEnter(kTimeout)) {
    return {kLockTimeout, "Unable to acquire lock within 5ms: the collection is being changed"};
  }
  held_.push_back(state);
  return Status::Ok();
}

void Transaction::Count(const std::shared_ptr<CollectionState>& state, int64_t documents,
                        int64_t bytes) {
  wrote_ = true;
  if (savepoints_.empty() || deltas_.size() > savepoints_.back().deltas) {
    if (!deltas_.empty() && deltas_.back().state == state) {
      deltas_.back().documents += documents;
      deltas_.back().bytes += bytes;
      return;
    }
  }
  deltas_.push_back({state, documents, bytes});
}

int64_t Transaction::PendingDocuments(const CollectionState& state) const {
  int64_t sum = 0;
  for (const Delta& delta : deltas_) {
    if (delta.state.get() == &state) {
      sum += delta.documents;
    }
  }
  return sum;
}

int64_t Transaction::PendingBytes(const CollectionState& state) const {
  int64_t sum = 0;
  for (const Delta& delta : deltas_) {
    if (delta.state.get() == &state) {
      sum += delta.bytes;
    }
  }
  return sum;
}

void Transaction::SetSavepoint() {
  kv_->SetSavepoint();
  savepoints_.push_back({deltas_.size(), on_commit_.size(), changes_.mark(), groups_.mark()});
}

Status Transaction::RollbackToSavepoint() {
  assert(!savepoints_.empty());
  deltas_.resize(savepoints_.back().deltas);
  on_commit_.resize(savepoints_.back().on_commit);
  changes_.RollBack(savepoints_.back().changes);
  groups_.RollBack(savepoints_.back().groups);
  savepoints_.pop_back();
  return kv_->RollbackToSavepoint();
}

void Transaction::ReleaseSavepoint() {
  assert(!savepoints_.empty());
  savepoints_.pop_back();
  kv_->ReleaseSavepoint();
  MergeLastDeltas();
}

void Transaction::MergeLastDeltas() {
  const size_t floor = savepoints_.empty() ? 0 : savepoints_.back().deltas;
  if (deltas_.size() < floor + 2) {
    return;
  }
  const Delta& last = deltas_.back();
  Delta& before = deltas_[deltas_.size() - 2];
  if (before.state == last.state) {
    before.documents += last.documents;
    before.bytes += last.bytes;
    deltas_.pop_back();
  }
}

Status Transaction::Commit(kv::Durability durability) {
  RETURN_IF_ERROR(WriteGroups());
  // One addition per collection: many small ones would make the counter slow to read.
  std::vector<Delta> sums;
  for (Delta& delta : deltas_) {
    auto same = std::find_if(sums.begin(), sums.end(),
                             [&](const Delta& d) { return d.state == delta.state; });
    if (same == sums.end()) {
      sums.push_back(std::move(delta));
    } else {
      same->documents += delta.documents;
      same->bytes += delta.bytes;
    }
  }
  for (const Delta& sum : sums) {
    if (sum.documents != 0) {
      RETURN_IF_ERROR(kv_->Add(MetaKey('n', sum.state->table), sum.documents));
    }
    if (sum.bytes != 0) {
      RETURN_IF_ERROR(kv_->Add(MetaKey('b', sum.state->table), sum.bytes));
    }
  }
  Status committed =
      log_ != nullptr ? log_->Commit(*kv_, changes_, durability) : kv_->Commit(durability);
  if (committed.ok()) {
    for (const Delta& sum : sums) {
      sum.state->documents += sum.documents;
      sum.state->bytes += sum.bytes;
    }
  }
  Release();
  if (committed.ok()) {
    for (auto& action : on_commit_) {
      action();
    }
  }
  return committed;
}

void CollectionState::NotifyInsert() {
  inserts_.fetch_add(1, std::memory_order_release);
  news.Ring();
}

}  // namespace quire::store
