// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error_codes.h"
#include "peer/connection_internal.h"
#include "peer/frame_internal.h"

namespace quire::peer {
namespace {

// Small requests are sent together; large ones are not copied behind others.
constexpr size_t kTogether = 64 << 10;

void SetSocketOptions(int fd) {
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int idle_seconds = 30;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
}

}  // namespace

Connection::Connection(uint64_t id, std::string host, const Shared& shared, ConnectionOwner* owner)
    : id_(id),
      host_(std::move(host)),
      shared_(shared),
      owner_(owner),
      setup_until_(std::chrono::steady_clock::now() + shared.options.connect_timeout),
      last_received_(std::chrono::steady_clock::now()),
      greeting_(shared.options, shared.passwords) {}

Connection::~Connection() {
  stream_.reset();
  if (fd_ >= 0) {
    close(fd_);
  }
}

void Connection::Connect(Result<std::vector<Address>> addresses, const std::string& name) {
  if (state_ != State::kResolving) {
    return;
  }
  if (!addresses.ok()) {
    Close(addresses.status());
    return;
  }
  name_ = name;
  addresses_ = *std::move(addresses);
  TryNext();
}

void Connection::TryNext() {
  if (next_address_ == addresses_.size()) {
    Close(problem_.ok() ? Status(kHostUnreachable, "no address to connect to") : problem_);
    return;
  }
  stream_.reset();
  if (fd_ >= 0) {
    close(fd_);
    registered_ = false;
  }
  const Address& address = addresses_[next_address_++];
  fd_ = socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) {
    Close({kHostUnreachable, std::string("no socket: ") + strerror(errno)});
    return;
  }
  SetSocketOptions(fd_);
  state_ = State::kConnecting;
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0) {
    OnConnected();
  } else if (errno == EINPROGRESS) {
    Watch(true);
  } else {
    refused_ = errno == ECONNREFUSED;
    problem_ = {kHostUnreachable,
                "Error connecting to " + host_ + " :: caused by :: " + strerror(errno)};
    TryNext();
  }
}

void Connection::OnConnected() {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    error = errno;
  }
  if (error != 0) {
    refused_ = error == ECONNREFUSED;
    problem_ = {kHostUnreachable,
                "Error connecting to " + host_ + " :: caused by :: " + strerror(error)};
    TryNext();
    return;
  }
  refused_ = false;
  problem_ = Status::Ok();
  stream_ = std::make_unique<Stream>(fd_, shared_.tls, shared_.options.tls, name_);
  state_ = State::kSecuring;
  Secure();
}

void Connection::Secure() {
  switch (stream_->Handshake()) {
    case Progress::kDone:
      BeginGreeting();
      break;
    case Progress::kWantsRead:
      Watch(false);
      break;
    case Progress::kWantsWrite:
      Watch(true);
      break;
    case Progress::kEnd:
      Fail(kHostUnreachable, stream_->problem());
      break;
  }
}

void Connection::BeginGreeting() {
  state_ = State::kGreeting;
  Watch(false);
  const bson::Document hello = greeting_.Hello();
  Queue(hello);
  Write();
}

void Connection::Queue(bson::View command) {
  ++last_wire_id_;
  if (out_.empty() || out_.back().size() + command.size() > kTogether) {
    out_.emplace_back();
  }
  AppendFrame(last_wire_id_, command, &out_.back());
}

void Connection::Add(RequestId id) {
  waiting_.push_back(id);
  if (state_ == State::kOpen) {
    Flush();
  }
}

void Connection::Flush() {
  for (; !waiting_.empty(); waiting_.pop_front()) {
    if (const bson::Document* command = owner_->CommandOf(waiting_.front())) {
      Queue(*command);
      in_flight_.emplace(last_wire_id_, waiting_.front());
      owner_->Sent(waiting_.front());
    }
  }
  if (!watches_writable_) {
    Write();
  }
}

void Connection::Write() {
  while (!out_.empty()) {
    switch (stream_->Write(out_.front(), &out_at_)) {
      case Progress::kDone:
        out_.pop_front();
        out_at_ = 0;
        break;
      case Progress::kWantsRead:
      case Progress::kWantsWrite:
        Watch(true);
        return;
      case Progress::kEnd:
        ended_by_other_ = state_ == State::kOpen;
        Fail(kHostUnreachable, stream_->problem());
        return;
    }
  }
  Watch(false);
}

void Connection::OnEvents(uint32_t events) {
  switch (state_) {
    case State::kConnecting:
      OnConnected();
      return;
    case State::kSecuring:
      Secure();
      return;
    case State::kGreeting:
    case State::kOpen:
      if ((events & EPOLLOUT) != 0) {
        Write();
      }
      if (state_ != State::kClosed &&
          (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        Receive();
      }
      return;
    case State::kResolving:
    case State::kClosed:
      return;
  }
}

void Connection::Receive() {
  while (state_ == State::kGreeting || state_ == State::kOpen) {
    switch (stream_->Read(&in_)) {
      case Progress::kDone:
        last_received_ = std::chrono::steady_clock::now();
        if (!TakeReplies() || !stream_->MayHaveMore()) {
          return;
        }
        break;
      case Progress::kWantsRead:
        return;
      case Progress::kWantsWrite:
        Watch(true);
        return;
      case Progress::kEnd:
        ended_by_other_ = state_ == State::kOpen;
        Fail(kHostUnreachable, stream_->problem());
        return;
    }
  }
}

bool Connection::TakeReplies() {
  while (true) {
    auto reply = TakeReply(in_, &in_at_, shared_.options.max_reply_bytes);
    if (!reply.ok()) {
      Close(reply.status());
      return false;
    }
    if (!reply->has_value()) {
      in_.erase(0, std::exchange(in_at_, 0));
      return true;
    }
    if (state_ == State::kGreeting) {
      TakeGreeting((*reply)->document);
      if (state_ == State::kClosed) {
        return false;
      }
      continue;
    }
    auto found = in_flight_.find((*reply)->response_to);
    if (found == in_flight_.end()) {
      Close({kProtocolError, "a reply to nothing that was asked"});
      return false;
    }
    const RequestId id = found->second;
    in_flight_.erase(found);
    owner_->Replied(id, std::move((*reply)->document));
  }
}

void Connection::TakeGreeting(const bson::Document& reply) {
  auto next = greeting_.Next(reply);
  if (!next.ok()) {
    Close(next.status());
  } else if (next->has_value()) {
    Queue(**next);
    Write();
  } else {
    state_ = State::kOpen;
    opened_ = true;
    Flush();
  }
}

void Connection::Watch(bool writable) {
  if (registered_ && watches_writable_ == writable) {
    return;
  }
  watches_writable_ = writable;
  Register();
}

void Connection::SetQuiet(bool quiet) {
  quiet = quiet && state_ == State::kOpen && in_flight_.empty() && waiting_.empty();
  if (quiet != quiet_ && state_ == State::kOpen) {
    quiet_ = quiet;
    Register();
  }
}

void Connection::Register() {
  epoll_event event{};
  event.events = quiet_ ? EPOLLRDHUP : EPOLLIN;  // its end is always seen
  if (watches_writable_) {
    event.events |= EPOLLOUT;
  }
  event.data.u64 = id_;
  (void)epoll_ctl(shared_.epoll, registered_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd_, &event);
  registered_ = true;
}

void Connection::Fail(int code, const std::string& text) {
  Close({code, "Connection to " + host_ + " :: caused by :: " + text});
}

void Connection::Close(Status why) {
  if (state_ == State::kClosed) {
    return;
  }
  state_ = State::kClosed;
  problem_ = std::move(why);
  owner_->Ended(id_);
  stream_.reset();
  if (fd_ >= 0) {
    close(std::exchange(fd_, -1));
  }
}

std::vector<RequestId> Connection::Unanswered() const {
  std::vector<RequestId> out(waiting_.begin(), waiting_.end());
  for (const auto& [wire_id, id] : in_flight_) {
    out.push_back(id);
  }
  return out;
}

}  // namespace quire::peer
