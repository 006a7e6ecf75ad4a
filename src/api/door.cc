// SPDX-License-Identifier: Apache-2.0
#include "api/door.h"

#include <string>
#include <utility>

#include "base/try.h"
#include "request/reply.h"
#include "request/write_reply.h"

namespace quire::api {

Door::Door(std::unique_ptr<request::Handler> handler, std::shared_ptr<void> engine)
    : engine_(std::move(engine)), handler_(std::move(handler)) {}

Door::~Door() {
  for (auto& client : idle_) {
    handler_->Disconnected(*client);
  }
}

std::unique_ptr<request::Client> Door::TakeClient() {
  MutexLock lock(mutex_);
  if (idle_.empty()) {
    return std::make_unique<request::Client>();
  }
  auto client = std::move(idle_.back());
  idle_.pop_back();
  return client;
}

void Door::GiveBack(std::unique_ptr<request::Client> client) {
  MutexLock lock(mutex_);
  idle_.push_back(std::move(client));
}

Result<bson::Document> Door::Run(std::string_view database, bson::Builder* command,
                                 Session* session, std::vector<request::Sequence> sequences) {
  if (session != nullptr) {
    AppendSession(session, command);
  }
  command->Append("$db", database);
  bson::Document body = command->Finish();

  request::Request request;
  request.body = body;
  request.sequences = std::move(sequences);
  request.database = database;
  std::string bytes;
  auto client = TakeClient();
  handler_->Run(*client, request, &bytes);
  GiveBack(std::move(client));

  auto reply = bson::Document::FromTrusted(std::move(bytes));
  RETURN_IF_ERROR(request::StatusOf(reply));
  return reply;
}

Result<bson::Document> Door::RunWrite(std::string_view database, bson::Builder* command,
                                      Session* session, std::vector<request::Sequence> sequences) {
  ASSIGN_OR_RETURN(bson::Document reply, Run(database, command, session, std::move(sequences)));
  RETURN_IF_ERROR(request::WriteErrorOf(reply));
  return reply;
}

}  // namespace quire::api
