// SPDX-License-Identifier: Apache-2.0
//
// Compaction in the background, as autoCompact asks for it: tables give the space of deleted and
// overwritten documents back one after another.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <thread>

#include "base/mutex.h"
#include "quire/status.h"
#include "store/catalog.h"

namespace quire::engine {

struct AutoCompactOptions {
  int64_t free_space_target_mb =
      20;                 // smaller tables cannot give that much back: they are left alone
  bool run_once = false;  // ends after one pass, else there is one every day
  bool operator==(const AutoCompactOptions&) const = default;
};

// Safe for concurrent use.
class AutoCompact {
 public:
  // `catalog` outlives it.
  explicit AutoCompact(store::Catalog* catalog) : catalog_(*catalog) {}
  ~AutoCompact() { End(); }
  AutoCompact(const AutoCompact&) = delete;
  AutoCompact& operator=(const AutoCompact&) = delete;

  // AlreadyInitialized when it runs with other options; ObjectIsBusy while an earlier pass ends;
  // InternalError without a thread for it.
  Status Start(const AutoCompactOptions& options);
  // Ends with the table that is under way; waits only a moment for it.
  void Stop();
  // Stops and waits. REQUIRES: nobody starts it any more.
  void End();
  // A pass over all tables, now; ended early by Stop.
  void RunPass(const AutoCompactOptions& options);

 private:
  void Run(AutoCompactOptions options);
  bool stopping();

  store::Catalog& catalog_;
  Mutex mutex_;
  std::condition_variable wake_;
  AutoCompactOptions options_ QUIRE_GUARDED_BY(mutex_);  // of the thread
  bool running_ QUIRE_GUARDED_BY(mutex_) = false;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::thread thread_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::engine
