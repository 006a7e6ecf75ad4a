// SPDX-License-Identifier: Apache-2.0
#include "quire/cursor.h"

#include <utility>

#include "api/door.h"

namespace quire {

Cursor::Cursor(std::shared_ptr<api::Door> engine, std::string database, bson::Document reply,
               int32_t batch_size, Session* session)
    : engine_(std::move(engine)),
      database_(std::move(database)),
      batch_size_(batch_size),
      session_(session) {
  TakeBatch(std::move(reply), "firstBatch");
}

// The iterators point into the document's heap bytes, which a move hands over: a reply is always
// longer than a string keeps in place.
Cursor::Cursor(Cursor&& other) noexcept
    : engine_(std::move(other.engine_)),
      database_(std::move(other.database_)),
      collection_(std::move(other.collection_)),
      batch_size_(other.batch_size_),
      session_(other.session_),
      id_(std::exchange(other.id_, 0)),
      reply_(std::move(other.reply_)),
      at_(other.at_),
      end_(other.end_),
      current_(other.current_),
      status_(std::move(other.status_)) {}

Cursor& Cursor::operator=(Cursor&& other) noexcept {
  if (this != &other) {
    this->~Cursor();
    new (this) Cursor(std::move(other));
  }
  return *this;
}

Cursor::~Cursor() { Close(); }

void Cursor::TakeBatch(bson::Document reply, const char* field) {
  reply_ = std::move(reply);
  bson::View cursor = reply_["cursor"].AsDocument();
  id_ = api::IntegerOf(cursor["id"]);
  std::string_view ns = cursor["ns"].AsString();
  collection_ = ns.substr(ns.find('.') + 1);
  bson::View batch = cursor[field].AsArray();
  at_ = batch.begin();
  end_ = batch.end();
}

bool Cursor::Next() {
  while (at_ == end_) {
    if (id_ == 0 || !FetchBatch()) {
      return false;
    }
  }
  return Take();
}

bool Cursor::TryNext(std::chrono::milliseconds wait) {
  if (at_ == end_ && (id_ == 0 || !FetchBatch(wait) || at_ == end_)) {
    return false;
  }
  return Take();
}

bool Cursor::Take() {
  current_ = at_->value().AsDocument();
  ++at_;
  return true;
}

bson::Document Cursor::resume_token() const {
  bson::Value after_batch = reply_["cursor"].AsDocument()["postBatchResumeToken"];
  if (at_ == end_ && after_batch.is_document()) {
    return bson::Document(after_batch.AsDocument());
  }
  bson::Value last = current_["_id"];
  return last.is_document() ? bson::Document(last.AsDocument()) : bson::Document();
}

bool Cursor::FetchBatch(std::chrono::milliseconds wait) {
  bson::Builder command;
  command.Append("getMore", id_).Append("collection", collection_);
  if (batch_size_ > 0) {
    command.Append("batchSize", batch_size_);
  }
  if (wait.count() > 0) {
    command.Append("maxTimeMS", static_cast<int64_t>(wait.count()));
  }
  auto reply = engine_->Run(database_, &command, session_);
  if (!reply.ok()) {
    status_ = reply.status();
    id_ = 0;
    return false;
  }
  TakeBatch(*std::move(reply), "nextBatch");
  return true;
}

void Cursor::Close() {
  if (id_ == 0) {
    return;
  }
  bson::Builder command;
  command.Append("killCursors", collection_).BeginArray("cursors").Push(id_).End();
  (void)engine_->Run(database_, &command, session_);
  id_ = 0;
}

}  // namespace quire
