// SPDX-License-Identifier: Apache-2.0
#include "router/remote/ask.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/reply.h"
#include "router/remote/errors.h"
#include "run/labels.h"

namespace quire::router {

namespace {

using Clock = std::chrono::steady_clock;
// Longer than most requests of a point take; what takes longer is parked.
constexpr std::chrono::milliseconds kStay{2};
constexpr int kMostRepeats = 2;  // after an end that leaves open what happened

// Requests under way together.
class Exchange final : public Wait {
 public:
  explicit Exchange(Lanes* lanes, size_t size) : lanes_(*lanes), replies_(size), tickets_(size) {}

  // REQUIRES: owned by `self`.
  static void Send(const std::shared_ptr<Exchange>& self, size_t slot, const std::string& host,
                   bson::Document command, Clock::time_point deadline, bool stays) {
    {
      MutexLock lock(self->mutex_);
      ++self->open_;
    }
    peer::Done done = [self, slot](Result<bson::Document> reply) {
      self->Take(slot, std::move(reply));
    };
    const Lanes::Ticket ticket =
        stays ? self->lanes_.SendToStay(host, std::move(command), deadline, std::move(done))
              : self->lanes_.Send(host, std::move(command), deadline, std::move(done));
    MutexLock lock(self->mutex_);
    self->tickets_[slot] = ticket;
  }

  // Waits on this thread for replies that come soon. REQUIRES: sent by a caller that stays.
  void Stay(Clock::time_point until) {
    std::vector<Lanes::Ticket> tickets;
    {
      MutexLock lock(mutex_);
      tickets = tickets_;
    }
    lanes_.Stay(tickets, until);
  }

  bool ready() override {
    MutexLock lock(mutex_);
    return open_ == 0;
  }
  void Abandon() override {
    std::vector<Lanes::Ticket> open;
    {
      MutexLock lock(mutex_);
      for (size_t i = 0; i < tickets_.size(); ++i) {
        if (tickets_[i] != 0 && !replies_[i]) {
          open.push_back(tickets_[i]);
        }
      }
    }
    for (const Lanes::Ticket ticket : open) {
      lanes_.Drop(ticket);
    }
  }
  // REQUIRES: ready(), and sent.
  Result<bson::Document> TakeReply(size_t slot) {
    MutexLock lock(mutex_);
    return *std::move(replies_[slot]);
  }

 private:
  void Take(size_t slot, Result<bson::Document> reply) {
    {
      MutexLock lock(mutex_);
      replies_[slot] = std::move(reply);
      --open_;
      if (open_ > 0) {
        return;
      }
    }
    rung.Ring();
  }

  Lanes& lanes_;
  Mutex mutex_;
  size_t open_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::vector<std::optional<Result<bson::Document>>> replies_ QUIRE_GUARDED_BY(mutex_);
  std::vector<Lanes::Ticket> tickets_ QUIRE_GUARDED_BY(mutex_);
};

// Lets go of what is under way when the request ends before the replies come.
class Abandoned {
 public:
  explicit Abandoned(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Abandoned() { exchange_->Abandon(); }
  Abandoned(const Abandoned&) = delete;
  Abandoned& operator=(const Abandoned&) = delete;

 private:
  std::shared_ptr<Exchange> exchange_;
};

// Whether the request's thread waits itself for replies that come soon.
class Staying {
 public:
  Staying(Flow& flow, Lanes* lanes)
      : lanes_(*lanes), stays_(flow.call().request->waker != nullptr && lanes->BeginStay()) {}
  ~Staying() {
    if (stays_) {
      lanes_.EndStay();
    }
  }
  Staying(const Staying&) = delete;
  Staying& operator=(const Staying&) = delete;
  bool stays() const { return stays_; }

 private:
  Lanes& lanes_;
  const bool stays_;
};

// Until the members of some set are known better.
class MembersChanged final : public Wait {
 public:
  explicit MembersChanged(Members* members)
      : listener_(members->changed().Listen([this] {
          changed_ = true;
          rung.Ring();
        })) {}
  bool ready() override { return changed_ || Clock::now() >= until_; }
  Clock::time_point until() const override { return until_; }

 private:
  const Clock::time_point until_ = Clock::now() + std::chrono::milliseconds(500);
  std::atomic<bool> changed_ = false;
  std::unique_ptr<Bell::Listener> listener_;
};

Status NobodyMayAnswer(const placement::ShardName& shard) {
  return {kFailedToSatisfyReadPreference,
          "Could not find host matching read preference for set " + shard};
}

// One of the requests, until it has its answer.
struct Open {
  size_t place;
  int repeats = 0;
};

// All requests of a call, and what came of them so far.
struct Asking {
  Flow& flow;
  Remote& remote;
  const std::vector<Asked> asked;
  const AskOptions options;
  const Clock::time_point give_up = Clock::now() + options.timeout;
  std::vector<Heard> heard = {};
};

// Sends the requests for which somebody is known who may answer, and waits on this thread for
// replies that come soon. The others go to `later`.
std::vector<Open> SendOpen(const std::vector<Open>& open, const std::shared_ptr<Exchange>& exchange,
                           Asking& all, std::vector<Open>* later) {
  std::vector<Open> sent;
  const Staying staying(all.flow, &all.remote.lanes);
  for (const Open& one : open) {
    const Asked& ask = all.asked[one.place];
    std::optional<std::string> host = ask.host;
    if (ask.host.empty()) {
      host = all.remote.members.Pick(ask.shard, all.options.preference);
    }
    if (!host) {
      later->push_back(one);
      continue;
    }
    all.heard[one.place].host = *host;
    sent.push_back(one);
    Exchange::Send(exchange, one.place, *host, ask.command,
                   std::min(all.flow.op().deadline(), Clock::now() + all.options.limit),
                   staying.stays());
  }
  if (staying.stays() && !sent.empty()) {
    exchange->Stay(std::min(Clock::now() + kStay, all.flow.op().deadline()));
  }
  return sent;
}

// Whether the request is to be sent once more after this error.
bool SendAgain(int code, const Asking& all, Open* open) {
  if (!all.asked[open->place].host.empty()) {  // only that member has what is asked for
    return false;
  }
  if (IsNotPrimary(code)) {
    return true;
  }
  const bool lost = IsNetworkError(code) || IsStepDown(code);
  return lost && all.options.repeatable && open->repeats++ < kMostRepeats;
}

// Keeps the reply to the request; whether it is to be sent once more. Error: why the operation has
// to end.
Result<bool> Hear(Result<bson::Document> reply, Asking& all, Open* open) {
  Heard& own = all.heard[open->place];
  own.reply = std::move(reply);
  own.error = bson::Document();
  if (own.reply.ok()) {
    all.remote.heard(*own.reply);
    if (Status status = request::StatusOf(*own.reply); !status.ok()) {
      own.error = *std::move(own.reply);
      own.reply =
          run::WithoutLabel(run::WithoutLabel(status, "RetryableWriteError"), "NoWritesPerformed");
    } else if (MentionsStateChange(*own.reply)) {
      all.remote.members.Doubt(own.host);
      if (all.asked[open->place].host.empty() && all.options.repeatable &&
          Clock::now() < all.give_up && open->repeats++ < kMostRepeats) {
        return true;
      }
      own.reply = WithoutStateChange(*own.reply);
    }
  }
  const int code = own.reply.ok() ? 0 : own.reply.status().code();
  if (code == kNetworkTimeout) {  // by the limit of the operation itself, if that is over
    RETURN_IF_ERROR(all.flow.op().CheckInterruptNow());
  }
  if (IsNetworkError(code) || IsNotPrimary(code) || IsStepDown(code)) {
    all.remote.members.Doubt(own.host);
  }
  return code != 0 && Clock::now() < all.give_up && SendAgain(code, all, open);
}

}  // namespace

Task<Result<std::vector<Heard>>> AskShards(Flow& flow, Remote& remote, std::vector<Asked> asked,
                                           AskOptions options) {
  Asking all{flow, remote, std::move(asked), std::move(options)};
  std::vector<Open> open;
  for (const Asked& one : all.asked) {
    open.push_back({open.size()});
    all.heard.push_back({one.shard, one.host, NobodyMayAnswer(one.shard), {}});
  }
  std::shared_ptr<MembersChanged> changed;  // while nobody is known who may answer
  while (!open.empty()) {
    auto exchange = std::make_shared<Exchange>(&remote.lanes, all.asked.size());
    Abandoned abandoned(exchange);
    std::vector<Open> later;
    std::vector<Open> sent = SendOpen(open, exchange, all, &later);
    if (sent.empty()) {
      if (Clock::now() >= all.give_up) {
        break;
      }
      if (changed == nullptr) {  // looked for once more: no change is missed
        changed = std::make_shared<MembersChanged>(&remote.members);
        continue;
      }
      Status waited = co_await flow.Until(changed);
      CO_RETURN_IF_ERROR(waited);
      changed.reset();
      continue;
    }
    Status waited = co_await flow.Until(exchange);
    CO_RETURN_IF_ERROR(waited);
    for (Open& one : sent) {
      const Result<bool> again = Hear(exchange->TakeReply(one.place), all, &one);
      CO_RETURN_IF_ERROR(again.status());
      if (*again) {
        later.push_back(one);
      }
    }
    open = std::move(later);
  }
  co_return std::move(all.heard);
}

}  // namespace quire::router
