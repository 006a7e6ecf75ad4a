// SPDX-License-Identifier: Apache-2.0
#include "api/door.h"

#include <string>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::api {

Status WriteErrorOf(const bson::Document& reply) {
  bson::Value error = reply["writeConcernError"];
  if (bson::Value errors = reply["writeErrors"]; errors.is_array() && !errors.AsArray().empty()) {
    error = errors.AsArray().front().value();
  }
  if (!error.is_document()) {
    return Status::Ok();
  }
  bson::View fields = error.AsDocument();
  bson::Value message = fields["errmsg"];
  int code = static_cast<int>(IntegerOf(fields["code"]));
  return Status(code != 0 ? code : kUnknownError,
                std::string(message.is_string() ? message.AsString() : ""))
      .WithExtra(reply.bytes());
}

int64_t IntegerOf(const bson::Value& value) {
  switch (value.type()) {
    case bson::Type::kInt32:
    case bson::Type::kInt64:
      return value.AsInt64();
    case bson::Type::kDouble:
      return static_cast<int64_t>(value.AsDouble());
    default:
      return 0;
  }
}

Status StatusOfReply(bson::View reply) {
  if (IntegerOf(reply["ok"]) == 1) {
    return Status::Ok();
  }
  bson::Builder extra;
  for (const bson::Element& field : reply) {
    if (field.name() != "ok" && field.name() != "code" && field.name() != "codeName" &&
        field.name() != "errmsg") {
      extra.Append(field);
    }
  }
  bson::Value message = reply["errmsg"];
  int code = static_cast<int>(IntegerOf(reply["code"]));
  Status status(code != 0 ? code : kUnknownError,
                std::string(message.is_string() ? message.AsString() : ""));
  bson::Document fields = extra.Finish();
  return fields.empty() ? status : status.WithExtra(std::move(fields).TakeBytes());
}

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
  RETURN_IF_ERROR(StatusOfReply(reply));
  return reply;
}

Result<bson::Document> Door::RunWrite(std::string_view database, bson::Builder* command,
                                      Session* session, std::vector<request::Sequence> sequences) {
  ASSIGN_OR_RETURN(bson::Document reply, Run(database, command, session, std::move(sequences)));
  RETURN_IF_ERROR(WriteErrorOf(reply));
  return reply;
}

}  // namespace quire::api
