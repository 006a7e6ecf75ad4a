// SPDX-License-Identifier: Apache-2.0
#include "quire/session.h"

#include <chrono>
#include <random>
#include <string>
#include <utility>

#include "api/door.h"
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

Session::Session(std::shared_ptr<api::Door> engine)
    : engine_(std::move(engine)), id_(NewSessionId()) {}

Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  std::swap(engine_, other.engine_);
  std::swap(id_, other.id_);
  std::swap(options_, other.options_);
  std::swap(transaction_number_, other.transaction_number_);
  std::swap(state_, other.state_);
  return *this;
}

Session::~Session() {
  if (!engine_) {
    return;
  }
  if (state_ == State::kRunning) {
    (void)AbortTransaction();
  }
  bson::Builder command;
  command.BeginArray("endSessions").Push(id_).End();
  (void)engine_->Run("admin", &command, nullptr);
}

void Session::AppendTo(bson::Builder* command) {
  command->Append("lsid", id_);
  if (state_ == State::kNone) {
    return;
  }
  command->Append("txnNumber", transaction_number_).Append("autocommit", false);
  if (state_ == State::kStarting) {
    command->Append("startTransaction", true);
    command->Append("readConcern", options_["readConcern"]);
    state_ = State::kRunning;
  }
}

Status Session::StartTransaction(bson::View options) {
  if (state_ != State::kNone) {
    return Status(kConflictingOperationInProgress, "a transaction is already in progress");
  }
  ++transaction_number_;
  options_ = bson::Document(options);
  state_ = State::kStarting;
  return Status::Ok();
}

Status Session::Finish(const char* name) {
  if (state_ == State::kNone) {
    return Status(kNoSuchTransaction, "no transaction was started");
  }
  if (state_ == State::kStarting) {  // the engine never heard of it
    state_ = State::kNone;
    return Status::Ok();
  }
  bson::Builder command;
  command.Append(name, 1).Append("writeConcern", options_["writeConcern"]);
  Status status = engine_->RunWrite("admin", &command, this).status();
  if (status.ok() || !HasLabel(status, "UnknownTransactionCommitResult")) {
    state_ = State::kNone;
  }
  return status;
}

Status Session::CommitTransaction() { return Finish("commitTransaction"); }

Status Session::AbortTransaction() { return Finish("abortTransaction"); }

Status Session::WithTransaction(const std::function<Status()>& body, bson::View options) {
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
    } else if (state_ != State::kNone) {
      (void)AbortTransaction();
    }
    if (status.ok() || !HasLabel(status, "TransientTransactionError") ||
        std::chrono::steady_clock::now() > deadline) {
      return status;
    }
  }
}

}  // namespace quire
