// SPDX-License-Identifier: Apache-2.0
#include "router/stream/stream.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "engine/stream/change_stream.h"
#include "request/cursor_reply.h"
#include "request/fields.h"
#include "router/remote/errors.h"
#include "router/stream/stream_rows.h"
#include "run/batch.h"

namespace quire::router {

namespace {

constexpr std::string_view kStage = "$changeStream";

// The stage for a shard: it begins where the stream does, and leaves it to the router to know
// whether the event to resume after is there.
bson::Document ShardStage(bson::View stage, bson::View start) {
  bson::Builder out;
  out.BeginDocument(kStage);
  for (const bson::Element& option : stage[kStage].AsDocument()) {
    const std::string_view name = option.name();
    if (name != "resumeAfter" && name != "startAfter" && name != "startAtOperationTime") {
      out.Append(option);
    }
  }
  out.Append("startAfter", start).Append(engine::StreamSpec::kMerged, true).End();
  return out.Finish();
}

bson::Document ShardCommand(bson::View body, bson::View start) {
  bson::Builder out;
  for (const bson::Element& field : body) {
    if (field.name() != "pipeline") {
      out.Append(field);
      continue;
    }
    out.BeginArray("pipeline");
    bool first = true;
    for (const bson::Element& stage : field.value().AsArray()) {
      if (first) {
        out.Push(ShardStage(stage.value().AsDocument(), start));
      } else {
        out.Push(stage.value());
      }
      first = false;
    }
    out.End();
  }
  return out.Finish();
}

// Where the stream of a shard begins: a set may have been written to before it was a shard.
bson::Document StartOn(const placement::ShardRecord& shard, const engine::StreamSpec& spec) {
  const engine::ResumePoint joined{shard.topology_time};
  return spec.start < joined ? engine::MakeResumeToken(joined, {}, bson::View()) : spec.start_token;
}

// Where one shard has failed, the cursors of the others end with the source that is not used.
Status OpenStream(Routed& request, const request::AggregateRequest& aggregate,
                  const bson::Document& start, std::vector<Heard> heard) {
  request::Call& call = request.call();
  std::vector<OpenedCursor> opened;
  std::string ns;
  Status failed;
  for (Heard& one : heard) {
    if (!one.reply.ok()) {
      failed = failed.ok() ? ForClients(one.reply.status()) : failed;
      continue;
    }
    const bson::Document& reply = *one.reply;
    const bson::Value time = reply["operationTime"];
    if (time.type() == bson::Type::kTimestamp) {
      call.operation_time = std::max(call.operation_time, time.AsTimestamp());
    }
    const Result<request::CursorReply> cursor = request::CursorReply::Read(reply);
    if (!cursor.ok()) {
      return cursor.status();
    }
    ns = cursor->ns;
    opened.push_back({one.shard, one.host, *std::move(one.reply)});
  }
  if (opened.empty()) {
    return failed;
  }
  StreamOptions options;
  options.database = std::string(DatabaseOf(ns));
  options.collection = ns.substr(options.database.size() + 1);
  options.session = request.SessionFields();
  options.start = start;
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = ns;
  cursor->lsid = call.generic.lsid;
  cursor->tailable = true;
  cursor->await_data = true;
  cursor->source =
      std::make_unique<StreamRows>(&request.core, std::move(options), std::move(opened));
  if (!failed.ok()) {
    return failed;
  }
  run::FirstBatch first;
  first.size = aggregate.batch_size;
  first.needs = request.invocation.needs;
  return run::AppendFirstBatch(request.core.engine().cursors(), std::move(cursor), first, call);
}

}  // namespace

bool IsStream(const request::AggregateRequest& aggregate) {
  const bson::View pipeline = aggregate.pipeline.view;
  return !pipeline.empty() && pipeline.front().type() == bson::Type::kDocument &&
         pipeline.front().value().AsDocument()[kStage].is_document();
}

Task<Status> RouteStream(Routed& request, const request::AggregateRequest& aggregate) {
  if (request.call().generic.in_transaction()) {
    co_return Status(kOperationNotSupportedInTransaction,
                     "$changeStream cannot be used in a transaction");
  }
  const bson::View argument =
      aggregate.pipeline.view.front().value().AsDocument()[kStage].AsDocument();
  if (argument.Has(engine::StreamSpec::kMerged)) {
    co_return request::UnknownField(kStage, engine::StreamSpec::kMerged);
  }
  CO_ASSIGN_OR_RETURN(
      const engine::StreamSpec spec,
      engine::StreamSpec::Parse({request.database, std::string(aggregate.collection)}, argument,
                                request.core.engine().clock().Now()));
  Catalog& catalog = *request.core.catalog;
  std::shared_ptr<Lookup<bool>> loaded = catalog.ReloadShards();
  Status waited = co_await request.Until(loaded);
  CO_RETURN_IF_ERROR(waited);
  CO_RETURN_IF_ERROR(loaded->Get().status());
  std::vector<Asked> asked;
  for (const placement::ShardRecord& shard : catalog.Shards()) {
    const bson::Document start = StartOn(shard, spec);
    const bson::Document command = ShardCommand(request.body, start);
    asked.push_back({shard.name, {}, request.Outgoing(command, request.database, nullptr)});
  }
  if (asked.empty()) {
    co_return Status(kShardNotFound, "No shards found");
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  co_return OpenStream(request, aggregate, spec.start_token, *std::move(heard));
}

}  // namespace quire::router
