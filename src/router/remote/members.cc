// SPDX-License-Identifier: Apache-2.0
#include "router/remote/members.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/thread.h"
#include "base/try.h"
#include "bson/number.h"
#include "quire/doc.h"

namespace quire::router {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kInterval{5};
constexpr std::chrono::milliseconds kHurriedInterval{100};
constexpr std::chrono::seconds kTimeout{5};
constexpr std::chrono::seconds kSilence{10};

bool Says(bson::View hello, std::string_view field) {
  const bson::Value value = hello[field];
  return value.type() == bson::Type::kBool && value.AsBool();
}

MemberState StateFrom(const std::string& host, bson::View hello) {
  MemberState state;
  state.host = host;
  state.primary = Says(hello, "isWritablePrimary");
  state.secondary = Says(hello, "secondary") && !Says(hello, "hidden");
  if (const bson::Value tags = hello["tags"]; tags.is_document()) {
    state.tags = bson::Document(tags.AsDocument());
  }
  if (const bson::Value last = hello["lastWrite"]; last.is_document()) {
    const bson::Value date = last.AsDocument()["lastWriteDate"];
    state.last_write = date.type() == bson::Type::kDate ? date.AsDate() : bson::Date();
  }
  if (const bson::Value id = hello["electionId"]; id.type() == bson::Type::kObjectId) {
    const bson::ObjectId election = id.AsObjectId();
    for (size_t i = 4; i < election.bytes.size(); ++i) {
      state.term = (state.term << 8) | election.bytes[i];
    }
  }
  return state;
}

}  // namespace

Result<SetAddress> ParseSetAddress(std::string_view text) {
  SetAddress address;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) {
    return Status(kBadValue, "'" + std::string(text) +
                                 "' is no address of a replica set: \"set/host:port,...\"");
  }
  address.set = text.substr(0, slash);
  for (std::string_view rest = text.substr(slash + 1); !rest.empty();) {
    const size_t comma = rest.find(',');
    std::string host(rest.substr(0, comma));
    if (host.empty()) {
      return Status(kBadValue, "'" + std::string(text) + "' names an empty host");
    }
    if (host.find(':') == std::string::npos) {
      host += ":27017";
    }
    address.hosts.push_back(std::move(host));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return address;
}

Result<std::unique_ptr<Members>> Members::Start(
    peer::Pool* pool, std::function<void(const std::string& host)> silent) {
  std::unique_ptr<Members> members(new Members(pool, std::move(silent)));
  ASSIGN_OR_RETURN(members->thread_, StartThread([own = members.get()] { own->Run(); }));
  return members;
}

Members::~Members() {
  if (!thread_.joinable()) {
    return;
  }
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Members::SetShards(const std::vector<placement::ShardRecord>& shards) {
  {
    MutexLock lock(mutex_);
    std::map<placement::ShardName, Set> sets;
    for (const placement::ShardRecord& shard : shards) {
      auto address = ParseSetAddress(shard.host);
      if (!address.ok()) {
        continue;
      }
      Set& set = sets[shard.name];
      if (auto known = sets_.find(shard.name); known != sets_.end()) {
        set = std::move(known->second);
      }
      set.name = address->set;
      for (std::string& host : address->hosts) {
        if (std::find(set.hosts.begin(), set.hosts.end(), host) == set.hosts.end()) {
          set.hosts.push_back(std::move(host));
          hurry_ = true;
        }
      }
    }
    sets_ = std::move(sets);
  }
  wake_.notify_all();
}

std::optional<std::string> Members::Pick(const placement::ShardName& shard,
                                         const ReadPreference& preference) {
  MutexLock lock(mutex_);
  const auto set = sets_.find(shard);
  if (set == sets_.end()) {
    return std::nullopt;
  }
  const auto eligible = Eligible(set->second.members, preference);
  if (eligible.empty()) {
    hurry_ = true;
    wake_.notify_all();
    return std::nullopt;
  }
  return eligible[turn_++ % eligible.size()]->host;
}

std::vector<MemberState> Members::StatesOf(const placement::ShardName& shard) {
  MutexLock lock(mutex_);
  const auto set = sets_.find(shard);
  return set == sets_.end() ? std::vector<MemberState>() : set->second.members;
}

void Members::Doubt(const std::string& host) {
  {
    MutexLock lock(mutex_);
    for (auto& [name, set] : sets_) {
      std::erase_if(set.members, [&](const MemberState& member) { return member.host == host; });
    }
    hurry_ = true;
  }
  wake_.notify_all();
}

void Members::Run() {
  while (true) {
    {
      MutexLock lock(mutex_);
      const auto now = Clock::now();
      auto wait_until = [&](Clock::time_point until, bool till_hurry) QUIRE_REQUIRES(mutex_) {
        wake_.wait_until(lock.native(), until, [this, till_hurry]() QUIRE_REQUIRES(mutex_) {
          return stopping_ || (till_hurry && hurry_);
        });
      };
      wait_until(now + kInterval, true);
      hurry_ = false;
      if (stopping_) {
        break;
      }
    }
    AskAll();
    // Whoever is in a hurry is not asked without end.
    MutexLock lock(mutex_);
    wake_.wait_for(lock.native(), kHurriedInterval,
                   [this]() QUIRE_REQUIRES(mutex_) { return stopping_; });
  }
  MutexLock lock(mutex_);
  wake_.wait(lock.native(), [this]() QUIRE_REQUIRES(mutex_) { return asked_ == 0; });
}

void Members::AskAll() {
  std::vector<std::pair<placement::ShardName, std::string>> hosts;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, set] : sets_) {
      for (const std::string& host : set.hosts) {
        hosts.emplace_back(name, host);
      }
    }
    asked_ += hosts.size();
  }
  for (const auto& [shard, host] : hosts) {
    Ask(shard, host);
  }
}

void Members::Ask(const placement::ShardName& shard, const std::string& host) {
  const auto sent = Clock::now();
  pool_.Send(host, "hello", Doc("hello", 1, "$db", "admin"), sent + kTimeout,
             [this, shard, host, sent](const Result<bson::Document>& reply) {
               Note(shard, host, sent, reply);
             });
}

bool Members::NoteSilence(const std::string& host, Clock::time_point sent, bool answered) {
  if (answered) {
    unanswered_.erase(host);
    return false;
  }
  return Clock::now() - unanswered_.try_emplace(host, sent).first->second >= kSilence;
}

void Members::Note(const placement::ShardName& shard, const std::string& host,
                   Clock::time_point sent, const Result<bson::Document>& reply) {
  bool is_silent = false;
  {
    MutexLock lock(mutex_);
    is_silent = NoteSilence(host, sent, reply.ok());
    if (auto found = sets_.find(shard); found != sets_.end()) {
      Set& set = found->second;
      std::erase_if(set.members, [&](const MemberState& member) { return member.host == host; });
      const bool of_set = reply.ok() && reply->view()["setName"].is_string() &&
                          reply->view()["setName"].AsString() == set.name;
      if (of_set) {
        MemberState state = StateFrom(host, *reply);
        state.round_trip =
            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - sent);
        set.members.push_back(std::move(state));
        if (const bson::Value named = reply->view()["hosts"]; named.is_array()) {
          for (const bson::Element& other : named.AsArray()) {
            const std::string name(other.value().AsString());
            if (std::find(set.hosts.begin(), set.hosts.end(), name) == set.hosts.end()) {
              set.hosts.push_back(name);
              hurry_ = true;
            }
          }
        }
      }
    }
  }
  if (is_silent) {
    silent_(host);
  }
  changed_.Ring();
  MutexLock lock(mutex_);
  --asked_;
  wake_.notify_all();
}

}  // namespace quire::router
