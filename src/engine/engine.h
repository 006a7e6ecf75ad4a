// SPDX-License-Identifier: Apache-2.0
//
// The database itself: storage, catalog, sessions, cursors and background work. Commands and the
// embedded API call the functions of read.h, write.h and schema.h with an Operation on it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "engine/auto_compact.h"
#include "engine/durability.h"
#include "engine/folding.h"
#include "engine/query_settings.h"
#include "engine/session.h"
#include "engine/snapshots.h"
#include "kv/kv.h"
#include "run/cursor.h"
#include "store/catalog.h"

namespace quire::engine {

struct EngineOptions {
  std::chrono::milliseconds cursor_timeout = std::chrono::minutes(10);
  // How long an idle cursor keeps its snapshot when little is left of it.
  std::chrono::milliseconds snapshot_idle = std::chrono::minutes(1);
  std::chrono::minutes session_timeout = std::chrono::minutes(30);
  std::chrono::seconds transaction_lifetime = std::chrono::seconds(60);
  std::chrono::milliseconds ttl_interval = std::chrono::seconds(60);
  // Bounds of the change log; 0: none.
  uint64_t log_bytes = uint64_t{1} << 30;
  std::chrono::hours log_age = std::chrono::hours(24 * 7);
};

// The bound of the change log: `wanted`, or what suits when that is 0.
constexpr uint64_t LogBytes(uint64_t wanted, bool in_memory) {
  return wanted != 0 ? wanted : uint64_t{in_memory ? 64U : 1024U} << 20;
}

struct Operation;
class Replication;

// Safe for concurrent use.
class Engine {
 public:
  // Takes over an open store.
  static Result<std::unique_ptr<Engine>> Open(std::unique_ptr<kv::Store> store,
                                              EngineOptions options);
  // Ends background work and everything open. REQUIRES: no operation is running.
  ~Engine();

  kv::Store& store() { return *store_; }
  store::Catalog& catalog() { return *catalog_; }
  run::CursorTable& cursors() { return cursors_; }
  SessionTable& sessions() { return *sessions_; }
  Snapshots& snapshots() { return *snapshots_; }
  store::ChangeLog& log() { return catalog_->log(); }
  store::LogicalClock& clock() { return log().clock(); }
  AutoCompact& auto_compact() { return *auto_compact_; }
  const EngineOptions& options() const { return options_; }

  // Counters for serverStatus.
  struct Metrics {
    std::atomic<int64_t> inserted{0};
    std::atomic<int64_t> updated{0};
    std::atomic<int64_t> deleted{0};
    std::atomic<int64_t> write_conflicts{0};
    std::atomic<int64_t> ttl_deleted{0};
    std::atomic<int64_t> ttl_passes{0};
  } metrics;

  // Set once by whoever runs commands on the engine, before the first one.
  std::string host = "localhost";
  std::function<std::vector<bson::Document>(const Operation& operation, bson::View spec)>
      current_operations;
  // Appends {reads, writes, commands, transactions} of a namespace to the open document.
  std::function<void(std::string_view ns, bool histograms, bson::Builder* out)> append_latencies;

  // For tests and for finding faults: rewrites of pipelines that are off, as bits in the order of
  // pipeline::RewriteNames, and what a blocking stage may hold before it spills.
  std::atomic<uint64_t> rewrites_off{0};
  std::atomic<int64_t> stage_memory_bytes{int64_t{100} << 20};

  QuerySettings query_settings;

  // The replica set this node is a member of; null: none. Set before the first command, outlives
  // the last one.
  Replication* replication = nullptr;

  // Told, on the thread that does it, of namespaces whose documents a member of a replica set
  // applied or took back: what is kept of them elsewhere is no longer true. Set before the first
  // command.
  std::function<void(std::string_view ns)> on_replicated;

  // False while storage takes no writes and cannot be recovered; kept up to date in the background.
  std::atomic<bool> writable{true};

  // Bounds of the change log; set from the options. 0: none.
  std::atomic<uint64_t> log_bytes{0};
  std::atomic<int64_t> log_hours{0};

  std::atomic<bool> ttl_enabled{true};
  std::atomic<int64_t> transaction_lifetime_seconds{60};
  // How long a snapshot that was read can be read again.
  std::atomic<int64_t> snapshot_window_seconds{300};
  std::atomic<int64_t> cursor_timeout_millis{0};  // set from the options, as the next
  std::atomic<int64_t> ttl_sleep_millis{0};

  // Expires documents once, now. Used by the background job and by tests.
  void RunTtlPass();
  // Lets storage recover, and notes whether it has.
  void CheckStorage();
  // Brings the change log back within its bounds.
  void TrimLog();
  std::unique_ptr<Bell::Listener> ListenToLog();

 private:
  Engine(std::unique_ptr<kv::Store> store, EngineOptions options);
  void Background();
  // Reclaims dropped tables and folds documents into groups, each for a part of a second.
  void Fold();
  // Memory of collections into which nothing was inserted since the last call.
  void ForgetRecentKeys();

  const EngineOptions options_;
  std::unique_ptr<kv::Store> store_;
  std::unique_ptr<store::Catalog> catalog_;
  run::CursorTable cursors_;
  std::unique_ptr<SessionTable> sessions_;
  std::unique_ptr<Snapshots> snapshots_;
  std::unique_ptr<AutoCompact> auto_compact_;
  std::unique_ptr<Folding> folding_;
  bool reclaim_failed_ = false;  // of the background thread: the log was told so

  Mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  bool swollen_ QUIRE_GUARDED_BY(mutex_) = false;  // the change log has grown by much
  std::thread background_;
};

// One command's way through the engine.
struct Operation {
  Engine& engine;
  OpContext& op;
  // Checked out for the operation when it has a txnNumber; null without lsid.
  Session* session = nullptr;
  // Who runs it; null without a login.
  const request::Identity* caller = nullptr;
  // In a multi-document transaction: everything happens in session->transaction().
  bool in_transaction = false;
  // Set for a retryable write: answers are remembered under session's number.
  bool retryable = false;
  // Asked before each commit of a retryable write that changes documents; its error is that of what
  // was to be committed.
  std::function<Status()> before_commit = nullptr;
  // The numbers of its statements: statement_ids where given, else counted from first_statement.
  int32_t first_statement = 0;
  std::span<const int32_t> statement_ids = {};
  kv::Durability durability = kv::Durability::kProcess;
  // Set for a read with readConcern "snapshot" outside a transaction: what it reads.
  std::shared_ptr<const Snapshot> snapshot = nullptr;
  // indexHints of the query's settings; missing without any.
  bson::OwnedValue index_hints = {};
  // When the operation began: $$NOW in all its statements.
  bson::Date began = bson::Date{std::chrono::duration_cast<std::chrono::milliseconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count()};
  // $$CLUSTER_TIME in all its statements, where somebody has fixed it; else each has its own.
  std::optional<bson::Timestamp> cluster_time = {};

  int32_t StatementId(int32_t i) const {
    return static_cast<size_t>(i) < statement_ids.size() ? statement_ids[static_cast<size_t>(i)]
                                                         : first_statement + i;
  }

  // The collection as this operation may see it; null when there is none. With a snapshot it is as
  // it was then, also when it was changed or dropped since; in a transaction one that was changed
  // or dropped after its start gives SnapshotUnavailable.
  Result<store::CollectionPtr> Find(std::string_view ns) const;
  // A storage transaction for its reads, outside multi-document ones.
  Result<std::unique_ptr<store::Transaction>> BeginRead() const;
};

// Whether a write found no collection any more: it was dropped or renamed after it had been looked
// up, and the statement is to be run as if it had come after that.
bool IsGone(const Status& status, const Operation& operation);

// The expression context of an operation: now, cluster time, its caller's roles and let variables.
Status FillContext(const Operation& operation, bson::View let, expr::Context* context);

}  // namespace quire::engine
