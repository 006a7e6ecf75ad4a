// SPDX-License-Identifier: Apache-2.0
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/try.h"
#include "request/network_stats.h"
#include "server/loop_internal.h"

namespace quire::server {
namespace {

// Threads that may run at once before only blocked ones are made up for: enough to share a group
// commit, few enough to not fight for the processors.
int BaseThreads(int limit, int processors) { return std::min(limit, std::max(8, 4 * processors)); }

// An eighth of the machine's memory.
size_t DefaultHeldBytes() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) /
         8;
}

}  // namespace

Loop::Loop(const Options& options, std::vector<Listener> listeners, int port,
           request::Handler* handler)
    : options_(options),
      listeners_(std::move(listeners)),
      port_(port),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      processors_(static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))),
      base_threads_(BaseThreads(options.max_threads, processors_)),
      shared_(options.held_bytes > 0 ? options.held_bytes : DefaultHeldBytes()),
      admission_(static_cast<size_t>(options.max_connections), options.limits) {
  shared_.handler = handler;
  shared_.limits = options.limits;
  shared_.tls = options.tls.get();
  shared_.stay_limit = std::max(2, processors_);
  shared_.woken = [this](Connection* connection) {
    MutexLock lock(mutex_);
    NoteWoken(connection);
  };
}

Loop::~Loop() { Stop(); }

Status Loop::Start() {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;
  bool ok = epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_event_.get(), &event) == 0;
  for (Listener& listener : listeners_) {
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.u64 = reinterpret_cast<uintptr_t>(&listener) | kListenerBit;
    ok = ok && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener.fd.get(), &event) == 0;
  }
  if (!ok) {
    return {kInternalError, std::string("epoll failed: ") + strerror(errno)};
  }
  request::Network().connections_limit = options_.max_connections;
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(supervisor_, StartThread([this] { Supervise(); }));
  started_ = true;
  if (!AddWorker()) {
    lock.unlock();
    Stop();
    return {kInternalError, "Failed to start a thread"};
  }
  AddWorker();
  return Status::Ok();
}

std::vector<std::string> Loop::addresses() const {
  std::vector<std::string> out;
  for (const Listener& listener : listeners_) {
    out.push_back(listener.address);
  }
  return out;
}

void Loop::JoinAll() {
  uint64_t one = 1;
  (void)!write(stop_event_.get(), &one, sizeof one);
  for (Worker& worker : workers_) {
    worker.thread.join();
  }
  supervisor_.join();
  for (std::thread& thread : exited_) {
    thread.join();
  }
  exited_.clear();
  workers_.clear();
}

void Loop::Stop() {
  MutexLock lock(mutex_);
  if (!std::exchange(started_, false)) {
    return;
  }
  shared_.stopping = true;
  for (const Listener& listener : listeners_) {
    (void)shutdown(listener.fd.get(), SHUT_RDWR);
    if (!listener.socket_path.empty()) {
      (void)unlink(listener.socket_path.c_str());
    }
  }
  // Whatever waits for a request reads its end; whatever runs can still send its reply.
  for (auto& [raw, connection] : connections_) {
    (void)shutdown(connection->fd(), SHUT_RD);
  }
  wake_.notify_one();
  auto all_closed = [this]() QUIRE_REQUIRES(mutex_) { return connections_.empty(); };
  if (!closed_.wait_for(lock.native(), options_.grace, all_closed)) {
    constexpr std::chrono::milliseconds kLastWords(1000);
    lock.unlock();
    shared_.handler->Stopping();
    lock.lock();
    closed_.wait_for(lock.native(), std::min(options_.grace, kLastWords), all_closed);
    std::vector<std::shared_ptr<Connection>> rest;
    for (auto& [raw, connection] : connections_) {
      (void)shutdown(connection->fd(), SHUT_RDWR);
      rest.push_back(connection);
    }
    lock.unlock();
    for (auto& connection : rest) {
      connection->TellDisconnected();
    }
    rest.clear();
    lock.lock();
    closed_.wait(lock.native(), all_closed);
  }
  workers_stop_ = true;
  supervisor_stop_ = true;
  wake_.notify_one();
  lock.unlock();
  JoinAll();
  listeners_.clear();
}

}  // namespace quire::server
