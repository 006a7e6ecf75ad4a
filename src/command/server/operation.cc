// SPDX-License-Identifier: Apache-2.0
//
// currentOp and killOp.
#include <chrono>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "command/parsed_row.h"
#include "expr/match/match.h"
#include "request/fields.h"
#include "run/profile_entry.h"
#include "run/redact.h"

namespace quire::command {
namespace {

std::string NamespaceOf(const request::Call& call) {
  std::string ns(call.database);
  bson::Value target = call.body.front().value();
  return ns + "." + (target.is_string() ? std::string(target.AsString()) : "$cmd");
}

// Of a getMore: the cursor it reads. Null when there is none.
std::shared_ptr<run::Cursor> CursorOf(Commands& commands, const request::Call& call) {
  if (call.command.kind == request::OpKind::kGetMore &&
      call.body.front().type() == bson::Type::kInt64) {
    return commands.engine().cursors().Find(call.body.front().value().AsInt64());
  }
  return nullptr;
}

void AppendCursor(const run::Cursor& cursor, const request::Call& call, bson::Builder* out) {
  out->BeginDocument("cursor")
      .Append("cursorId", cursor.id())
      .Append("tailable", cursor.tailable)
      .Append("awaitData", cursor.await_data)
      .Append("originatingCommand", run::ShownCommand(cursor.command).view())
      .Append("operationUsingCursorId", static_cast<int64_t>(call.client.id()))
      .End();
}

// The command as $truncateOps shows a long one: its text cut off, the comment beside it.
void AppendCommand(bson::View given, bool truncate, bson::Builder* out) {
  constexpr size_t kMostBytes = 1024;
  const run::ShownCommand shown(given);
  const bson::View command = shown.view();
  if (!truncate || command.size() <= kMostBytes) {
    out->Append("command", command);
    return;
  }
  out->BeginDocument("command").Append("$truncated", bson::ToJson(command).substr(0, kMostBytes));
  if (bson::Element comment = command.Find("comment"); comment.present()) {
    out->Append(comment);
  }
  out->End();
}

void AppendUser(std::string_view field, const request::Identity& user, bson::Builder* out) {
  out->BeginArray(field);
  out->PushDocument().Append("user", user.user).Append("db", user.database);
  out->End().End();
}

bson::Document Describe(Commands& commands, const run::RunningOp& op, bool truncate) {
  const request::Call& call = *op.call;
  auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
                    std::chrono::steady_clock::now() - op.started)
                    .count();
  bson::Builder out;
  out.Append("type", "op")
      .Append("host", commands.info().host)
      .Append("desc", "conn" + std::to_string(call.client.id()))
      .Append("connectionId", static_cast<int32_t>(call.client.id()))
      .Append("client", call.client.remote());
  // A handshake may be writing it just now; whatever its client runs later comes after that.
  const bool settled = (call.command.flags & request::kHandshake) == 0;
  if (settled && call.client.has_metadata) {
    bson::Value application = call.client.metadata["application"];
    if (application.is_document()) {
      out.Append("appName", application.AsDocument()["name"]);
    }
    out.Append("clientMetadata", call.client.metadata);
  }
  out.Append("active", true).Append("currentOpTime", WallClock());
  if (call.identity != nullptr) {
    AppendUser("effectiveUsers", *call.identity, &out);
    if (const request::Identity* by = call.client.identity.get();
        by != nullptr && by->digest != call.identity->digest) {
      AppendUser("runBy", *by, &out);
    }
  }
  if (!call.generic.lsid.empty()) {
    request::AppendSession("lsid", call.generic.lsid, &out);
  }
  out.Append("threaded", true)
      .Append("opid", static_cast<int32_t>(op.id))
      .Append("secs_running", static_cast<int64_t>(micros / 1'000'000))
      .Append("microsecs_running", static_cast<int64_t>(micros))
      .Append("op", run::KindName(call.command.kind))
      .Append("ns", NamespaceOf(call))
      .Append("redacted", false);
  if (auto cursor = CursorOf(commands, call)) {
    bson::Document commented = run::WithComment(call.body, cursor->command);
    AppendCommand(commented, truncate, &out);
    AppendCursor(*cursor, call, &out);
  } else {
    AppendCommand(call.body, truncate, &out);
  }
  out.Append("numYields", 0).Append("waitingForLock", false).Append("waitingForFlowControl", false);
  if (auto progress = commands.engine().catalog().builds().Of(*op.op)) {
    int64_t percent = progress->total > 0 ? progress->done * 100 / progress->total : 0;
    std::string phase = "Index Build: " + progress->phase;
    out.Append("msg", phase + " " + phase + ": " + std::to_string(progress->done) + "/" +
                          std::to_string(progress->total) + " " + std::to_string(percent) + "%");
    out.BeginDocument("progress").Append("done", progress->done).Append("total", progress->total);
    out.End();
  }
  if (op.op->killed()) {
    out.Append("killPending", true);
  }
  return out.Finish();
}

// The fields of the command that filter the list rather than shape it.
bson::Document FilterOf(bson::View body) {
  bson::Builder filter;
  bool first = true;
  for (const bson::Element& e : body) {
    bool shapes = first || e.name() == "$all" || e.name() == "$ownOps" ||
                  e.name() == "$truncateOps" || request::IsGenericField(e.name());
    first = false;
    if (!shapes) {
      filter.Append(e);
    }
  }
  return filter.Finish();
}

bool Switch(bson::View spec, std::string_view name, bool otherwise) {
  bson::Value value = spec[name];
  return value.type() == bson::Type::kBool ? value.AsBool() : otherwise;
}

bson::Document IdleCursor(Commands& commands, const run::Cursor& cursor) {
  bson::Builder out;
  out.Append("type", "idleCursor").Append("host", commands.engine().host).Append("ns", cursor.ns);
  if (!cursor.lsid.empty()) {
    request::AppendSession("lsid", cursor.lsid, &out);
  }
  out.BeginDocument("cursor")
      .Append("cursorId", cursor.id())
      .Append("nDocsReturned", cursor.returned)
      .Append("noCursorTimeout", cursor.no_timeout)
      .Append("tailable", cursor.tailable)
      .Append("awaitData", cursor.await_data)
      .Append("originatingCommand", run::ShownCommand(cursor.command).view())
      .End();
  return out.Finish();
}

// A session between two statements of its transaction; empty when it is in use or has none.
bson::Document IdleSession(Commands& commands, engine::Session& session) {
  const run::Checkout checkout = run::Checkout::Try(&session);
  if (!checkout || session.state() != engine::Session::State::kInProgress) {
    return bson::Document();
  }
  bson::Builder out;
  out.Append("type", "idleSession")
      .Append("host", commands.engine().host)
      .Append("desc", "inactive transaction")
      .Append("active", false);
  request::AppendSession("lsid", session.lsid, &out);
  out.BeginDocument("transaction").BeginDocument("parameters");
  out.Append("txnNumber", session.txn_number()).Append("autocommit", false).End().End();
  out.Append("waitingForLock", false);
  return out.Finish();
}

// Whether it belongs to `owner`; null: to anybody.
bool IsOf(const request::Identity* whose, const request::Identity* owner) {
  return owner == nullptr || (whose != nullptr && whose->digest == owner->digest);
}

// The thread that expires documents, cursors and sessions: a connection of nobody.
bson::Document IdleThread(Commands& commands) {
  bson::Builder out;
  out.Append("type", "op")
      .Append("host", commands.engine().host)
      .Append("desc", "TTLMonitor")
      .Append("active", false)
      .Append("currentOpTime", WallClock())
      .Append("threaded", true)
      .Append("op", "none")
      .Append("ns", "")
      .BeginDocument("command")
      .End()
      .Append("numYields", 0)
      .Append("waitingForLock", false)
      .Append("waitingForFlowControl", false);
  return out.Finish();
}

// Everybody sees what is their own.
Status StateCurrentOp(Invocation& i, auth::Needs* needs) {
  if (!Truthy(i.body()["$ownOps"])) {
    needs->Add(Action::inprog, auth::Cluster());
  }
  return Status::Ok();
}

Status RunCurrentOp(Invocation& i) {
  bson::Document spec = FilterOf(i.body());
  expr::Context context;
  RETURN_IF_ERROR(engine::FillContext(i.operation, bson::View(), &context));
  ASSIGN_OR_RETURN(auto filter, expr::match::Filter::Parse(spec.view(), &context,
                                                           expr::match::Allowed::InMatchStage()));
  bson::Builder options;
  options.Append("truncateOps", Truthy(i.body()["$truncateOps"]))
      .Append("idleConnections", Truthy(i.body()["$all"]));
  bson::Document wanted = options.Finish();
  i.reply().BeginArray("inprog");
  const request::Identity* owner = Truthy(i.body()["$ownOps"]) ? i.call.identity.get() : nullptr;
  for (const bson::Document& op : CurrentOperations(i.commands, wanted, owner)) {
    ASSIGN_OR_RETURN(bool matches, filter->Matches(op.view()));
    if (matches) {
      i.reply().Push(op.view());
    }
  }
  i.reply().End();
  if (i.commands.write_gate().locked()) {
    i.reply()
        .Append("fsyncLock", true)
        .Append("info", "use db.fsyncUnlock() to terminate the fsync write/snapshot lock");
  }
  return Status::Ok();
}

// Nothing: an operation of a shard ("shard:id"), which a router asks to end.
Result<std::optional<int64_t>> ParseKillOp(Invocation& i) {
  bson::Element op = i.body().Find("op");
  if (!op.present()) {
    return Status(kNoSuchKey, "Missing expected field \"op\"");
  }
  bson::Value value = op.value();
  if (value.is_string() && i.commands.info().router) {
    return std::optional<int64_t>();
  }
  if (!value.is_number()) {
    return Status(kTypeMismatch, "Expected field \"op\" to have numeric type, but found " +
                                     std::string(bson::TypeName(value.type())));
  }
  auto id = bson::ExactInt64(value);
  if (!id) {
    return Status(kBadValue,
                  "Expected field \"op\" to have a value exactly representable as a 64-bit "
                  "integer");
  }
  if (*id > INT32_MAX || *id < INT32_MIN) {
    return Status(26823, "invalid op : " + std::to_string(*id) +
                             ". Op ID cannot be represented with 32 bits");
  }
  return id;
}

// Everybody ends what is their own here.
Status StateKillOp(Invocation& i, const std::optional<int64_t>& id, auth::Needs* needs) {
  bool own = false;
  i.commands.operations().ForEach([&](const run::RunningOp& op) {
    own = own || (op.id == id && op.call->identity != nullptr &&
                  needs->IsCaller(op.call->identity->user, op.call->identity->database));
  });
  if (!own) {
    needs->Add(Action::killop, auth::Cluster());
  }
  return Status::Ok();
}

Status RunKillOp(Invocation& i, const std::optional<int64_t>& id) {
  i.commands.operations().Kill(id.value_or(0), kInterrupted);
  i.reply().Append("info", "attempting to kill op");
  return Status::Ok();
}

}  // namespace

std::vector<bson::Document> CurrentOperations(Commands& commands, bson::View spec,
                                              const request::Identity* owner) {
  std::vector<bson::Document> all;
  bool truncate = Switch(spec, "truncateOps", false);
  commands.operations().ForEach([&](const run::RunningOp& op) {
    if (IsOf(op.call->identity.get(), owner)) {
      all.push_back(Describe(commands, op, truncate));
    }
  });
  if (Switch(spec, "idleConnections", false) && owner == nullptr) {
    all.push_back(IdleThread(commands));
  }
  if (Switch(spec, "idleCursors", false)) {
    commands.engine().cursors().ForEachIdle([&](const run::Cursor& cursor) {
      if (IsOf(cursor.owner.get(), owner)) {
        all.push_back(IdleCursor(commands, cursor));
      }
    });
  }
  if (Switch(spec, "idleSessions", true)) {
    for (const auto& session : commands.engine().sessions().All()) {
      if (owner != nullptr && session->owner() != owner->digest) {
        continue;
      }
      bson::Document idle = IdleSession(commands, static_cast<engine::Session&>(*session));
      if (!idle.view().empty()) {
        all.push_back(std::move(idle));
      }
    }
  }
  return all;
}

std::span<const Row> OperationRows() {
  using request::kAdminOnly;
  static constexpr Row kRows[] = {
      {{"currentOp", "", kAdminOnly | request::kToShards, "operations under way"},
       RunCurrentOp,
       Stated(StateCurrentOp)},
      ParsedRow<ParseKillOp, StateKillOp, RunKillOp>(
          {"killOp", "", kAdminOnly | request::kToShards, "ends an operation"}),
  };
  return kRows;
}

}  // namespace quire::command
