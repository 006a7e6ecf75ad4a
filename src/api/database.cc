// SPDX-License-Identifier: Apache-2.0
#include "quire/database.h"

#include <utility>

#include "api/access.h"
#include "api/arguments.h"
#include "base/try.h"

namespace quire {

Database::Database(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

const std::string& Database::name() const { return impl_->name; }

Collection Database::GetCollection(std::string_view name) const {
  return api::Access::MakeCollection(impl_->door, impl_->name, std::string(name));
}

Status Database::CreateCollection(std::string_view name, const CollectionOptions& options) const {
  bson::Builder command;
  command.Append("create", name);
  if (options.capped) {
    command.Append("capped", true);
  }
  api::AppendPositive(&command, "size", options.size);
  api::AppendPositive(&command, "max", options.max_documents);
  api::AppendGiven(&command, "validator", options.validator);
  command.AppendFields(options.extra);
  return impl_->RunWrite(&command).status();
}

Result<std::vector<std::string>> Database::ListCollectionNames() const {
  bson::Builder command;
  command.Append("listCollections", 1).Append("nameOnly", true).Append("cursor", bson::View());
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command));
  Cursor cursor = api::Access::MakeCursor(impl_->door, impl_->name, std::move(reply));
  std::vector<std::string> names;
  for (const bson::View& collection : cursor) {
    names.emplace_back(collection["name"].AsString());
  }
  RETURN_IF_ERROR(cursor.status());
  return names;
}

Result<bson::Document> Database::RunCommand(const bson::Argument& command,
                                            const CommandOptions& options) const {
  bson::Builder copy;
  copy.AppendFields(command);
  return impl_->Run(&copy, options.session);
}

Result<Cursor> Database::Aggregate(const Pipeline& pipeline,
                                   const AggregateOptions& options) const {
  bson::Builder command;
  command.Append("aggregate", 1);
  api::AppendAggregate(&command, pipeline, options);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command, options.session));
  return api::Access::MakeCursor(impl_->door, impl_->name, std::move(reply), options.batch_size,
                                 options.session);
}

Result<Cursor> Database::Watch(const Pipeline& pipeline, const WatchOptions& options) const {
  bson::Builder command;
  command.Append("aggregate", 1);
  api::AppendWatch(&command, pipeline, options, false);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command));
  return api::Access::MakeCursor(impl_->door, impl_->name, std::move(reply), options.batch_size);
}

Status Database::Drop() const {
  bson::Builder command;
  command.Append("dropDatabase", 1);
  return impl_->RunWrite(&command).status();
}

}  // namespace quire
