// SPDX-License-Identifier: Apache-2.0
#include "request/dispatch.h"

#include <new>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/repeated.h"
#include "request/fields.h"

namespace quire::request {

Operations::Registration::Registration(Operations* all, const Call* call, OpContext* op)
    : all_(all), bucket_(static_cast<size_t>(call->client.id()) % kBuckets) {
  Bucket& bucket = all_->buckets_[bucket_];
  int64_t id = all_->next_id_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(bucket.mutex);
  at_ = bucket.ops.insert(bucket.ops.end(),
                          RunningOp{id, call, op, std::chrono::steady_clock::now()});
}

Operations::Registration::~Registration() {
  Bucket& bucket = all_->buckets_[bucket_];
  MutexLock lock(bucket.mutex);
  bucket.ops.erase(at_);
}

bool Operations::Kill(int64_t id, int code) {
  bool found = false;
  ForEach([&](const RunningOp& op) {
    if (op.id == id) {
      op.op->Kill(code);
      found = true;
    }
  });
  return found;
}

void Operations::KillClient(const Client& client, int code) {
  ForEach([&](const RunningOp& op) {
    if (&op.call->client == &client) {
      op.op->Kill(code);
    }
  });
}

void Operations::KillSession(std::string_view lsid, int code) {
  ForEach([&](const RunningOp& op) {
    if (op.call->generic.lsid == lsid) {
      op.op->Kill(code);
    }
  });
}

void Operations::KillAll(int code) {
  ForEach([&](const RunningOp& op) { op.op->Kill(code); });
}

Dispatcher::Dispatcher(std::vector<const CommandInfo*> commands) : commands_(std::move(commands)) {
  for (size_t i = 0; i < commands_.size(); ++i) {
    by_name_.emplace(commands_[i]->name, i);
    if (!commands_[i]->alias.empty()) {
      by_name_.emplace(commands_[i]->alias, i);
    }
  }
}

void AppendError(const Status& status, bson::Builder* reply) {
  reply->Append("ok", 0.0)
      .Append("errmsg", status.message())
      .Append("code", static_cast<int32_t>(status.code()))
      .Append("codeName", status.code_name());
  if (!status.extra().empty()) {
    reply->AppendFields(bson::View(status.extra().data()));
  }
}

Outcome Dispatcher::Run(Client& client, const Request& request, std::string* reply) {
  Outcome outcome;
  size_t start = reply->size();
  auto fail = [&](const Status& status) {
    reply->resize(start);
    outcome.wait.reset();
    outcome.delay = {};
    outcome.more_to_come = false;
    bson::Builder out(reply);
    AppendError(status, &out);
    FinishReply(nullptr, &out);
    out.Close();
  };
  if (request.body.empty()) {
    fail({kFailedToParse, "The command document is empty"});
    return outcome;
  }
  std::string_view name = request.body.front().name();
  auto row = by_name_.find(name);
  if (row == by_name_.end()) {
    fail({kCommandNotFound, "no such command: '" + std::string(name) + "'"});
    return outcome;
  }
  OpContext op;
  Status status;
  {
    bson::Builder out(reply);
    Call call{op,
              client,
              request,
              *commands_[row->second],
              request.body,
              request.database,
              Generic{},
              out,
              outcome,
              {},
              {},
              client.identity,
              {}};
    auto started = std::chrono::steady_clock::now();
    try {
      status = RunRow(row->second, call);
      if (status.ok()) {
        outcome.integer_ok ? out.Append("ok", 1) : out.Append("ok", 1.0);
        FinishReply(&call, &out);
        out.Close();
      }
    } catch (const std::bad_alloc&) {
      status = Status(kExceededMemoryLimit, "not enough memory to run the command");
    }
    if (outcome.wait == nullptr) {
      Finished(call, status,
               std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::steady_clock::now() - started));
    }
  }
  if (!status.ok()) {
    fail(status);
  }
  return outcome;
}

Status Dispatcher::RunRow(size_t index, Call& call) {
  uint32_t flags = call.command.flags;
  if (auto name = bson::RepeatedName(call.body)) {
    return DuplicateField(call.command.name, *name);
  }
  ASSIGN_OR_RETURN(call.generic, ReadGeneric(call.command.name, call.body));
  if (!call.generic.lsid.empty() && call.identity != nullptr) {
    call.session_key = SessionKey(call.generic.lsid, call.identity->digest);
    call.generic.lsid = call.session_key;
  }
  if (call.generic.help && (flags & kTestOnly) == 0) {
    call.reply.Append("help", "help for: " + std::string(call.command.name) + " " +
                                  std::string(call.command.help));
    return Status::Ok();
  }
  if (call.generic.in_transaction() && !(flags & kInTransaction)) {
    return {kOperationNotSupportedInTransaction,
            "Cannot run '" + std::string(call.command.name) + "' in a multi-document transaction."};
  }
  if ((flags & kAdminOnly) && call.database != "admin") {
    return {kUnauthorized,
            std::string(call.command.name) + " may only be run against the admin database."};
  }
  const std::string_view level = call.generic.read_concern_level;
  const bool takes_level = level.empty() || level == "local" ||
                           (flags & (level == "snapshot" ? kSnapshotRead : kReadConcern)) != 0;
  if (!takes_level && !call.generic.in_transaction()) {
    return {kInvalidOptions,
            "Command does not support readConcern { level: \"" + std::string(level) + "\" }"};
  }
  if (call.generic.write_concern.present && !(flags & kWriteConcern)) {
    return {kInvalidOptions, "Command does not support writeConcern"};
  }
  const bool version_2 = call.generic.api.version == "2";
  if (call.generic.api.strict && !(flags & (version_2 ? kStableApi2 : kStableApi))) {
    return {kAPIStrictError, "Provided apiStrict:true, but the command " +
                                 std::string(call.command.name) + " is not in API Version " +
                                 (version_2 ? "2" : "1")};
  }
  // An awaiting getMore uses maxTimeMS for the wait itself.
  if (call.generic.max_time_ms > 0 && call.command.name != "getMore") {
    call.op.SetDeadline(OpContext::Clock::now() +
                        std::chrono::milliseconds(call.generic.max_time_ms));
  }
  Operations::Registration registration(&operations_, &call, &call.op);
  CurrentOpScope current(&call.op);
  return Invoke(index, call);
}

void Dispatcher::Disconnected(Client& client) { operations_.KillClient(client, kInterrupted); }

void Dispatcher::Stopping() { operations_.KillAll(kInterruptedAtShutdown); }

}  // namespace quire::request
