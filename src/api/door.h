// SPDX-License-Identifier: Apache-2.0
//
// The door of the library: commands in, replies or errors out, through the same Handler as the
// wire.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/request.h"

namespace quire {
class Session;
}

namespace quire::api {

// Adds the fields that place a command in the session and its transaction (session.cc).
void AppendSession(Session* session, bson::Builder* command);

// Safe for concurrent use.
class Door {
 public:
  // `engine` is whatever the handler needs to outlive it.
  explicit Door(std::unique_ptr<request::Handler> handler, std::shared_ptr<void> engine = nullptr);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door();

  // Finishes `command` with the session's fields and $db and runs it. The reply, or its error when
  // it is one. `sequences` are arguments given beside the body.
  Result<bson::Document> Run(std::string_view database, bson::Builder* command, Session* session,
                             std::vector<request::Sequence> sequences = {});

  // The same for a write: errors of single documents and of the write concern are errors too, with
  // the reply as extra().
  Result<bson::Document> RunWrite(std::string_view database, bson::Builder* command,
                                  Session* session, std::vector<request::Sequence> sequences = {});

 private:
  std::unique_ptr<request::Client> TakeClient();
  void GiveBack(std::unique_ptr<request::Client> client);

  const std::shared_ptr<void> engine_;  // destroyed after handler_
  const std::unique_ptr<request::Handler> handler_;
  Mutex mutex_;
  std::vector<std::unique_ptr<request::Client>> idle_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::api
