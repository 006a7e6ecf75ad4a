// SPDX-License-Identifier: Apache-2.0
//
// The threads of a server and the epoll descriptor they wait on.
//
// Ownership: an epoll event (one-shot) hands a connection to the thread that receives it; that
// thread arms it again, gives it to the timers, or closes it. Nobody else touches it, except for
// what Connection allows from any thread.
//
// Locks: mutex_ only; the handler is never called with it held.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "server/admission_internal.h"
#include "server/connection_internal.h"
#include "server/server.h"
#include "server/socket_internal.h"
#include "server/watchlist_internal.h"

namespace quire::server {

class Loop {
 public:
  Loop(const Options& options, std::vector<Listener> listeners, int port,
       request::Handler* handler);
  ~Loop();

  Status Start();
  void Stop();
  int port() const { return port_; }
  std::vector<std::string> addresses() const;

 private:
  using Clock = std::chrono::steady_clock;
  // Epoll's user data: 0 for the end of the server, a connection, or a listener with this bit.
  static constexpr uintptr_t kListenerBit = 1;

  // A thread of the pool as the supervisor sees it.
  struct Worker {
    std::thread thread;
    // Odd while it drives a connection; grows with every one.
    std::atomic<uint64_t> turns{0};
    // The thread's folder in /proc says what it does.
    std::atomic<int> tid{0};
    // Seen by the supervisor at its last short and long look, and at how many short ones in a row.
    uint64_t short_look = 0;
    int same_looks = 0;
    uint64_t long_look = 0;
    // What it drives; may be closed by now unless connections_ knows it.
    std::atomic<Connection*> current{nullptr};
  };
  struct Timer {
    Clock::time_point when;
    Connection* connection;  // owned by the timer until it fires
    bool parked;             // it may be woken before
    bool operator<(const Timer& other) const {
      return std::tie(when, connection) < std::tie(other.when, other.connection);
    }
  };
  using Timers = std::set<Timer>;

  // Threads of the pool (worker.cc).
  // False when there are enough, or the system refuses another.
  bool AddWorker() QUIRE_REQUIRES(mutex_);
  void Work(Worker* worker);
  bool Retire(Worker* worker);
  void Serve(Worker* worker, Scratch& scratch, Connection* connection, uint32_t events);
  void AcceptAll(Listener* listener);
  void Adopt(Accepted accepted);
  // False when the system refuses (only an addition can be refused).
  bool Arm(Connection* connection, uint32_t events, int op);
  void Close(Connection* connection);

  // The supervisor (supervisor.cc): timers, growth of the pool, vanished clients.
  void Supervise();
  void Delay(Connection* connection, Clock::time_point when, bool parked);
  void NoteWoken(Connection* connection) QUIRE_REQUIRES(mutex_);
  void Fire(Timers::iterator timer) QUIRE_REQUIRES(mutex_);
  void FireWoken(Clock::time_point now) QUIRE_REQUIRES(mutex_);
  void NoteStarvation();
  void FireTimers(Clock::time_point now, bool all) QUIRE_REQUIRES(mutex_);
  void GrowPool() QUIRE_REQUIRES(mutex_);
  static bool GetsOn(Worker& worker);
  std::vector<std::shared_ptr<Connection>> FindVanished() QUIRE_REQUIRES(mutex_);
  void GiveBackMemory();
  void JoinExited();
  // Of Stop: ends every thread. Unchecked: nobody starts another one any more, and those that end
  // take the mutex.
  void JoinAll() QUIRE_UNCHECKED;

  // Constant after construction.
  const Options options_;
  std::vector<Listener> listeners_;
  const int port_;
  Fd epoll_;
  Fd stop_event_;
  const int processors_;
  const int base_threads_;
  Shared shared_;
  Admission admission_;
  SpareDescriptor spare_;
  Watchlist watchlist_;
  std::thread supervisor_;
  size_t most_held_ = 0;               // the supervisor's: since memory was last given back
  std::atomic<bool> starving_{false};  // the supervisor looks often
  std::atomic<int> thread_count_{0};

  Mutex mutex_;
  std::condition_variable wake_;    // of the supervisor
  std::condition_variable closed_;  // a connection was closed
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_
      QUIRE_GUARDED_BY(mutex_);
  std::list<Worker> workers_ QUIRE_GUARDED_BY(mutex_);
  std::vector<std::thread> exited_ QUIRE_GUARDED_BY(mutex_);
  Timers timers_ QUIRE_GUARDED_BY(mutex_);
  size_t parked_ QUIRE_GUARDED_BY(mutex_) = 0;   // timers of parked connections
  bool woken_ QUIRE_GUARDED_BY(mutex_) = false;  // one of them was woken
  Clock::time_point next_wakes_ QUIRE_GUARDED_BY(mutex_){};
  bool thread_refused_ QUIRE_GUARDED_BY(mutex_) = false;  // the last one that was to be started
  int calm_looks_ QUIRE_GUARDED_BY(mutex_) = 0;  // short looks in a row that found no starvation
  bool started_ QUIRE_GUARDED_BY(mutex_) = false;
  bool workers_stop_ QUIRE_GUARDED_BY(mutex_) = false;
  bool supervisor_stop_ QUIRE_GUARDED_BY(mutex_) = false;
};

}  // namespace quire::server
