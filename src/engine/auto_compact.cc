// SPDX-License-Identifier: Apache-2.0
#include "engine/auto_compact.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/try.h"
#include "store/layout.h"

namespace quire::engine {

void AutoCompact::End() {
  Stop();
  std::thread thread;
  {
    MutexLock lock(mutex_);
    std::swap(thread, thread_);
  }
  if (thread.joinable()) {
    thread.join();
  }
}

Status AutoCompact::Start(const AutoCompactOptions& options) {
  MutexLock lock(mutex_);
  if (running_ && stopping_) {
    return {kObjectIsBusy, "Background compaction is ending"};
  }
  if (running_) {
    return options == options_ ? Status::Ok()
                               : Status(kAlreadyInitialized,
                                        "Background compaction runs with other options already");
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  ASSIGN_OR_RETURN(thread_, StartThread([this, options] { Run(options); }));
  options_ = options;
  running_ = true;
  stopping_ = false;
  return Status::Ok();
}

void AutoCompact::Stop() {
  constexpr auto kMoment = std::chrono::milliseconds(500);
  MutexLock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  wake_.wait_for(lock.native(), kMoment, [&]() QUIRE_REQUIRES(mutex_) { return !running_; });
}

bool AutoCompact::stopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

void AutoCompact::RunPass(const AutoCompactOptions& options) {
  auto compact = [&](store::TableId table) {
    const kv::Range range = store::TableRange(table);
    const auto stored_mb = static_cast<int64_t>(catalog_.store().ApproximateSize(range) >> 20);
    if (stored_mb < options.free_space_target_mb) {
      return;
    }
    if (Status s = catalog_.store().Compact(range); !s.ok()) {
      log::Warning("STORAGE", "A table was not compacted", {{"error", s.ToString()}});
    }
  };
  for (const std::string& database : catalog_.snapshot()->Databases()) {
    for (const auto& info : catalog_.snapshot()->InDatabase(database)) {
      if (stopping()) {
        return;
      }
      if (info->is_view()) {
        continue;
      }
      compact(info->table->id);
      for (const auto& index : info->indexes) {
        compact(index->table->id);
      }
    }
  }
}

void AutoCompact::Run(AutoCompactOptions options) {
  constexpr auto kPause = std::chrono::hours(24);
  while (true) {
    RunPass(options);
    MutexLock lock(mutex_);
    if (options.run_once ||
        wake_.wait_for(lock.native(), kPause, [&]() QUIRE_REQUIRES(mutex_) { return stopping_; })) {
      running_ = false;
      wake_.notify_all();
      return;
    }
  }
}

}  // namespace quire::engine
