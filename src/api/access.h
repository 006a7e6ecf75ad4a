// SPDX-License-Identifier: Apache-2.0
//
// What the public handles hold. They are made here and nowhere else.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/door.h"
#include "quire/quire.h"

namespace quire {

namespace api {
struct UpdateCall;
struct FindAndModifyCall;
}  // namespace api

struct Client::Impl {
  std::shared_ptr<api::Door> door;
};

struct Database::Impl {
  std::shared_ptr<api::Door> door;
  std::string name;

  Result<bson::Document> Run(bson::Builder* command, Session* session = nullptr) const {
    return door->Run(name, command, session);
  }
  Result<bson::Document> RunWrite(bson::Builder* command) const {
    return door->RunWrite(name, command, nullptr);
  }
};

struct Collection::Impl {
  std::shared_ptr<api::Door> door;
  std::string database;
  std::string name;

  Result<bson::Document> Run(bson::Builder* command, Session* session = nullptr) const {
    return door->Run(database, command, session);
  }
  Result<bson::Document> RunWrite(bson::Builder* command, Session* session = nullptr) const {
    return door->RunWrite(database, command, session);
  }
  Result<UpdateResult> Update(const api::UpdateCall& call) const;
  // `limit`: 1 or, for all matches, 0.
  Result<int64_t> Delete(bson::View filter, int32_t limit, const DeleteOptions& options) const;
  Result<std::optional<bson::Document>> FindAndModify(const api::FindAndModifyCall& call) const;
  // The cursor that `reply`, with its first batch, opens.
  Cursor MakeCursor(bson::Document reply, int32_t batch_size = 0, Session* session = nullptr) const;
};

class Session::Impl {
 public:
  explicit Impl(std::shared_ptr<api::Door> door);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // Rolls an open transaction back and ends the session.
  ~Impl();

  // Adds the fields that place a command in this session and its transaction.
  void AppendTo(bson::Builder* command);

  bool in_transaction() const { return state_ != State::kNone; }
  Status Start(const TransactionOptions& options);
  // Ends the transaction with commitTransaction or abortTransaction; `self` holds this.
  Status Finish(const char* command, Session* self);

 private:
  enum class State { kNone, kStarting, kRunning };

  const std::shared_ptr<api::Door> door_;
  const bson::Document id_;     // {id: <UUID>}
  TransactionOptions options_;  // of the open transaction
  int64_t transaction_number_ = 0;
  State state_ = State::kNone;
};

class Cursor::Impl {
 public:
  Impl(std::shared_ptr<api::Door> door, std::string database, bson::Document reply,
       int32_t batch_size, Session* session);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // Frees what the engine holds for it.
  ~Impl();

  bool Next();
  bool TryNext(std::chrono::milliseconds wait);
  bool open() const { return id_ != 0; }
  const bson::View& current() const { return current_; }
  const Status& status() const { return status_; }
  bson::Document resume_token() const;

 private:
  bool FetchBatch(std::chrono::milliseconds wait);
  bool Take();
  // False, with status(), when the reply is an error or no batch.
  bool TakeBatch(Result<bson::Document> reply);

  const std::shared_ptr<api::Door> door_;
  const std::string database_;
  const int32_t batch_size_;
  Session* const session_;
  std::string collection_;
  int64_t id_ = 0;              // 0: the engine holds no more
  bson::Document reply_;        // owns the current batch
  bson::Document after_batch_;  // the resume token behind it; empty in other cursors
  bson::View::Iterator at_;
  bson::View::Iterator end_;
  bson::View current_;
  Status status_;
};

namespace api {

struct Access {
  static Client MakeClient(std::shared_ptr<Door> door);
  static Database MakeDatabase(std::shared_ptr<Door> door, std::string name);
  static Collection MakeCollection(std::shared_ptr<Door> door, std::string database,
                                   std::string name);
  // `reply` is the reply of a command that opens a cursor, with its first batch.
  static Cursor MakeCursor(std::shared_ptr<Door> door, std::string database, bson::Document reply,
                           int32_t batch_size = 0, Session* session = nullptr);
  static Session MakeSession(std::shared_ptr<Door> door);
  static Session::Impl& ImplOf(Session* session) { return *session->impl_; }
};

}  // namespace api
}  // namespace quire
