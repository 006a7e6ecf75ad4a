// SPDX-License-Identifier: Apache-2.0
#include "run/batch.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/crud.h"
#include "request/cursor_reply.h"

namespace quire::run {

namespace {

using Clock = std::chrono::steady_clock;
using request::Call;
using request::CursorReply;

constexpr int64_t kDefaultFirstBatch = 101;
constexpr std::string_view kLinearizable = "linearizable";

// Whether the command that made it asked for that.
bool IsLinearizable(const Cursor& cursor) {
  const bson::Value concern = cursor.command.view()["readConcern"];
  if (!concern.is_document()) {
    return false;
  }
  const bson::Value level = concern.AsDocument()["level"];
  return level.is_string() && level.AsString() == kLinearizable;
}

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

// What the reply says of the cursor behind its batch.
request::CursorReply ReplyOf(const Cursor& cursor) {
  return {.post_batch_resume_token = cursor.source->ResumeToken(),
          .stream = cursor.source->StreamState(),
          .at_cluster_time = cursor.at_cluster_time,
          .id = cursor.exhausted ? int64_t{0} : cursor.id(),
          .ns = cursor.ns};
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
  const std::shared_ptr<Cursor>& get() const { return cursor_; }
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
  bson::Value await = call.body["maxTimeMS"];
  if (!await.missing() && !await.nullish() && !cursor.await_data) {
    return {kBadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor"};
  }
  return Status::Ok();
}

// Ends the reply of a getMore.
Status EndBatch(Batch& batch, Call& call) {
  Cursor& cursor = *batch.cursor;
  const auto returned = static_cast<int64_t>(call.reply.pushed());
  KeepTimeLeft(call.op, &cursor);
  ReplyOf(cursor).End(&call.reply);
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

// Lets the call wait for rows that are on their way to the cursor, whose batch is open in the
// reply, until it is filled or has failed; `end` goes on from there.
using Filled = std::function<Status(Status filled, Call& call)>;
Status FillThen(std::shared_ptr<Cursor> cursor, int64_t limit, Call& call, Filled end);

class AwaitRows : public request::Suspension {
 public:
  AwaitRows(std::shared_ptr<Cursor> cursor, int64_t limit, Filled end)
      : cursor_(std::move(cursor)), limit_(limit), end_(std::move(end)) {}

  bool Listen(request::Waker* waker) override {
    auto wake = [waker] { waker->Wake(); };
    listeners_.push_back(cursor_->source->News()->Listen(wake));
    listeners_.push_back(cursor_->killed.Listen(wake));
    return !cursor_->source->HasNews();
  }

  Status Resume(Call& call) override {
    if (Status interrupted = call.op.CheckInterruptNow(); !interrupted.ok()) {
      return end_(std::move(interrupted), call);
    }
    return FillThen(std::move(cursor_), limit_, call, std::move(end_));
  }

 private:
  std::shared_ptr<Cursor> cursor_;
  int64_t limit_;
  Filled end_;
  std::vector<std::unique_ptr<Bell::Listener>> listeners_;
};

Status FillThen(std::shared_ptr<Cursor> cursor, int64_t limit, Call& call, Filled end) {
  Status filled = cursor->Fill(call.op, limit, &call.reply);
  if (!filled.ok() || !cursor->Awaits()) {
    return end(std::move(filled), call);
  }
  call.suspension = std::make_unique<AwaitRows>(std::move(cursor), limit, std::move(end));
  return Status::Ok();
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
    listeners_.push_back(batch_.cursor->wanted.Listen(wake));
    return !batch_.cursor->source->HasNews() && !batch_.cursor->HasReached();
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
  if (call.reply.pushed() > 0 || batch.cursor->exhausted || batch.cursor->TakeReached() ||
      batch.cursor->source->News() == nullptr || Clock::now() >= until) {
    return EndBatch(batch, call);
  }
  batch.cursor->source->Rest();
  call.suspension = std::make_unique<AwaitNews>(std::move(batch), until);
  return Status::Ok();
}

// Begins the batch.
Status BeginNext(Batch& batch, FailPoints& fail_points, Call& call) {
  Cursor& cursor = *batch.cursor;
  RETURN_IF_ERROR(fail_points.MeetCheckout(call));
  RETURN_IF_ERROR(cursor.source->Check());
  if (cursor.time_left) {
    call.op.SetDeadline(OpContext::Clock::now() + *cursor.time_left);
    RETURN_IF_ERROR(fail_points.MeetTimeLimit(call.op));
    RETURN_IF_ERROR(call.op.CheckInterruptNow());
  }
  CursorReply::Begin(request::BatchKind::kNext, &call.reply);
  return Status::Ok();
}

// Fills it with what there is now.
Status FillNow(Batch batch, Clock::time_point until, Call& call) {
  if (Status filled = FillWithNews(batch, call); !filled.ok()) {
    return FailBatch(batch, filled, call);
  }
  return EndOrAwait(std::move(batch), until, call);
}

// Ends the first batch, and keeps the cursor when there is more.
Status EndFirst(CursorTable& cursors, std::shared_ptr<Cursor> cursor, const FirstBatch& first,
                Call& call) {
  const auto returned = static_cast<int64_t>(call.reply.pushed());
  if (first.at_cluster_time) {
    cursor->at_cluster_time = first.at_cluster_time;
  }
  CursorReply reply = ReplyOf(*cursor);
  reply.partial = first.partial;
  const std::string ns = cursor->ns;
  Summarise(*cursor, &call, returned);
  cursors.returned += returned;
  if (!cursor->exhausted && !first.single) {
    cursor->owner = call.identity;
    cursor->lsid = call.generic.lsid;
    cursor->needs = first.needs;
    cursor->command = KeptCommand(call.body);
    cursor->command_size = call.body.size();
    KeepTimeLeft(call.op, cursor.get());
    cursor->source->Rest();
    ASSIGN_OR_RETURN(call.summary.cursor_id, cursors.Add(std::move(cursor)));
  }
  reply.id = call.summary.cursor_id;
  reply.ns = ns;
  reply.End(&call.reply);
  return Status::Ok();
}

}  // namespace

Status AppendFirstBatch(CursorTable& cursors, std::shared_ptr<Cursor> cursor,
                        const FirstBatch& first, Call& call) {
  CursorReply::Begin(request::BatchKind::kFirst, &call.reply);
  const int64_t limit = first.size.value_or(kDefaultFirstBatch);
  if (limit == 0) {
    return EndFirst(cursors, std::move(cursor), first, call);
  }
  return FillThen(cursor, limit, call, [&cursors, cursor, first](Status filled, Call& own) {
    return filled.ok() ? EndFirst(cursors, cursor, first, own) : filled;
  });
}

Status RunGetMore(CursorTable& cursors, FailPoints& fail_points, Call& call,
                  const std::function<Status(const Cursor&)>& may_read) {
  constexpr auto kDefaultAwait = std::chrono::milliseconds(1000);
  ASSIGN_OR_RETURN(auto request, request::GetMoreRequest::Parse(call.body));
  ASSIGN_OR_RETURN(const std::string ns, request::Namespace(call.database, request.collection));
  ASSIGN_OR_RETURN(auto found, cursors.Pin(request.cursor_id, &call.op));
  Batch batch{cursors, Pinned(&cursors, std::move(found)), request.batch_size.value_or(0)};
  RETURN_IF_ERROR(CheckCursor(call, ns, *batch.cursor, may_read));
  if (IsLinearizable(*batch.cursor)) {
    call.generic.read_concern_level = kLinearizable;  // every batch is confirmed before it is told
  }
  if (Status begun = BeginNext(batch, fail_points, call); !begun.ok()) {
    return FailBatch(batch, begun, call);
  }
  if (batch.cursor->tailable && !batch.cursor->await_data) {
    if (Status refreshed = batch.cursor->source->Refresh(call.op); !refreshed.ok()) {
      return FailBatch(batch, refreshed, call);
    }
  } else if (batch.cursor->tailable) {
    const std::chrono::milliseconds wanted(call.generic.max_time_ms);
    return FillNow(std::move(batch), Clock::now() + (wanted.count() > 0 ? wanted : kDefaultAwait),
                   call);
  }
  const std::shared_ptr<Cursor> cursor = batch.cursor.get();
  const int64_t limit = batch.limit;
  auto kept = std::make_shared<Batch>(std::move(batch));
  return FillThen(cursor, limit, call, [kept](const Status& filled, Call& own) {
    return filled.ok() ? EndBatch(*kept, own) : FailBatch(*kept, filled, own);
  });
}

}  // namespace quire::run
