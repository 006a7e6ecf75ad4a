// SPDX-License-Identifier: Apache-2.0
//
// A session: calls that belong together, and the transaction they may run in.
#pragma once

#include <functional>
#include <memory>

#include "quire/options.h"
#include "quire/status.h"

namespace quire {

namespace api {
struct Access;
}

// Movable; used by one thread at a time. Ends when destroyed: an open transaction is rolled back.
//
//   auto accounts = client.GetDatabase("bank").GetCollection("accounts");
//   auto opened = accounts.InsertMany(
//       {Doc("_id", "ann", "cents", 500), Doc("_id", "bob", "cents", 0)});
//   auto session = client.StartSession();
//   auto moved = session->WithTransaction([&]() -> quire::Status {
//     auto out = accounts.UpdateOne(Doc("_id", "ann"), Doc("$inc", Doc("cents", -200)),
//                                   {.session = &*session});
//     if (!out.ok()) return out.status();
//     return accounts.UpdateOne(Doc("_id", "bob"), Doc("$inc", Doc("cents", 200)),
//                               {.session = &*session}).status();
//   });
//   for (auto& account : *accounts.Find({}, {.sort = Doc("_id", 1)})) {
//     std::cout << quire::bson::ToJson(account) << "\n";
//   }
//   // {"_id":"ann","cents":300}
//   // {"_id":"bob","cents":200}
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // From here to Commit or Abort every call with this session reads one snapshot and its writes
  // become visible to others together or not at all.
  // Error: ConflictingOperationInProgress when one is open.
  Status StartTransaction(const TransactionOptions& options = {});

  // Makes the transaction's writes visible. After an error labelled UnknownTransactionCommitResult
  // the call may be repeated; after any other the transaction is gone.
  // Error: NoSuchTransaction when none was started.
  Status CommitTransaction();

  // Drops the transaction's writes. Error: NoSuchTransaction when none was started.
  Status AbortTransaction();

  bool in_transaction() const;

  // Runs `body` in a transaction and commits it. An error of `body` aborts and is returned, but for
  // a write conflict with another transaction: then everything is run again, for up to two minutes.
  // A commit whose outcome is unknown is repeated.
  Status WithTransaction(const std::function<Status()>& body,
                         const TransactionOptions& options = {});

 private:
  friend struct api::Access;
  class Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quire
