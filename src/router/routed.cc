// SPDX-License-Identifier: Apache-2.0
#include "router/routed.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/doc.h"
#include "request/crud.h"
#include "request/cursor_reply.h"
#include "request/route.h"
#include "router/cursor/remote_rows.h"
#include "router/remote/errors.h"
#include "run/batch.h"

namespace quire::router {

namespace {

constexpr std::chrono::milliseconds kWhileDropped{20};
constexpr int kMostDropWaits = 1500;

// What the router says itself to shards. Their cursors live as long as the router touches them.
bool IsReplaced(std::string_view field) {
  static constexpr std::array<std::string_view, 11> kFields = {"$db",
                                                               "$clusterTime",
                                                               "maxTimeMS",
                                                               "lsid",
                                                               "apiVersion",
                                                               "apiStrict",
                                                               "apiDeprecationErrors",
                                                               "$configTime",
                                                               "$topologyTime",
                                                               "$audit",
                                                               "noCursorTimeout"};
  return std::find(kFields.begin(), kFields.end(), field) != kFields.end();
}

void AppendSession(const request::Call& call, bson::Builder* out) {
  const std::string_view key = call.generic.lsid;
  if (key.empty()) {
    return;
  }
  out->BeginDocument("lsid").Append("id",
                                    bson::Value::Binary(key.substr(0, request::kSessionIdSize), 4));
  if (key.size() > request::kSessionIdSize) {
    out->Append("uid", bson::Value::Binary(key.substr(request::kSessionIdSize), 0));
  }
  out->End();
}

// Whether an expression of what is sent may read one of the variables: it names it, or is run on a
// view, which may.
bool MayRead(const request::Call& call, bson::View command,
             std::initializer_list<std::string_view> variables) {
  return call.command.Is(request::kRunsPipeline) ||
         (call.command.Is(request::kRead | request::kWrite) &&
          std::any_of(variables.begin(), variables.end(), [&](std::string_view variable) {
            return command.bytes().find(variable) != std::string_view::npos;
          }));
}

// For whom it is run: what is everybody's own on a shard (operations, sessions) is that user's.
void AppendUser(const request::Call& call, bson::View command, bson::Builder* out) {
  if (call.identity == nullptr) {
    return;
  }
  out->BeginDocument("$audit")
      .BeginDocument("$impersonatedUser")
      .Append("user", call.identity->user)
      .Append("db", call.identity->database)
      .End();
  if (call.identity->roles != nullptr && MayRead(call, command, {"$$USER_ROLES"})) {
    out->AppendArray("$impersonatedRoles", *call.identity->roles);
  }
  out->End();
}

}  // namespace

bson::Document SnapshotConcern(bson::Timestamp time) {
  return Doc("level", "snapshot", "atClusterTime", time);
}

Routed::Routed(Core* core_of, command::Invocation* invocation_of)
    : Flow(&invocation_of->call),
      core(*core_of),
      invocation(*invocation_of),
      body(invocation_of->call.body),
      database(invocation_of->call.database) {
  invocation.operation.cluster_time = core.engine().clock().Now();
}

Result<std::string> Routed::Namespace() const {
  ASSIGN_OR_RETURN(std::string_view collection,
                   request::CollectionName(body.view().front().name(), body));
  return request::Namespace(database, collection);
}

Task<Result<RoutePtr>> Routed::Find(std::string ns, bool create) {
  if (create) {
    makes_.emplace(DatabaseOf(ns));
  }
  if (RoutePtr known = core.catalog->Cached(ns)) {
    co_return known;
  }
  Result<RoutePtr> found = co_await Await(std::move(ns), create);
  co_return found;
}

Task<Result<RoutePtr>> Routed::FindCurrent(std::string ns) {
  Result<RoutePtr> found = co_await Await(std::move(ns), false);
  co_return found;
}

Task<Result<RoutePtr>> Routed::Await(std::string ns, bool create) {
  for (int i = 0;; ++i) {
    std::shared_ptr<Lookup<RoutePtr>> lookup =
        create ? core.catalog->FindOrCreate(ns) : core.catalog->Find(ns);
    Status waited = co_await Until(lookup);
    CO_RETURN_IF_ERROR(waited);
    Result<RoutePtr> found = lookup->Get();
    if (found.ok() || found.status().code() != kDatabaseDropPending || i == kMostDropWaits) {
      co_return found;
    }
    Status slept = co_await Sleep(kWhileDropped);
    CO_RETURN_IF_ERROR(slept);
  }
}

Task<Result<RoutePtr>> Routed::Refresh(RoutePtr seen, bson::View error) {
  std::shared_ptr<Lookup<RoutePtr>> lookup = core.catalog->Refresh(seen, WantedVersion(error));
  Status waited = co_await Until(lookup);
  CO_RETURN_IF_ERROR(waited);
  Result<RoutePtr> found = lookup->Get();
  if (!found.ok() && found.status().code() == kDatabaseDropPending) {
    core.catalog->Forget(seen->ns);
    found = co_await Await(seen->ns, false);
  }
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    if (makes_.contains(DatabaseOf(seen->ns))) {
      found = co_await Await(seen->ns, true);
    } else {
      database_gone = true;
    }
  }
  co_return found;
}

bson::Document Routed::Outgoing(const bson::Argument& command, std::string_view database_of,
                                const std::function<void(bson::Builder*)>& more) const {
  const request::Call& own = invocation.call;
  bson::Builder out;
  const bool in_transaction = own.generic.in_transaction();
  for (const bson::Element& field : command.view()) {
    const bool begins = field.name() == "startTransaction" || field.name() == "readConcern";
    if (field.name() == "readConcern" && snapshot_time) {
      out.Append("readConcern", SnapshotConcern(*snapshot_time));
    } else if (field.name() == "let" && field.type() == bson::Type::kDocument) {
      out.Append("let", FixedLet(field.value().AsDocument()));
    } else if (!IsReplaced(field.name()) && !(in_transaction && begins)) {
      out.Append(field);
    }
  }
  AppendSession(own, &out);
  AppendUser(own, command.view(), &out);
  if (own.op.has_deadline() && !own.command.Is(request::kOwnTimeLimit)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        own.op.deadline() - OpContext::Clock::now());
    out.Append("maxTimeMS", static_cast<int64_t>(std::max<int64_t>(left.count(), 1)));
  }
  if (MayRead(own, command.view(), {"$$NOW", "$$CLUSTER_TIME"})) {  // the same on all shards
    out.BeginDocument("legacyRuntimeConstants")
        .Append("localNow", invocation.operation.began)
        .Append("clusterTime", *invocation.operation.cluster_time)
        .End();
  }
  if (more) {
    more(&out);
  }
  core.AppendClusterTime(&out);
  out.Append("$db", database_of);
  return out.Finish();
}

// What would be another value each time is worked out once.
bson::View Routed::FixedLet(bson::View let) const {
  const std::string_view bytes = let.bytes();
  if (bytes.find("$rand") == std::string_view::npos &&
      bytes.find("$function") == std::string_view::npos) {
    return let;
  }
  if (!let_) {
    expr::Context context;
    if (!engine::FillContext(invocation.operation, let, &context).ok()) {
      return let;  // the shard says what is wrong with it
    }
    bson::Builder fixed;
    for (const auto& [name, value] : context.let) {
      fixed.BeginDocument(name).Append("$literal", value.value()).End();
    }
    let_ = fixed.Finish();
  }
  return *let_;
}

bson::Document Routed::SessionFields() const {
  const request::Call& own = invocation.call;
  bson::Builder out;
  AppendSession(own, &out);
  if (own.generic.in_transaction()) {
    out.Append("txnNumber", *own.generic.txn_number).Append("autocommit", false);
  }
  return out.Finish();
}

Status Routed::Enlist(const placement::ShardName& shard, bool* begins) {
  *begins = false;
  const request::Generic& generic = call().generic;
  if (!generic.in_transaction()) {
    return Status::Ok();
  }
  const int64_t number = *generic.txn_number;
  const auto known = core.transactions.Find(generic.lsid, number);
  if (!known) {
    return {kNoSuchTransaction, "Given transaction number " + std::to_string(number) +
                                    " does not match any in-progress transactions"};
  }
  if (known->shard == shard) {
    return Status::Ok();
  }
  if (known->shard.empty()) {
    *begins = true;
    core.transactions.Settle(generic.lsid, number, shard);
    return Status::Ok();
  }
  AbortOn(known->shard);
  return {kOperationNotSupportedInTransaction,
          "The transaction has begun on shard " + known->shard + " and needs shard " + shard +
              ": transactions over several shards are not supported"};
}

// Nobody waits for it: what is not told ends by its time limit.
void Routed::AbortOn(const placement::ShardName& shard) {
  bson::Builder abort;
  const bson::Document session = SessionFields();
  abort.Append("abortTransaction", 1).AppendFields(session).Append("$db", "admin");
  if (const auto host = core.remote->members.Pick(shard, ReadPreference())) {
    constexpr std::chrono::seconds kTimeout{10};
    core.lanes().Send(*host, abort.Finish(), OpContext::Clock::now() + kTimeout,
                      [](const Result<bson::Document>&) {});
  }
  core.transactions.Forget(call().generic.lsid);
}

Status Routed::AfterRefusal(bool begins, const Status& refusal) {
  const request::Generic& generic = call().generic;
  if (!generic.in_transaction()) {
    return Status::Ok();
  }
  if (begins) {
    core.transactions.Unsettle(generic.lsid, *generic.txn_number);
    return Status::Ok();
  }
  if (const auto known = core.transactions.Find(generic.lsid, *generic.txn_number)) {
    AbortOn(known->shard);
  }
  return {refusal.code(), refusal.message()};
}

void Routed::AppendBegin(bool begins, bson::Builder* out) {
  if (!begins) {
    return;
  }
  const request::Generic& generic = call().generic;
  const auto known = core.transactions.Find(generic.lsid, *generic.txn_number);
  out->Append("startTransaction", true);
  if (known && !known->read_concern.empty()) {
    out->Append("readConcern", known->read_concern);
  }
}

Result<AskOptions> Routed::Options() const {
  const request::Call& own = invocation.call;
  AskOptions options;
  const bool does_write = writes || own.command.Is(request::kWrite);
  if (!does_write && !own.generic.in_transaction()) {
    ASSIGN_OR_RETURN(options.preference, ReadPreference::Parse(own.body));
  }
  options.repeatable = (!does_write || own.generic.txn_number) && !own.generic.in_transaction();
  return options;
}

Task<Result<std::vector<Heard>>> Routed::Ask(std::vector<Asked> asked) {
  CO_ASSIGN_OR_RETURN(AskOptions options, Options());
  Result<std::vector<Heard>> heard = co_await Ask(std::move(asked), options);
  co_return heard;
}

Task<Result<std::vector<Heard>>> Routed::Ask(std::vector<Asked> asked, AskOptions options) {
  for (const Asked& one : asked) {
    if (std::find(targets_.begin(), targets_.end(), one.shard) == targets_.end()) {
      targets_.push_back(one.shard);
    }
  }
  Result<std::vector<Heard>> heard =
      co_await AskShards(*this, (*core.remote), std::move(asked), options);
  if (heard.ok()) {
    NoteTimes(*heard);
  }
  co_return heard;
}

void Routed::CountTargets() {
  const Result<std::string> ns = Namespace();
  if (targets_.empty() || !ns.ok()) {
    return;
  }
  const RoutePtr route = core.catalog->Cached(*ns);
  const bool sharded = route != nullptr && route->sharded();
  core.targeted.Count(call().command.name, targets_.size(),
                      sharded ? route->chunks->shards().size() : 0);
}

// The reply's time is the latest of the shards asked: whoever reads after it sees what they did.
void Routed::NoteTimes(const std::vector<Heard>& heard) {
  bson::Timestamp latest;
  for (const Heard& one : heard) {
    const bson::Value time = (one.reply.ok() ? *one.reply : one.error)["operationTime"];
    if (time.type() == bson::Type::kTimestamp) {
      latest = std::max(latest, time.AsTimestamp());
    }
  }
  call().operation_time = dated_ ? std::max(call().operation_time, latest) : latest;
  dated_ = true;
}

void Routed::AppendReply(const bson::Argument& reply) {
  for (const bson::Element& field : reply.view()) {
    const std::string_view name = field.name();
    if (name == "operationTime" && field.type() == bson::Type::kTimestamp) {
      call().operation_time = std::max(call().operation_time, field.value().AsTimestamp());
    } else if (name != "ok" && name != "$clusterTime" && name != "topologyVersion" &&
               name != "errorLabels") {  // a router gives its own
      call().reply.Append(field);
    }
  }
}

Status Routed::Deliver(Heard heard, std::function<bool(bson::View)> shows) {
  if (!heard.reply.ok()) {
    return ForClients(heard.reply.status());
  }
  const bson::Document& reply = *heard.reply;
  if (call().generic.in_transaction()) {
    call().reply.BeginDocument("recoveryToken").Append("recoveryShardId", heard.shard).End();
  }
  if (!reply["cursor"].is_document()) {
    AppendReply(reply);
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(const request::CursorReply read, request::CursorReply::Read(reply));
  if (read.id == 0 && !shows) {  // all of it: the reply is the shard's as it is
    request::OpSummary& summary = call().summary;
    summary.ns = read.ns;
    summary.returned = static_cast<int64_t>(read.batch.Count());
    summary.cursor_exhausted = true;
    core.engine().cursors().returned += summary.returned;
    AppendReply(reply);
    return Status::Ok();
  }
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = read.ns;
  cursor->lsid = call().generic.lsid;
  if (call().generic.in_transaction()) {
    cursor->txn_number = call().generic.txn_number;
  }
  const bson::Value tailable = body["tailable"];
  const bson::Value awaits = body["awaitData"];
  const bool stream = !read.post_batch_resume_token.empty();
  cursor->tailable = stream || (tailable.type() == bson::Type::kBool && tailable.AsBool());
  cursor->await_data =
      stream || (cursor->tailable && awaits.type() == bson::Type::kBool && awaits.AsBool());
  const bson::Value stays = body["noCursorTimeout"];
  cursor->no_timeout = stays.type() == bson::Type::kBool && stays.AsBool();
  RemoteRowsOptions options;
  options.database = std::string(DatabaseOf(read.ns));
  options.collection = read.ns.substr(options.database.size() + 1);
  options.session = SessionFields();
  options.tailable = cursor->tailable;
  options.awaits = cursor->await_data;
  options.shows = std::move(shows);
  options.live = &core.cursors;
  run::FirstBatch first;
  first.size = static_cast<int64_t>(read.batch.Count());
  first.at_cluster_time = read.at_cluster_time;
  first.needs = invocation.needs;
  first.single = read.id == 0;
  bson::Builder beside;
  for (const bson::Element& field : reply.view()) {
    if (field.name() != "cursor") {
      beside.Append(field);
    }
  }
  AppendReply(beside.Finish());
  std::vector<OpenedCursor> opened;
  opened.push_back({heard.shard, heard.host, *std::move(heard.reply)});
  cursor->exhausted = false;
  cursor->source =
      std::make_unique<RemoteRows>(&core.lanes(), std::move(options), std::move(opened));
  return run::AppendFirstBatch(core.engine().cursors(), std::move(cursor), first, call());
}

Status Routed::RunHere() {
  if (snapshot_time && invocation.operation.snapshot == nullptr) {
    ASSIGN_OR_RETURN(const auto own, core.engine().snapshots().Fleeting());
    auto dated = std::make_shared<engine::Snapshot>(*own);
    dated->time = *snapshot_time;
    invocation.operation.snapshot = std::move(dated);
  }
  const command::Row& row = core.RowOf(call());
  if (row.parse != nullptr) {  // what was parsed may refer to bytes that have moved
    ASSIGN_OR_RETURN(parsed_, row.parse(invocation));
    invocation.parsed = parsed_.get();
  }
  return row.run(invocation);
}

}  // namespace quire::router
