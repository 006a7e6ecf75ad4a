// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "api/arguments.h"
#include "api/door.h"
#include "base/try.h"
#include "quire/collection.h"

namespace quire {

namespace {

void AppendPositive(bson::Builder* out, std::string_view name, int64_t number) {
  if (number > 0) {
    out->Append(name, number);
  }
}

void AppendFind(bson::Builder* out, bson::View filter, const FindOptions& options) {
  out->Append("filter", filter);
  api::AppendGiven(out, "projection", options.projection);
  api::AppendGiven(out, "sort", options.sort);
  api::AppendGiven(out, "hint", options.hint);
  AppendPositive(out, "skip", options.skip);
  AppendPositive(out, "batchSize", options.batch_size);
  out->AppendFields(options.extra);
}

}  // namespace

Collection::Collection(std::shared_ptr<api::Door> engine, std::string database, std::string name)
    : engine_(std::move(engine)), database_(std::move(database)), name_(std::move(name)) {}

Result<Cursor> Collection::Find(bson::View filter, const FindOptions& options) {
  bson::Builder command;
  command.Append("find", name_);
  AppendFind(&command, filter, options);
  AppendPositive(&command, "limit", options.limit);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(database_, &command, options.session));
  return Cursor(engine_, database_, std::move(reply), options.batch_size, options.session);
}

Result<std::optional<bson::Document>> Collection::FindOne(bson::View filter,
                                                          const FindOptions& options) {
  bson::Builder command;
  command.Append("find", name_);
  AppendFind(&command, filter, options);
  command.Append("limit", int64_t{1}).Append("singleBatch", true);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(database_, &command, options.session));
  bson::View batch = reply["cursor"].AsDocument()["firstBatch"].AsArray();
  if (batch.empty()) {
    return std::optional<bson::Document>();
  }
  return std::optional<bson::Document>(batch.front().value().AsDocument());
}

Result<Cursor> Collection::Aggregate(const Pipeline& pipeline, const AggregateOptions& options) {
  bson::Builder command;
  command.Append("aggregate", name_);
  api::AppendAggregate(&command, pipeline, options);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(database_, &command, options.session));
  return Cursor(engine_, database_, std::move(reply), options.batch_size, options.session);
}

Result<Cursor> Collection::Watch(const Pipeline& pipeline, const WatchOptions& options) {
  bson::Builder command;
  command.Append("aggregate", name_);
  api::AppendWatch(&command, pipeline, options, false);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(database_, &command, nullptr));
  return Cursor(engine_, database_, std::move(reply), options.batch_size, nullptr);
}

Result<int64_t> Collection::Count(bson::View filter, const CountOptions& options) {
  bson::Builder command;
  command.Append("count", name_).Append("query", filter);
  AppendPositive(&command, "skip", options.skip);
  AppendPositive(&command, "limit", options.limit);
  api::AppendGiven(&command, "hint", options.hint);
  command.AppendFields(options.extra);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(database_, &command, options.session));
  return api::IntegerOf(reply["n"]);
}

Result<std::vector<bson::OwnedValue>> Collection::Distinct(std::string_view field,
                                                           bson::View filter) {
  bson::Builder command;
  command.Append("distinct", name_).Append("key", field).Append("query", filter);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(database_, &command, nullptr));
  std::vector<bson::OwnedValue> values;
  for (const bson::Element& element : reply["values"].AsArray()) {
    values.emplace_back(element.value());
  }
  return values;
}

Result<Cursor> Collection::ListIndexes() {
  bson::Builder command;
  command.Append("listIndexes", name_);
  ASSIGN_OR_RETURN(bson::Document reply, engine_->Run(database_, &command, nullptr));
  return Cursor(engine_, database_, std::move(reply), 0, nullptr);
}

}  // namespace quire
