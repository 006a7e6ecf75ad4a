// SPDX-License-Identifier: Apache-2.0
#include "run/profile_entry.h"

#include <memory>
#include <string>
#include <string_view>

#include "request/crud.h"
#include "request/reply.h"
#include "run/redact.h"
#include "run/wall_clock.h"

namespace quire::run {
namespace {

using request::AppendCount;
using request::OpKind;

constexpr size_t kMaxCommandBytes = size_t{50} << 10;
// The header of a message, its flags and the kind of its one section.
constexpr size_t kMessageBytes = 16 + 4 + 1;

struct Operation {
  std::string_view op;
  bson::View command;
  const request::OpSummary& did;
  const Status& status;
  std::chrono::microseconds took;
  size_t response_bytes;  // 0: it has no response of its own
};

std::string_view OpName(OpKind kind) {
  return kind == OpKind::kKillCursors ? "command" : KindName(kind);
}

// The text's first `size` bytes, less a character that they would cut.
std::string_view Cut(std::string_view text, size_t size) {
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
    --size;
  }
  return text.substr(0, size);
}

void AppendCommand(std::string_view field, bson::View given, bson::Builder* out) {
  const ShownCommand shown(given);
  const bson::View command = shown.view();
  if (command.size() <= kMaxCommandBytes) {
    out->Append(field, command);
    return;
  }
  std::string text = bson::ToJson(command);
  if (text.size() > kMaxCommandBytes) {
    text = std::string(Cut(text, kMaxCommandBytes - 3)) + "...";
  }
  out->BeginDocument(field).Append("$truncated", text);
  if (bson::Value comment = command["comment"]; !comment.missing()) {
    out->Append("comment", comment);
  }
  out->End();
}

void AppendIfCounted(std::string_view field, int64_t count, bson::Builder* out) {
  if (count >= 0) {
    AppendCount(out, field, count);
  }
}

void AppendDone(const request::OpSummary& did, bson::Builder* out) {
  if (did.originating) {
    AppendCommand("originatingCommand", did.originating->view(), out);
  }
  if (did.cursor_id != 0) {
    out->Append("cursorid", did.cursor_id);
  }
  if (!did.plan.empty()) {
    AppendCount(out, "keysExamined", static_cast<int64_t>(did.keys_examined));
    AppendCount(out, "docsExamined", static_cast<int64_t>(did.docs_examined));
  }
  AppendIfCounted("nMatched", did.matched, out);
  AppendIfCounted("nModified", did.modified, out);
  AppendIfCounted("ninserted", did.inserted, out);
  AppendIfCounted("ndeleted", did.deleted, out);
  AppendIfCounted("nUpserted", did.upserted, out);
  if (did.cursor_exhausted) {
    out->Append("cursorExhausted", true);
  }
  out->Append("numYield", 0);
  AppendIfCounted("nreturned", did.returned, out);
}

// "127.0.0.1" of "127.0.0.1:50000"; the path of a unix socket is left as it is.
std::string_view HostOf(std::string_view remote) {
  if (remote.find('/') != std::string_view::npos) {
    return remote;
  }
  remote = remote.substr(0, remote.rfind(':'));
  return remote.starts_with('[') ? remote.substr(1, remote.size() - 2) : remote;
}

void AppendClient(const request::Call& call, bson::Builder* out) {
  const request::Client& client = call.client;
  out->Append("client", HostOf(client.remote()));
  if (client.has_metadata) {
    bson::Value application = client.metadata["application"];
    if (application.is_document()) {
      out->Append("appName", application.AsDocument()["name"]);
    }
  }
  const request::Identity* who = call.identity.get();
  out->BeginArray("allUsers");
  if (who != nullptr) {
    out->PushDocument().Append("user", who->user).Append("db", who->database).End();
  }
  out->End().Append("user", who == nullptr ? "" : who->user + "@" + who->database);
}

bson::Document Describe(const request::Call& call, const Operation& operation) {
  bson::Builder out;
  out.Append("op", operation.op).Append("ns", call.summary.ns);
  AppendCommand("command", operation.command, &out);
  AppendDone(operation.did, &out);
  if (!operation.status.ok()) {
    out.Append("ok", 0.0)
        .Append("errMsg", operation.status.message())
        .Append("errName", operation.status.code_name())
        .Append("errCode", operation.status.code());
  }
  out.BeginDocument("locks").End();
  if (operation.response_bytes > 0) {
    out.Append("responseLength", static_cast<int32_t>(operation.response_bytes))
        .Append("protocol", "op_msg");
  }
  out.Append("millis", static_cast<int32_t>(operation.took.count() / 1000));
  if (!operation.did.plan.empty()) {
    out.Append("planSummary", operation.did.plan);
  }
  out.Append("ts", WallClock());
  AppendClient(call, &out);
  return out.Finish();
}

void AppendGiven(std::string_view field, bson::View value, bson::Builder* out) {
  if (!value.empty()) {
    out->Append(field, value);
  }
}

bson::Document CommandOf(const request::UpdateStatement& statement) {
  bson::Builder out;
  out.Append("q", statement.q).Append("u", statement.u);
  AppendGiven("c", statement.constants, &out);
  if (statement.array_filters.present) {
    out.AppendArray("arrayFilters", statement.array_filters.view);
  }
  if (!statement.hint.missing()) {
    out.Append("hint", statement.hint);
  }
  out.Append("multi", statement.multi).Append("upsert", statement.upsert);
  AppendGiven("collation", statement.collation, &out);
  AppendGiven("sort", statement.sort, &out);
  return out.Finish();
}

bson::Document CommandOf(const request::DeleteStatement& statement) {
  bson::Builder out;
  out.Append("q", statement.q).Append("limit", static_cast<int32_t>(statement.limit));
  if (!statement.hint.missing()) {
    out.Append("hint", statement.hint);
  }
  AppendGiven("collation", statement.collation, &out);
  return out.Finish();
}

// The statement of an update or delete command that has been run.
bson::Document StatementOf(const request::Call& call, size_t index) {
  if (call.command.kind == OpKind::kUpdate) {
    auto request = request::UpdateRequest::Parse(call.body, call.request->sequences);
    return request.ok() ? CommandOf(request->updates[index]) : bson::Document();
  }
  auto request = request::DeleteRequest::Parse(call.body, call.request->sequences);
  return request.ok() ? CommandOf(request->deletes[index]) : bson::Document();
}

}  // namespace

std::string_view KindName(OpKind kind) {
  switch (kind) {
    case OpKind::kQuery:
      return "query";
    case OpKind::kGetMore:
      return "getmore";
    case OpKind::kInsert:
      return "insert";
    case OpKind::kUpdate:
      return "update";
    case OpKind::kRemove:
      return "remove";
    case OpKind::kKillCursors:
      return "killcursors";
    case OpKind::kCommand:
      break;
  }
  return "command";
}

bool IsProfiled(const request::Call& call) {
  return !call.summary.ns.empty() && !call.summary.ns.ends_with(".$cmd.listCollections");
}

bool IsProfiledByStatement(const request::Call& call) {
  return call.command.Is(request::kByStatement);
}

bson::Document WithComment(bson::View get_more, bson::View originating) {
  bson::Element comment = originating.Find("comment");
  if (!comment.present() || get_more.Has("comment")) {
    return bson::Document(get_more);
  }
  return bson::Builder().AppendFields(get_more).Append(comment).Finish();
}

bson::Document ProfileEntry(const request::Call& call, const Status& status,
                            std::chrono::microseconds took) {
  bson::Document commented;
  bson::View command = call.body;
  if (call.summary.originating) {
    commented = WithComment(command, *call.summary.originating);
    command = commented;
  }
  return Describe(call, {OpName(call.command.kind), command, call.summary, status, took,
                         call.reply.size() + kMessageBytes});
}

bson::Document ProfileEntry(const request::Call& call, const request::StatementSummary& statement) {
  bson::Document command = StatementOf(call, static_cast<size_t>(statement.index));
  return Describe(call, {OpName(call.command.kind), command, statement.did, statement.status,
                         statement.took, 0});
}

}  // namespace quire::run
