// SPDX-License-Identifier: Apache-2.0
#include "coord/testing/memory_store.h"

#include <algorithm>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::coord {

namespace {

// How many past states a stale listing may show.
constexpr size_t kEarlierStates = 16;

Status Lost() { return {kNetworkTimeout, "The coordination store did not answer in time"}; }

}  // namespace

class MemoryStore::Registration final : public Watcher {
 public:
  Registration(MemoryStore* store, std::shared_ptr<Hearer> hearer)
      : store_(*store), hearer_(std::move(hearer)) {}
  ~Registration() override {
    {
      std::lock_guard running(hearer_->running);
      hearer_->ended = true;
    }
    std::lock_guard lock(store_.mutex_);
    std::erase(store_.hearers_, hearer_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  MemoryStore& store_;
  std::shared_ptr<Hearer> hearer_;
};

MemoryStore::MemoryStore(uint64_t seed, uint64_t cluster) : cluster_(cluster), random_(seed) {}

MemoryStore::~MemoryStore() = default;

bool MemoryStore::Happens(double chance) {
  return chance > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < chance;
}

Answer MemoryStore::Execute(const Transaction& transaction) {
  Answer answer;
  answer.done = std::all_of(
      transaction.compares.begin(), transaction.compares.end(), [&](const Compare& compare) {
        auto at = state_.entries.find(compare.key);
        return compare.modified == (at == state_.entries.end() ? 0 : at->second.modified);
      });
  if (answer.done) {
    earlier_.push_back(state_);
    if (earlier_.size() > kEarlierStates) {
      earlier_.erase(earlier_.begin());
    }
    // As in etcd, a transaction that only deletes what is not there is no change.
    const bool changes =
        std::any_of(transaction.writes.begin(), transaction.writes.end(), [&](const Write& write) {
          return write.kind == Write::Kind::kPut || state_.entries.contains(write.key);
        });
    const Revision revision = state_.revision + (changes ? 1 : 0);
    for (const Write& write : transaction.writes) {
      auto at = state_.entries.find(write.key);
      if (write.kind == Write::Kind::kDelete) {
        if (at != state_.entries.end()) {
          state_.entries.erase(at);
        }
      } else if (at == state_.entries.end()) {
        state_.entries[write.key] = {write.key, write.value, revision, revision};
      } else {
        at->second.value = write.value;
        at->second.modified = revision;
      }
      if (!Happens(faults_.lose_hint)) {
        written_.push_back(write.key);
      }
    }
    state_.revision = revision;
  }
  std::set<std::string_view> named;
  for (const Compare& compare : transaction.compares) {
    named.insert(compare.key);
  }
  named.insert(transaction.reads.begin(), transaction.reads.end());
  for (std::string_view key : named) {
    if (auto at = state_.entries.find(key); at != state_.entries.end()) {
      answer.entries.push_back(at->second);
    }
  }
  answer.position = {cluster_, state_.revision};
  return answer;
}

void MemoryStore::DeliverSome() {
  std::vector<Transaction> arriving;
  std::swap(arriving, under_way_);
  for (Transaction& transaction : arriving) {
    if (Happens(0.5)) {
      Execute(transaction);
    } else {
      under_way_.push_back(std::move(transaction));
    }
  }
}

Result<Answer> MemoryStore::Transact(const Transaction& transaction, Deadline) {
  RETURN_IF_ERROR(CheckForm(transaction));
  Result<Answer> answer = [&]() -> Result<Answer> {
    std::lock_guard lock(mutex_);
    if (away_) {
      return Status(kHostUnreachable, "The coordination store is away");
    }
    DeliverSome();
    if (Happens(faults_.lose_request)) {
      return Lost();
    }
    if (Happens(faults_.delay_request)) {
      under_way_.push_back(transaction);
      return Lost();
    }
    if (Happens(faults_.duplicate_request)) {
      under_way_.push_back(transaction);
    }
    Answer executed = Execute(transaction);
    if (Happens(faults_.lose_answer)) {
      return Lost();
    }
    return executed;
  }();
  Tell();
  return answer;
}

Result<Listing> MemoryStore::List(const Range& range, Deadline) {
  std::lock_guard lock(mutex_);
  if (away_) {
    return Status(kHostUnreachable, "The coordination store is away");
  }
  const State* shown = &state_;
  if (range.at != 0) {
    auto at = std::find_if(earlier_.rbegin(), earlier_.rend(),
                           [&](const State& state) { return state.revision == range.at; });
    shown = range.at == state_.revision ? &state_ : at == earlier_.rend() ? nullptr : &*at;
  } else if (!earlier_.empty() && Happens(faults_.stale_listing)) {
    shown = &earlier_[random_() % earlier_.size()];
  }
  if (shown == nullptr) {
    return Status(kSnapshotTooOld,
                  "The coordination store has forgotten revision " + std::to_string(range.at));
  }
  Listing listing;
  listing.position = {cluster_, shown->revision};
  auto at = range.after >= range.prefix && !range.after.empty()
                ? shown->entries.upper_bound(range.after)
                : shown->entries.lower_bound(range.prefix);
  for (; at != shown->entries.end() && at->first.starts_with(range.prefix); ++at) {
    if (at->second.modified < range.modified_since) {
      continue;
    }
    if (listing.entries.size() == range.most) {
      listing.more = true;
      break;
    }
    listing.entries.push_back(at->second);
  }
  return listing;
}

Result<std::unique_ptr<Watcher>> MemoryStore::Watch(std::string prefix,
                                                    std::function<void()> changed) {
  auto hearer = std::make_shared<Hearer>();
  hearer->prefix = std::move(prefix);
  hearer->changed = std::move(changed);
  {
    std::lock_guard lock(mutex_);
    hearers_.push_back(hearer);
  }
  auto watcher = std::make_unique<Registration>(this, hearer);
  std::lock_guard running(hearer->running);
  hearer->changed();
  return std::unique_ptr<Watcher>(std::move(watcher));
}

void MemoryStore::Tell() {
  std::vector<std::shared_ptr<Hearer>> told;
  {
    std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Hearer>& hearer : hearers_) {
      if (std::any_of(written_.begin(), written_.end(),
                      [&](const std::string& key) { return key.starts_with(hearer->prefix); })) {
        told.push_back(hearer);
      }
    }
    written_.clear();
  }
  for (const std::shared_ptr<Hearer>& hearer : told) {
    std::lock_guard running(hearer->running);
    if (!hearer->ended) {
      hearer->changed();
    }
  }
}

void MemoryStore::SetFaults(const Faults& faults) {
  std::lock_guard lock(mutex_);
  faults_ = faults;
}

void MemoryStore::SetAway(bool away) {
  std::lock_guard lock(mutex_);
  away_ = away;
}

void MemoryStore::Settle() {
  {
    std::lock_guard lock(mutex_);
    std::vector<Transaction> arriving;
    std::swap(arriving, under_way_);
    for (const Transaction& transaction : arriving) {
      Execute(transaction);
    }
  }
  Tell();
}

void MemoryStore::Keep() {
  std::lock_guard lock(mutex_);
  kept_ = state_;
}

void MemoryStore::GoBack() {
  std::lock_guard lock(mutex_);
  state_ = kept_;
  earlier_.clear();
}

}  // namespace quire::coord
