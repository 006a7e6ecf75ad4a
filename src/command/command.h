// SPDX-License-Identifier: Apache-2.0
//
// The commands of a single node: rows of name, flags, help, function and who may run it. One file
// per family; the families are listed in commands.cc.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "command/access.h"
#include "command/auth/login_guard.h"
#include "command/auth/mechanisms.h"
#include "command/auth/member_login.h"
#include "command/server/cluster.h"
#include "command/server/write_gate.h"
#include "command/values.h"
#include "engine/engine.h"
#include "quire/bson.h"
#include "request/call.h"
#include "request/reply.h"
#include "request/route.h"
#include "run/cursor.h"
#include "run/dispatcher.h"

namespace quire::command {

class Auditor;

// What the server's TLS certificate says of itself.
struct ServerCertificate {
  std::string subject;
  bson::Date expires;
  bool has_authority = false;  // clients' certificates are checked
};

// What the process tells about itself; filled in by whoever starts it.
struct ServerInfo {
  std::string host = "localhost";  // as clients reach it, "host:port"
  std::string set_name = "quire";
  std::vector<std::string> arguments;
  bson::Document parsed_options;  // getCmdLineOpts
  std::string data_path;
  std::vector<std::string> compressors;  // that hello may agree to
  int port = 0;
  bool embedded = true;
  bool router = false;                   // of a sharded cluster: hello says so
  bool access_control = false;           // clients log in, and do what their roles allow
  std::shared_ptr<Auditor> auditor;      // told of what happens; null when nothing is audited
  std::function<void()> shutdown;        // asks the process to stop; empty when embedded
  std::function<int64_t()> connections;  // open connections; empty when embedded
  // Empty without TLS: reads the certificates' files again, and shows what is in force.
  std::function<Status()> rotate_certificates;
  std::function<ServerCertificate()> certificate;
  // Which connections are taken ("allowTLS"). Empty without TLS.
  std::function<std::string()> tls_mode;
  std::function<void(std::string_view)> set_tls_mode;
};

class Commands;
struct Parsed;

// All that a command's function gets.
struct Invocation {
  Commands& commands;
  engine::Engine& engine;
  engine::Operation& operation;
  request::Call& call;
  Parsed* parsed = nullptr;  // the request of a ParsedRow
  // Set by a read that writes, too ($out).
  bool writes = false;
  // What the command was allowed to do; null without access control.
  std::shared_ptr<const auth::Needs> needs = nullptr;

  OpContext& op() { return call.op; }
  bson::View body() { return call.body; }
  std::string_view database() { return call.database; }
  bson::Builder& reply() { return call.reply; }
};

struct Row {
  request::CommandInfo info;
  Status (*run)(Invocation& invocation);
  Access access = {};
  // Of rows that are parsed first (ParsedRow, in parsed_row.h).
  Result<std::unique_ptr<Parsed>> (*parse)(Invocation& invocation) = nullptr;
};

class NodeBackend;

// Answers commands with an engine. Safe for concurrent use.
class Commands : public run::Dispatcher {
 public:
  // `engine` outlives it.
  Commands(engine::Engine* engine, ServerInfo info);
  ~Commands() override;

  engine::Engine& engine() { return engine_; }
  ServerInfo& info() { return info_; }
  // Whether the node is a shard.
  virtual bool in_cluster() const { return false; }
  std::span<const Row* const> rows() const { return rows_; }

  WriteGate& write_gate() { return write_gate_; }
  ClusterSettings& cluster() { return cluster_; }
  LoginGuard& login_guard() { return login_guard_; }
  // Changes with every change of users or roles: logins read before are out of date.
  std::atomic<uint64_t> accounts_version{1};
  Mechanisms mechanisms;
  MemberLogin members;
  // Whether certificates of the server's own organisation are refused as logins
  // (enforceUserClusterSeparation).
  std::atomic<bool> separate_members{true};
  // Whether those on the same machine may make the first user (enableLocalhostAuthBypass).
  std::atomic<bool> localhost_exception{true};
  // Parameters of TLS, for whoever starts the server; set before it is.
  struct TlsParameters {
    std::string ciphers;
    std::string cipher_suites;
    bool system_ca = false;
  } tls_parameters;
  // The parameter automationServiceDescriptor, which hello shows.
  std::string automation_descriptor();
  void SetAutomationDescriptor(std::string text);

  void Disconnected(request::Client& client) override;

  // The member of a replica set stops being its primary, or begins to be: clients' operations that
  // write end with InterruptedDueToReplStateChange, open transactions are aborted, what sessions
  // remember in memory and what was loaded from stored settings is read again. Connections and
  // cursors of reads stay. Returns when all that is done.
  void RoleChanged();
  // What is kept in memory of the namespace's documents (users, settings) is read again: they were
  // written by replication.
  void Applied(std::string_view ns);
  // Shows the set's configuration in local.system.replset: it is another one.
  void ConfigurationChanged();
  // The process is about to end: hello shows no primary, and says how long it is still there.
  // Returns when no operation is under way, or after `most`.
  void Quiesce(std::chrono::milliseconds most);
  // How much of that is left; nothing before.
  std::optional<std::chrono::milliseconds> quiesce_left() const;

 protected:
  // With rows and a backend of one's own.
  Commands(engine::Engine* engine, ServerInfo info, std::vector<const Row*> rows,
           std::unique_ptr<NodeBackend> backend);

 private:
  engine::Engine& engine_;
  ServerInfo info_;
  std::vector<const Row*> rows_;
  std::unique_ptr<NodeBackend> backend_;
  WriteGate write_gate_;
  ClusterSettings cluster_;
  LoginGuard login_guard_;
  // When quiescing ends, in milliseconds of the steady clock; 0: it has not begun.
  std::atomic<int64_t> quiesced_at_{0};
  Mutex mutex_;
  std::string automation_descriptor_ QUIRE_GUARDED_BY(mutex_);
};

// All rows of a node.
std::vector<const Row*> NodeRows();

// The rows of each family.
std::span<const Row> ReadRows();         // find, getMore, killCursors, count, distinct
std::span<const Row> WriteRows();        // insert, update, delete, findAndModify
std::span<const Row> CreateRows();       // create
std::span<const Row> CollectionRows();   // drop, rename, collMod, list...
std::span<const Row> IndexRows();        // createIndexes, listIndexes, dropIndexes
std::span<const Row> TransactionRows();  // commitTransaction, abortTransaction, sessions
std::span<const Row> StatisticsRows();   // collStats, dbStats, dataSize, validate...
std::span<const Row> ExplainRows();
std::span<const Row> PlanCacheRows();
std::span<const Row> AggregateRows();
std::span<const Row> MapReduceRows();
std::span<const Row> ApplyOpsRows();
std::span<const Row> AutoCompactRows();
std::span<const Row> QuerySettingsRows();  // setQuerySettings, removeQuerySettings
// The rows about the server itself are in diagnostic.h.

// Appends {cursor: {firstBatch, id, ns}} of a new cursor, keeping it when it is not exhausted.
Status AppendFirstBatch(Invocation& invocation, std::shared_ptr<run::Cursor> cursor,
                        std::optional<int64_t> batch_size, bool single_batch);
// The same for a list of documents that is complete already.
Status AppendDocuments(Invocation& invocation, std::string ns,
                       std::vector<bson::Document> documents, std::optional<int64_t> batch_size);
// Takes in what setQuerySettings says about queries like `command`. QueryRejectedBySettings when
// they are not to be run, unless they are only explained.
Status ApplyQuerySettings(Invocation& invocation, bson::View command, bool explain);
// Of a find, distinct or aggregate command; see engine/read/query_shape.h.
std::string QueryShapeHash(bson::View command, std::string_view database);
// Where they are stored.
inline constexpr std::string_view kQuerySettings = "config.querySettings";
// Put in force what is stored.
void LoadQuerySettings(engine::Engine& engine);
void LoadDefaultConcerns(Commands& commands);
// Outside replica sets: appends the error of a write concern that one member cannot satisfy.
void AppendConcernOfOne(Invocation& invocation);
// Appends the explanation of an aggregate command.
Status ExplainPipeline(Invocation& invocation, bson::View command, std::string_view verbosity);

}  // namespace quire::command
