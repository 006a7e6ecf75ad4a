// SPDX-License-Identifier: Apache-2.0
#include "command/shard/shard_commands.h"

#include <memory>
#include <utility>
#include <vector>

#include "command/auth/login_state.h"
#include "command/shard/shard_backend.h"
#include "request/reply.h"

namespace quire::command {

namespace {

std::vector<const Row*> AllRows() {
  std::vector<const Row*> rows = NodeRows();
  for (const Row& row : ShardRows()) {
    rows.push_back(&row);
  }
  return rows;
}

}  // namespace

ShardCommands::ShardCommands(engine::Engine* engine, ServerInfo info)
    : Commands(engine, std::move(info), AllRows(),
               std::make_unique<ShardBackend>(this, &sharding_)) {}

Result<bson::Document> ShardCommands::RunOwn(std::string_view database,
                                             const bson::Document& command,
                                             const bson::Value& uuid) {
  bson::Builder body;
  body.AppendFields(command).Append("$db", database);
  const bson::Document whole = body.Finish();
  request::Client client;
  const std::shared_ptr<Login> login = members.Make(accounts_version.load());
  client.login = login;
  client.identity = std::make_shared<request::Identity>(
      request::Identity{login->user, login->database, std::string()});
  request::Request request;
  request.body = whole.view();
  request.database = database;
  request.new_uuid = uuid;
  std::string bytes;
  {
    const ShardBackend::OwnScope own;
    Run(client, request, &bytes);
  }
  Disconnected(client);
  bson::Document reply = bson::Document::FromTrusted(std::move(bytes));
  Status status = request::StatusOf(reply);
  if (!status.ok()) {
    return status;
  }
  return reply;
}

}  // namespace quire::command
