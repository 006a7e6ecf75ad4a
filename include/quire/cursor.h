// SPDX-License-Identifier: Apache-2.0
//
// The result of a query, read one document at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire {

class Session;
namespace api {
class Door;
}

// Movable; used by one thread at a time. Destroying it before its end frees what it holds inside
// the engine.
//
//   while (cursor.Next()) {
//     Use(cursor.current());
//   }
//   if (!cursor.status().ok()) ...
class Cursor {
 public:
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  // Moves to the next document. False at the end and after an error: status() tells which. On a
  // change stream it waits until there is one; the end comes after the invalidate event only.
  bool Next();

  // For change streams and other cursors that await data: as Next, but also false when nothing
  // came within `wait`. Then open() is still true.
  bool TryNext(std::chrono::milliseconds wait);
  // Whether there may be more to come.
  bool open() const { return id_ != 0; }

  // Of a change stream: the token to resume after everything this cursor has shown.
  bson::Document resume_token() const;

  // The document last moved to. The view is valid until the next call of Next().
  // REQUIRES: the last Next() returned true.
  bson::View current() const { return current_; }

  // Ok unless Next() stopped because of an error.
  const Status& status() const { return status_; }

 private:
  friend class Client;
  friend class Collection;
  friend class Database;
  // `reply` is the reply of a command that opens a cursor, with its first batch.
  Cursor(std::shared_ptr<api::Door> engine, std::string database, bson::Document reply,
         int32_t batch_size, Session* session);
  bool FetchBatch(std::chrono::milliseconds wait = std::chrono::milliseconds(0));
  bool Take();
  void TakeBatch(bson::Document reply, const char* field);
  void Close();

  std::shared_ptr<api::Door> engine_;
  std::string database_;
  std::string collection_;
  int32_t batch_size_;
  Session* session_;
  int64_t id_ = 0;        // 0: the engine holds no more
  bson::Document reply_;  // owns the current batch
  bson::View::Iterator at_;
  bson::View::Iterator end_;
  bson::View current_;
  Status status_;
};

}  // namespace quire
