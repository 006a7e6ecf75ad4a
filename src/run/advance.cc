// SPDX-License-Identifier: Apache-2.0
//
// How a request passes its gates, waits and ends.
#include <algorithm>
#include <new>
#include <utility>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "run/dispatcher.h"
#include "run/gates.h"
#include "run/running.h"

namespace quire::run {

namespace {

using Clock = std::chrono::steady_clock;

// The memory of a thread's last request.
struct Kept {
  void* block = nullptr;
  size_t size = 0;
  ~Kept() { ::operator delete(block); }
};
thread_local Kept kept;

}  // namespace

// What a parked request keeps of the bytes it came with.
struct Running::Owned {
  bson::Document body;
  std::string database;
  std::vector<std::string> names;         // of the sequences
  std::vector<bson::Document> documents;  // of all of them, one after the other
  request::Request request;
};

void* Running::operator new(size_t size) {
  if (kept.block != nullptr && kept.size == size) {
    return std::exchange(kept.block, nullptr);
  }
  return ::operator new(size);
}

void Running::operator delete(void* block, size_t size) {
  if (kept.block == nullptr) {
    kept.block = block;
    kept.size = size;
  } else {
    ::operator delete(block);
  }
}

Running::Running(const Arrival& arrival)
    : dispatcher(arrival.dispatcher),
      row(arrival.row),
      bytes_(std::move(*arrival.reply)),
      reply(&bytes_),
      call{op,
           arrival.client,
           &arrival.request,
           *arrival.dispatcher.commands()[arrival.row],
           arrival.request.body,
           arrival.request.database,
           reply,
           outcome,
           arrival.client.identity},
      start_(bytes_.size() - reply.size()),
      began_(Clock::now()) {}

Running::~Running() {
  if (!finished_) {  // nobody waits for the reply any more
    call.suspension.reset();
    registration_.reset();
    status = Status(kInterrupted, "operation was interrupted");
    dispatcher.Record(*this, {});
  }
}

void Running::Register() { registration_.emplace(&dispatcher.operations(), &call, &op); }

void Running::Advance() {
  CurrentOpScope current(&op);
  auto take = [this](Status passed) {
    if (!passed.ok()) [[unlikely]] {
      status = std::move(passed);
    }
  };
  if (suspended()) {
    registration_->SetWaker(nullptr, [] {});
    auto suspension = std::move(call.suspension);
    if (suspension->idle) {
      idle_ += Clock::now() - suspended_at_;
    }
    take(suspension->Resume(call));
  }
  const std::vector<Gate>& gates = dispatcher.GatesOf(row);
  while (next_ < gates.size() && !suspended() && !done) {
    const Gate& gate = gates[next_++];
    if ((gate.when & (status.ok() ? Gate::kUnlessFailed : Gate::kIfFailed)) != 0) {
      take(gate.pass(*this));
    }
  }
}

Clock::time_point Running::until() const { return std::min(call.suspension->until, op.deadline()); }

// Listens first and looks then: whoever ends the operation in between has rung for nobody.
bool Running::Waits(request::Waker* waker) {
  return call.suspension->Listen(waker) && !op.killed() && suspended_at_ < until();
}

bool Running::Listen(request::Waker* waker) {
  suspended_at_ = Clock::now();
  registration_->SetWaker(waker, [] {});
  return Waits(waker);
}

std::unique_ptr<Running::Owned> Running::Own() const {
  auto owned = std::make_unique<Owned>();
  owned->body = bson::Document(call.body);
  owned->database = call.database;
  for (const request::Sequence& sequence : call.request->sequences) {
    owned->names.emplace_back(sequence.name);
    for (bson::View document : sequence.documents) {
      owned->documents.emplace_back(document);
    }
  }
  request::Request& request = owned->request;
  request.body = owned->body;
  request.database = owned->database;
  request.exhaust_allowed = call.request->exhaust_allowed;
  request.reply_expected = call.request->reply_expected;
  request.waker = call.request->waker;
  size_t next = 0;
  for (size_t i = 0; i < owned->names.size(); ++i) {
    request::Sequence& sequence = request.sequences.emplace_back();
    sequence.name = owned->names[i];
    for (size_t n = call.request->sequences[i].documents.size(); n > 0; --n) {
      sequence.documents.push_back(owned->documents[next++]);
    }
  }
  return owned;
}

bool Running::Park(request::Waker* waker) {
  std::unique_ptr<Owned> owned = moved() ? nullptr : Own();
  auto move = [&] {
    if (owned != nullptr) {
      call.request = &owned->request;
      call.body = owned->body;
      call.database = owned->database;
      // What has been read once can be read again.
      call.generic = *request::ReadGeneric(call.command.name, call.body);
      if (!call.session_key.empty()) {
        call.generic.lsid = call.session_key;
      }
      owned_ = std::move(owned);
    }
  };
  suspended_at_ = Clock::now();
  registration_->SetWaker(waker, move);
  bytes_.shrink_to_fit();  // it was a thread's, and may be large
  return Waits(waker);
}

request::Outcome Running::Resume(std::unique_ptr<request::Parked> self, std::string* out) {
  // Its type is known: only the dispatcher parks.
  return dispatcher.Drive(std::unique_ptr<Running>(static_cast<Running*>(self.release())), out);
}

size_t Running::held() const {
  size_t bytes = sizeof *this + bytes_.capacity();
  if (owned_ != nullptr) {
    bytes += owned_->body.view().size();
    for (const bson::Document& document : owned_->documents) {
      bytes += document.view().size();
    }
  }
  return bytes;
}

void Running::Complete() {
  registration_.reset();
  if (status.ok()) {
    dispatcher.AppendConcernError(*this, &reply);
    outcome.integer_ok ? reply.Append("ok", 1) : reply.Append("ok", 1.0);
    dispatcher.FinishReply(&call, &reply);
    reply.Close();
  }
}

request::Outcome Running::Finish(std::string* out) {
  registration_.reset();
  finished_ = true;
  dispatcher.Record(
      *this, std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_ - idle_));
  if (!status.ok()) {
    bytes_.resize(start_);
    outcome.delay = {};
    outcome.more_to_come = false;
    dispatcher.AppendFailure(status, this, &bytes_);
  }
  *out = std::move(bytes_);
  return std::move(outcome);
}

}  // namespace quire::run
