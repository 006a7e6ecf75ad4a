// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include "base/error_codes.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/try.h"
#include "engine/sharding.h"
#include "expr/agg/expression.h"
#include "expr/agg/variable_name.h"
#include "run/labels.h"
#include "store/log/set_marks.h"

namespace quire::engine {

namespace {

// As it was last kept (own_state.h), else as the options say.
Result<uint64_t> LogSizeOf(kv::Store& store, const EngineOptions& options) {
  ASSIGN_OR_RETURN(auto txn, store.Begin({.read_only = true}));
  ASSIGN_OR_RETURN(const uint64_t kept, store::ReadLogSize(*txn));
  return kept != 0 ? kept : options.log_bytes;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(std::unique_ptr<kv::Store> store,
                                             EngineOptions options) {
  std::unique_ptr<Engine> engine(new Engine(std::move(store), options));
  ASSIGN_OR_RETURN(engine->catalog_, store::Catalog::Open(engine->store_.get()));
  ASSIGN_OR_RETURN(engine->log_bytes, LogSizeOf(*engine->store_, options));
  engine->catalog_->SetLogSize(engine->log_bytes);
  engine->sessions_ = std::make_unique<SessionTable>(
      engine->store_.get(), &engine->log(),
      [raw = engine.get()](std::string_view lsid, int64_t txn_number) {
        raw->cursors_.KillTransaction(lsid, txn_number);
      });
  engine->auto_compact_ = std::make_unique<AutoCompact>(engine->catalog_.get());
  ASSIGN_OR_RETURN(engine->folding_, Folding::Open(engine->catalog_.get()));
  engine->snapshots_ = std::make_unique<Snapshots>(engine->store_.get(), engine->catalog_.get());
  ASSIGN_OR_RETURN(engine->background_, StartThread([raw = engine.get()] { raw->Background(); }));
  return engine;
}

Engine::Engine(std::unique_ptr<kv::Store> store, EngineOptions options)
    : options_(options), store_(std::move(store)) {
  transaction_lifetime_seconds = options.transaction_lifetime.count();
  cursor_timeout_millis = options.cursor_timeout.count();
  ttl_sleep_millis = options.ttl_interval.count();
  log_hours = options.log_age.count();
}

Engine::~Engine() {
  auto_compact_.reset();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (background_.joinable()) {
    background_.join();
  }
  cursors_.Clear();
  if (sessions_ != nullptr) {
    sessions_->AbortAll();
    sessions_.reset();
  }
  snapshots_.reset();
  catalog_.reset();
}

void Engine::Background() {
  constexpr auto kForgetInterval = std::chrono::minutes(5);
  constexpr auto kTrimInterval = std::chrono::seconds(10);
  constexpr auto kKeysInterval = std::chrono::minutes(1);
  auto last_ttl = std::chrono::steady_clock::now();
  auto last_trim = last_ttl;
  auto last_forget = last_ttl;
  auto last_keys = last_ttl;
  std::unique_ptr<Bell::Listener> listener = ListenToLog();
  MutexLock lock(mutex_);
  while (true) {
    wake_.wait_for(lock.native(), std::chrono::seconds(1),
                   [&]() QUIRE_REQUIRES(mutex_) { return stopping_ || swollen_; });
    if (stopping_) {
      return;
    }
    const bool swollen = std::exchange(swollen_, false);
    lock.unlock();
    log().SetTrimStep(log_bytes / 10);
    CheckStorage();
    cursors_.Expire(std::chrono::milliseconds(cursor_timeout_millis.load()));
    cursors_.ReleaseSnapshots(options_.snapshot_idle);
    sessions_->Expire(options_.session_timeout);
    snapshots_->Expire(std::chrono::seconds(snapshot_window_seconds.load()));
    auto now = std::chrono::steady_clock::now();
    if (ttl_enabled && log().is_open() &&
        now - last_ttl >= std::chrono::milliseconds(ttl_sleep_millis.load())) {
      RunTtlPass();
      last_ttl = now;
    }
    if (log().is_open() && now - last_forget >= kForgetInterval) {
      if (Status s = sessions_->ForgetAnswers(options_.session_timeout); !s.ok()) {
        log::Warning("CONTROL", "Records of old sessions stay", {{"error", s.ToString()}});
      }
      last_forget = now;
    }
    if (now - last_keys >= kKeysInterval) {
      ForgetRecentKeys();
      last_keys = now;
    }
    Fold();
    if (swollen || now - last_trim >= kTrimInterval) {
      TrimLog();
      last_trim = now;
      listener = ListenToLog();
    }
    lock.lock();
  }
}

void Engine::Fold() {
  auto for_a_part = [this] {
    constexpr auto kPart = std::chrono::milliseconds(300);
    return [this, until = std::chrono::steady_clock::now() + kPart] {
      MutexLock lock(mutex_);
      return stopping_ || std::chrono::steady_clock::now() >= until;
    };
  };
  const Status reclaimed = catalog_->ReclaimReferred(log_bytes.load(), for_a_part());
  const bool failed = !reclaimed.ok() && reclaimed.code() != kWriteConflict;
  if (failed && !reclaim_failed_) {
    log::Warning("STORAGE", "The space of dropped collections is kept; it is tried again",
                 {{"error", reclaimed.ToString()}});
  }
  reclaim_failed_ = failed;
  if (writable) {
    folding_->Run(for_a_part());
  }
}

void Engine::ForgetRecentKeys() {
  for (const store::CollectionPtr& info : catalog_->snapshot()->All()) {
    for (const auto& index : info->indexes) {
      index->state->recent_keys.ForgetUnasked();
    }
  }
}

std::unique_ptr<Bell::Listener> Engine::ListenToLog() {
  return log().swollen.Listen([this] {
    MutexLock lock(mutex_);
    swollen_ = true;
    wake_.notify_all();
  });
}

void Engine::CheckStorage() {
  const Status health = store_->Health();
  if (writable.exchange(health.ok()) != health.ok()) {
    if (health.ok()) {
      log::Info("REPL", "Storage takes writes again; this node is a writable primary");
    } else {
      log::Error("REPL", "Storage takes no writes; this node is no writable primary",
                 {{"error", health.message()}});
    }
  }
}

void Engine::TrimLog() {
  bson::Timestamp before;
  if (const std::chrono::hours age(log_hours.load()); age.count() > 0) {
    auto oldest = std::chrono::system_clock::now() - age;
    before.seconds = static_cast<uint32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(oldest.time_since_epoch()).count());
  }
  Status trimmed = log().Trim(log_bytes.load(), before);
  if (!trimmed.ok()) {
    log::Warning("STORAGE", "The change log could not be trimmed", {{"error", trimmed.message()}});
  }
}

namespace {

Status PendingChanges(std::string_view ns) {
  return {kSnapshotUnavailable,
          "Unable to read from a snapshot due to pending collection catalog changes; "
          "please retry the operation. Collection: " +
              std::string(ns)};
}

// As it was then. For a router it has to be there still: where it lay before nobody knows.
Result<store::CollectionPtr> FindIn(Engine& engine, const Snapshot& snapshot, std::string_view ns) {
  store::CollectionPtr then = snapshot.catalog->Find(ns);
  const bool timeless = snapshot.time == bson::Timestamp();
  if (then == nullptr || then->is_view() || timeless || RouterScope::Current() == nullptr) {
    return then;
  }
  const store::CollectionPtr now = engine.catalog().Find(ns);
  if (now == nullptr || now->uuid != then->uuid) {
    return PendingChanges(ns);
  }
  return then;
}

}  // namespace

Result<store::CollectionPtr> Operation::Find(std::string_view ns) const {
  if (in_transaction) {
    if (store::PendingCollection* pending = session->Created(ns)) {
      return pending->info();
    }
  }
  if (snapshot != nullptr) {
    return FindIn(engine, *snapshot, ns);
  }
  store::CollectionPtr now = engine.catalog().Find(ns);
  if (!in_transaction) {
    return now;
  }
  const bool changed = now != nullptr ? now->version > session->catalog()->version
                                      : session->catalog()->Find(ns) != nullptr;
  if (changed) {
    return run::WithLabel(PendingChanges(ns), "TransientTransactionError");
  }
  return now;
}

Result<std::unique_ptr<store::Transaction>> Operation::BeginRead() const {
  return snapshot != nullptr ? store::Transaction::BeginAsOf(engine.store(), snapshot->txn)
                             : store::Transaction::Begin(engine.store(), true);
}

bool IsGone(const Status& status, const Operation& operation) {
  return status.code() == kNamespaceNotFound && !operation.in_transaction;
}

Status FillContext(const Operation& operation, bson::View let, expr::Context* context) {
  context->now = operation.began;
  context->cluster_time = operation.cluster_time.value_or(operation.engine.clock().Now());
  context->user_roles = operation.caller == nullptr ? nullptr : operation.caller->roles;
  if (let.empty()) {
    return Status::Ok();
  }
  Arena arena;
  for (const bson::Element& e : let) {
    if (e.name() == "NOW" || e.name() == "CLUSTER_TIME") {
      return {4738901, "Attempted to set internal constant: " + std::string(e.name())};
    }
    RETURN_IF_ERROR(expr::agg::CheckVariableName(e.name(), /*allow_current=*/true));
    if (expr::agg::NamesClock(e.value())) {
      return {51144, "Builtin variable '$$NOW' is not available in the values of let"};
    }
    expr::agg::ParseScope scope;
    scope.context = context;
    ASSIGN_OR_RETURN(auto expression, expr::agg::ParseExpression(e.value(), scope));
    std::set<std::string> fields;
    if (!expression->AddDependencies(&fields) || !fields.empty()) {
      return {4890500,
              "Command let Expression tried to access a field, but this is not allowed "
              "because command let expressions run before the query examines any "
              "documents."};
    }
    expr::agg::EvalContext eval;
    eval.context = context;
    eval.root = bson::Value(bson::View());
    eval.arena = &arena;
    eval.variables.resize(scope.slots);
    ASSIGN_OR_RETURN(bson::Value value, expression->Evaluate(eval));
    context->let.emplace_back(e.name(), bson::OwnedValue(value));
  }
  return Status::Ok();
}

}  // namespace quire::engine
