// SPDX-License-Identifier: Apache-2.0
//
// Commands that act on the server: fsync and its lock, log rotation, shutdown.
#include <array>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/auth/auditor.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "command/server/write_gate.h"
#include "request/fields.h"

namespace quire::command {
namespace {

struct FsyncRequest {
  bool lock = false;
  bson::Value timeout;
  static constexpr auto kFields = std::to_array<request::FieldRow<FsyncRequest>>(
      {request::Field<&FsyncRequest::lock>("lock"),
       request::Field<&FsyncRequest::timeout>("fsyncLockAcquisitionTimeoutMillis")});
};

Status RunFsync(Invocation& i) {
  FsyncRequest asked;
  RETURN_IF_ERROR(
      request::ReadFields<FsyncRequest>("fsync", i.body(), true, FsyncRequest::kFields, &asked));
  if (!asked.timeout.missing() && asked.timeout.type() != bson::Type::kInt32) {
    return request::WrongType("fsync", i.body().Find("fsyncLockAcquisitionTimeoutMillis"), "int");
  }
  RETURN_IF_ERROR(i.engine.store().Sync());
  if (!asked.lock) {
    i.reply().Append("numFiles", 1);
    return Status::Ok();
  }
  i.reply()
      .Append("info", "now locked against writes, use db.fsyncUnlock() to unlock")
      .Append("lockCount", i.commands.write_gate().Lock())
      .Append("seeAlso", "http://dochub.mongodb.org/core/fsynccommand");
  return Status::Ok();
}

Status RunFsyncUnlock(Invocation& i) {
  ASSIGN_OR_RETURN(int64_t left, i.commands.write_gate().Unlock());
  i.reply().Append("info", "fsyncUnlock completed").Append("lockCount", left);
  return Status::Ok();
}

Status RunLogRotate(Invocation& i) {
  bson::Value target = i.body().front().value();
  bool server = true;
  bool audit = true;
  if (target.is_string()) {
    server = target.AsString() == "server";
    audit = target.AsString() == "audit" && i.commands.info().auditor != nullptr;
    if (!server && !audit) {
      return {kNoSuchKey, "Unknown log type for rotate: " + std::string(target.AsString())};
    }
  } else if (!target.is_number() && target.type() != bson::Type::kBool) {
    return request::WrongType("logRotate", i.body().front(), "[bool, string]");
  }
  bool skip = true;
  for (const bson::Element& e : i.body()) {
    if (!skip && e.name() != "comment" && !request::IsGenericField(e.name())) {
      return request::UnknownField("logRotate", e.name());
    }
    skip = false;
  }
  if (server) {
    RETURN_IF_ERROR(log::Rotate());
  }
  return audit && i.commands.info().auditor != nullptr ? i.commands.info().auditor->Rotate()
                                                       : Status::Ok();
}

// The message is told of where every command is: see auditor.cc.
Status RunLogApplicationMessage(Invocation& i) {
  if (i.body().front().type() != bson::Type::kString) {
    return request::WrongType("logApplicationMessage", i.body().front(), "string");
  }
  bool first = true;
  for (const bson::Element& e : i.body()) {
    if (!first && e.name() != "comment" && !request::IsGenericField(e.name())) {
      return request::UnknownField("logApplicationMessage", e.name());
    }
    first = false;
  }
  return Status::Ok();
}

// The process ends once the requests in flight are answered, this one among them.
Status RunShutdown(Invocation& i) {
  const auto& shutdown = i.commands.info().shutdown;
  if (!shutdown) {
    return {kIllegalOperation, "the database is embedded: the program that opened it ends it"};
  }
  log::Info("COMMAND", "Terminating via shutdown command", {{"client", i.call.client.remote()}});
  i.call.outcome.close = true;
  shutdown();
  return Status::Ok();
}

}  // namespace

int64_t WriteGate::Lock() {
  MutexLock lock(mutex_);
  return ++count_;
}

Result<int64_t> WriteGate::Unlock() {
  int64_t left = 0;
  {
    MutexLock lock(mutex_);
    if (count_ == 0) {
      return Status(kIllegalOperation, "fsyncUnlock called when not locked");
    }
    left = --count_;
  }
  if (left == 0) {
    opened_.Ring();
  }
  return left;
}

std::span<const Row> ControlRows() {
  using request::kAdminOnly;
  static constexpr Row kRows[] = {
      {{"fsync", "", kAdminOnly | request::kToShards,
        "flushes to disk; lock: true also stops writes"},
       RunFsync,
       OnCluster(Action::fsync)},
      {{"fsyncUnlock", "", kAdminOnly | request::kToShards, "lets writes go on"},
       RunFsyncUnlock,
       OnCluster(Action::unlock)},
      {{"logRotate", "", kAdminOnly, "begins a new log file"},
       RunLogRotate,
       OnCluster(Action::logRotate)},
      {{"logApplicationMessage", "", kAdminOnly, "a message for the audit log"},
       RunLogApplicationMessage,
       OnCluster(Action::applicationMessage)},
      {{"shutdown", "", kAdminOnly, "ends the server"}, RunShutdown, OnCluster(Action::shutdown)},
  };
  return kRows;
}

}  // namespace quire::command
