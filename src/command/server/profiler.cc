// SPDX-License-Identifier: Apache-2.0
#include "command/server/profiler.h"

#include <algorithm>
#include <random>

#include "base/log.h"
#include "command/server/profile_entry.h"
#include "engine/write/write.h"

namespace quire::command {
namespace {

bool Sampled(double rate) {
  if (rate >= 1) {
    return true;
  }
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random) < rate;
}

// Writes the entry, unless the filter refuses it.
void Keep(engine::Engine& engine, const std::string& ns, const Profiler::Settings& settings,
          const bson::Document& entry) {
  if (settings.filter != nullptr) {
    auto matches = settings.filter->Matches(entry.view());
    if (!matches.ok() || !*matches) {
      return;
    }
  }
  OpContext op;
  engine::Operation operation{engine, op};
  request::InsertRequest insert;
  insert.documents.push_back(entry.view());
  auto written = engine::Insert(operation, ns, insert);
  if (!written.ok()) {
    log::Debug(1, "COMMAND", "Profiling failed", {{"error", written.status().message()}});
  }
}

}  // namespace

std::string ProfileNamespace(std::string_view database) {
  return std::string(database) + ".system.profile";
}

Profiler::Settings Profiler::Get(std::string_view database) {
  MutexLock lock(mutex_);
  auto at = databases_.find(database);
  return at == databases_.end() ? Settings{} : at->second;
}

void Profiler::Set(std::string_view database, Settings settings) {
  MutexLock lock(mutex_);
  databases_.insert_or_assign(std::string(database), std::move(settings));
  Changed();
}

void Profiler::Forget(std::string_view database) {
  MutexLock lock(mutex_);
  if (auto at = databases_.find(database); at != databases_.end()) {
    databases_.erase(at);
    Changed();
  }
}

bool Profiler::Watches(std::string_view database) {
  return active_.load(std::memory_order_relaxed) && Get(database).level > 0;
}

void Profiler::Changed() {
  active_ = std::any_of(databases_.begin(), databases_.end(),
                        [](const auto& entry) { return entry.second.level > 0; });
}

void Profiler::Record(engine::Engine& engine, const request::Call& call, const Status& status,
                      std::chrono::microseconds took, int64_t slow_millis) {
  if (!active_.load(std::memory_order_relaxed) || !IsProfiled(call)) {
    return;
  }
  Settings settings = Get(call.database);
  auto wanted = [&](std::chrono::microseconds time) {
    bool slow = time >= std::chrono::milliseconds(slow_millis) && Sampled(sample_rate());
    return settings.level > 0 && (settings.filter != nullptr || settings.level == 2 || slow);
  };
  std::string ns = ProfileNamespace(call.database);
  if (!IsProfiledByStatement(call)) {
    if (wanted(took)) {
      Keep(engine, ns, settings, ProfileEntry(call, status, took));
    }
    return;
  }
  for (const request::StatementSummary& statement : call.summary.statements) {
    if (wanted(statement.took)) {
      Keep(engine, ns, settings, ProfileEntry(call, statement));
    }
  }
}

}  // namespace quire::command
