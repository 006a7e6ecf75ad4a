// SPDX-License-Identifier: Apache-2.0
#include "quire/database.h"

#include <utility>

#include "api/arguments.h"
#include "api/door.h"
#include "base/try.h"

namespace quire {

Database::Database(std::shared_ptr<api::Door> engine, std::string name)
    : engine_(std::move(engine)), name_(std::move(name)) {}

Collection Database::GetCollection(std::string_view name) const {
  return Collection(engine_, name_, std::string(name));
}

Status Database::CreateCollection(std::string_view name, bson::View options) {
  bson::Builder command;
  command.Append("create", name).AppendFields(options);
  return engine_->RunWrite(name_, &command, nullptr).status();
}

Result<std::vector<std::string>> Database::ListCollectionNames() {
  bson::Builder command;
  command.Append("listCollections", 1).Append("nameOnly", true).Append("cursor", bson::View());
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(name_, &command, nullptr));
  Cursor cursor(engine_, name_, std::move(reply), 0, nullptr);
  std::vector<std::string> names;
  while (cursor.Next()) {
    names.emplace_back(cursor.current()["name"].AsString());
  }
  RETURN_IF_ERROR(cursor.status());
  return names;
}

Result<bson::Document> Database::RunCommand(bson::View command, Session* session) {
  bson::Builder copy;
  copy.AppendFields(command);
  return engine_->Run(name_, &copy, session);
}

Result<Cursor> Database::Aggregate(const Pipeline& pipeline, const AggregateOptions& options) {
  bson::Builder command;
  command.Append("aggregate", 1);
  api::AppendAggregate(&command, pipeline, options);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(name_, &command, options.session));
  return Cursor(engine_, name_, std::move(reply), options.batch_size, options.session);
}

Result<Cursor> Database::Watch(const Pipeline& pipeline, const WatchOptions& options) {
  bson::Builder command;
  command.Append("aggregate", 1);
  api::AppendWatch(&command, pipeline, options, false);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(name_, &command, nullptr));
  return Cursor(engine_, name_, std::move(reply), options.batch_size, nullptr);
}

Status Database::Drop() {
  bson::Builder command;
  command.Append("dropDatabase", 1);
  return engine_->RunWrite(name_, &command, nullptr).status();
}

}  // namespace quire
