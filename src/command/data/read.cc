// SPDX-License-Identifier: Apache-2.0
#include "engine/read/read.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/parsed_row.h"
#include "engine/read/aggregate.h"
#include "request/crud.h"

namespace quire::command {

namespace {

constexpr int64_t kDefaultFirstBatch = 101;

// What this command did with the cursor.
void Summarise(engine::Cursor& cursor, request::Call* call, int64_t returned) {
  exec::Counters totals = cursor.source->Totals();
  call->summary.ns = cursor.ns;
  call->summary.plan = cursor.source->PlanSummary();
  call->summary.keys_examined = totals.keys_examined - cursor.told_keys;
  call->summary.docs_examined = totals.docs_examined - cursor.told_docs;
  cursor.told_keys = totals.keys_examined;
  cursor.told_docs = totals.docs_examined;
  call->summary.returned = returned;
  call->summary.cursor_id = cursor.id();
  call->summary.cursor_exhausted = cursor.exhausted;
}

Status RunFind(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::FindRequest::Parse(i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::ReadNamespace(i.database(), request.collection));
  i.call.summary.ns = ns;
  RETURN_IF_ERROR(ApplyQuerySettings(i, i.body(), false));
  ASSIGN_OR_RETURN(auto cursor, engine::Find(i.operation, ns, request));
  return AppendFirstBatch(i, std::move(cursor), request.batch_size, request.single_batch);
}

// Gives the cursor back to the table however the getMore ends.
class Pinned {
 public:
  Pinned(engine::CursorTable* table, std::shared_ptr<engine::Cursor> cursor)
      : table_(table), cursor_(std::move(cursor)) {}
  ~Pinned() { table_->Unpin(cursor_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  engine::Cursor* operator->() { return cursor_.get(); }
  engine::Cursor& operator*() { return *cursor_; }

 private:
  engine::CursorTable* table_;
  std::shared_ptr<engine::Cursor> cursor_;
};

// Whoever opened a cursor reads it on, as long as they may still do what they were allowed then.
Status CheckReader(Invocation& i, const engine::Cursor& cursor) {
  if (!i.commands.info().access_control) {
    return Status::Ok();
  }
  std::shared_ptr<const Login> login = CurrentLogin(i);
  const bool own = login != nullptr && cursor.owner != nullptr &&
                   cursor.owner->user == login->user && cursor.owner->database == login->database;
  if (!own) {
    return {kUnauthorized, "cursor id " + std::to_string(cursor.id()) +
                               " was not created by the authenticated user"};
  }
  return cursor.needs == nullptr || cursor.needs->MetBy(login->privileges) ? Status::Ok()
                                                                           : Unauthorized(i);
}

Status CheckOwner(const Invocation& i, const engine::Cursor& cursor) {
  std::string_view lsid = i.call.generic.lsid;
  if (cursor.lsid != lsid) {
    std::string who = cursor.lsid.empty() ? "was not created in a session" : "belongs to a session";
    return {50738, "Cannot run getMore on cursor " + std::to_string(cursor.id()) + ", which " +
                       who + " other than the one given"};
  }
  std::optional<int64_t> txn_number;
  if (i.call.generic.in_transaction()) {
    txn_number = i.call.generic.txn_number;
  }
  if (cursor.txn_number != txn_number) {
    return {50741, "Cannot run getMore on cursor " + std::to_string(cursor.id()) +
                       ", which was created in a different transaction"};
  }
  return Status::Ok();
}

// When the patience of an awaiting getMore ends.
std::chrono::steady_clock::time_point PatienceEnd(const Invocation& i) {
  constexpr auto kDefaultAwait = std::chrono::milliseconds(1000);
  if (i.call.request.patience) {
    return *i.call.request.patience;
  }
  return std::chrono::steady_clock::now() +
         (i.call.generic.max_time_ms > 0 ? std::chrono::milliseconds(i.call.generic.max_time_ms)
                                         : kDefaultAwait);
}

// Lets the door wait for the cursor's news; null when they are there already.
std::unique_ptr<request::Waiting> WaitWithoutThread(request::Waker* waker, engine::Cursor& cursor) {
  auto wait = std::make_unique<request::Waiting>();
  auto wake = [waker] { waker->Wake(); };
  wait->listeners.push_back(cursor.source->News()->Listen(wake));
  wait->listeners.push_back(cursor.killed.Listen(wake));
  return cursor.source->HasNews() ? nullptr : std::move(wait);
}

// A thread that waits for a cursor's news.
class WaitingThread {
 public:
  explicit WaitingThread(engine::CursorTable& table)
      : table_(table), few_(table.waiting_threads.fetch_add(1) < kFew) {}
  ~WaitingThread() { table_.waiting_threads.fetch_sub(1); }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;
  // A few may: currentOp and killOp know them. The many others wait without a thread.
  bool few() const { return few_; }

 private:
  static constexpr int kFew = 16;
  engine::CursorTable& table_;
  const bool few_;
};

// Fills the batch; an awaiting tailable cursor that has nothing waits for something, in this thread
// or (call.outcome.wait) without one.
Status FillTailable(Invocation& i, engine::Cursor& cursor, int64_t limit) {
  RETURN_IF_ERROR(cursor.source->Refresh(i.op()));
  RETURN_IF_ERROR(cursor.Fill(i.op(), limit, &i.reply()));
  if (!cursor.await_data || i.reply().pushed() > 0) {
    return Status::Ok();
  }
  const auto deadline = PatienceEnd(i);
  WaitingThread thread(i.engine.cursors());
  request::Waker* waker = cursor.source->News() == nullptr ? nullptr : i.call.request.waker;
  while (i.reply().pushed() == 0 && std::chrono::steady_clock::now() < deadline) {
    if (waker == nullptr || thread.few()) {
      cursor.source->Await(i.op(), deadline);
    } else if (auto wait = WaitWithoutThread(waker, cursor)) {
      wait->until = deadline;
      i.call.outcome.wait = std::move(wait);
      return Status::Ok();
    }
    RETURN_IF_ERROR(i.op().CheckInterruptNow());
    RETURN_IF_ERROR(cursor.source->Check());
    RETURN_IF_ERROR(cursor.source->Refresh(i.op()));
    RETURN_IF_ERROR(cursor.Fill(i.op(), limit, &i.reply()));
  }
  return Status::Ok();
}

// The batches of a cursor share the time of the command that made it; the time it waits for news
// has a bound of its own.
void KeepTimeLeft(const OpContext& op, engine::Cursor* cursor) {
  if (op.has_deadline() && !cursor->await_data) {
    cursor->time_left =
        std::max(op.deadline() - OpContext::Clock::now(), OpContext::Clock::duration(0));
  }
}

// What stands between the batch and the cursor's id.
void AppendCursorFields(const engine::Cursor& cursor, bson::Builder* out) {
  cursor.source->AppendFields(out);
  if (cursor.at_cluster_time) {
    out->Append("atClusterTime", *cursor.at_cluster_time);
  }
}

// Whether the getMore may read this cursor.
Status CheckCursor(Invocation& i, const std::string& ns, const engine::Cursor& cursor) {
  if (cursor.ns != ns) {
    return {kUnauthorized, "Requested getMore on namespace '" + ns +
                               "', but cursor belongs to a different namespace " + cursor.ns};
  }
  RETURN_IF_ERROR(CheckReader(i, cursor));
  RETURN_IF_ERROR(CheckOwner(i, cursor));
  bson::Value patience = i.body()["maxTimeMS"];
  if (!patience.missing() && !patience.nullish() && !cursor.await_data) {
    return {kBadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor"};
  }
  return Status::Ok();
}

// Writes the next batch.
Status FillNext(Invocation& i, engine::Cursor& cursor, int64_t limit) {
  FailPoints& fail_points = i.commands.fail_points();
  RETURN_IF_ERROR(fail_points.MeetCheckout(i.call));
  RETURN_IF_ERROR(cursor.source->Check());
  if (cursor.time_left) {
    i.op().SetDeadline(OpContext::Clock::now() + *cursor.time_left);
    RETURN_IF_ERROR(fail_points.MeetTimeLimit(i.op()));
    RETURN_IF_ERROR(i.op().CheckInterruptNow());
  }
  i.reply().BeginDocument("cursor").BeginArray("nextBatch");
  return cursor.tailable ? FillTailable(i, cursor, limit) : cursor.Fill(i.op(), limit, &i.reply());
}

Status RunGetMore(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::GetMoreRequest::Parse(i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), request.collection));
  engine::CursorTable& table = i.engine.cursors();
  ASSIGN_OR_RETURN(auto found, table.Pin(request.cursor_id, &i.op()));
  Pinned cursor(&table, std::move(found));
  RETURN_IF_ERROR(CheckCursor(i, ns, *cursor));
  Status filled = FillNext(i, *cursor, request.batch_size.value_or(0));
  if (!filled.ok()) {
    cursor->exhausted = true;
    i.call.summary.originating = cursor->command;
    return filled;
  }
  auto returned = static_cast<int64_t>(i.reply().pushed());
  i.reply().End();
  if (i.call.outcome.wait != nullptr) {  // nobody will see this reply
    i.reply().End();
    cursor->source->Rest();
    return Status::Ok();
  }
  KeepTimeLeft(i.op(), &*cursor);
  AppendCursorFields(*cursor, &i.reply());
  i.reply().Append("id", cursor->exhausted ? int64_t{0} : cursor->id()).Append("ns", ns).End();
  i.engine.metrics.returned += returned;
  Summarise(*cursor, &i.call, returned);
  if (i.call.summary.profiled) {
    i.call.summary.originating = cursor->command;
  }
  cursor->source->Rest();
  if (i.call.request.exhaust_allowed && !cursor->exhausted) {
    i.call.outcome.more_to_come = true;
    i.call.outcome.next = bson::Document(i.body());
  }
  return Status::Ok();
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
    std::shared_ptr<engine::Cursor> cursor = i.engine.cursors().Find(id);
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
  if (i.operation.snapshot != nullptr) {
    i.reply().Append("atClusterTime", i.operation.snapshot->time);
  }
  return Status::Ok();
}

}  // namespace

Status AppendFirstBatch(Invocation& i, std::shared_ptr<engine::Cursor> cursor,
                        std::optional<int64_t> batch_size, bool single_batch) {
  i.reply().BeginDocument("cursor").BeginArray("firstBatch");
  int64_t limit = batch_size.value_or(kDefaultFirstBatch);
  if (limit > 0) {
    RETURN_IF_ERROR(cursor->Fill(i.op(), limit, &i.reply()));
  }
  auto returned = static_cast<int64_t>(i.reply().pushed());
  i.reply().End();
  if (i.operation.snapshot != nullptr) {
    cursor->at_cluster_time = i.operation.snapshot->time;
  }
  AppendCursorFields(*cursor, &i.reply());
  std::string ns = cursor->ns;
  Summarise(*cursor, &i.call, returned);
  i.engine.metrics.returned += returned;
  bool keep = !cursor->exhausted && !single_batch;
  if (keep) {
    cursor->owner = i.call.identity;
    cursor->needs = i.needs;
    cursor->command = engine::KeptCommand(i.body());
    KeepTimeLeft(i.op(), cursor.get());
    cursor->source->Rest();
  }
  if (keep) {
    ASSIGN_OR_RETURN(i.call.summary.cursor_id, i.engine.cursors().Add(std::move(cursor)));
  }
  i.reply().Append("id", i.call.summary.cursor_id);
  i.reply().Append("ns", ns).End();
  return Status::Ok();
}

namespace {

// Documents that are there already, as a cursor's source.
class ListSource : public engine::RowSource {
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
  void Await(OpContext&, std::chrono::steady_clock::time_point) override {}
  Status Check() const override { return Status::Ok(); }
  std::string PlanSummary() const override { return ""; }
  exec::Counters Totals() const override { return {}; }
  void AppendFields(bson::Builder*) const override {}

 private:
  std::vector<bson::Document> documents_;
  size_t next_ = 0;
};

}  // namespace

Status AppendDocuments(Invocation& i, std::string ns, std::vector<bson::Document> documents,
                       std::optional<int64_t> batch_size) {
  auto cursor = std::make_shared<engine::Cursor>();
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
      {{"find", "", kRead | kInTransaction | kReadConcern | kSnapshotRead | kStableApi,
        "reads documents"},
       RunFind,
       OnCollection(Action::find)},
      {{"getMore", "", kSnapshotRead | kRead | kInTransaction | kStableApi,
        "reads on from a cursor"},
       RunGetMore,
       kLoggedIn},  // the cursor knows who may: CheckReader
      ParsedRow<ParseKillCursors, StateKillCursors, RunKillCursors>(
          {"killCursors", "", kRead | kInTransaction | kStableApi, "closes cursors"}),
      {{"count", "", kRead | kReadConcern | kStableApi, "counts documents"},
       RunCount,
       OnCollection(Action::find)},
      {{"distinct", "", kRead | kInTransaction | kReadConcern | kSnapshotRead,
        "lists the values of a field"},
       RunDistinct,
       OnCollection(Action::find)},
  };
  return kRows;
}

}  // namespace quire::command
