// SPDX-License-Identifier: Apache-2.0
#include "router/remote/lanes.h"

#include <algorithm>
#include <deque>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "request/network_stats.h"

namespace quire::router {

class Lanes::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(peer::Pool* pool, size_t most) : pool_(*pool), most_(most) {}

  Ticket Send(const std::string& host, bson::Document command, peer::Deadline deadline,
              peer::Done done, bool stays) {
    Ticket ticket;
    Waiting next;
    std::string lane;
    {
      MutexLock lock(mutex_);
      ticket = ++last_;
      next = {ticket, std::move(command), deadline, std::move(done)};
      Host& of = hosts_[host];
      if (of.free.empty() && of.lanes == most_) {
        of.queue.push_back(std::move(next));
        return ticket;
      }
      lane = TakeLane(&of);
    }
    Transmit(host, lane, std::move(next), stays);
    return ticket;
  }

  void Stay(const std::vector<Ticket>& tickets, peer::Deadline until) {
    std::vector<peer::RequestId> requests;
    {
      MutexLock lock(mutex_);
      for (const Ticket ticket : tickets) {
        if (const auto sent = sent_.find(ticket); sent != sent_.end() && sent->second.id != 0) {
          requests.push_back(sent->second.id);
        }
      }
    }
    pool_.Stay(requests, until);
  }

  void Drop(Ticket ticket) {
    peer::RequestId id = 0;
    {
      MutexLock lock(mutex_);
      if (auto sent = sent_.find(ticket); sent != sent_.end()) {
        id = sent->second.id;
      } else {
        dropped_.push_back(ticket);
      }
    }
    if (id != 0) {
      pool_.Drop(id);
    }
  }

  void GiveUp(const std::string& host) {
    std::vector<peer::RequestId> open;
    std::deque<Waiting> waiting;
    {
      MutexLock lock(mutex_);
      for (const auto& [ticket, sent] : sent_) {
        if (sent.id != 0 && sent.host == host) {
          open.push_back(sent.id);
        }
      }
      if (auto of = hosts_.find(host); of != hosts_.end()) {
        std::swap(waiting, of->second.queue);
      }
    }
    for (const peer::RequestId id : open) {
      pool_.Drop(id);
    }
    for (Waiting& one : waiting) {
      one.done(Status(kHostUnreachable, host + " does not answer"));
    }
  }

 private:
  struct Waiting {
    Ticket ticket = 0;
    bson::Document command;
    peer::Deadline deadline;
    peer::Done done;
  };
  struct Sent {
    std::string host;
    peer::RequestId id = 0;
  };
  struct Host {
    std::vector<std::string> free;
    size_t lanes = 0;
    std::deque<Waiting> queue;
  };

  static std::string TakeLane(Host* host) {
    if (host->free.empty()) {
      return "request" + std::to_string(host->lanes++);
    }
    std::string lane = std::move(host->free.back());
    host->free.pop_back();
    return lane;
  }

  void Transmit(const std::string& host, const std::string& lane, Waiting next, bool stays) {
    {
      MutexLock lock(mutex_);
      // Noted before it is sent, so that its end finds it.
      sent_.emplace(next.ticket, Sent{host});
    }
    peer::Done ended = [self = shared_from_this(), host, lane, ticket = next.ticket,
                        done = std::move(next.done)](Result<bson::Document> reply) {
      self->Ended(host, lane, ticket);
      done(std::move(reply));
    };
    const peer::RequestId id =
        stays ? pool_.SendToStay(host, lane, next.command, next.deadline, std::move(ended))
              : pool_.Send(host, lane, next.command, next.deadline, std::move(ended));
    MutexLock lock(mutex_);
    if (auto sent = sent_.find(next.ticket); sent != sent_.end()) {
      sent->second.id = id;
    }
  }

  // The lane is free for the next one that waits.
  void Ended(const std::string& host, const std::string& lane, Ticket ticket) {
    Waiting next;
    std::vector<Waiting> late;
    {
      MutexLock lock(mutex_);
      sent_.erase(ticket);
      Host& of = hosts_[host];
      while (!of.queue.empty() && next.ticket == 0) {
        Waiting first = std::move(of.queue.front());
        of.queue.pop_front();
        const bool dropped = std::erase(dropped_, first.ticket) > 0;
        const bool in_time = std::chrono::steady_clock::now() < first.deadline;
        (in_time && !dropped ? next : late.emplace_back()) = std::move(first);
      }
      if (next.ticket == 0) {
        of.free.push_back(lane);
      }
    }
    for (Waiting& one : late) {
      one.done(Status(kNetworkTimeout, "No connection to " + host + " was free in time"));
    }
    if (next.ticket != 0) {
      Transmit(host, lane, std::move(next), false);
    }
  }

  peer::Pool& pool_;
  const size_t most_;
  Mutex mutex_;
  Ticket last_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, Host> hosts_ QUIRE_GUARDED_BY(mutex_);
  std::unordered_map<Ticket, Sent> sent_ QUIRE_GUARDED_BY(mutex_);
  std::vector<Ticket> dropped_ QUIRE_GUARDED_BY(mutex_);  // of those that wait for a connection
};

Lanes::Lanes(peer::Pool* pool, size_t most) : impl_(std::make_shared<Impl>(pool, most)) {}
Lanes::~Lanes() = default;

Lanes::Ticket Lanes::Send(const std::string& host, bson::Document command, peer::Deadline deadline,
                          peer::Done done) {
  return impl_->Send(host, std::move(command), deadline, std::move(done), false);
}

bool Lanes::BeginStay() {
  static const int kMost = 2 * std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  if (request::Network().threads_idle.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  if (staying_.fetch_add(1, std::memory_order_relaxed) < kMost) {
    return true;
  }
  EndStay();
  return false;
}

void Lanes::EndStay() { staying_.fetch_sub(1, std::memory_order_relaxed); }

Lanes::Ticket Lanes::SendToStay(const std::string& host, bson::Document command,
                                peer::Deadline deadline, peer::Done done) {
  return impl_->Send(host, std::move(command), deadline, std::move(done), true);
}

void Lanes::Stay(const std::vector<Ticket>& tickets, peer::Deadline until) {
  impl_->Stay(tickets, until);
}

void Lanes::Drop(Ticket ticket) { impl_->Drop(ticket); }
void Lanes::GiveUp(const std::string& host) { impl_->GiveUp(host); }

}  // namespace quire::router
