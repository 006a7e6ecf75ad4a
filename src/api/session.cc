// SPDX-License-Identifier: Apache-2.0
#include "quire/session.h"

#include <chrono>
#include <random>
#include <string>
#include <utility>

#include "api/access.h"
#include "api/arguments.h"
#include "base/error_codes.h"

namespace quire {

namespace {

constexpr std::chrono::seconds kRetryFor{120};

// {id: <random UUID>}
bson::Document NewSessionId() {
  std::random_device random;
  std::string uuid;
  while (uuid.size() < 16) {
    uint32_t word = random();
    uuid.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  uuid[6] = static_cast<char>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<char>((uuid[8] & 0x3f) | 0x80);
  bson::Builder id;
  id.Append("id", bson::Value::Binary(uuid, 4));
  return id.Finish();
}

bool HasLabel(const Status& status, std::string_view label) {
  if (status.extra().empty()) {
    return false;
  }
  bson::Value labels = bson::View(status.extra().data())["errorLabels"];
  if (!labels.is_array()) {
    return false;
  }
  for (const bson::Element& element : labels.AsArray()) {
    if (element.value().is_string() && element.value().AsString() == label) {
      return true;
    }
  }
  return false;
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

bool Session::in_transaction() const { return impl_->in_transaction(); }

Status Session::StartTransaction(const TransactionOptions& options) {
  return impl_->Start(options);
}

Status Session::CommitTransaction() { return impl_->Finish("commitTransaction", this); }

Status Session::AbortTransaction() { return impl_->Finish("abortTransaction", this); }

Status Session::WithTransaction(const std::function<Status()>& body,
                                const TransactionOptions& options) {
  const auto deadline = std::chrono::steady_clock::now() + kRetryFor;
  for (;;) {
    if (Status status = StartTransaction(options); !status.ok()) {
      return status;
    }
    Status status = body();
    if (status.ok()) {
      do {
        status = CommitTransaction();
      } while (HasLabel(status, "UnknownTransactionCommitResult") &&
               std::chrono::steady_clock::now() < deadline);
    } else if (in_transaction()) {
      (void)AbortTransaction();
    }
    if (status.ok() || !HasLabel(status, "TransientTransactionError") ||
        std::chrono::steady_clock::now() > deadline) {
      return status;
    }
  }
}

Session::Impl::Impl(std::shared_ptr<api::Door> door)
    : door_(std::move(door)), id_(NewSessionId()) {}

Session::Impl::~Impl() {
  if (state_ == State::kRunning) {
    bson::Builder abort;
    abort.Append("abortTransaction", 1);
    api::AppendGiven(&abort, "writeConcern", options_.write_concern);
    AppendTo(&abort);
    (void)door_->RunWrite("admin", &abort, nullptr);
  }
  bson::Builder end;
  end.BeginArray("endSessions").Push(id_).End();
  (void)door_->Run("admin", &end, nullptr);
}

void Session::Impl::AppendTo(bson::Builder* command) {
  command->Append("lsid", id_);
  if (state_ == State::kNone) {
    return;
  }
  command->Append("txnNumber", transaction_number_).Append("autocommit", false);
  if (state_ == State::kStarting) {
    command->Append("startTransaction", true);
    api::AppendGiven(command, "readConcern", options_.read_concern);
    state_ = State::kRunning;
  }
}

Status Session::Impl::Start(const TransactionOptions& options) {
  if (state_ != State::kNone) {
    return Status(kConflictingOperationInProgress, "a transaction is already in progress");
  }
  ++transaction_number_;
  options_ = options;
  state_ = State::kStarting;
  return Status::Ok();
}

Status Session::Impl::Finish(const char* name, Session* self) {
  if (state_ == State::kNone) {
    return Status(kNoSuchTransaction, "no transaction was started");
  }
  if (state_ == State::kStarting) {  // the engine never heard of it
    state_ = State::kNone;
    return Status::Ok();
  }
  bson::Builder command;
  command.Append(name, 1);
  api::AppendGiven(&command, "writeConcern", options_.write_concern);
  Status status = door_->RunWrite("admin", &command, self).status();
  if (status.ok() || !HasLabel(status, "UnknownTransactionCommitResult")) {
    state_ = State::kNone;
  }
  return status;
}

namespace api {

void AppendSession(Session* session, bson::Builder* command) {
  Access::ImplOf(session).AppendTo(command);
}

}  // namespace api

}  // namespace quire
