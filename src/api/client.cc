// SPDX-License-Identifier: Apache-2.0
#include <utility>

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

}  // namespace quire
