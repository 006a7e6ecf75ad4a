// SPDX-License-Identifier: Apache-2.0
//
// From a request to the row that answers it, and from a Status to a reply: the only place where
// either happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/op_context.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/generic.h"
#include "request/request.h"

namespace quire::request {

// Facts about a command that the dispatcher, listCommands and the router act on.
enum CommandFlag : uint32_t {
  kRead = 1 << 0,
  kWrite = 1 << 1,
  kAdminOnly = 1 << 2,      // only on the admin database
  kInTransaction = 1 << 3,  // allowed inside a multi-document transaction
  kRetryable = 1 << 4,      // takes txnNumber outside transactions
  kReadConcern = 1 << 5,    // takes any readConcern level
  kWriteConcern = 1 << 6,   // takes a writeConcern
  kNoLogicalTime = 1 << 7,  // reply without operationTime
  kHandshake = 1 << 8,      // may be run before anything else, never slow-logged
  kStableApi = 1 << 9,      // part of the stable API, version 1
  kTestOnly = 1 << 10,      // only in a server with enableTestCommands
  kSnapshotRead = 1 << 11,  // takes readConcern "snapshot" outside transactions
  kStableApi2 = 1 << 12,    // part of its version 2, which is there for tests of clients
};

struct CommandInfo {
  std::string_view name;
  std::string_view alias;  // a second name, "" when there is none
  uint32_t flags;
  std::string_view help;
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

// One command being run.
struct Call {
  OpContext& op;
  Client& client;
  const Request& request;
  const CommandInfo& command;
  bson::View body;
  std::string_view database;
  Generic generic;
  bson::Builder& reply;  // without "ok": the dispatcher adds it
  Outcome& outcome;
  OpSummary summary;
  bson::Timestamp operation_time;            // the reply's operationTime
  std::shared_ptr<const Identity> identity;  // who runs it; null: nobody has logged in
  std::string session_key;  // what generic.lsid points to when the session has an owner
};

// A running operation as currentOp shows it. Valid while Operations' lock is held.
struct RunningOp {
  int64_t id;
  const Call* call;
  OpContext* op;
  std::chrono::steady_clock::time_point started;
};

// The operations under way. Safe for concurrent use.
class Operations {
 public:
  // Registers for the life of the returned object.
  class Registration {
   public:
    Registration(Operations* all, const Call* call, OpContext* op);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Operations* all_;
    size_t bucket_;
    std::list<RunningOp>::iterator at_;
  };

  // Kills the operation; false when there is none of that id.
  bool Kill(int64_t id, int code);
  // Kills every operation of a client (it vanished) or of a session.
  void KillClient(const Client& client, int code);
  void KillSession(std::string_view lsid, int code);
  void KillAll(int code);

  template <typename F>
  void ForEach(F visit) {
    for (Bucket& bucket : buckets_) {
      MutexLock lock(bucket.mutex);
      for (const RunningOp& op : bucket.ops) {
        visit(op);
      }
    }
  }

 private:
  friend class Registration;
  static constexpr size_t kBuckets = 16;
  struct Bucket {
    Mutex mutex;
    std::list<RunningOp> ops QUIRE_GUARDED_BY(mutex);
  };
  std::atomic<int64_t> next_id_{1};
  Bucket buckets_[kBuckets];
};

// Looks up the row of a command, checks what its flags ask for, runs it and writes the reply.
class Dispatcher : public Handler {
 public:
  // `commands` outlives the dispatcher.
  explicit Dispatcher(std::vector<const CommandInfo*> commands);

  Outcome Run(Client& client, const Request& request, std::string* reply) override;
  void Disconnected(Client& client) override;
  void Stopping() override;

  const std::vector<const CommandInfo*>& commands() const { return commands_; }
  Operations& operations() { return operations_; }
  // Operations slower than this are logged; negative: none.
  std::atomic<int64_t> slow_millis{100};

 protected:
  // Runs row `index`. Appends the reply's fields; on error the fields are discarded.
  virtual Status Invoke(size_t index, Call& call) = 0;
  // Appends what every reply carries ($clusterTime, operationTime).
  virtual void FinishReply(const Call* call, bson::Builder* reply) = 0;
  // Called for every finished command (metrics, profile).
  virtual void Finished(const Call& call, const Status& status, std::chrono::microseconds took) = 0;

 private:
  Status RunRow(size_t index, Call& call);

  std::vector<const CommandInfo*> commands_;
  std::unordered_map<std::string_view, size_t> by_name_;
  Operations operations_;
};

// Appends {ok: 0, errmsg, code, codeName} and the error's extra fields.
void AppendError(const Status& status, bson::Builder* reply);

}  // namespace quire::request
