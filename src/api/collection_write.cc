// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "api/access.h"
#include "api/arguments.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "quire/collection.h"
#include "request/reply.h"
#include "request/write_reply.h"

namespace quire {

namespace {

// The next documents, as many as a message carries.
request::Sequence NextBatch(const std::vector<bson::Document>& documents, size_t first) {
  request::Sequence batch{"documents", {}};
  size_t bytes = 0;
  for (size_t i = first; i < documents.size() && batch.documents.size() < kMaxInsertDocuments;
       ++i) {
    bytes += documents[i].bytes().size();
    if (bytes > kMaxInsertBytes && !batch.documents.empty()) {
      break;
    }
    batch.documents.emplace_back(documents[i]);
  }
  return batch;
}

// The error of all the messages of one insert, in the words of one reply; Ok when they did well.
Status ErrorOfAll(const request::WriteReply& whole) {
  bson::Builder reply;
  whole.AppendTo(&reply);
  reply.Append("ok", 1.0);
  return request::WriteErrorOf(reply.Finish());
}

Status CheckReplacement(bson::View replacement) {
  if (!replacement.empty() && replacement.front().name().starts_with('$')) {
    return Status(kFailedToParse, "a replacement document must not have update operators");
  }
  return Status::Ok();
}

void AppendTrue(bson::Builder* out, std::string_view name, bool given) {
  if (given) {
    out->Append(name, true);
  }
}

// "a_1_b_-1"
std::string IndexName(bson::View keys) {
  std::string name;
  for (const bson::Element& key : keys) {
    bson::Value value = key.value();
    name += name.empty() ? "" : "_";
    name += key.name();
    name += "_";
    name +=
        value.is_string() ? std::string(value.AsString()) : std::to_string(request::CountIn(value));
  }
  return name;
}

}  // namespace

struct api::UpdateCall {
  bson::View filter;
  bson::View update;
  const Pipeline* pipeline;  // used instead of `update` unless null
  bool multi;
  const UpdateOptions& options;
};

struct api::FindAndModifyCall {
  bson::View filter;
  std::optional<bson::View> update;  // none: remove
  const FindAndModifyOptions& options;
};

Result<UpdateResult> Collection::Impl::Update(const api::UpdateCall& call) const {
  const UpdateOptions& options = call.options;
  bson::Builder command;
  command.Append("update", name).BeginArray("updates").PushDocument();
  command.Append("q", call.filter);
  if (call.pipeline != nullptr) {
    api::AppendDocuments(&command, "u", *call.pipeline);
  } else {
    command.Append("u", call.update);
  }
  command.Append("multi", call.multi).Append("upsert", options.upsert);
  api::AppendGiven(&command, "arrayFilters", options.array_filters);
  api::AppendGiven(&command, "hint", options.hint);
  api::AppendStatementExtra(&command, options.extra);
  command.End().End();
  api::AppendDurability(&command, options.durability, options.session);
  api::AppendCommandExtra(&command, options.extra);
  ASSIGN_OR_RETURN(bson::Document reply, RunWrite(&command, options.session));
  ASSIGN_OR_RETURN(const auto done, request::WriteReply::Read(reply));
  UpdateResult result;
  result.matched = done.n;
  result.modified = done.modified;
  if (!done.upserted.empty()) {
    result.upserted_id = done.upserted.front().id;
    result.matched -= 1;
  }
  return result;
}

Result<int64_t> Collection::Impl::Delete(bson::View filter, int32_t limit,
                                         const DeleteOptions& options) const {
  bson::Builder command;
  command.Append("delete", name).BeginArray("deletes").PushDocument();
  command.Append("q", filter).Append("limit", limit);
  api::AppendGiven(&command, "hint", options.hint);
  api::AppendStatementExtra(&command, options.extra);
  command.End().End();
  api::AppendDurability(&command, options.durability, options.session);
  api::AppendCommandExtra(&command, options.extra);
  ASSIGN_OR_RETURN(bson::Document reply, RunWrite(&command, options.session));
  ASSIGN_OR_RETURN(const auto done, request::WriteReply::Read(reply));
  return done.n;
}

Result<std::optional<bson::Document>> Collection::Impl::FindAndModify(
    const api::FindAndModifyCall& call) const {
  const FindAndModifyOptions& options = call.options;
  bson::Builder command;
  command.Append("findAndModify", name).Append("query", call.filter);
  api::AppendGiven(&command, "sort", options.sort);
  if (call.update) {
    command.Append("update", *call.update).Append("new", options.return_new);
    command.Append("upsert", options.upsert);
    api::AppendGiven(&command, "arrayFilters", options.array_filters);
  } else {
    command.Append("remove", true);
  }
  api::AppendGiven(&command, "fields", options.projection);
  api::AppendGiven(&command, "hint", options.hint);
  api::AppendDurability(&command, options.durability, options.session);
  command.AppendFields(options.extra);
  ASSIGN_OR_RETURN(bson::Document reply, RunWrite(&command, options.session));
  bson::Value value = reply["value"];
  if (!value.is_document()) {
    return std::optional<bson::Document>();
  }
  return std::optional<bson::Document>(value.AsDocument());
}

Result<bson::OwnedValue> Collection::InsertOne(const bson::Argument& given,
                                               const InsertOptions& options) const {
  bson::View document = given;
  bson::Document with_id;
  if (!document.Has("_id")) {
    bson::Builder builder;
    builder.Append("_id", bson::ObjectId::Generate()).AppendFields(document);
    with_id = builder.Finish();
    document = with_id;
  }
  bson::OwnedValue id(document["_id"]);
  bson::Builder command;
  command.Append("insert", impl_->name);
  api::AppendDurability(&command, options.durability, options.session);
  command.AppendFields(options.extra);
  RETURN_IF_ERROR(
      impl_->door->RunWrite(impl_->database, &command, options.session, {{"documents", {document}}})
          .status());
  return id;
}

Result<InsertResult> Collection::InsertMany(const std::vector<bson::Document>& documents,
                                            const InsertOptions& options) const {
  request::WriteReply whole;
  size_t next = 0;
  do {
    request::Sequence batch = NextBatch(documents, next);
    const size_t first = std::exchange(next, next + batch.documents.size());
    bson::Builder command;
    command.Append("insert", impl_->name).Append("ordered", options.ordered);
    api::AppendDurability(&command, options.durability, options.session);
    command.AppendFields(options.extra);
    ASSIGN_OR_RETURN(bson::Document reply, impl_->door->Run(impl_->database, &command,
                                                            options.session, {std::move(batch)}));
    ASSIGN_OR_RETURN(auto part, request::WriteReply::Read(reply));
    whole.Add(std::move(part),
              [first](int32_t index) { return index + static_cast<int32_t>(first); });
  } while (next < documents.size() && !(options.ordered && !whole.errors.empty()));
  RETURN_IF_ERROR(ErrorOfAll(whole));
  return InsertResult{whole.n};
}

Result<UpdateResult> Collection::UpdateOne(const bson::Argument& filter,
                                           const bson::Argument& update,
                                           const UpdateOptions& options) const {
  return impl_->Update({filter, update, nullptr, false, options});
}

Result<UpdateResult> Collection::UpdateOne(const bson::Argument& filter, const Pipeline& update,
                                           const UpdateOptions& options) const {
  return impl_->Update({filter, {}, &update, false, options});
}

Result<UpdateResult> Collection::UpdateMany(const bson::Argument& filter,
                                            const bson::Argument& update,
                                            const UpdateOptions& options) const {
  return impl_->Update({filter, update, nullptr, true, options});
}

Result<UpdateResult> Collection::UpdateMany(const bson::Argument& filter, const Pipeline& update,
                                            const UpdateOptions& options) const {
  return impl_->Update({filter, {}, &update, true, options});
}

Result<UpdateResult> Collection::ReplaceOne(const bson::Argument& filter,
                                            const bson::Argument& replacement,
                                            const UpdateOptions& options) const {
  RETURN_IF_ERROR(CheckReplacement(replacement));
  return impl_->Update({filter, replacement, nullptr, false, options});
}

Result<int64_t> Collection::DeleteOne(const bson::Argument& filter,
                                      const DeleteOptions& options) const {
  return impl_->Delete(filter, 1, options);
}

Result<int64_t> Collection::DeleteMany(const bson::Argument& filter,
                                       const DeleteOptions& options) const {
  return impl_->Delete(filter, 0, options);
}

Result<std::optional<bson::Document>> Collection::FindOneAndUpdate(
    const bson::Argument& filter, const bson::Argument& update,
    const FindAndModifyOptions& options) const {
  return impl_->FindAndModify({filter, update.view(), options});
}

Result<std::optional<bson::Document>> Collection::FindOneAndReplace(
    const bson::Argument& filter, const bson::Argument& replacement,
    const FindAndModifyOptions& options) const {
  RETURN_IF_ERROR(CheckReplacement(replacement));
  return impl_->FindAndModify({filter, replacement.view(), options});
}

Result<std::optional<bson::Document>> Collection::FindOneAndDelete(
    const bson::Argument& filter, const FindAndModifyOptions& options) const {
  return impl_->FindAndModify({filter, std::nullopt, options});
}

Result<std::string> Collection::CreateIndex(const bson::Argument& keys,
                                            const IndexOptions& options) const {
  std::string name = options.name.empty() ? IndexName(keys) : options.name;
  bson::Builder command;
  command.Append("createIndexes", impl_->name).BeginArray("indexes").PushDocument();
  command.Append("key", keys.view()).Append("name", name);
  AppendTrue(&command, "unique", options.unique);
  AppendTrue(&command, "sparse", options.sparse);
  AppendTrue(&command, "hidden", options.hidden);
  if (options.expire_after) {
    command.Append("expireAfterSeconds", static_cast<int64_t>(options.expire_after->count()));
  }
  api::AppendGiven(&command, "partialFilterExpression", options.partial_filter);
  command.AppendFields(options.extra).End().End();
  RETURN_IF_ERROR(impl_->RunWrite(&command).status());
  return name;
}

Status Collection::DropIndex(std::string_view name) const {
  bson::Builder command;
  command.Append("dropIndexes", impl_->name).Append("index", name);
  return impl_->RunWrite(&command).status();
}

Status Collection::Drop() const {
  bson::Builder command;
  command.Append("drop", impl_->name);
  Status status = impl_->RunWrite(&command).status();
  return status.code() == kNamespaceNotFound ? Status::Ok() : status;
}

}  // namespace quire
