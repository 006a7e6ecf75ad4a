// SPDX-License-Identifier: Apache-2.0
//
// A line on standard error that shows how far a job is.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace quire::apps {

// Draws at most ten times a second, and only on a terminal. Safe for concurrent use.
class Progress {
 public:
  // Work is measured in `total` units; 0 when nobody knows how many.
  Progress(std::string label, int64_t total, bool quiet);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` units so far; `documents` and, when not 0, `bytes` are shown beside the bar.
  void Show(int64_t done, int64_t documents, int64_t bytes = 0);
  // Takes the line away.
  void Clear();

 private:
  void Draw(int64_t done, int64_t documents, int64_t bytes);

  const std::string label_;
  const int64_t total_;
  const bool on_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::chrono::steady_clock::time_point drawn_{};
  int64_t first_ = -1;  // what was done before this run
  bool visible_ = false;
};

}  // namespace quire::apps
