// SPDX-License-Identifier: Apache-2.0
#include "quire/client.h"

#include <utility>

#include "api/access.h"
#include "api/arguments.h"
#include "base/try.h"

namespace quire {

Client::Client(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Database Client::GetDatabase(std::string_view name) const {
  return api::Access::MakeDatabase(impl_->door, std::string(name));
}

Result<std::vector<std::string>> Client::ListDatabaseNames() const {
  bson::Builder command;
  command.Append("listDatabases", 1).Append("nameOnly", true);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->door->Run("admin", &command, nullptr));
  std::vector<std::string> names;
  for (const bson::Element& element : reply["databases"].AsArray()) {
    names.emplace_back(element.value().AsDocument()["name"].AsString());
  }
  return names;
}

Result<Session> Client::StartSession() const { return api::Access::MakeSession(impl_->door); }

Result<Cursor> Client::Watch(const Pipeline& pipeline, const WatchOptions& options) const {
  bson::Builder command;
  command.Append("aggregate", 1);
  api::AppendWatch(&command, pipeline, options, true);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->door->Run("admin", &command, nullptr));
  return api::Access::MakeCursor(impl_->door, "admin", std::move(reply), options.batch_size);
}

}  // namespace quire
