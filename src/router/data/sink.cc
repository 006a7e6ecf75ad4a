// SPDX-License-Identifier: Apache-2.0
#include "router/data/sink.h"

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/path.h"
#include "engine/write/out_collection.h"
#include "placement/target/target.h"
#include "quire/doc.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/data/merged.h"
#include "router/data/target.h"
#include "router/remote/errors.h"

namespace quire::router {

namespace {

constexpr size_t kMostBytes = size_t{8} << 20;
constexpr size_t kMostDocuments = 10'000;

using Documents = std::vector<bson::Document>;

// {aggregate: 1, pipeline: [{$documents: ...}, sink]} with what else the client's command says of
// its writes.
bson::Document Command(const Documents& documents, bson::View sink, bson::View client) {
  bson::Builder out;
  out.Append("aggregate", 1).BeginArray("pipeline").PushDocument();
  if (documents.empty()) {
    out.BeginArray("$documents").End();
  } else {
    out.BeginDocument("$documents").BeginArray("$literal");
    for (const bson::Document& document : documents) {
      out.Push(document);
    }
    out.End().End();
  }
  out.End().Push(sink).End();
  out.BeginDocument("cursor").End();
  for (const char* name : {"let", "writeConcern", "bypassDocumentValidation"}) {
    out.Append(name, client[name]);
  }
  return out.Finish();
}

bool NamesOn(bson::View sink) {
  const bson::Value merge = sink["$merge"];
  return merge.is_document() && merge.AsDocument().Has("on");
}

// Without `on` $merge looks for documents by _id and the target's shard key, which they have to
// have.
Status CheckKey(const placement::ShardKeyPattern& pattern, bson::View document) {
  for (const auto& part : pattern.parts()) {
    const bson::Value value = bson::GetPath(document, part.path);
    if (value.missing() || value.nullish()) {
      return {51132, "$merge write error: 'on' field '" + part.name() +
                         "' cannot be missing, null or undefined"};
    }
    if (value.is_array()) {
      return {51185, "$merge write error: 'on' field '" + part.name() + "' cannot be an array"};
    }
  }
  return Status::Ok();
}

using ByShard = std::map<placement::ShardName, Documents>;

// Which shard gets which document.
Result<ByShard> Divide(const Route& target, Documents documents, bson::View sink) {
  ByShard by_shard;
  if (documents.empty()) {
    by_shard[target.database.primary] = {};
  }
  for (bson::Document& document : documents) {
    placement::ShardName shard = target.database.primary;
    if (target.sharded()) {
      if (!NamesOn(sink)) {
        RETURN_IF_ERROR(CheckKey(target.chunks->pattern(), document));
      }
      ASSIGN_OR_RETURN(shard, placement::TargetInsert(*target.chunks, document));
    }
    by_shard[shard].push_back(std::move(document));
  }
  return by_shard;
}

void AppendNamed(const Route& route, const placement::ShardName& shard, bson::Builder* out) {
  out->BeginArray("shardVersions").PushDocument().Append("ns", route.ns);
  AppendVersions(route, shard, out);
  out->End().End();
}

Status IsSharded(const std::string& ns) {
  return {28769, "namespace '" + ns + "' is sharded so it can't be used for $out"};
}

// Sends the documents to the shards that own them: those of a shard that knows better are sent
// again, and no others.
Task<Status> Send(Routed& request, RoutePtr* target, Documents documents, bson::View sink) {
  for (int i = 0; i <= kMostRefreshes; ++i) {
    if (sink.Has("$out") && (*target)->sharded()) {
      co_return IsSharded((*target)->ns);
    }
    CO_ASSIGN_OR_RETURN(ByShard by_shard, Divide(**target, std::move(documents), sink));
    documents.clear();
    std::vector<Asked> asked;
    for (const auto& [shard, part] : by_shard) {
      asked.push_back(
          {shard,
           {},
           request.Outgoing(
               Command(part, sink, request.body), DatabaseOf((*target)->ns),
               [&, &shard = shard](bson::Builder* out) { AppendNamed(**target, shard, out); })});
    }
    Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), AskOptions());
    CO_RETURN_IF_ERROR(heard.status());
    const Heard* stale = nullptr;
    for (const Heard& one : *heard) {
      if (one.reply.ok()) {
        continue;
      }
      if (!IsStale(one.reply.status().code())) {
        co_return ForClients(one.reply.status());
      }
      stale = &one;
      for (bson::Document& document : by_shard[one.shard]) {
        documents.push_back(std::move(document));
      }
    }
    if (stale == nullptr) {
      co_return Status::Ok();
    }
    Result<RoutePtr> fresh = co_await request.Refresh(*target, stale->error);
    CO_RETURN_IF_ERROR(fresh.status());
    *target = *fresh;
  }
  co_return AlwaysStale((*target)->ns);
}

// The collection that a large $out fills on the primary shard of its target's database; dropped
// there unless it has taken the target's place.
class Temporary {
 public:
  Temporary(Routed* request, RoutePtr target, bson::View out)
      : request_(*request), target_(std::move(target)), out_(out) {
    Route own = *target_;
    own.ns = std::string(DatabaseOf(target_->ns)) + "." +
             std::string(engine::kRoutersOutTemporary) + request_.core.boot + "." +
             std::to_string(request_.core.outs.fetch_add(1));
    own.collection.reset();
    own.chunks = nullptr;
    own_ = std::make_shared<const Route>(std::move(own));
  }
  ~Temporary() {
    if (made_ && !placed_) {
      Drop();
    }
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  Task<Status> Begin() {
    made_ = true;  // perhaps, from here on
    bson::Builder command;
    command.Append("_shardsvrBeginOut", target_->ns).Append("temporary", own_->ns);
    if (const bson::Value spec = out_["$out"]; spec.is_document()) {
      command.Append("timeseries", spec.AsDocument()["timeseries"]);
    }
    Result<bson::Document> reply = co_await AskTarget(command.Finish());
    CO_RETURN_IF_ERROR(reply.status());
    uuid_ = bson::OwnedValue((*reply)["uuid"]);
    co_return Status::Ok();
  }

  // Held by a majority when it returns: a new primary of the shard has all of it, too.
  Task<Status> Add(const Documents& documents) {
    bson::Builder command;
    command.Append("bulkWrite", 1).BeginArray("ops");
    for (const bson::Document& document : documents) {
      command.PushDocument().Append("insert", 0).Append("document", document).End();
    }
    command.End().BeginArray("nsInfo").PushDocument().Append("ns", own_->ns);
    command.Append("collectionUUID", uuid_.value());
    AppendVersions(*own_, own_->database.primary, &command);
    command.End().End().Append("errorsOnly", true);
    command.Append("bypassDocumentValidation", request_.body["bypassDocumentValidation"]);
    command.BeginDocument("writeConcern").Append("w", "majority").End();
    Result<Heard> heard = co_await Ask(command.Finish());
    CO_RETURN_IF_ERROR(heard.status());
    CO_RETURN_IF_ERROR(heard->reply.status());
    co_return FirstErrorIn(*heard->reply);
  }

  Task<Status> TakePlace() {
    bson::Builder command;
    command.Append("_shardsvrEndOut", target_->ns).Append("temporary", own_->ns);
    command.Append("uuid", uuid_.value()).Append("writeConcern", request_.body["writeConcern"]);
    Result<bson::Document> reply = co_await AskTarget(command.Finish());
    CO_RETURN_IF_ERROR(reply.status());
    placed_ = true;
    co_return Status::Ok();
  }

 private:
  static Status FirstErrorIn(const bson::Document& reply) {
    const bson::Value concern = reply["writeConcernError"];
    if (concern.is_document()) {
      return {static_cast<int>(request::CountIn(concern.AsDocument()["code"])),
              std::string(concern.AsDocument()["errmsg"].AsString())};
    }
    if (request::CountIn(reply["nErrors"]) == 0) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(const auto cursor, request::CursorReply::Read(reply));
    if (cursor.batch.empty()) {
      return {kInternalError, "a shard tells of errors and names none"};
    }
    return request::StatusOf(cursor.batch.front().value().AsDocument());
  }

  Task<Result<Heard>> Ask(bson::Document command) {
    std::vector<Asked> asked;
    asked.push_back({own_->database.primary, {}, request_.Outgoing(command, "admin", nullptr)});
    Result<std::vector<Heard>> heard = co_await request_.Ask(std::move(asked), AskOptions());
    CO_RETURN_IF_ERROR(heard.status());
    Heard& one = heard->front();
    if (!one.reply.ok()) {
      one.reply = ForClients(one.reply.status());
    }
    co_return std::move(one);
  }

  // A command about the target, which has to stay where it is and to stay unsharded.
  Task<Result<bson::Document>> AskTarget(bson::Document command) {
    for (int i = 0; i <= kMostRefreshes; ++i) {
      if (target_->sharded()) {
        co_return IsSharded(target_->ns);
      }
      if (target_->database.version != own_->database.version) {
        co_return Status(kQueryPlanKilled, "the database of " + target_->ns + " was dropped");
      }
      bson::Builder versioned;
      versioned.AppendFields(command);
      AppendNamed(*target_, own_->database.primary, &versioned);
      Result<Heard> heard = co_await Ask(versioned.Finish());
      CO_RETURN_IF_ERROR(heard.status());
      if (heard->reply.ok()) {
        co_return *std::move(heard->reply);
      }
      if (!IsStale(heard->reply.status().code())) {
        co_return heard->reply.status();
      }
      Result<RoutePtr> fresh = co_await request_.Refresh(target_, heard->error);
      CO_RETURN_IF_ERROR(fresh.status());
      target_ = *fresh;
    }
    co_return AlwaysStale(target_->ns);
  }

  // Nobody waits for it: what is left is dropped once this router has ended.
  void Drop() {
    const auto host = request_.core.remote->members.Pick(own_->database.primary, ReadPreference());
    if (!host) {
      return;
    }
    const std::string database(DatabaseOf(own_->ns));
    constexpr std::chrono::seconds kTimeout{10};
    request_.core.lanes().Send(
        *host, Doc("drop", own_->ns.substr(database.size() + 1), "$db", database),
        OpContext::Clock::now() + kTimeout, [](const Result<bson::Document>&) {});
  }

  Routed& request_;
  RoutePtr target_;
  RoutePtr own_;
  const bson::View out_;
  bson::OwnedValue uuid_;
  bool made_ = false;
  bool placed_ = false;
};

// MongoDB's _id for a document that has none: by it the shard is chosen, too.
bson::Document WithId(bson::View document) {
  if (document.Has("_id")) {
    return bson::Document(document);
  }
  return bson::Builder().Append("_id", bson::ObjectId::Generate()).AppendFields(document).Finish();
}

}  // namespace

Task<Status> WriteSink(Routed& request, run::Cursor& cursor, RoutePtr target, bson::View sink) {
  const bool replaces = sink.Has("$out");
  if (replaces && target->sharded()) {
    co_return IsSharded(target->ns);
  }
  const bool by_id = !NamesOn(sink);
  std::optional<Temporary> temporary;  // of an $out that does not fit into one request
  Documents documents;
  size_t bytes = 0;
  bool more = true;
  bool written = false;
  while (more) {
    exec::Row row;
    Result<bool> found = co_await NextRow(request, cursor, &row);
    CO_RETURN_IF_ERROR(found.status());
    more = *found;
    if (more) {
      bytes += row.document.size();
      documents.push_back(by_id ? WithId(row.document) : bson::Document(row.document));
    }
    const bool full = bytes >= kMostBytes || documents.size() >= kMostDocuments;
    if (replaces && full && !temporary) {
      temporary.emplace(&request, target, sink);
      Status begun = co_await temporary->Begin();
      CO_RETURN_IF_ERROR(begun);
    }
    const bool last = !more && (!documents.empty() || (replaces && !written));
    if (full || last) {
      Status sent = Status::Ok();
      if (temporary) {
        sent = co_await temporary->Add(documents);
      } else {
        sent = co_await Send(request, &target, std::move(documents), sink);
      }
      CO_RETURN_IF_ERROR(sent);
      written = true;
      documents.clear();
      bytes = 0;
    }
  }
  if (temporary) {
    Status placed = co_await temporary->TakePlace();
    CO_RETURN_IF_ERROR(placed);
  }
  co_return Status::Ok();
}

}  // namespace quire::router
