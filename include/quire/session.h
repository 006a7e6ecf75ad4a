// SPDX-License-Identifier: Apache-2.0
//
// A session: calls that belong together, and the transaction they may run in.
#pragma once

#include <functional>
#include <memory>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire {

namespace api {
class Door;
}

// Movable; used by one thread at a time. Ends when destroyed: an open transaction is rolled back.
//
//   auto session = client.StartSession();
//   Status s = session->WithTransaction([&] {
//     ... accounts.UpdateOne(from, debit, {.session = &*session}) ...
//   });
class Session {
 public:
  explicit Session(std::shared_ptr<api::Door> engine);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // From here to Commit or Abort every call with this session reads one snapshot and its writes
  // become visible to others together or not at all.
  // `options` are the fields of MongoDB's transaction options: readConcern, writeConcern.
  // Error: ConflictingOperationInProgress when one is open.
  Status StartTransaction(bson::View options = {});

  // Makes the transaction's writes visible. After an error labelled UnknownTransactionCommitResult
  // the call may be repeated; after any other the transaction is gone.
  // Error: NoSuchTransaction when none was started.
  Status CommitTransaction();

  // Drops the transaction's writes. Error: NoSuchTransaction when none was started.
  Status AbortTransaction();

  bool in_transaction() const { return state_ != State::kNone; }

  // Runs `body` in a transaction and commits it. An error of `body` aborts and is returned, but for
  // a write conflict with another transaction: then everything is run again, for up to two minutes.
  // A commit whose outcome is unknown is repeated. `options` as in StartTransaction.
  Status WithTransaction(const std::function<Status()>& body, bson::View options = {});

 private:
  friend class api::Door;
  // Adds the fields that place a command in this session and its transaction.
  void AppendTo(bson::Builder* command);
  enum class State { kNone, kStarting, kRunning };
  Status Finish(const char* command);

  std::shared_ptr<api::Door> engine_;
  bson::Document id_;       // {id: <UUID>}
  bson::Document options_;  // of the open transaction
  int64_t transaction_number_ = 0;
  State state_ = State::kNone;
};

}  // namespace quire
