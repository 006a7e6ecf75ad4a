// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "api/arguments.h"
#include "api/door.h"
#include "base/try.h"
#include "quire/quire.h"

namespace quire {

Client::Client(std::shared_ptr<api::Door> engine) : engine_(std::move(engine)) {}

Database Client::GetDatabase(std::string_view name) const {
  return Database(engine_, std::string(name));
}

Result<std::vector<std::string>> Client::ListDatabaseNames() {
  bson::Builder command;
  command.Append("listDatabases", 1).Append("nameOnly", true);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run("admin", &command, nullptr));
  std::vector<std::string> names;
  for (const bson::Element& element : reply["databases"].AsArray()) {
    names.emplace_back(element.value().AsDocument()["name"].AsString());
  }
  return names;
}

Result<Session> Client::StartSession() { return Session(engine_); }

Result<Cursor> Client::Watch(const Pipeline& pipeline, const WatchOptions& options) {
  bson::Builder command;
  command.Append("aggregate", 1);
  api::AppendWatch(&command, pipeline, options, true);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run("admin", &command, nullptr));
  return Cursor(engine_, "admin", std::move(reply), options.batch_size, nullptr);
}

}  // namespace quire
