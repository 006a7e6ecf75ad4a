// SPDX-License-Identifier: Apache-2.0
//
// The gates of sessions and transactions.
#include "base/error_codes.h"
#include "base/try.h"
#include "run/backend.h"
#include "run/dispatcher.h"
#include "run/gates.h"

namespace quire::run {

namespace {

using request::Call;
using request::Generic;

// The session is another request's: waits until that gives it back.
class AwaitSession : public request::Suspension {
 public:
  explicit AwaitSession(Running& running) : running_(running) {}

  bool Listen(request::Waker* waker) override {
    listener_ = running_.session->free().Listen([waker] { waker->Wake(); });
    return running_.session->in_use();
  }

  Status Resume(Call&) override {
    RETURN_IF_ERROR(running_.op.CheckInterruptNow());
    RETURN_IF_ERROR(CheckOutSession(running_));
    // What was parsed may refer to bytes that are gone.
    return running_.moved() && !running_.suspended() ? Parse(running_) : Status::Ok();
  }

 private:
  Running& running_;
  std::unique_ptr<Bell::Listener> listener_;
};

Status NotInTransaction(std::string_view why) {
  return {kOperationNotSupportedInTransaction, std::string(why)};
}

Status CheckTransactionConcerns(const Call& call) {
  const Generic& generic = call.generic;
  if (generic.write_concern.given && !call.command.Is(request::kEndsTransaction)) {
    return {kInvalidOptions, "writeConcern is not allowed within a multi-statement transaction"};
  }
  if (generic.read_concern_level == "linearizable" || generic.read_concern_level == "available") {
    return {kInvalidOptions,
            "The readConcern level must be either 'local' (default), 'majority' "
            "or 'snapshot' in order to run in a transaction"};
  }
  if (!generic.start_transaction && !generic.read_concern.empty()) {
    return {kInvalidOptions, "Only the first command in a transaction may specify a readConcern"};
  }
  return Status::Ok();
}

Status CheckTransactionTarget(const Call& call) {
  const std::string_view database = call.database;
  if (database == "config" || database == "local" ||
      (database == "admin" && !call.command.Is(request::kAdminInTransaction))) {
    return NotInTransaction("Cannot perform data operations on the '" + std::string(database) +
                            "' database in a transaction");
  }
  const bson::Value target = call.body.front().value();
  if (target.is_string() &&
      (target.AsString() == "system.profile" || target.AsString() == "system.views")) {
    return NotInTransaction("Cannot run command against the '" + std::string(database) + "." +
                            std::string(target.AsString()) + "' collection in a transaction.");
  }
  return Status::Ok();
}

}  // namespace

Status CheckTransactionUse(Running& running) {
  const Call& call = running.call;
  const Generic& generic = call.generic;
  if (generic.start_transaction && call.command.Is(request::kOnCursor)) {
    return NotInTransaction("Cannot run '" + std::string(call.command.name) +
                            "' as the first operation in a multi-document transaction.");
  }
  if (generic.txn_number && !generic.in_transaction() && !call.command.Is(request::kRetryable)) {
    return {kNotARetryableWriteCommand,
            "txnNumber may only be provided for multi-document transactions and retryable "
            "write commands. autocommit:false was not provided, and " +
                std::string(call.command.name) + " is not a retryable write command."};
  }
  if (!generic.in_transaction()) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(CheckTransactionConcerns(call));
  return CheckTransactionTarget(call);
}

Status FindSession(Running& running) {
  const Call& call = running.call;
  if (call.generic.lsid.empty()) {
    return Status::Ok();
  }
  // Before a login there are no sessions: what names one is run without it.
  if (running.dispatcher.backend().access_control() && call.client.login == nullptr) {
    return !call.generic.txn_number
               ? Status::Ok()
               : Status(kUnauthorized,
                        "Command " + std::string(call.command.name) + " requires authentication");
  }
  ASSIGN_OR_RETURN(running.session, running.dispatcher.backend().sessions().Get(call.generic.lsid));
  return Status::Ok();
}

Status CheckOutSession(Running& running) {
  if (!running.call.generic.txn_number) {
    return Status::Ok();
  }
  running.checkout = Checkout::Try(running.session.get());
  if (!running.checkout) {
    running.call.suspension = std::make_unique<AwaitSession>(running);
  }
  return Status::Ok();
}

Status EnterTransaction(Running& running) {
  return running.call.generic.txn_number ? running.dispatcher.backend().EnterTransaction(running)
                                         : Status::Ok();
}

Status AbortTransaction(Running& running) {
  running.aborted = running.ran && running.dispatcher.backend().AbortTransaction(running);
  return Status::Ok();
}

Status GiveSessionBack(Running& running) {
  running.checkout = Checkout();
  return Status::Ok();
}

}  // namespace quire::run
