// SPDX-License-Identifier: Apache-2.0
//
// The threads of the pool: wait for an event, accept or drive a connection, wait again.
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "request/network_stats.h"
#include "server/loop_internal.h"

namespace quire::server {
namespace {

constexpr int kIdleMillis = 10'000;
constexpr size_t kMinThreads = 2;
constexpr int kAcceptsPerTurn = 64;
constexpr useconds_t kAcceptPause = 20'000;

}  // namespace

bool Loop::AddWorker() {
  if (workers_stop_ || workers_.size() >= static_cast<size_t>(options_.max_threads)) {
    return false;
  }
  Worker& worker = workers_.emplace_back();
  Result<std::thread> thread = StartThread([this, &worker] { Work(&worker); });
  if (!thread.ok()) {
    workers_.pop_back();
    if (!std::exchange(thread_refused_, true)) {
      log::Warning("NETWORK", "Going on with the threads there are",
                   {{"threads", workers_.size()}, {"error", thread.status().message()}});
    }
    return false;
  }
  worker.thread = *std::move(thread);
  thread_refused_ = false;
  thread_count_ = static_cast<int>(workers_.size());
  request::Network().threads = thread_count_.load();
  return true;
}

void Loop::Work(Worker* worker) {
  pthread_setname_np(pthread_self(), "conn");
  worker->tid = gettid();
  Scratch scratch;
  while (true) {
    epoll_event event{};
    shared_.idle_threads.fetch_add(1);
    request::Network().threads_idle.fetch_add(1, std::memory_order_relaxed);
    int n = epoll_wait(epoll_.get(), &event, 1, kIdleMillis);
    request::Network().threads_idle.fetch_sub(1, std::memory_order_relaxed);
    bool last = shared_.idle_threads.fetch_sub(1) == 1;
    if (n == 0 && Retire(worker)) {
      return;
    }
    if (n <= 0) {
      continue;
    }
    if (event.data.u64 == 0) {
      return;  // the server stops
    }
    if (last) {
      NoteStarvation();
    }
    if ((event.data.u64 & kListenerBit) != 0) {
      AcceptAll(reinterpret_cast<Listener*>(event.data.u64 & ~kListenerBit));
    } else {
      Serve(worker, scratch, static_cast<Connection*>(event.data.ptr), event.events);
    }
  }
}

bool Loop::Retire(Worker* worker) {
  MutexLock lock(mutex_);
  if (workers_stop_ || workers_.size() <= kMinThreads) {
    return false;
  }
  exited_.push_back(std::move(worker->thread));
  workers_.remove_if([worker](const Worker& w) { return &w == worker; });
  thread_count_ = static_cast<int>(workers_.size());
  request::Network().threads = thread_count_.load();
  return true;
}

void Loop::Serve(Worker* worker, Scratch& scratch, Connection* connection, uint32_t events) {
  connection->TakeOver();
  worker->current.store(connection, std::memory_order_relaxed);
  worker->turns.fetch_add(1, std::memory_order_release);
  auto wait = connection->Drive(scratch, (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
  worker->turns.fetch_add(1, std::memory_order_release);
  watchlist_.Watch(connection);
  switch (wait) {
    case Connection::Wait::kReadable:
      Arm(connection, EPOLLIN, EPOLL_CTL_MOD);
      break;
    case Connection::Wait::kWritable:
      Arm(connection, EPOLLOUT | (connection->streaming() ? EPOLLRDHUP : 0U), EPOLL_CTL_MOD);
      break;
    case Connection::Wait::kDelay:
      Delay(connection, Clock::now() + connection->delay(), false);
      break;
    case Connection::Wait::kPark:
      Delay(connection, connection->until(), true);
      break;
    case Connection::Wait::kClose:
      Close(connection);
      break;
  }
}

void Loop::AcceptAll(Listener* listener) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    int error = 0;
    Accepted accepted = Accept(*listener, &error);
    if (shared_.stopping) {
      return;
    }
    if (accepted.fd.get() < 0) {
      if ((error == EMFILE || error == ENFILE) && spare_.Refuse(*listener)) {
        admission_.Refused("", "no file descriptor is left");
        continue;
      }
      if (error != 0) {
        log::Error("NETWORK", "Failed to accept a connection", {{"error", strerror(error)}});
        usleep(kAcceptPause);
      }
      break;
    }
    Adopt(std::move(accepted));
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = reinterpret_cast<uintptr_t>(listener) | kListenerBit;
  (void)epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener->fd.get(), &event);
}

void Loop::Adopt(Accepted accepted) {
  if (std::string_view why = admission_.Enter(accepted.origin); !why.empty()) {
    admission_.Refused(accepted.remote, why);
    return;
  }
  auto connection = std::make_shared<Connection>(std::move(accepted), &shared_);
  Connection* raw = connection.get();
  {
    MutexLock lock(mutex_);
    if (shared_.stopping) {
      return;
    }
    connections_.emplace(raw, std::move(connection));
    if (connections_.size() == 1) {
      wake_.notify_one();
    }
  }
  auto& stats = request::Network();
  stats.connections.fetch_add(1, std::memory_order_relaxed);
  stats.connections_created.fetch_add(1, std::memory_order_relaxed);
  log::Debug(1, "NETWORK", "Connection accepted",
             {{"remote", raw->client().remote()}, {"connectionId", raw->client().id()}});
  watchlist_.Watch(raw);
  if (!Arm(raw, EPOLLIN, EPOLL_CTL_ADD)) {
    log::Error("NETWORK", "Failed to watch a connection", {{"error", strerror(errno)}});
    Close(raw);
  }
}

bool Loop::Arm(Connection* connection, uint32_t events, int op) {
  epoll_event event{};
  event.events = events | EPOLLONESHOT;
  event.data.ptr = connection;
  const int fd = connection->fd();
  connection->HandOver();  // from here on it may be another thread's
  return epoll_ctl(epoll_.get(), op, fd, &event) == 0;
}

void Loop::Close(Connection* connection) {
  connection->TellDisconnected();
  watchlist_.Forget(connection);
  admission_.Leave(connection->origin());
  log::Debug(
      1, "NETWORK", "Connection ended",
      {{"remote", connection->client().remote()}, {"connectionId", connection->client().id()}});
  request::Network().connections.fetch_sub(1, std::memory_order_relaxed);
  std::shared_ptr<Connection> owner;
  MutexLock lock(mutex_);
  auto found = connections_.find(connection);
  owner = std::move(found->second);
  connections_.erase(found);
  if (shared_.stopping) {
    closed_.notify_all();
  }
}

}  // namespace quire::server
