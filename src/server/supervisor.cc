// SPDX-License-Identifier: Apache-2.0
//
// The supervisor: one thread that sleeps until a delayed reply is due, the pool may starve, or a
// second has passed with connections open.
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "server/loop_internal.h"

namespace quire::server {
namespace {

constexpr auto kShortLook = std::chrono::milliseconds(1);
constexpr auto kLongLook = std::chrono::seconds(1);
constexpr int kCalmLooks = 100;
// Short looks after which a command that keeps a processor busy should not keep others waiting.
constexpr int kLongCommand = 20;
constexpr size_t kMuchMemory = 64 << 20;

bool Vanished(int fd) {
  pollfd look{fd, POLLRDHUP, 0};
  return poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// Whether the thread uses a processor or waits for one, and for nothing else.
bool Runnable(int tid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  char text[128];
  ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text);
  if (fd >= 0) {
    close(fd);
  }
  std::string_view stat(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  size_t name_end = stat.rfind(')');  // "TID (NAME) STATE ..."
  return name_end != std::string_view::npos && stat.substr(name_end).starts_with(") R");
}

}  // namespace

void Loop::Supervise() {
  pthread_setname_np(pthread_self(), "supervisor");
  MutexLock lock(mutex_);
  auto next_long = Clock::now() + kLongLook;
  while (!supervisor_stop_) {
    auto now = Clock::now();
    if (woken_ && now >= next_wakes_) {
      FireWoken(now);
    }
    FireTimers(now, shared_.stopping);
    if (starving_) {
      GrowPool();
    }
    if (now >= next_long) {
      next_long = now + kLongLook;
      auto gone = FindVanished();
      lock.unlock();
      for (auto& connection : gone) {
        connection->TellDisconnected();
      }
      gone.clear();
      watchlist_.Look(NowMillis());
      GiveBackMemory();
      JoinExited();
      lock.lock();
      continue;  // what was told meanwhile was told to nobody
    }
    if (starving_) {
      wake_.wait_for(lock.native(), kShortLook);
    } else if (connections_.empty() && timers_.empty() && exited_.empty() &&
               most_held_ <= kMuchMemory) {
      wake_.wait(lock.native());
    } else {
      auto until = timers_.empty() ? next_long : std::min(next_long, timers_.begin()->when);
      wake_.wait_until(lock.native(), woken_ ? std::min(until, next_wakes_) : until);
    }
  }
}

void Loop::Delay(Connection* connection, Clock::time_point when, bool parked) {
  MutexLock lock(mutex_);
  parked_ += parked ? 1 : 0;
  connection->due = when;
  const auto timer = timers_.insert({when, connection, parked}).first;
  if (timer == timers_.begin() || shared_.stopping) {
    wake_.notify_one();
  }
  if (parked && connection->woken()) {
    NoteWoken(connection);  // before it was here
  }
}

void Loop::Fire(Timers::iterator timer) {
  Connection* connection = timer->connection;
  parked_ -= timer->parked ? 1 : 0;
  timers_.erase(timer);
  connection->due.reset();
  Arm(connection, EPOLLOUT | EPOLLRDHUP, EPOLL_CTL_MOD);
}

// Few go on at once. Every wake runs a request: of many, those that were woken go on together, and
// the less often the more they are, so that those who never find anything leave the processors to
// others.
void Loop::NoteWoken(Connection* connection) {
  constexpr size_t kFew = 16;
  if (!connection->due) {
    return;  // somebody drives it, and will see that it was woken
  }
  const auto timer = timers_.find({*connection->due, connection, true});
  if (!timer->parked) {
    return;  // what was woken has been answered
  }
  if (parked_ <= kFew) {
    Fire(timer);
  } else if (!std::exchange(woken_, true)) {
    wake_.notify_one();
  }
}

void Loop::FireWoken(Clock::time_point now) {
  constexpr auto kPerParked = std::chrono::microseconds(20);
  next_wakes_ = now + kPerParked * parked_;
  woken_ = false;
  for (auto timer = timers_.begin(); timer != timers_.end();) {
    const auto next = std::next(timer);
    if (timer->parked && timer->connection->woken()) {
      Fire(timer);
    }
    timer = next;
  }
}

void Loop::FireTimers(Clock::time_point now, bool all) {
  while (!timers_.empty() && (all || timers_.begin()->when <= now)) {
    Fire(timers_.begin());
  }
}

void Loop::NoteStarvation() {
  bool grow = thread_count_.load(std::memory_order_relaxed) < base_threads_;
  if (!grow && starving_.load(std::memory_order_relaxed)) {
    return;
  }
  MutexLock lock(mutex_);
  if (workers_.size() < static_cast<size_t>(base_threads_) && AddWorker()) {
    return;
  }
  if (!starving_.exchange(true)) {
    calm_looks_ = 0;
    wake_.notify_one();
  }
}

// A thread is taken for blocked when it drives the same connection as at the last look and waits
// for something, or has done so for many looks. More threads than processors that get on would
// only take time from each other.
bool Loop::GetsOn(Worker& worker) {
  uint64_t turns = worker.turns.load(std::memory_order_acquire);
  bool same = (turns & 1) != 0 && turns == worker.short_look;
  worker.short_look = turns;
  worker.same_looks = same ? worker.same_looks + 1 : 0;
  return !same || (worker.same_looks < kLongCommand && Runnable(worker.tid.load()));
}

void Loop::GrowPool() {
  int running = 0;
  for (Worker& worker : workers_) {
    running += GetsOn(worker) ? 1 : 0;
  }
  pollfd ready{epoll_.get(), POLLIN, 0};
  if (shared_.idle_threads > 0 || poll(&ready, 1, 0) <= 0) {
    if (++calm_looks_ >= kCalmLooks) {
      starving_ = false;
    }
    return;
  }
  calm_looks_ = 0;
  while (running < processors_ && AddWorker()) {
    ++running;
  }
}

std::vector<std::shared_ptr<Connection>> Loop::FindVanished() {
  std::vector<std::shared_ptr<Connection>> gone;
  for (Worker& worker : workers_) {
    uint64_t turns = worker.turns.load(std::memory_order_acquire);
    if ((turns & 1) != 0 && turns == worker.long_look) {
      auto found = connections_.find(worker.current.load(std::memory_order_relaxed));
      if (found != connections_.end() && found->second->awaited() &&
          Vanished(found->second->fd())) {
        gone.push_back(found->second);
      }
    }
    worker.long_look = turns;
  }
  for (auto timer = timers_.begin(); timer != timers_.end();) {
    const auto next = std::next(timer);
    if (Vanished(timer->connection->fd())) {
      Fire(timer);
    }
    timer = next;
  }
  return gone;
}

// The allocator keeps what slow clients took; the system gets it back when most of it is free.
void Loop::GiveBackMemory() {
  const size_t held = shared_.held.bytes();
  most_held_ = std::max(most_held_, held);
  if (most_held_ > kMuchMemory && held < most_held_ / 2) {
    most_held_ = held;
    malloc_trim(0);
  }
}

void Loop::JoinExited() {
  std::vector<std::thread> exited;
  {
    MutexLock lock(mutex_);
    exited.swap(exited_);
  }
  for (std::thread& thread : exited) {
    thread.join();
  }
}

}  // namespace quire::server
