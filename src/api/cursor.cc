// SPDX-License-Identifier: Apache-2.0
#include "quire/cursor.h"

#include <utility>

#include "api/access.h"
#include "request/cursor_reply.h"

namespace quire {

Cursor::Cursor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&&) noexcept = default;
Cursor::~Cursor() = default;

bool Cursor::Next() { return impl_->Next(); }
bool Cursor::TryNext(std::chrono::milliseconds wait) { return impl_->TryNext(wait); }
bool Cursor::open() const { return impl_->open(); }
bson::Document Cursor::resume_token() const { return impl_->resume_token(); }
const bson::View& Cursor::current() const { return impl_->current(); }
const Status& Cursor::status() const { return impl_->status(); }

Cursor::Impl::Impl(std::shared_ptr<api::Door> door, std::string database, bson::Document reply,
                   int32_t batch_size, Session* session)
    : door_(std::move(door)),
      database_(std::move(database)),
      batch_size_(batch_size),
      session_(session) {
  (void)TakeBatch(std::move(reply));
}

Cursor::Impl::~Impl() {
  if (id_ == 0) {
    return;
  }
  bson::Builder command;
  command.Append("killCursors", collection_).BeginArray("cursors").Push(id_).End();
  (void)door_->Run(database_, &command, session_);
}

bool Cursor::Impl::TakeBatch(Result<bson::Document> reply) {
  status_ = reply.status();
  id_ = 0;
  if (!status_.ok()) {
    return false;
  }
  reply_ = *std::move(reply);
  at_ = end_ = {};
  Result<request::CursorReply> read = request::CursorReply::Read(reply_);
  if (!read.ok()) {
    status_ = read.status();
    return false;
  }
  id_ = read->id;
  collection_ = read->ns.substr(read->ns.find('.') + 1);
  after_batch_ = std::move(read->post_batch_resume_token);
  at_ = read->batch.begin();
  end_ = read->batch.end();
  return true;
}

bool Cursor::Impl::Next() {
  while (at_ == end_) {
    if (id_ == 0 || !FetchBatch(std::chrono::milliseconds(0))) {
      return false;
    }
  }
  return Take();
}

bool Cursor::Impl::TryNext(std::chrono::milliseconds wait) {
  if (at_ == end_ && (id_ == 0 || !FetchBatch(wait) || at_ == end_)) {
    return false;
  }
  return Take();
}

bool Cursor::Impl::Take() {
  current_ = at_->value().AsDocument();
  ++at_;
  return true;
}

bson::Document Cursor::Impl::resume_token() const {
  if (at_ == end_ && !after_batch_.empty()) {
    return after_batch_;
  }
  bson::Value last = current_["_id"];
  return last.is_document() ? bson::Document(last.AsDocument()) : bson::Document();
}

bool Cursor::Impl::FetchBatch(std::chrono::milliseconds wait) {
  bson::Builder command;
  command.Append("getMore", id_).Append("collection", collection_);
  if (batch_size_ > 0) {
    command.Append("batchSize", batch_size_);
  }
  if (wait.count() > 0) {
    command.Append("maxTimeMS", static_cast<int64_t>(wait.count()));
  }
  return TakeBatch(door_->Run(database_, &command, session_));
}

}  // namespace quire
