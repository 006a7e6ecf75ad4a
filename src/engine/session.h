// SPDX-License-Identifier: Apache-2.0
//
// What sessions keep in the store: multi-document transactions and the memory that makes a retried
// write happen once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"
#include "run/session.h"
#include "store/catalog.h"
#include "store/pending_collection.h"
#include "store/transaction.h"

namespace quire::engine {

// One session; all but lsid needs its run::Checkout.
class Session final : public run::Session {
 public:
  enum class State { kNone, kInProgress, kCommitted, kAborted };

  // Told before a transaction's storage goes away, so that what reads through it goes first.
  using TransactionEnds = std::function<void(std::string_view lsid, int64_t txn_number)>;

  Session(std::string id, kv::Store* store, store::ChangeLog* log,
          const TransactionEnds* transaction_ends)
      : run::Session(std::move(id)),
        store_(store),
        log_(log),
        transaction_ends_(transaction_ends) {}

  // --- Multi-document transactions ---
  // Continues, starts or refuses the transaction the command's fields name.
  Status EnterTransaction(const request::Call& call, const store::Catalog& catalog,
                          std::chrono::seconds lifetime);
  Status Commit(kv::Durability durability);
  Status Abort();
  void AbortQuietly() override;

  State state() const { return state_; }
  int64_t txn_number() const { return txn_number_; }
  store::Transaction* transaction() { return txn_.get(); }
  const std::shared_ptr<const store::CatalogSnapshot>& catalog() const { return catalog_; }
  // The collections that the running transaction has created.
  store::PendingCollection* Created(std::string_view ns) const;
  void AddCreated(std::unique_ptr<store::PendingCollection> pending) {
    created_.push_back(std::move(pending));
  }
  bool expired() const override {
    return state_ == State::kInProgress && std::chrono::steady_clock::now() >= deadline_;
  }

  // --- Retryable writes ---
  // Begins (or continues) retryable write `txn_number`. TransactionTooOld for an earlier one.
  Status EnterRetryable(int64_t txn_number);
  // What statement `stmt` answered when it was run before under this number; null otherwise.
  const bson::Document* Remembered(int32_t stmt) const;
  // Writes the answer of statements first..last, on that namespace, into `txn`; remembered once
  // that commits.
  Status Remember(store::Transaction& txn, std::string_view ns, int32_t first, int32_t last,
                  bson::Document answer);
  // Takes over what another shard has answered to the statements from `first` on: the record that
  // it keeps. What is known of a later number, or of the same statement, stays.
  Status Import(int32_t first, bson::View record);
  // Aborts its transaction and forgets what it knows: the store is asked again.
  void Forget();

 private:
  struct Answer {
    int32_t last;
    bson::Document document;
  };
  Status StartTransaction(int64_t number, const store::Catalog& catalog,
                          std::chrono::seconds lifetime);
  // Reads what the store knows of the session, once in each term of a primary.
  Status Load();
  // Gives back what the transaction held.
  void Release();

  kv::Store* const store_;
  store::ChangeLog* const log_;
  const TransactionEnds* const transaction_ends_;
  State state_ = State::kNone;
  int64_t txn_number_ = -1;
  std::vector<std::unique_ptr<store::PendingCollection>> created_;
  std::unique_ptr<store::Transaction> txn_;
  std::shared_ptr<const store::CatalogSnapshot> catalog_;
  std::chrono::steady_clock::time_point deadline_;
  std::map<int32_t, Answer> answers_;  // by first statement
  bool loaded_ = false;
  uint64_t opening_ = 0;  // of the log, when it was loaded
};

// All sessions of the node. Safe for concurrent use.
class SessionTable final : public run::SessionTable {
 public:
  // Both outlive it.
  SessionTable(kv::Store* store, store::ChangeLog* log, Session::TransactionEnds transaction_ends)
      : store_(store), log_(log), transaction_ends_(std::move(transaction_ends)) {}

  // Gives what is kept of retryable writes of the namespace as {session, first, record}, and what
  // was kept before records had a namespace. Ends with the first error of `take`.
  Status ReadAnswers(std::string_view ns, const std::function<Status(bson::Document)>& take);
  // Takes over what ReadAnswers has given on another shard; it is in the store then. Waits for the
  // session on this thread: LockBusy when it stays in use.
  Status Import(bson::View answer);
  // Forgets what sessions that ended longer than `timeout` ago have written.
  Status ForgetAnswers(std::chrono::minutes timeout);
  // Aborts all transactions and forgets what was read of the store, which has changed: a member of
  // a replica set calls it whenever it begins or ceases to lead, or undoes.
  void ForgetAll();

 private:
  std::shared_ptr<run::Session> Make(std::string lsid) override;

  kv::Store* const store_;
  store::ChangeLog* const log_;
  const Session::TransactionEnds transaction_ends_;
};

}  // namespace quire::engine
