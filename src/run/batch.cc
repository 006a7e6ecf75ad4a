// SPDX-License-Identifier: Apache-2.0
#include "run/batch.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/crud.h"

namespace quire::run {

namespace {

using Clock = std::chrono::steady_clock;
using request::Call;

constexpr int64_t kDefaultFirstBatch = 101;

// What this command did with the cursor.
void Summarise(Cursor& cursor, Call* call, int64_t returned) {
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

// The batches of a cursor share the time of the command that made it; the time it waits for news
// has a bound of its own.
void KeepTimeLeft(const OpContext& op, Cursor* cursor) {
  if (op.has_deadline() && !cursor->await_data) {
    cursor->time_left =
        std::max(op.deadline() - OpContext::Clock::now(), OpContext::Clock::duration(0));
  }
}

// What stands between the batch and the cursor's id.
void AppendCursorFields(const Cursor& cursor, bson::Builder* out) {
  cursor.source->AppendFields(out);
  if (cursor.at_cluster_time) {
    out->Append("atClusterTime", *cursor.at_cluster_time);
  }
}

// A cursor taken from the table, which gets it back however the getMore ends.
class Pinned {
 public:
  Pinned(CursorTable* table, std::shared_ptr<Cursor> cursor)
      : table_(table), cursor_(std::move(cursor)) {}
  Pinned(Pinned&& other) noexcept = default;
  ~Pinned() {
    if (cursor_ != nullptr) {
      table_->Unpin(cursor_);
    }
  }
  Cursor* operator->() const { return cursor_.get(); }
  Cursor& operator*() const { return *cursor_; }

 private:
  CursorTable* table_;
  std::shared_ptr<Cursor> cursor_;
};

// A batch that is being filled.
struct Batch {
  CursorTable& cursors;
  Pinned cursor;
  int64_t limit;
};

Status CheckOwner(const Call& call, const Cursor& cursor) {
  if (cursor.lsid != call.generic.lsid) {
    std::string who = cursor.lsid.empty() ? "was not created in a session" : "belongs to a session";
    return {50738, "Cannot run getMore on cursor " + std::to_string(cursor.id()) + ", which " +
                       who + " other than the one given"};
  }
  std::optional<int64_t> txn_number;
  if (call.generic.in_transaction()) {
    txn_number = call.generic.txn_number;
  }
  if (cursor.txn_number != txn_number) {
    return {50741, "Cannot run getMore on cursor " + std::to_string(cursor.id()) +
                       ", which was created in a different transaction"};
  }
  return Status::Ok();
}

// Whether the getMore may read this cursor.
Status CheckCursor(const Call& call, const std::string& ns, const Cursor& cursor,
                   const std::function<Status(const Cursor&)>& may_read) {
  if (cursor.ns != ns) {
    return {kUnauthorized, "Requested getMore on namespace '" + ns +
                               "', but cursor belongs to a different namespace " + cursor.ns};
  }
  RETURN_IF_ERROR(may_read(cursor));
  RETURN_IF_ERROR(CheckOwner(call, cursor));
  bson::Value patience = call.body["maxTimeMS"];
  if (!patience.missing() && !patience.nullish() && !cursor.await_data) {
    return {kBadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor"};
  }
  return Status::Ok();
}

// Ends the reply of a getMore.
Status EndBatch(Batch& batch, Call& call) {
  Cursor& cursor = *batch.cursor;
  const auto returned = static_cast<int64_t>(call.reply.pushed());
  call.reply.End();
  KeepTimeLeft(call.op, &cursor);
  AppendCursorFields(cursor, &call.reply);
  call.reply.Append("id", cursor.exhausted ? int64_t{0} : cursor.id());
  call.reply.Append("ns", cursor.ns).End();
  batch.cursors.returned += returned;
  Summarise(cursor, &call, returned);
  if (call.summary.profiled) {
    call.summary.originating = cursor.command;
  }
  cursor.source->Rest();
  if (call.request->exhaust_allowed && !cursor.exhausted) {
    call.outcome.more_to_come = true;
    call.outcome.next = bson::Document(call.body);
  }
  return Status::Ok();
}

// A getMore that failed ends its cursor.
Status FailBatch(Batch& batch, const Status& why, Call& call) {
  batch.cursor->exhausted = true;
  call.summary.originating = batch.cursor->command;
  return why;
}

// What the cursor has now, of what was written since it had no more.
Status FillWithNews(Batch& batch, Call& call) {
  RETURN_IF_ERROR(batch.cursor->source->Refresh(call.op));
  return batch.cursor->Fill(call.op, batch.limit, &call.reply);
}

Status EndOrAwait(Batch batch, Clock::time_point until, Call& call);

// An awaiting cursor that has nothing. It stays pinned, and the reply open in its batch.
class AwaitNews : public request::Suspension {
 public:
  AwaitNews(Batch batch, Clock::time_point end) : batch_(std::move(batch)) {
    until = end;
    idle = true;
  }

  bool Listen(request::Waker* waker) override {
    auto wake = [waker] { waker->Wake(); };
    listeners_.push_back(batch_.cursor->source->News()->Listen(wake));
    listeners_.push_back(batch_.cursor->killed.Listen(wake));
    return !batch_.cursor->source->HasNews();
  }

  Status Resume(Call& call) override {
    Status filled = call.op.CheckInterruptNow();
    if (filled.ok()) {
      filled = batch_.cursor->source->Check();
    }
    if (filled.ok()) {
      filled = FillWithNews(batch_, call);
    }
    return filled.ok() ? EndOrAwait(std::move(batch_), until, call)
                       : FailBatch(batch_, filled, call);
  }

 private:
  Batch batch_;
  std::vector<std::unique_ptr<Bell::Listener>> listeners_;
};

Status EndOrAwait(Batch batch, Clock::time_point until, Call& call) {
  if (call.reply.pushed() > 0 || batch.cursor->exhausted ||
      batch.cursor->source->News() == nullptr || Clock::now() >= until) {
    return EndBatch(batch, call);
  }
  batch.cursor->source->Rest();
  call.suspension = std::make_unique<AwaitNews>(std::move(batch), until);
  return Status::Ok();
}

// Begins the batch and writes what there is.
Status FillNext(Batch& batch, FailPoints& fail_points, Call& call) {
  Cursor& cursor = *batch.cursor;
  RETURN_IF_ERROR(fail_points.MeetCheckout(call));
  RETURN_IF_ERROR(cursor.source->Check());
  if (cursor.time_left) {
    call.op.SetDeadline(OpContext::Clock::now() + *cursor.time_left);
    RETURN_IF_ERROR(fail_points.MeetTimeLimit(call.op));
    RETURN_IF_ERROR(call.op.CheckInterruptNow());
  }
  call.reply.BeginDocument("cursor").BeginArray("nextBatch");
  return cursor.tailable ? FillWithNews(batch, call)
                         : cursor.Fill(call.op, batch.limit, &call.reply);
}

}  // namespace

Status AppendFirstBatch(CursorTable& cursors, std::shared_ptr<Cursor> cursor,
                        const FirstBatch& first, Call& call) {
  call.reply.BeginDocument("cursor").BeginArray("firstBatch");
  const int64_t limit = first.size.value_or(kDefaultFirstBatch);
  if (limit > 0) {
    RETURN_IF_ERROR(cursor->Fill(call.op, limit, &call.reply));
  }
  const auto returned = static_cast<int64_t>(call.reply.pushed());
  call.reply.End();
  if (first.at_cluster_time) {
    cursor->at_cluster_time = first.at_cluster_time;
  }
  AppendCursorFields(*cursor, &call.reply);
  const std::string ns = cursor->ns;
  Summarise(*cursor, &call, returned);
  cursors.returned += returned;
  if (!cursor->exhausted && !first.single) {
    cursor->owner = call.identity;
    cursor->needs = first.needs;
    cursor->command = KeptCommand(call.body);
    KeepTimeLeft(call.op, cursor.get());
    cursor->source->Rest();
    ASSIGN_OR_RETURN(call.summary.cursor_id, cursors.Add(std::move(cursor)));
  }
  call.reply.Append("id", call.summary.cursor_id).Append("ns", ns).End();
  return Status::Ok();
}

Status RunGetMore(CursorTable& cursors, FailPoints& fail_points, Call& call,
                  const std::function<Status(const Cursor&)>& may_read) {
  constexpr auto kDefaultAwait = std::chrono::milliseconds(1000);
  ASSIGN_OR_RETURN(auto request, request::GetMoreRequest::Parse(call.body));
  ASSIGN_OR_RETURN(const std::string ns, request::Namespace(call.database, request.collection));
  ASSIGN_OR_RETURN(auto found, cursors.Pin(request.cursor_id, &call.op));
  Batch batch{cursors, Pinned(&cursors, std::move(found)), request.batch_size.value_or(0)};
  RETURN_IF_ERROR(CheckCursor(call, ns, *batch.cursor, may_read));
  if (Status filled = FillNext(batch, fail_points, call); !filled.ok()) {
    return FailBatch(batch, filled, call);
  }
  if (!batch.cursor->await_data) {
    return EndBatch(batch, call);
  }
  const std::chrono::milliseconds wanted(call.generic.max_time_ms);
  return EndOrAwait(std::move(batch), Clock::now() + (wanted.count() > 0 ? wanted : kDefaultAwait),
                    call);
}

}  // namespace quire::run
