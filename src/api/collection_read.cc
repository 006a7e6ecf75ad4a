// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "api/access.h"
#include "api/arguments.h"
#include "base/try.h"
#include "quire/collection.h"
#include "request/cursor_reply.h"
#include "request/reply.h"

namespace quire {

namespace {

void AppendFind(bson::Builder* out, bson::View filter, const FindOptions& options) {
  out->Append("filter", filter);
  api::AppendGiven(out, "projection", options.projection);
  api::AppendGiven(out, "sort", options.sort);
  api::AppendGiven(out, "hint", options.hint);
  api::AppendPositive(out, "skip", options.skip);
  api::AppendPositive(out, "batchSize", options.batch_size);
  out->AppendFields(options.extra);
}

}  // namespace

Collection::Collection(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

const std::string& Collection::name() const { return impl_->name; }
const std::string& Collection::database() const { return impl_->database; }

Cursor Collection::Impl::MakeCursor(bson::Document reply, int32_t batch_size,
                                    Session* session) const {
  return api::Access::MakeCursor(door, database, std::move(reply), batch_size, session);
}

Result<Cursor> Collection::Find(const bson::Argument& filter, const FindOptions& options) const {
  bson::Builder command;
  command.Append("find", impl_->name);
  AppendFind(&command, filter, options);
  api::AppendPositive(&command, "limit", options.limit);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command, options.session));
  return impl_->MakeCursor(std::move(reply), options.batch_size, options.session);
}

Result<std::optional<bson::Document>> Collection::FindOne(const bson::Argument& filter,
                                                          const FindOptions& options) const {
  bson::Builder command;
  command.Append("find", impl_->name);
  AppendFind(&command, filter, options);
  command.Append("limit", int64_t{1}).Append("singleBatch", true);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command, options.session));
  ASSIGN_OR_RETURN(const auto found, request::CursorReply::Read(reply));
  if (found.batch.empty()) {
    return std::optional<bson::Document>();
  }
  return std::optional<bson::Document>(found.batch.front().value().AsDocument());
}

Result<Cursor> Collection::Aggregate(const Pipeline& pipeline,
                                     const AggregateOptions& options) const {
  bson::Builder command;
  command.Append("aggregate", impl_->name);
  api::AppendAggregate(&command, pipeline, options);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command, options.session));
  return impl_->MakeCursor(std::move(reply), options.batch_size, options.session);
}

Result<Cursor> Collection::Watch(const Pipeline& pipeline, const WatchOptions& options) const {
  bson::Builder command;
  command.Append("aggregate", impl_->name);
  api::AppendWatch(&command, pipeline, options, false);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command));
  return impl_->MakeCursor(std::move(reply), options.batch_size);
}

Result<int64_t> Collection::Count(const bson::Argument& filter, const CountOptions& options) const {
  bson::Builder command;
  command.Append("count", impl_->name).Append("query", filter.view());
  api::AppendPositive(&command, "skip", options.skip);
  api::AppendPositive(&command, "limit", options.limit);
  api::AppendGiven(&command, "hint", options.hint);
  command.AppendFields(options.extra);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command, options.session));
  return request::CountIn(reply["n"]);
}

Result<std::vector<bson::OwnedValue>> Collection::Distinct(std::string_view field,
                                                           const bson::Argument& filter,
                                                           const DistinctOptions& options) const {
  bson::Builder command;
  command.Append("distinct", impl_->name).Append("key", field).Append("query", filter.view());
  command.AppendFields(options.extra);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command, options.session));
  std::vector<bson::OwnedValue> values;
  for (const bson::Element& element : reply["values"].AsArray()) {
    values.emplace_back(element.value());
  }
  return values;
}

Result<Cursor> Collection::ListIndexes() const {
  bson::Builder command;
  command.Append("listIndexes", impl_->name);
  ASSIGN_OR_RETURN(bson::Document reply, impl_->Run(&command));
  return impl_->MakeCursor(std::move(reply));
}

}  // namespace quire
