// SPDX-License-Identifier: Apache-2.0
#include "router/remote/ask.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error_codes.h"
#include "request/reply.h"
#include "router/remote/errors.h"

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

// Whether the request is to be sent once more after this reply.
bool SendAgain(const Status& status, const Asked& asked, const AskOptions& options, Open* open) {
  if (!asked.host.empty()) {  // only that member has what is asked for
    return false;
  }
  if (IsNotPrimary(status.code())) {
    return true;
  }
  const bool lost = IsNetworkError(status.code()) || IsStepDown(status.code());
  return lost && options.repeatable && open->repeats++ < kMostRepeats;
}

}  // namespace

Task<Result<std::vector<Heard>>> AskShards(Flow& flow, Remote& remote, std::vector<Asked> asked,
                                           AskOptions options) {
  std::vector<Heard> heard;
  std::vector<Open> open;
  for (const Asked& one : asked) {
    open.push_back({heard.size()});
    heard.push_back({one.shard, one.host, NobodyMayAnswer(one.shard), {}});
  }
  const auto give_up = Clock::now() + options.timeout;
  std::shared_ptr<MembersChanged> changed;  // while nobody is known who may answer
  while (!open.empty()) {
    auto exchange = std::make_shared<Exchange>(&remote.lanes, asked.size());
    Abandoned abandoned(exchange);
    std::vector<Open> sent;
    std::vector<Open> later;
    std::optional<Staying> staying;
    staying.emplace(flow, &remote.lanes);
    for (const Open& one : open) {
      const Asked& ask = asked[one.place];
      std::optional<std::string> host = ask.host;
      if (ask.host.empty()) {
        host = remote.members.Pick(ask.shard, options.preference);
      }
      if (!host) {
        later.push_back(one);
        continue;
      }
      heard[one.place].host = *host;
      sent.push_back(one);
      Exchange::Send(exchange, one.place, *host, ask.command, flow.op().deadline(),
                     staying->stays());
    }
    if (staying->stays() && !sent.empty()) {
      exchange->Stay(std::min(Clock::now() + kStay, flow.op().deadline()));
    }
    staying.reset();
    if (sent.empty()) {
      if (Clock::now() >= give_up) {
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
      Heard& own = heard[one.place];
      own.reply = exchange->TakeReply(one.place);
      own.error = bson::Document();
      if (own.reply.ok()) {
        remote.heard(*own.reply);
        if (Status status = request::StatusOf(*own.reply); !status.ok()) {
          own.error = *std::move(own.reply);
          own.reply = std::move(status);
        } else if (MentionsStateChange(*own.reply)) {
          remote.members.Doubt(own.host);
          if (asked[one.place].host.empty() && options.repeatable && Clock::now() < give_up &&
              one.repeats++ < kMostRepeats) {
            later.push_back(one);
            continue;
          }
          own.reply = WithoutStateChange(*own.reply);
        }
      }
      const int code = own.reply.ok() ? 0 : own.reply.status().code();
      if (code == kNetworkTimeout) {  // by the limit of the operation itself, if that is over
        CO_RETURN_IF_ERROR(flow.op().CheckInterruptNow());
      }
      if (IsNetworkError(code) || IsNotPrimary(code) || IsStepDown(code)) {
        remote.members.Doubt(own.host);
      }
      if (code != 0 && Clock::now() < give_up &&
          SendAgain(own.reply.status(), asked[one.place], options, &one)) {
        later.push_back(one);
      }
    }
    open = std::move(later);
  }
  co_return heard;
}

}  // namespace quire::router
