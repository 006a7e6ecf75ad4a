// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/log.h"
#include "request/network_stats.h"
#include "request/reply.h"
#include "server/connection_internal.h"

namespace quire::server {
namespace {

constexpr size_t kKeptBuffer = size_t{1} << 20;
constexpr timeval kStay{0, 10'000};

int32_t NextReplyId() {
  static std::atomic<int32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void TrimString(std::string* text) {
  if (text->capacity() > kKeptBuffer) {
    std::string().swap(*text);
  }
}

// How to frame a reply to the message, without what it holds.
wire::Message FrameOf(const wire::Message& message, int32_t request_id) {
  wire::Message frame;
  frame.request_id = request_id;
  frame.opcode = message.opcode;
  frame.checksum = message.checksum;
  frame.more_to_come = message.more_to_come;
  frame.exhaust_allowed = message.exhaust_allowed;
  frame.compressor = message.compressor;
  return frame;
}

// The text, without room for much more: it may be kept for long.
std::string Fitting(std::string&& text) {
  return text.capacity() > text.size() + text.size() / 4 ? std::string(text) : std::move(text);
}

}  // namespace

void Scratch::Trim() {
  TrimString(&inflated);
  TrimString(&reply);
}

Connection::Connection(Accepted accepted, Shared* shared)
    : accepted_(std::move(accepted)),
      shared_(shared),
      client_(accepted_.remote, accepted_.local, accepted_.origin),
      transport_(fd(), shared->tls) {
  (void)setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &kStay, sizeof kStay);
  held_.fd = fd();
  held_.origin = accepted_.origin;
  SetDeadline(Wait::kReadable);
}

Connection::~Connection() { shared_->held.Forget(held_); }

Connection::Wait Connection::Drive(Scratch& scratch, bool hangup) {
  Wait wait = Move(scratch, hangup);
  const size_t parked = parked_ == nullptr ? 0 : parked_->request->held();
  if (!shared_->held.Note(held_, input_.held() + output_.capacity() + parked)) {
    return Wait::kClose;
  }
  SetDeadline(wait);
  return wait;
}

void Connection::SetDeadline(Wait wait) {
  if (wait != Wait::kReadable && wait != Wait::kWritable) {
    timeouts_.Rest();
    return;
  }
  const bool greeting = shared_->tls != nullptr && !transport_.ready();
  timeouts_.Wait(
      {.greeting_millis = greeting ? shared_->tls->options().handshake_timeout.count() : 0,
       .stranger = stranger(),
       .login = client_.login_under_way != nullptr,
       .reply = !output_.empty(),
       .turns = turns_,
       .received = input_.pending() + transport_.pending(),
       .sent = sent_},
      *shared_->limits);
}

size_t Connection::MaxMessageSize() const {
  const auto strangers =
      static_cast<size_t>(shared_->limits->stranger_message_bytes.load(std::memory_order_relaxed));
  return stranger() ? std::min<size_t>(strangers, wire::kMaxMessageSize) : wire::kMaxMessageSize;
}

Connection::Wait Connection::Move(Scratch& scratch, bool hangup) {
  if (hangup && (streaming() || !output_.empty())) {
    return Wait::kClose;
  }
  if (!transport_.ready()) [[unlikely]] {
    if (auto wait = Greet()) {
      return *wait;
    }
  }
  if (auto wait = FinishOutput()) {
    return *wait;
  }
  if (parked_ != nullptr) {
    if (auto wait = ResumeParked(scratch)) {
      return *wait;
    }
  }
  if (stream_ != nullptr) {
    if (auto wait = RunStream(scratch)) {
      return *wait;
    }
  }
  input_.Attach(scratch.input.get());
  Wait wait = Receive(scratch);
  input_.Detach();
  scratch.Trim();
  return wait;
}

Connection::Wait Connection::Receive(Scratch& scratch) {
  bool stay = false;
  while (true) {
    if (auto wait = RunMessages(scratch)) {
      return *wait;
    }
    if (shared_->stopping.load(std::memory_order_relaxed)) {
      return Wait::kClose;
    }
    bool full = false;
    switch (Fill(stay, &full)) {
      case Input::Read::kEnd:
        return Wait::kClose;
      case Input::Read::kNothing:
        return transport_.wants_write() ? Wait::kWritable : Wait::kReadable;
      case Input::Read::kData:
        break;
    }
    stay = shared_->idle_threads.load(std::memory_order_relaxed) > 0;
    if (!full && !stay) {
      return RunMessages(scratch).value_or(Wait::kReadable);
    }
    stay = stay && !full;
  }
}

// Waits for the next request when asked to and few enough other threads do.
Input::Read Connection::Fill(bool stay, bool* full) {
  if (!stay) {
    return input_.Fill(transport_, false, full);
  }
  bool wait = shared_->staying.fetch_add(1, std::memory_order_relaxed) < shared_->stay_limit;
  Input::Read read = input_.Fill(transport_, wait, full);
  shared_->staying.fetch_sub(1, std::memory_order_relaxed);
  return read;
}

std::optional<Connection::Wait> Connection::FinishOutput() {
  if (output_.empty()) {
    return std::nullopt;
  }
  switch (transport_.Send(output_, &sent_)) {
    case Transport::Flush::kBlocked:
      return Wait::kWritable;
    case Transport::Flush::kFailed:
      return Wait::kClose;
    case Transport::Flush::kDone:
      break;
  }
  std::string().swap(output_);
  sent_ = 0;
  ++turns_;
  return close_after_output_ ? std::optional(Wait::kClose) : std::nullopt;
}

std::optional<Connection::Wait> Connection::RunMessages(Scratch& scratch) {
  while (true) {
    const size_t max_size = MaxMessageSize();
    auto bytes = input_.Next(max_size);
    if (!bytes.ok()) {
      log::Info("NETWORK", "Bad message header, closing connection",
                {{"remote", client_.remote()}, {"error", bytes.status().message()}});
      return Wait::kClose;
    }
    if (bytes->empty()) {
      return std::nullopt;
    }
    auto& stats = request::Network();
    stats.bytes_in.fetch_add(static_cast<int64_t>(bytes->size()), std::memory_order_relaxed);
    stats.requests.fetch_add(1, std::memory_order_relaxed);
    auto message = wire::Parse(*bytes, &scratch.inflated, max_size);
    if (!message.ok()) {
      log::Info("NETWORK", "Bad message, closing connection",
                {{"remote", client_.remote()}, {"error", message.status().message()}});
      return Wait::kClose;
    }
    ++turns_;
    auto wait = Answer(*message, scratch);
    input_.Consume(bytes->size());
    if (wait) {
      return wait;
    }
  }
}

std::optional<Connection::Wait> Connection::RunStream(Scratch& scratch) {
  std::unique_ptr<Stream> stream = std::exchange(stream_, nullptr);
  wire::Message message = std::move(stream->frame);
  message.body = stream->next.view();
  message.database = stream->database;
  return Answer(message, scratch);
}

std::optional<Connection::Wait> Connection::ResumeParked(Scratch& scratch) {
  std::unique_ptr<ParkedRequest> parked = std::exchange(parked_, nullptr);
  parked->frame.database = parked->database;
  request::Parked& request = *parked->request;
  request::Outcome outcome = Handle(!parked->frame.more_to_come, [&] {
    return request.Resume(std::move(parked->request), &scratch.reply);
  });
  return Deliver(parked->frame, std::move(outcome), scratch);
}

void Connection::Wake() {
  woken_.store(true, std::memory_order_release);
  shared_->woken(this);
}

template <typename F>
request::Outcome Connection::Handle(bool reply_expected, F run) {
  woken_.store(false, std::memory_order_relaxed);
  awaited_.store(reply_expected, std::memory_order_relaxed);
  auto& active = request::Network().connections_active;
  active.fetch_add(1, std::memory_order_relaxed);
  request::Outcome outcome = run();
  active.fetch_sub(1, std::memory_order_relaxed);
  awaited_.store(false, std::memory_order_relaxed);
  return outcome;
}

std::optional<Connection::Wait> Connection::Answer(wire::Message& message, Scratch& scratch) {
  timeouts_.Rest();  // what it waits for now is ours to do
  std::string& reply = scratch.reply;
  reply.clear();
  wire::BeginReply(message, &reply);
  request::Outcome outcome;
  if (message.error.ok()) {
    request::Request request;
    request.body = message.body;
    request.database = message.database;
    request.exhaust_allowed = message.exhaust_allowed;
    request.reply_expected = !message.more_to_come;
    request.waker = this;
    for (wire::Sequence& sequence : message.sequences) {
      request.sequences.push_back({sequence.name, std::move(sequence.documents)});
    }
    outcome = Handle(request.reply_expected,
                     [&] { return shared_->handler->Run(client_, request, &reply); });
  } else {
    bson::Builder builder(&reply);
    if (message.legacy_read) {
      builder.Append("$err", message.error.message());
    }
    request::AppendError(message.error, &builder);
    builder.Close();
  }
  return Deliver(message, std::move(outcome), scratch);
}

std::optional<Connection::Wait> Connection::Deliver(const wire::Message& message,
                                                    request::Outcome outcome, Scratch& scratch) {
  if (outcome.parked != nullptr) {
    parked_ = std::make_unique<ParkedRequest>();
    parked_->frame = FrameOf(message, message.request_id);
    parked_->database = message.database;
    parked_->request = std::move(outcome.parked);
    return Wait::kPark;
  }
  if (outcome.hang_up) {
    return Wait::kClose;
  }
  if (message.more_to_come) {
    return outcome.close ? std::optional(Wait::kClose) : std::nullopt;
  }
  std::string& reply = scratch.reply;
  int32_t reply_id = NextReplyId();
  wire::FinishReply(message, reply_id, outcome.more_to_come, 0, &reply);
  close_after_output_ = outcome.close;
  if (outcome.more_to_come) {
    stream_ = std::make_unique<Stream>();
    stream_->frame = FrameOf(message, reply_id);
    stream_->next = std::move(outcome.next);
    stream_->database = message.database;
  }
  request::Network().bytes_out.fetch_add(static_cast<int64_t>(reply.size()),
                                         std::memory_order_relaxed);
  if (outcome.delay.count() > 0) {
    output_ = Fitting(std::move(reply));
    delay_ = outcome.delay;
    return Wait::kDelay;
  }
  size_t sent = 0;
  switch (transport_.Send(reply, &sent)) {
    case Transport::Flush::kFailed:
      return Wait::kClose;
    case Transport::Flush::kBlocked:
      output_ = Fitting(std::move(reply));
      sent_ = sent;
      return Wait::kWritable;
    case Transport::Flush::kDone:
      break;
  }
  if (outcome.close) {
    return Wait::kClose;
  }
  // A stream goes on through epoll: it takes turns with other connections.
  return outcome.more_to_come ? std::optional(Wait::kWritable) : std::nullopt;
}

void Connection::TellDisconnected() {
  if (!told_.exchange(true)) {
    shared_->handler->Disconnected(client_);
  }
}

}  // namespace quire::server
