// SPDX-License-Identifier: Apache-2.0
#include "api/access.h"

#include <utility>

namespace quire::api {

Client Access::MakeClient(std::shared_ptr<Door> door) {
  return Client(std::make_shared<const Client::Impl>(Client::Impl{std::move(door)}));
}

Database Access::MakeDatabase(std::shared_ptr<Door> door, std::string name) {
  return Database(
      std::make_shared<const Database::Impl>(Database::Impl{std::move(door), std::move(name)}));
}

Collection Access::MakeCollection(std::shared_ptr<Door> door, std::string database,
                                  std::string name) {
  return Collection(std::make_shared<const Collection::Impl>(
      Collection::Impl{std::move(door), std::move(database), std::move(name)}));
}

Cursor Access::MakeCursor(std::shared_ptr<Door> door, std::string database, bson::Document reply,
                          int32_t batch_size, Session* session) {
  return Cursor(std::make_unique<Cursor::Impl>(std::move(door), std::move(database),
                                               std::move(reply), batch_size, session));
}

Session Access::MakeSession(std::shared_ptr<Door> door) {
  return Session(std::make_unique<Session::Impl>(std::move(door)));
}

}  // namespace quire::api
