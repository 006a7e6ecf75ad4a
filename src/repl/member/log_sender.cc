// SPDX-License-Identifier: Apache-2.0
#include "repl/member/log_sender.h"

#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "repl/message/codec.h"

namespace quire::repl {
namespace {

constexpr int kMostMessages = 8;
constexpr size_t kMostBytes = size_t{16} << 20;

}  // namespace

LogSender::LogSender(engine::ReplicaData* data, Begin begin, Send send, std::function<void()> lost)
    : data_(data), begin_(std::move(begin)), send_(std::move(send)), lost_(std::move(lost)) {}

void LogSender::Append(MemberId to, const repl::Append& message) {
  MutexLock lock(mutex_);
  Stream& stream = streams_[to];
  const bool same = stream.message.epoch == message.epoch &&
                    stream.message.session == message.session && stream.generation != 0;
  // What the protocol believes lost may still be on its way.
  const bool on_way = same && stream.on_way > 0 && message.previous.time >= stream.answered.time &&
                      message.previous.time <= stream.next.time;
  const bool follows = same && message.previous == stream.message.last;
  if (on_way || follows) {
    stream.message.last = std::max(stream.message.last, message.last);
    stream.message.base = message.base;
  } else {
    stream.message = message;
    stream.next = stream.answered = message.previous;
    stream.generation = ++last_generation_;
    stream.on_way = 0;
    stream.bytes_on_way = 0;
  }
  if (!stream.pumping) {
    stream.pumping = true;
    worker_.Post([this, to] { Pump(to); });
  }
}

void LogSender::Reset() {
  MutexLock lock(mutex_);
  streams_.clear();
  newest_.reset();
}

bool LogSender::Next(MemberId to, repl::Append* message, uint64_t* generation) {
  MutexLock lock(mutex_);
  auto found = streams_.find(to);
  if (found == streams_.end()) {
    return false;
  }
  Stream& stream = found->second;
  if (stream.next.time >= stream.message.last.time || stream.on_way >= kMostMessages ||
      stream.bytes_on_way >= kMostBytes) {
    stream.pumping = false;
    return false;
  }
  *message = stream.message;
  message->previous = stream.next;
  *generation = stream.generation;
  return true;
}

void LogSender::Pump(MemberId to) {
  repl::Append message;
  uint64_t generation = 0;
  while (Next(to, &message, &generation)) {
    const std::shared_ptr<const Piece> slots = Read(message);
    if (slots == nullptr) {
      Fail(to, generation);
      continue;
    }
    message.last = slots->last;
    message.commit = commit_.load(std::memory_order_relaxed);
    SendPiece(to, message, generation, slots);
  }
}

std::shared_ptr<const LogSender::Piece> LogSender::Read(const repl::Append& message) {
  {
    MutexLock lock(mutex_);
    if (newest_ != nullptr && newest_->after == message.previous &&
        newest_->last.time <= message.last.time) {
      return newest_;
    }
  }
  auto slots = data_->ReadSlots(FromCore(message.previous), message.last.time, kPieceBytes);
  if (!slots.ok() || slots->empty()) {
    if (!slots.ok() && slots.status().code() == kCappedPositionLost) {
      lost_();
    }
    return nullptr;
  }
  // A message speaks of one epoch.
  const uint64_t epoch = slots->front().at.epoch;
  slots->erase(std::find_if(slots->begin(), slots->end(),
                            [&](const engine::LogSlot& slot) { return slot.at.epoch != epoch; }),
               slots->end());
  return std::make_shared<const Piece>(
      Piece{message.previous, ToCore(slots->back().at), EncodeSlots(*slots)});
}

void LogSender::SendPiece(MemberId to, const repl::Append& message, uint64_t generation,
                          const std::shared_ptr<const Piece>& slots) {
  const std::string& bytes = slots->bytes;
  int64_t piece = 0;
  {
    MutexLock lock(mutex_);
    auto found = streams_.find(to);
    if (found == streams_.end() || found->second.generation != generation) {
      return;
    }
    // Kept only while its stream is: what is cut from the log later has ended all streams before.
    newest_ = slots;
    Stream& stream = found->second;
    stream.next = message.last;
    ++stream.on_way;
    stream.bytes_on_way += bytes.size();
    piece = ++last_piece_;
  }
  const size_t parts = std::max<size_t>(1, (bytes.size() + kFrameBytes - 1) / kFrameBytes);
  for (size_t part = 0; part < parts; ++part) {
    bson::Builder body;
    begin_(&body);
    const std::string_view frame = std::string_view(bytes).substr(part * kFrameBytes, kFrameBytes);
    body.Append("piece", piece)
        .Append("part", static_cast<int32_t>(part))
        .Append("parts", static_cast<int32_t>(parts))
        .Append("slots", bson::Value::Binary(frame, 0));
    const bool last = part + 1 == parts;
    if (last) {
      body.Append("message", EncodeMessage(message));
    }
    send_(to, body.Finish(),
          [this, to, generation, at = message.last, size = bytes.size(), last](bool ok) {
            if (last || !ok) {
              Answered(to, generation, at, size, ok);
            }
          });
  }
}

void LogSender::Answered(MemberId to, uint64_t generation, Position last, size_t bytes, bool ok) {
  if (!ok) {
    Fail(to, generation);
    return;
  }
  MutexLock lock(mutex_);
  auto found = streams_.find(to);
  if (found == streams_.end() || found->second.generation != generation) {
    return;
  }
  Stream& stream = found->second;
  --stream.on_way;
  stream.bytes_on_way -= std::min(stream.bytes_on_way, bytes);
  stream.answered = std::max(stream.answered, last);
  if (!stream.pumping && stream.next.time < stream.message.last.time) {
    stream.pumping = true;
    worker_.Post([this, to] { Pump(to); });
  }
}

// The protocol finds out what the member lacks, and asks for it again.
void LogSender::Fail(MemberId to, uint64_t generation) {
  MutexLock lock(mutex_);
  auto found = streams_.find(to);
  if (found == streams_.end() || found->second.generation != generation) {
    return;
  }
  Stream& stream = found->second;
  stream.generation = 0;
  stream.next = stream.message.last;
  stream.on_way = 0;
  stream.bytes_on_way = 0;
}

}  // namespace quire::repl
