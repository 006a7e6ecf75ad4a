// SPDX-License-Identifier: Apache-2.0
#include "engine/read/read.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/data/router_wish.h"
#include "command/parsed_row.h"
#include "engine/read/aggregate.h"
#include "engine/read/read_by_id.h"
#include "engine/sharding.h"
#include "request/crud.h"
#include "request/cursor_reply.h"
#include "run/batch.h"

namespace quire::command {

namespace {

// Of a read with readConcern "snapshot"; those of others have none.
std::optional<bson::Timestamp> SnapshotTime(const Invocation& i) {
  if (i.operation.snapshot == nullptr || i.operation.snapshot->time == bson::Timestamp()) {
    return std::nullopt;
  }
  return i.operation.snapshot->time;
}

// The reply of a find that leaves no cursor.
void AppendFound(Invocation& i, const engine::FoundById& by_id) {
  request::OpSummary& summary = i.call.summary;
  request::CursorReply::Begin(request::BatchKind::kFirst, &i.reply());
  if (by_id.found) {
    i.reply().Push(by_id.read.document());
    ++i.engine.cursors().returned;
  }
  summary.returned = by_id.found ? 1 : 0;
  summary.cursor_exhausted = true;
  request::CursorReply end;
  end.at_cluster_time = SnapshotTime(i);
  end.ns = summary.ns;
  end.End(&i.reply());
}

Status RunFind(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::FindRequest::Parse(i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::ReadNamespace(i.database(), request.collection));
  i.call.summary.ns = ns;
  RETURN_IF_ERROR(ApplyQuerySettings(i, i.body(), false));
  ASSIGN_OR_RETURN(const engine::ShardRowsWish rows, RouterWish(i));
  if (!rows.rows) {
    engine::FoundById by_id;
    ASSIGN_OR_RETURN(const bool answered,
                     engine::FindById(i.operation, ns, request, &i.call.summary, &by_id));
    if (answered) {
      AppendFound(i, by_id);
      return Status::Ok();
    }
  }
  ASSIGN_OR_RETURN(auto cursor, engine::Find(i.operation, ns, request, rows));
  cursor->most_bytes = rows.most_bytes > 0 ? rows.most_bytes : cursor->most_bytes;
  return AppendFirstBatch(i, std::move(cursor), request.batch_size, request.single_batch);
}

// Whoever opened a cursor reads it on, as long as they may still do what they were allowed then. A
// member has opened it for somebody, and knows for whom.
Status CheckReader(Invocation& i, const run::Cursor& cursor) {
  if (!i.commands.info().access_control) {
    return Status::Ok();
  }
  std::shared_ptr<const Login> login = CurrentLogin(i);
  const bool own =
      login != nullptr && cursor.owner != nullptr &&
      (i.commands.members.Is(login->user, login->database) ||
       (cursor.owner->user == login->user && cursor.owner->database == login->database));
  if (!own) {
    return {kUnauthorized, "cursor id " + std::to_string(cursor.id()) +
                               " was not created by the authenticated user"};
  }
  return cursor.needs == nullptr || cursor.needs->MetBy(login->privileges) ? Status::Ok()
                                                                           : Unauthorized(i);
}

Status RunGetMore(Invocation& i) {
  return run::RunGetMore(i.engine.cursors(), i.commands.fail_points(), i.call,
                         [&i](const run::Cursor& cursor) { return CheckReader(i, cursor); });
}

struct KillCursorsFields {
  request::ArrayArgument cursors;
};
constexpr request::FieldRow<KillCursorsFields> kKillCursorsRows[] = {
    request::Field<&KillCursorsFields::cursors>("cursors", request::Need::kRequired),
};

struct KillCursorsRequest {
  std::string_view collection;
  std::string ns;
  std::vector<int64_t> ids;
};

Result<KillCursorsRequest> ParseKillCursors(Invocation& i) {
  KillCursorsRequest request;
  if (i.body().front().type() == bson::Type::kBinary) {
    return Status(kInvalidNamespace, "collection name has invalid type binData");
  }
  ASSIGN_OR_RETURN(request.collection, request::CollectionName("killCursors", i.body()));
  ASSIGN_OR_RETURN(request.ns, request::Namespace(i.database(), request.collection));
  KillCursorsFields f;
  RETURN_IF_ERROR(
      request::ReadFields<KillCursorsFields>("killCursors", i.body(), true, kKillCursorsRows, &f));
  for (const bson::Element& e : f.cursors.view) {
    if (e.type() == bson::Type::kNull) {
      continue;
    }
    if (e.type() != bson::Type::kInt64) {
      return Status(kTypeMismatch, "BSON field 'killCursors.cursors." + std::string(e.name()) +
                                       "' is the wrong type '" +
                                       std::string(bson::TypeName(e.type())) +
                                       "', expected type 'long'");
    }
    request.ids.push_back(e.value().AsInt64());
  }
  return request;
}

// Everybody closes their own cursors, and those of others by a privilege.
Status StateKillCursors(Invocation& i, const KillCursorsRequest& request, auth::Needs* needs) {
  for (int64_t id : request.ids) {
    std::shared_ptr<run::Cursor> cursor = i.engine.cursors().Find(id);
    if (cursor != nullptr && (cursor->owner == nullptr ||
                              !needs->IsCaller(cursor->owner->user, cursor->owner->database))) {
      needs->AddEither({{{Action::killAnyCursor, auth::Cluster()}},
                        {{Action::killAnyCursor, auth::OfNamespace(cursor->ns)}}});
    }
  }
  return Status::Ok();
}

Status RunKillCursors(Invocation& i, const KillCursorsRequest& request) {
  if (!request.collection.starts_with("$cmd.")) {
    i.call.summary.ns = request.ns;
  }
  std::vector<int64_t> killed;
  std::vector<int64_t> unknown;
  for (int64_t id : request.ids) {
    (i.engine.cursors().Kill(id) ? killed : unknown).push_back(id);
  }
  auto append = [&](std::string_view name, const std::vector<int64_t>& list) {
    i.reply().BeginArray(name);
    for (int64_t id : list) {
      i.reply().Push(id);
    }
    i.reply().End();
  };
  append("cursorsKilled", killed);
  append("cursorsNotFound", unknown);
  append("cursorsAlive", {});
  append("cursorsUnknown", {});
  return Status::Ok();
}

Status RunCount(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::CountRequest::Parse(i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::ReadNamespace(i.database(), request.collection));
  i.call.summary.ns = ns;
  if (i.call.generic.read_concern_level == "snapshot") {
    return {kInvalidOptions, "count does not support read concern level snapshot"};
  }
  ASSIGN_OR_RETURN(int64_t n, engine::Count(i.operation, ns, request, &i.call.summary));
  AppendCount(&i.reply(), "n", n);
  return Status::Ok();
}

Status RunDistinct(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::DistinctRequest::Parse(i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::ReadNamespace(i.database(), request.collection));
  i.call.summary.ns = ns;
  RETURN_IF_ERROR(ApplyQuerySettings(i, i.body(), false));
  RETURN_IF_ERROR(engine::Distinct(i.operation, ns, request, &i.call.summary, &i.reply()));
  i.call.outcome.integer_ok = engine::ReadsAsView(i.engine.catalog().Find(ns).get(), ns);
  if (const auto time = SnapshotTime(i)) {
    i.reply().Append("atClusterTime", *time);
  }
  return Status::Ok();
}

}  // namespace

Result<engine::ShardRowsWish> RouterWish(const Invocation& i) {
  ASSIGN_OR_RETURN(const engine::ShardRowsWish wish, engine::ShardRowsWish::Read(i.call.body));
  if (wish.given && engine::RouterScope::Current() == nullptr) {
    return request::UnknownField(i.call.command.name, wish.partials ? "partialGroup" : "shardRows");
  }
  return wish;
}

Status AppendFirstBatch(Invocation& i, std::shared_ptr<run::Cursor> cursor,
                        std::optional<int64_t> batch_size, bool single_batch) {
  run::FirstBatch first{
      .size = batch_size, .single = single_batch, .at_cluster_time = {}, .needs = i.needs};
  if (const auto time = SnapshotTime(i)) {
    first.at_cluster_time = time;
  }
  return run::AppendFirstBatch(i.engine.cursors(), std::move(cursor), first, i.call);
}

namespace {

// Documents that are there already, as a cursor's source.
class ListSource : public run::RowSource {
 public:
  explicit ListSource(std::vector<bson::Document> documents) : documents_(std::move(documents)) {}
  Result<bool> Next(OpContext&, exec::Row* row) override {
    if (next_ == documents_.size()) {
      return false;
    }
    row->document = documents_[next_++];
    return true;
  }
  Status Refresh(OpContext&) override { return Status::Ok(); }
  Status Check() const override { return Status::Ok(); }
  std::string PlanSummary() const override { return ""; }
  exec::Counters Totals() const override { return {}; }

 private:
  std::vector<bson::Document> documents_;
  size_t next_ = 0;
};

}  // namespace

Status AppendDocuments(Invocation& i, std::string ns, std::vector<bson::Document> documents,
                       std::optional<int64_t> batch_size) {
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = std::move(ns);
  cursor->lsid = i.call.generic.lsid;
  if (i.call.generic.in_transaction()) {
    cursor->txn_number = i.call.generic.txn_number;
  }
  auto count = static_cast<int64_t>(documents.size());
  cursor->source = std::make_unique<ListSource>(std::move(documents));
  int64_t wanted = batch_size.value_or(INT64_MAX);
  if (count <= wanted) {
    wanted = INT64_MAX;  // the end is known with the last document
  }
  return AppendFirstBatch(i, std::move(cursor), wanted, false);
}

std::span<const Row> ReadRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"find", "", kRead | kInTransaction | kReadConcern | kSnapshotRead | kStableApi | kByKey,
        "reads documents", OpKind::kQuery},
       RunFind,
       OnCollection(Action::find)},
      {{"getMore", "",
        kSnapshotRead | kRead | kInTransaction | kStableApi | kOwnTimeLimit | kOnCursor |
            kAdminInTransaction | kOnEveryMember,
        "reads on from a cursor", OpKind::kGetMore},
       RunGetMore,
       kLoggedIn},  // the cursor knows who may: CheckReader
      ParsedRow<ParseKillCursors, StateKillCursors, RunKillCursors>(
          {"killCursors", "",
           kRead | kInTransaction | kStableApi | kOnCursor | kFreesMemory | kAdminInTransaction |
               kOnEveryMember,
           "closes cursors", OpKind::kKillCursors}),
      {{"count", "", kRead | kReadConcern | kStableApi | kByKey, "counts documents"},
       RunCount,
       OnCollection(Action::find)},
      {{"distinct", "", kRead | kInTransaction | kReadConcern | kSnapshotRead | kByKey,
        "lists the values of a field"},
       RunDistinct,
       OnCollection(Action::find)},
  };
  return kRows;
}

}  // namespace quire::command
