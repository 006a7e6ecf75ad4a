// SPDX-License-Identifier: Apache-2.0
#include "peer/pool.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/try.h"
#include "peer/connection_internal.h"

namespace quire::peer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kWakeUp = 0;  // stands for the eventfd where connections have their ids
constexpr std::chrono::hours kLongestSleep{1};

struct Request {
  std::string host;
  std::string lane;
  bson::Document command;
  Deadline deadline;
  Done done;
  uint64_t connection = 0;
  Clock::time_point sent;  // the epoch: not yet
  bool stays = false;      // its caller waits for it
};

}  // namespace

class Pool::Impl final : public ConnectionOwner {
 public:
  explicit Impl(PoolOptions options) : options_(std::move(options)) {}
  ~Impl() override;

  Status Start();
  RequestId Send(Request request);
  void Stay(const std::vector<RequestId>& requests, Deadline until);
  void Cancel(RequestId id, bool close);
  bool OnOwnThread() const { return std::this_thread::get_id() == thread_.get_id(); }

  // Connections call these while the pool's state is locked.
  const bson::Document* CommandOf(RequestId id) override QUIRE_REQUIRES(state_);
  void Sent(RequestId id) override QUIRE_REQUIRES(state_);
  void Replied(RequestId id, bson::Document reply) override QUIRE_REQUIRES(state_);
  void Ended(uint64_t connection) override QUIRE_REQUIRES(state_);

 private:
  // What other threads leave to the pool's.
  struct Wishes {
    std::vector<std::pair<RequestId, Request>> requests;
    std::vector<std::pair<RequestId, bool>> cancels;  // and whether its connection is closed
    std::vector<std::function<void()>> calls;
    bool stop = false;
  };

  // A connection that a caller waits on.
  struct Awaited {
    uint64_t connection;
    int fd;
  };

  // What is to be told when nothing is locked.
  struct CallBacks {
    std::vector<std::pair<Done, Result<bson::Document>>> answers;
    std::vector<std::pair<std::string, LinkEvent>> links;
    bool empty() const { return answers.empty() && links.empty(); }
  };

  void Run();
  bool TakeWishes() QUIRE_REQUIRES(state_);
  // Sends it at once where its connection is open. False: it is left to the pool's thread.
  bool SendNow(RequestId id, Request* request) QUIRE_REQUIRES(state_);
  void Take(RequestId id, Request request) QUIRE_REQUIRES(state_);
  // The connections that callers wait on for these requests; after that `over` says nobody does.
  std::vector<Awaited> AwaitedOf(const std::vector<RequestId>& requests, bool over)
      QUIRE_REQUIRES(state_);
  Connection* ConnectionFor(const Request& request) QUIRE_REQUIRES(state_);
  // Looks for its address, and connects to it.
  void Open(uint64_t id) QUIRE_REQUIRES(state_);
  // How long the next connection to the host is put off.
  Clock::duration Spread(const std::string& host) QUIRE_REQUIRES(state_);
  void OpenPutOff(Clock::time_point now) QUIRE_REQUIRES(state_);
  void Finish(RequestId id, Result<bson::Document> reply) QUIRE_REQUIRES(state_);
  void ExpireRequests(Clock::time_point now) QUIRE_REQUIRES(state_);
  void ExpireConnections(Clock::time_point now) QUIRE_REQUIRES(state_);
  void Reap() QUIRE_REQUIRES(state_);
  int PollTimeout() QUIRE_REQUIRES(state_);
  void CallBack();
  void Post(std::function<void()> call);
  void WakeUp();

  const PoolOptions options_;
  std::shared_ptr<SSL_CTX> tls_;
  auth::SaltedPasswords passwords_;
  int epoll_ = -1;
  int wake_ = -1;
  std::unique_ptr<Shared> shared_;
  Resolver resolver_;
  std::thread thread_;

  // Requests and connections: the pool's thread holds it but while it waits and calls back.
  Mutex state_;
  bool stopping_ QUIRE_GUARDED_BY(state_) = false;
  uint64_t last_connection_ QUIRE_GUARDED_BY(state_) = kWakeUp;
  std::unordered_map<RequestId, Request> requests_ QUIRE_GUARDED_BY(state_);
  std::set<std::pair<Deadline, RequestId>> deadlines_ QUIRE_GUARDED_BY(state_);
  std::map<std::pair<std::string, std::string>, uint64_t> by_lane_ QUIRE_GUARDED_BY(state_);
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_ QUIRE_GUARDED_BY(state_);
  std::set<uint64_t> opening_ QUIRE_GUARDED_BY(state_);  // or just opened
  std::set<std::pair<Clock::time_point, uint64_t>> put_off_ QUIRE_GUARDED_BY(state_);
  std::set<std::string> failing_ QUIRE_GUARDED_BY(state_);  // hosts, since the last one that opened
  std::minstd_rand random_ QUIRE_GUARDED_BY(state_){std::random_device{}()};
  std::vector<uint64_t> ended_ QUIRE_GUARDED_BY(state_);  // connections to be reaped
  Clock::time_point sleeps_until_ QUIRE_GUARDED_BY(state_) = Clock::time_point::max();
  CallBacks callbacks_ QUIRE_GUARDED_BY(state_);

  Mutex mutex_;  // locked behind state_
  Wishes wishes_ QUIRE_GUARDED_BY(mutex_);
  RequestId last_id_ QUIRE_GUARDED_BY(mutex_) = 0;
};

Status Pool::Impl::Start() {
  ASSIGN_OR_RETURN(tls_, MakeClientContext(options_.tls));
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeUp;
  if (epoll_ < 0 || wake_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    return {kInternalError, "the system refuses an epoll descriptor"};
  }
  shared_ = std::make_unique<Shared>(Shared{options_, tls_.get(), &passwords_, epoll_});
  RETURN_IF_ERROR(resolver_.Start());
  ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return Status::Ok();
}

Pool::Impl::~Impl() {
  if (thread_.joinable()) {
    {
      MutexLock lock(mutex_);
      wishes_.stop = true;
    }
    WakeUp();
    thread_.join();
  }
  if (epoll_ >= 0) {
    close(epoll_);
  }
  if (wake_ >= 0) {
    close(wake_);
  }
}

RequestId Pool::Impl::Send(Request request) {
  RequestId id;
  {
    MutexLock state(state_);
    bool behind = false;  // others that may be for the same connection
    {
      MutexLock lock(mutex_);
      id = ++last_id_;
      behind = !wishes_.requests.empty();
    }
    if (!behind && SendNow(id, &request)) {
      return id;
    }
    request.stays = false;
    MutexLock lock(mutex_);
    wishes_.requests.emplace_back(id, std::move(request));
  }
  WakeUp();
  return id;
}

void Pool::Impl::Stay(const std::vector<RequestId>& requests, Deadline until) {
  std::vector<pollfd> sockets;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now());
    std::vector<Awaited> awaited;
    {
      MutexLock lock(state_);
      awaited = AwaitedOf(requests, left.count() <= 0);
    }
    if (awaited.empty()) {
      return;
    }
    sockets.clear();
    for (const Awaited& one : awaited) {
      sockets.push_back({one.fd, POLLIN, 0});
    }
    const timespec time{0, static_cast<int64_t>(std::min<int64_t>(left.count(), 999'999'999))};
    if (ppoll(sockets.data(), sockets.size(), &time, nullptr) <= 0) {
      continue;
    }
    {
      MutexLock lock(state_);
      for (size_t i = 0; i < sockets.size(); ++i) {
        // Another connection may have the descriptor by now: then there is nothing to read.
        const auto found = connections_.find(awaited[i].connection);
        if (sockets[i].revents != 0 && found != connections_.end()) {
          found->second->OnEvents(EPOLLIN);
        }
      }
      Reap();
    }
    CallBack();
  }
}

std::vector<Pool::Impl::Awaited> Pool::Impl::AwaitedOf(const std::vector<RequestId>& requests,
                                                       bool over) {
  std::vector<Awaited> out;
  for (const RequestId id : requests) {
    const auto request = requests_.find(id);
    if (request == requests_.end()) {
      continue;
    }
    const auto found = connections_.find(request->second.connection);
    if (found == connections_.end() || !found->second->quiet()) {
      continue;
    }
    if (over) {
      found->second->SetQuiet(false);
    } else {
      out.push_back({found->first, found->second->fd()});
    }
  }
  return out;
}

bool Pool::Impl::SendNow(RequestId id, Request* request) {
  if (stopping_) {
    return false;
  }
  const auto lane = by_lane_.find({request->host, request->lane});
  const auto known = lane == by_lane_.end() ? connections_.end() : connections_.find(lane->second);
  if (known == connections_.end() || known->second->state() != Connection::State::kOpen) {
    return false;
  }
  const bool sooner = request->deadline < sleeps_until_;
  Take(id, std::move(*request));
  if (sooner || !ended_.empty()) {
    WakeUp();
  }
  return true;
}

void Pool::Impl::Cancel(RequestId id, bool close) {
  {
    MutexLock lock(mutex_);
    wishes_.cancels.emplace_back(id, close);
  }
  WakeUp();
}

void Pool::Impl::Post(std::function<void()> call) {
  {
    MutexLock lock(mutex_);
    wishes_.calls.push_back(std::move(call));
  }
  WakeUp();
}

void Pool::Impl::WakeUp() {
  const uint64_t one = 1;
  (void)!write(wake_, &one, sizeof one);
}

void Pool::Impl::Run() {
  std::array<epoll_event, 64> events;
  bool goes_on = true;
  while (goes_on) {
    int timeout = 0;
    {
      MutexLock lock(state_);
      goes_on = TakeWishes() || !stopping_;
      timeout = PollTimeout();
    }
    CallBack();
    if (!goes_on) {
      return;
    }
    const int count = epoll_wait(epoll_, events.data(), events.size(), timeout);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      const uint64_t id = event.data.u64;  // a copy: the struct is packed
      if (id == kWakeUp) {
        uint64_t rings;
        (void)!read(wake_, &rings, sizeof rings);
        continue;
      }
      {
        MutexLock lock(state_);
        if (auto found = connections_.find(id); found != connections_.end()) {
          found->second->OnEvents(event.events);
        }
      }
      CallBack();
    }
    {
      MutexLock lock(state_);
      const auto now = Clock::now();
      ExpireRequests(now);
      ExpireConnections(now);
      OpenPutOff(now);
      Reap();
    }
    CallBack();
  }
}

void Pool::Impl::CallBack() {
  CallBacks callbacks;
  {
    MutexLock lock(state_);
    std::swap(callbacks, callbacks_);
  }
  for (auto& [done, reply] : callbacks.answers) {
    done(std::move(reply));
  }
  for (const auto& [host, event] : callbacks.links) {
    options_.on_link(host, event);
  }
}

// Whether there was anything.
bool Pool::Impl::TakeWishes() {
  Wishes wishes;
  {
    MutexLock lock(mutex_);
    std::swap(wishes, wishes_);
  }
  for (auto& [id, request] : wishes.requests) {
    Take(id, std::move(request));
  }
  for (const auto& [id, close] : wishes.cancels) {
    auto found = requests_.find(id);
    const uint64_t connection = found == requests_.end() ? kWakeUp : found->second.connection;
    Finish(id, Status(kCallbackCanceled, "The request was cancelled"));
    if (auto used = connections_.find(connection); close && used != connections_.end()) {
      used->second->Close({kHostUnreachable, "The connection was closed with a request on it"});
    }
  }
  for (auto& call : wishes.calls) {
    call();
  }
  if (wishes.stop) {
    stopping_ = true;
    while (!requests_.empty()) {
      Finish(requests_.begin()->first, Status(kShutdownInProgress, "The pool is shutting down"));
    }
  }
  Reap();
  return wishes.stop || !wishes.requests.empty() || !wishes.cancels.empty() ||
         !wishes.calls.empty();
}

void Pool::Impl::Take(RequestId id, Request request) {
  if (stopping_) {
    callbacks_.answers.emplace_back(std::move(request.done),
                                    Status(kShutdownInProgress, "The pool is shutting down"));
    return;
  }
  deadlines_.emplace(request.deadline, id);
  Connection* connection = ConnectionFor(request);
  request.connection = connection->id();
  connection->SetQuiet(request.stays);
  requests_.emplace(id, std::move(request));
  connection->Add(id);
}

Connection* Pool::Impl::ConnectionFor(const Request& request) {
  uint64_t& id = by_lane_[{request.host, request.lane}];
  auto known = connections_.find(id);
  if (known != connections_.end() && known->second->state() != Connection::State::kClosed) {
    return known->second.get();
  }
  id = ++last_connection_;
  auto made = std::make_unique<Connection>(id, request.host, *shared_, this);
  Connection* connection = made.get();
  connections_.emplace(id, std::move(made));
  opening_.insert(id);
  if (const Clock::duration spread = Spread(request.host); spread.count() > 0) {
    put_off_.emplace(Clock::now() + spread, id);
  } else {
    Open(id);
  }
  return connection;
}

Clock::duration Pool::Impl::Spread(const std::string& host) {
  if (options_.spread.count() <= 0 || !failing_.contains(host)) {
    return {};
  }
  const std::chrono::microseconds most = options_.spread;
  return std::chrono::microseconds(
      std::uniform_int_distribution<int64_t>(1, most.count())(random_));
}

void Pool::Impl::OpenPutOff(Clock::time_point now) {
  while (!put_off_.empty() && put_off_.begin()->first <= now) {
    const uint64_t id = put_off_.begin()->second;
    put_off_.erase(put_off_.begin());
    Open(id);
  }
}

void Pool::Impl::Open(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) {
    return;
  }
  auto split = SplitHost(found->second->host());
  if (!split.ok()) {
    found->second->Close(split.status());
    return;
  }
  resolver_.Resolve(*split, [this, serial = id, name = split->host](auto addresses) {
    // Called with the state locked, as all wishes are taken.
    Post([this, serial, name, addresses = std::move(addresses)]() QUIRE_UNCHECKED mutable {
      if (auto found = connections_.find(serial); found != connections_.end()) {
        found->second->Connect(std::move(addresses), name);
      }
    });
  });
}

const bson::Document* Pool::Impl::CommandOf(RequestId id) {
  auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : &found->second.command;
}

void Pool::Impl::Sent(RequestId id) {
  Request& request = requests_.at(id);
  request.sent = Clock::now();
  request.command = bson::Document();
}

void Pool::Impl::Replied(RequestId id, bson::Document reply) { Finish(id, std::move(reply)); }

void Pool::Impl::Ended(uint64_t connection) { ended_.push_back(connection); }

void Pool::Impl::Finish(RequestId id, Result<bson::Document> reply) {
  auto found = requests_.find(id);
  if (found == requests_.end()) {
    return;
  }
  Done done = std::move(found->second.done);
  deadlines_.erase({found->second.deadline, id});
  requests_.erase(found);
  callbacks_.answers.emplace_back(std::move(done), std::move(reply));
}

void Pool::Impl::ExpireRequests(Clock::time_point now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const RequestId id = deadlines_.begin()->second;
    const Request& request = requests_.at(id);
    auto found = connections_.find(request.connection);
    // Nothing came since it was sent: the other side hangs or is cut off, and what is sent there
    // next would wait for TCP to find out.
    const bool hangs = found != connections_.end() && request.sent != Clock::time_point() &&
                       found->second->last_received() <= request.sent;
    const std::string host = request.host;
    Finish(id, Status(kNetworkTimeout, "No reply from " + host + " in time"));
    if (hangs) {
      found->second->Close(
          {kHostUnreachable, "Connection to " + host + " was closed: it did not reply in time"});
    }
  }
}

void Pool::Impl::ExpireConnections(Clock::time_point now) {
  for (auto it = opening_.begin(); it != opening_.end();) {
    const auto found = connections_.find(*it);
    if (found == connections_.end() || found->second->state() >= Connection::State::kOpen) {
      if (found != connections_.end() && found->second->state() == Connection::State::kOpen) {
        failing_.erase(found->second->host());
      }
      it = opening_.erase(it);
      continue;
    }
    Connection& connection = *found->second;
    if (connection.setup_until() <= now) {
      connection.Close({kNetworkTimeout, "Timed out connecting to " + connection.host()});
    }
    ++it;
  }
}

void Pool::Impl::Reap() {
  std::vector<std::unique_ptr<Connection>> closed;
  for (const uint64_t id : std::exchange(ended_, {})) {
    if (auto found = connections_.find(id); found != connections_.end()) {
      closed.push_back(std::move(found->second));
      connections_.erase(found);
    }
  }
  for (const auto& connection : closed) {
    if (!connection->opened()) {
      failing_.insert(connection->host());
    }
    for (RequestId id : connection->Unanswered()) {
      Finish(id, connection->problem());
    }
    if (!options_.on_link) {
      continue;
    }
    if (connection->refused() || connection->ended_by_other()) {
      const LinkEvent event = connection->refused() ? LinkEvent::kRefused : LinkEvent::kClosed;
      callbacks_.links.emplace_back(connection->host(), event);
    }
  }
}

int Pool::Impl::PollTimeout() {
  if (stopping_ || !callbacks_.empty()) {
    return 0;
  }
  sleeps_until_ = Clock::now() + kLongestSleep;
  if (!deadlines_.empty()) {
    sleeps_until_ = std::min(sleeps_until_, deadlines_.begin()->first);
  }
  for (const uint64_t id : opening_) {
    if (auto found = connections_.find(id); found != connections_.end()) {
      sleeps_until_ = std::min(sleeps_until_, found->second->setup_until());
    }
  }
  if (!put_off_.empty()) {
    sleeps_until_ = std::min(sleeps_until_, put_off_.begin()->first);
  }
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(sleeps_until_ - Clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

Result<std::unique_ptr<Pool>> Pool::Start(PoolOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Pool>(new Pool(std::move(impl)));
}

Pool::Pool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pool::~Pool() = default;

RequestId Pool::Send(const std::string& host, const std::string& lane,
                     const bson::Argument& command, Deadline deadline, Done done) {
  return impl_->Send(
      {host, lane, bson::Document(command.view()), deadline, std::move(done), 0, {}, false});
}

RequestId Pool::SendToStay(const std::string& host, const std::string& lane,
                           const bson::Argument& command, Deadline deadline, Done done) {
  return impl_->Send(
      {host, lane, bson::Document(command.view()), deadline, std::move(done), 0, {}, true});
}

void Pool::Stay(const std::vector<RequestId>& requests, Deadline until) {
  impl_->Stay(requests, until);
}

void Pool::Cancel(RequestId id) { impl_->Cancel(id, false); }
void Pool::Drop(RequestId id) { impl_->Cancel(id, true); }
bool Pool::OnOwnThread() const { return impl_->OnOwnThread(); }

}  // namespace quire::peer
