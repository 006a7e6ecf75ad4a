// SPDX-License-Identifier: Apache-2.0
//
// The supervisor: one thread that sleeps until a delayed reply is due, the pool may starve, or a
// second has passed with connections open.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>

#include <algorithm>

#include "base/log.h"
#include "server/loop_internal.h"

namespace quire::server {
namespace {

constexpr auto kShortLook = std::chrono::milliseconds(1);
constexpr auto kLongLook = std::chrono::seconds(1);
constexpr int kCalmLooks = 100;

bool Vanished(int fd) {
  pollfd look{fd, POLLRDHUP, 0};
  return poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// For a heap whose top is the soonest.
constexpr auto kLater = [](const auto& a, const auto& b) { return a.when > b.when; };

}  // namespace

void Loop::Supervise() {
  pthread_setname_np(pthread_self(), "supervisor");
  std::unique_lock lock(mutex_);
  auto next_long = Clock::now() + kLongLook;
  while (!supervisor_stop_) {
    auto now = Clock::now();
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
      lock.lock();
      JoinExited(lock);
    }
    if (starving_) {
      wake_.wait_for(lock, kShortLook);
    } else if (connections_.empty() && timers_.empty() && exited_.empty()) {
      wake_.wait(lock);
    } else {
      wake_.wait_until(lock,
                       timers_.empty() ? next_long : std::min(next_long, timers_.front().when));
    }
  }
}

void Loop::Delay(Connection* connection) {
  std::lock_guard lock(mutex_);
  timers_.push_back({Clock::now() + connection->delay(), connection});
  std::push_heap(timers_.begin(), timers_.end(), kLater);
  if (timers_.front().connection == connection || shared_.stopping) {
    wake_.notify_one();
  }
}

void Loop::FireTimers(Clock::time_point now, bool all) {
  while (!timers_.empty() && (all || timers_.front().when <= now)) {
    Connection* connection = timers_.front().connection;
    std::pop_heap(timers_.begin(), timers_.end(), kLater);
    timers_.pop_back();
    Arm(connection, EPOLLOUT | EPOLLRDHUP, EPOLL_CTL_MOD);
  }
}

void Loop::NoteStarvation() {
  bool grow = thread_count_.load(std::memory_order_relaxed) < base_threads_;
  if (!grow && starving_.load(std::memory_order_relaxed)) {
    return;
  }
  std::lock_guard lock(mutex_);
  if (workers_.size() < static_cast<size_t>(base_threads_)) {
    AddWorker();
  } else if (!starving_.exchange(true)) {
    calm_looks_ = 0;
    wake_.notify_one();
  }
}

// A thread that drives the same connection as at the last look is taken for blocked; the others
// are to be as many as the base of the pool while work waits.
void Loop::GrowPool() {
  int running = 0;
  for (Worker& worker : workers_) {
    uint64_t turns = worker.turns.load(std::memory_order_acquire);
    running += (turns & 1) != 0 && turns == worker.short_look ? 0 : 1;
    worker.short_look = turns;
  }
  pollfd ready{epoll_.get(), POLLIN, 0};
  if (shared_.idle_threads > 0 || poll(&ready, 1, 0) <= 0) {
    if (++calm_looks_ >= kCalmLooks) {
      starving_ = false;
    }
    return;
  }
  calm_looks_ = 0;
  while (running < base_threads_ && AddWorker()) {
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
  for (Timer& timer : timers_) {
    if (Vanished(timer.connection->fd())) {
      timer.when = Clock::time_point::min();
    }
  }
  std::make_heap(timers_.begin(), timers_.end(), kLater);
  return gone;
}

void Loop::JoinExited(std::unique_lock<std::mutex>& lock) {
  std::vector<std::thread> exited = std::move(exited_);
  exited_.clear();
  lock.unlock();
  for (std::thread& thread : exited) {
    thread.join();
  }
  lock.lock();
}

}  // namespace quire::server
