// SPDX-License-Identifier: Apache-2.0
#include "js/output.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"

namespace quire::js {

namespace {

using Clock = std::chrono::steady_clock;

// What a line of the log has beside its text.
constexpr size_t kBytesOfLine = 150;

// The room that all have together: it grows with time, up to kBytesAtOnce.
class Room {
 public:
  // False when there is not so much; counts that.
  bool Take(size_t bytes) {
    MutexLock lock(mutex_);
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
    left_ = std::min<double>(kBytesAtOnce, left_ + seconds * kBytesPerSecond);
    if (left_ < static_cast<double>(bytes)) {
      ++left_out_;
      return false;
    }
    left_ -= static_cast<double>(bytes);
    return true;
  }
  int64_t TakeLeftOut() {
    MutexLock lock(mutex_);
    return std::exchange(left_out_, 0);
  }

 private:
  Mutex mutex_;
  double left_ QUIRE_GUARDED_BY(mutex_) = kBytesAtOnce;
  Clock::time_point last_ QUIRE_GUARDED_BY(mutex_) = Clock::now();
  int64_t left_out_ QUIRE_GUARDED_BY(mutex_) = 0;
};

void WriteLine(std::string_view message, log::Attributes attributes, size_t bytes) {
  static Room room;
  if (!room.Take(bytes)) {
    return;
  }
  if (const int64_t left_out = room.TakeLeftOut(); left_out > 0) {
    log::Warning("QUERY", "Scripts print more than the log takes", {{"linesLeftOut", left_out}});
  }
  log::Info("QUERY", message, attributes);
}

}  // namespace

void LogOutput(OpContext* op, std::string_view line) {
  line = log::Beginning(line, kLongestLine);
  const size_t bytes = line.size() + kBytesOfLine;
  if (op != nullptr) {
    if (op->printed_lines > kMostLines) {
      return;
    }
    ++op->printed_lines;
    op->printed_bytes += bytes;
    if (op->printed_lines > kMostLines || op->printed_bytes > kMostBytes) {
      op->printed_lines = kMostLines + 1;
      WriteLine("Script output is cut off", {}, kBytesOfLine);
      return;
    }
  }
  WriteLine("Script output", {{"text", line}}, bytes);
}

}  // namespace quire::js
