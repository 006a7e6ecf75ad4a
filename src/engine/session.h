// SPDX-License-Identifier: Apache-2.0
//
// Logical sessions: multi-document transactions and the memory that makes a retried write happen
// once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "engine/owner_counts.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/generic.h"
#include "store/catalog.h"
#include "store/pending_collection.h"
#include "store/transaction.h"

namespace quire::engine {

// One session. Locked by the operation that uses it (see SessionLock).
class Session {
 public:
  enum class State { kNone, kInProgress, kCommitted, kAborted };

  // Told before a transaction's storage goes away, so that what reads through it goes first.
  using TransactionEnds = std::function<void(std::string_view lsid, int64_t txn_number)>;

  Session(std::string id, kv::Store* store, const TransactionEnds* transaction_ends)
      : lsid(std::move(id)), store_(store), transaction_ends_(transaction_ends) {}

  const std::string lsid;  // its key: see request::SessionKey
  OwnerTicket ticket;      // of its owner; null without one
  std::string_view owner() const { return std::string_view(lsid).substr(request::kSessionIdSize); }

  // --- Multi-document transactions ---
  // Continues, starts or refuses the transaction the command's fields name.
  Status EnterTransaction(const request::Generic& generic, std::string_view command,
                          const store::Catalog& catalog, std::chrono::seconds lifetime);
  Status Commit(kv::Durability durability);
  Status Abort();
  // Ends a running transaction as if the client had aborted it.
  void AbortQuietly();

  State state() const { return state_; }
  int64_t txn_number() const { return txn_number_; }
  store::Transaction* transaction() { return txn_.get(); }
  const std::shared_ptr<const store::CatalogSnapshot>& catalog() const { return catalog_; }
  // The collections that the running transaction has created.
  store::PendingCollection* Created(std::string_view ns) const;
  void AddCreated(std::unique_ptr<store::PendingCollection> pending) {
    created_.push_back(std::move(pending));
  }
  bool expired() const {
    return state_ == State::kInProgress && std::chrono::steady_clock::now() >= deadline_;
  }

  // --- Retryable writes ---
  // Begins (or continues) retryable write `txn_number`. TransactionTooOld for an earlier one.
  Status EnterRetryable(int64_t txn_number);
  // What statement `stmt` answered when it was run before under this number; null otherwise.
  const bson::Document* Remembered(int32_t stmt) const;
  // Writes the answer of statements first..last into `txn`; remembered once that commits.
  Status Remember(store::Transaction& txn, int32_t first, int32_t last, bson::Document answer);

  std::mutex mutex;  // held while an operation uses the session
  std::atomic<int64_t> last_use_wall_millis{0};
  std::atomic<int64_t> last_use_millis{0};  // steady clock

 private:
  struct Answer {
    int32_t last;
    bson::Document document;
  };
  Status StartTransaction(int64_t number, const store::Catalog& catalog,
                          std::chrono::seconds lifetime);
  // Reads what the store knows of the session, once.
  Status Load();
  // Gives back what the transaction held.
  void Release();

  kv::Store* const store_;
  const TransactionEnds* const transaction_ends_;
  State state_ = State::kNone;
  int64_t txn_number_ = -1;
  std::vector<std::unique_ptr<store::PendingCollection>> created_;
  std::unique_ptr<store::Transaction> txn_;
  std::shared_ptr<const store::CatalogSnapshot> catalog_;
  std::chrono::steady_clock::time_point deadline_;
  std::map<int32_t, Answer> answers_;  // by first statement
  bool loaded_ = false;
};

// All sessions of the node. Safe for concurrent use.
class SessionTable {
 public:
  SessionTable(kv::Store* store, Session::TransactionEnds transaction_ends)
      : store_(store), transaction_ends_(std::move(transaction_ends)) {}

  // The session of that id, made when new; its last use is now. TooManyLogicalSessions when there
  // are most() others, or most_per_user of its owner.
  Result<std::shared_ptr<Session>> Get(std::string_view lsid);
  // Null when it is not known.
  std::shared_ptr<Session> Find(std::string_view lsid);
  // Ends sessions: their transactions are aborted.
  void End(std::string_view lsid);
  // Aborts transactions past their lifetime and forgets sessions unused for longer than `timeout`.
  void Expire(std::chrono::minutes timeout);
  void AbortAll();
  // Forgets what sessions that ended longer than `timeout` ago have written.
  Status ForgetAnswers(std::chrono::minutes timeout);
  std::vector<std::shared_ptr<Session>> All();
  size_t size();

  // Clients make up session ids, so their number is bounded.
  int64_t most() const { return most_; }
  void SetMost(int64_t sessions) { most_ = sessions; }
  std::atomic<int64_t> most_per_user{100'000};

 private:
  kv::Store* const store_;
  const Session::TransactionEnds transaction_ends_;
  std::atomic<int64_t> most_{1'000'000};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>, std::less<>> sessions_ QUIRE_GUARDED_BY(mutex_);
  OwnerCounts owners_ QUIRE_GUARDED_BY(mutex_);
};

// An error with one label ("TransientTransactionError"...).
Status WithLabel(const Status& status, std::string_view label);

}  // namespace quire::engine
