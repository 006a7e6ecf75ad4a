// SPDX-License-Identifier: Apache-2.0
#include "run/profiler.h"

#include <algorithm>
#include <random>

#include "run/backend.h"
#include "run/profile_entry.h"

namespace quire::run {
namespace {

bool Sampled(double rate) {
  if (rate >= 1) {
    return true;
  }
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random) < rate;
}

// Lets the entry be kept, unless the filter refuses it.
void Keep(std::string_view database, const Profiler::Settings& settings,
          const bson::Document& entry, Backend& backend) {
  if (settings.filter != nullptr) {
    auto matches = settings.filter->Matches(entry.view());
    if (!matches.ok() || !*matches) {
      return;
    }
  }
  backend.KeepProfile(database, entry);
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

void Profiler::Record(const request::Call& call, const Status& status,
                      std::chrono::microseconds took, int64_t slow_millis, Backend& backend) {
  if (!active_.load(std::memory_order_relaxed) || !IsProfiled(call)) {
    return;
  }
  Settings settings = Get(call.database);
  auto wanted = [&](std::chrono::microseconds time) {
    bool slow = time >= std::chrono::milliseconds(slow_millis) && Sampled(sample_rate());
    return settings.level > 0 && (settings.filter != nullptr || settings.level == 2 || slow);
  };
  if (!IsProfiledByStatement(call)) {
    if (wanted(took)) {
      Keep(call.database, settings, ProfileEntry(call, status, took), backend);
    }
    return;
  }
  for (const request::StatementSummary& statement : call.summary.statements) {
    if (wanted(statement.took)) {
      Keep(call.database, settings, ProfileEntry(call, statement), backend);
    }
  }
}

}  // namespace quire::run
