// SPDX-License-Identifier: Apache-2.0
//
// One command being run, and the facts of its row that everybody who runs commands acts on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/op_context.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/generic.h"
#include "request/request.h"

namespace quire::request {

// Facts about a command.
enum CommandFlag : uint32_t {
  kRead = 1 << 0,
  kWrite = 1 << 1,
  kAdminOnly = 1 << 2,            // only on the admin database
  kInTransaction = 1 << 3,        // allowed inside a multi-document transaction
  kRetryable = 1 << 4,            // takes txnNumber outside transactions
  kReadConcern = 1 << 5,          // takes any readConcern level
  kWriteConcern = 1 << 6,         // takes a writeConcern
  kNoLogicalTime = 1 << 7,        // reply without operationTime
  kHandshake = 1 << 8,            // may be run before anything else, never slow-logged
  kStableApi = 1 << 9,            // part of the stable API, version 1
  kTestOnly = 1 << 10,            // only in a server with enableTestCommands
  kSnapshotRead = 1 << 11,        // takes readConcern "snapshot" outside transactions
  kStableApi2 = 1 << 12,          // part of its version 2, which is there for tests of clients
  kEndsTransaction = 1 << 13,     // commits or aborts it
  kOwnTimeLimit = 1 << 14,        // its maxTimeMS is the time that it waits for news
  kOnCursor = 1 << 15,            // works on an open cursor, so that no transaction begins with it
  kFreesMemory = 1 << 16,         // goes on while memory runs out
  kAdminInTransaction = 1 << 17,  // a transaction runs it on the admin database
  kRunsPipeline = 1 << 18,        // takes a pipeline, which may be a change stream
  kByStatement = 1 << 19,         // the profiler tells of its statements, not of the command
  kNoFailPoint = 1 << 20,         // no fail point makes it fail
  kCommits = 1 << 21,             // may be sent again once the transaction is committed
  kLogsIn = 1 << 22,              // a step of a login
  kWholeNamespace = 1 << 23,      // its first field names a whole namespace, and `to` another one
  kDeprecated = 1 << 24,          // in the newest version of the stable API that has it
};

// What MongoDB calls the operation in currentOp, top and the profiler.
enum class OpKind : uint8_t { kCommand, kQuery, kGetMore, kInsert, kUpdate, kRemove, kKillCursors };

struct CommandInfo {
  std::string_view name;
  std::string_view alias;  // a second name, "" when there is none
  uint32_t flags;
  std::string_view help;
  OpKind kind = OpKind::kCommand;

  bool Is(uint32_t any_of) const { return (flags & any_of) != 0; }
};

struct StatementSummary;

// What an operation did, for the slow log, the profiler and currentOp.
struct OpSummary {
  std::string ns;
  std::string plan;
  uint64_t keys_examined = 0;
  uint64_t docs_examined = 0;
  int64_t returned = -1;
  // Documents written; -1: the operation does not write so.
  int64_t inserted = -1;
  int64_t matched = -1;
  int64_t modified = -1;
  int64_t upserted = -1;
  int64_t deleted = -1;
  int64_t cursor_id = 0;  // of the cursor that is left open, or that a getMore reads
  bool cursor_exhausted = false;
  // What opened the cursor that a getMore reads: when it fails, or is profiled.
  std::optional<bson::Document> originating;
  // The rest is for the profiler, and kept when this says so before the operation runs.
  bool profiled = false;
  std::vector<StatementSummary> statements;  // of an update or delete, as far as they were run
};

struct StatementSummary {
  int32_t index;
  Status status;
  std::chrono::microseconds took;
  OpSummary did;  // without ns
};

struct Call;

// Why a command cannot go on yet, and how it does once it can. It owns all that it needs or finds
// it in the Call: the bytes of the request may have moved meanwhile.
class Suspension {
 public:
  virtual ~Suspension() = default;
  // Lets `waker` be called once the command may go on, for as long as the suspension lives. False
  // when it may already. Called once.
  virtual bool Listen(Waker* waker) = 0;
  // Goes on, woken, interrupted or out of time: which of them is for it to find out. Runs as the
  // function of a row does, and may leave another suspension in the call.
  virtual Status Resume(Call& call) = 0;

  // When the command goes on without being woken. The operation's own deadline counts, too.
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  // The wait is for what comes when it comes: its time does not make the command a slow one.
  bool idle = false;
  // The command has run: only its reply waits.
  bool reply_only = false;
};

// One command being run.
struct Call {
  OpContext& op;
  Client& client;
  const Request* request;
  const CommandInfo& command;
  bson::View body;
  std::string_view database;
  bson::Builder& reply;  // without "ok": the dispatcher adds it
  Outcome& outcome;
  std::shared_ptr<const Identity> identity = nullptr;  // who runs it; null: nobody has logged in
  Generic generic = {};
  OpSummary summary = {};
  bson::Timestamp operation_time = {};  // the reply's operationTime
  std::string session_key = {};         // what generic.lsid points to when the session has an owner
  bson::Document write_concern_error = {};  // in the reply, whether the command failed or not
  // Left by whatever cannot go on yet, and returns Ok then.
  std::unique_ptr<Suspension> suspension = nullptr;
};

}  // namespace quire::request
