// SPDX-License-Identifier: Apache-2.0
#include "tool/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tool/text.h"

namespace quire::apps {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

size_t TerminalWidth() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string Bar(double share, size_t width) {
  const auto full = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  std::string bar(width, ' ');
  std::fill_n(bar.begin(), full, '=');
  if (full < width) {
    bar[full] = '>';
  }
  return "[" + bar + "]";
}

}  // namespace

Progress::Progress(std::string label, int64_t total, bool quiet)
    : label_(std::move(label)), total_(total), on_(!quiet && isatty(STDERR_FILENO) == 1) {}

void Progress::Show(int64_t done, int64_t documents, int64_t bytes) {
  if (!on_) {
    return;
  }
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return;
  }
  if (first_ < 0) {
    first_ = done;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ >= kInterval) {
    drawn_ = now;
    Draw(done, documents, bytes);
  }
}

void Progress::Draw(int64_t done, int64_t documents, int64_t bytes) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double speed = seconds > 0 ? static_cast<double>(done - first_) / seconds : 0;
  std::string numbers = Grouped(documents) + " documents";
  if (bytes > 0) {
    numbers += "  " + Fixed(static_cast<double>(bytes) / 1e6, 1) + " MB";
  }
  if (seconds > 0) {
    numbers +=
        "  " + Grouped(static_cast<int64_t>(static_cast<double>(documents) / seconds)) + "/s";
  }
  std::string line = label_ + " ";
  if (total_ > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total_);
    const double left = speed > 0 ? static_cast<double>(total_ - done) / speed : 0;
    numbers = " " + std::to_string(static_cast<int>(share * 100)) + "%  " + numbers + "  ETA " +
              ClockText(std::max(left, 0.0));
    const size_t used = line.size() + numbers.size() + 3;
    const size_t width = TerminalWidth();
    line += Bar(share, used + 10 < width ? std::min<size_t>(width - used, 40) : 10);
  }
  fprintf(stderr, "\r%s\033[K", (line + numbers).substr(0, TerminalWidth() - 1).c_str());
  fflush(stderr);
  visible_ = true;
}

void Progress::Clear() {
  std::lock_guard lock(mutex_);
  if (visible_) {
    fprintf(stderr, "\r\033[K");
    visible_ = false;
  }
}

}  // namespace quire::apps
