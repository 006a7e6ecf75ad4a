// SPDX-License-Identifier: Apache-2.0
//
// How a process comes to be a member: it finds the keys of its set, itself in the configuration,
// and, when its folder is not one of the set's, a copy of somebody else's.
#include <algorithm>
#include <future>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "quire/doc.h"
#include "repl/config/set_config.h"
#include "repl/member/member_internal.h"
#include "repl/member/random_id.h"
#include "repl/message/codec.h"
#include "repl/message/fields.h"
#include "request/reply.h"

namespace quire::repl {
namespace {

constexpr std::chrono::seconds kStoreTimeout{3};
constexpr std::chrono::seconds kProbeTimeout{2};
constexpr std::chrono::minutes kCopyTimeout{2};
constexpr Millis kCopyAgain = 1000;

}  // namespace

void Member::Impl::ReadKeysSoon() {
  if (!read_posted_.exchange(true)) {
    ReadKeysThen([] {});
  }
}

void Member::Impl::ReadKeysThen(std::function<void()> then) {
  store_reads_.Post([this, then = std::move(then)]() mutable {
    read_posted_ = false;
    auto listing =
        store_->List({.prefix = names_.prefix}, std::chrono::steady_clock::now() + kStoreTimeout);
    Post([this, listing = std::move(listing), then = std::move(then)]() mutable {
      if (listing.ok()) {
        OnEntries(listing->position, std::move(listing->entries));
      } else {
        log::Debug(1, "REPL", "The coordination store did not answer",
                   {{"error", listing.status().ToString()}});
      }
      then();
    });
  });
}

// Another store than the one this member was told its facts by knows nothing of them, unless an
// operator has had the keys written anew: then they are newer than all that was heard of.
bool Member::Impl::KnownStore(const coord::Position& position, Counter counter) {
  if (identity_.store == 0 || identity_.store == position.cluster ||
      counter > std::max(entries_counter_, local_.heard.counter)) {
    identity_.store = position.cluster;
    other_store_told_ = false;
    return true;
  }
  if (!std::exchange(other_store_told_, true)) {
    log::Error("REPL",
               "The coordination store is another one than before: its answers are not used",
               {{"was", static_cast<int64_t>(identity_.store)},
                {"is", static_cast<int64_t>(position.cluster)}});
  }
  return false;
}

// A primary goes on without them; nobody else can become one.
void Member::Impl::NoteLostKeys(const coord::Position& position) {
  if (core_ && !lost_keys_) {
    log::Error("REPL",
               "The coordination store has lost the keys of the set. Where there is no primary, "
               "replSetReconfig with force writes them anew");
  }
  lost_keys_ = core_ ? std::optional(position) : std::nullopt;
}

void Member::Impl::OnEntries(const coord::Position& position, std::vector<coord::Entry> entries) {
  auto view = DecodeKeys(names_, entries);
  if (!view.ok()) {
    log::Error("REPL", "The keys of the set cannot be read", {{"error", view.status().ToString()}});
    return;
  }
  if (!*view) {
    NoteLostKeys(position);
    return;
  }
  lost_keys_.reset();
  if (!KnownStore(position, (*view)->stamp.counter)) {
    return;
  }
  if ((*view)->stamp.counter >= entries_counter_) {
    entries_ = std::move(entries);
    entries_counter_ = (*view)->stamp.counter;
  }
  if (core_) {
    Step(Hint{**view});
  } else {
    Discover(**view);
  }
}

void Member::Impl::Discover(const View& view) {
  if (finding_ || copying_) {
    return;
  }
  finding_ = true;
  FindSelf(view.set(), [this, view](MemberId id) {
    finding_ = false;
    if (!core_ && id != kNoMember) {
      Found(id, view);
    }
  });
}

void Member::Impl::FindSelf(const SetConfig& config, std::function<void(MemberId)> found) {
  const auto hosts = HostsOf(config);
  for (const auto& [id, host] : hosts) {
    if (std::find(options.hosts.begin(), options.hosts.end(), host) != options.hosts.end()) {
      found(id);
      return;
    }
  }
  // By another name, perhaps: whoever answers with this process's own number is this process.
  struct Search {
    size_t left;
    MemberId found = kNoMember;
  };
  auto search = std::make_shared<Search>(Search{hosts.size()});
  for (const auto& [id, host] : hosts) {
    bson::Builder body;
    AppendEnvelope(&body);
    body.Append("probe", true);
    SendTo(host, "beacon", body.Finish(), kProbeTimeout,
           [this, search, id = id, found](const Result<bson::Document>& reply) {
             const bool mine = reply.ok() && (*reply)["boot"].type() == bson::Type::kInt64 &&
                               static_cast<Boot>((*reply)["boot"].AsInt64()) == boot_;
             Post([search, mine, id, found] {
               if (mine) {
                 search->found = id;
               }
               if (--search->left == 0) {
                 found(search->found);
               }
             });
           });
  }
}

void Member::Impl::Found(MemberId id, const View& view) {
  const bool founder = view.isr.members.Contains(InSyncMember{id, local_.data});
  if (founder || identity_.copied) {
    MakeCore(id, view);
    return;
  }
  // A folder that was never in the set has a history of its own, however short.
  log::Info("REPL", "This process is a new member of the set", {{"_id", id}});
  self_ = id;
  set_ = view.config.config;
  hosts_ = HostsOf(*set_);
  {
    MutexLock lock(published_mutex_);
    config_ = set_;
  }
  self_id_ = id;
  copying_ = true;
  dirty_ = true;
  CopyFrom(SourceOfCopy());
}

void Member::Impl::MakeCore(MemberId id, const View& view) {
  self_ = id;
  self_id_ = id;
  identity_.id = id;
  Settings settings = options.settings;
  if (settings.election == Settings().election) {
    const Millis election = ElectionTimeoutOf(view.set());
    settings.proof = settings.proof * election / settings.election;
    settings.silent = settings.silent * election / settings.election;
    settings.election = election;
  }
  entries_counter_ = std::max(entries_counter_, view.stamp.counter);
  core_ = std::make_unique<Core>(id, boot_, settings, boot_);
  Step(Started{Now(), local_, ToCore(start_.log), start_.applied, start_.commit});
  Step(Hint{view});
}

// The leader when it is known: its log reaches furthest back for sure. Else whoever answered.
std::string Member::Impl::SourceOfCopy() const {
  auto host_of = [this](MemberId id) {
    auto found = hosts_.find(id);
    return found == hosts_.end() || id == self_ ? std::string() : found->second;
  };
  if (auto view = DecodeKeys(names_, entries_); view.ok() && *view) {
    if (std::string leader = host_of((*view)->leader.leader.member); !leader.empty()) {
      return leader;
    }
    for (const InSyncMember& member : (*view)->isr.members) {
      if (std::string host = host_of(member.member); !host.empty()) {
        return host;
      }
    }
  }
  return core_ ? host_of(core_->leader().member) : "";
}

void Member::Impl::CopyFrom(const std::string& host) {
  if (options.dbpath.empty()) {
    log::Error("REPL", "A member whose data is in memory cannot copy another one's", {});
    return;
  }
  Local fresh;
  fresh.data = RandomId();
  fresh.accepted = local_.accepted;
  fresh.fence = local_.fence;
  fresh.heard = local_.heard;
  const Identity kept = identity_;
  if (core_) {
    RaiseRollbackId();  // what this member showed goes with its folder
  }
  identity_ = {kNoMember, kept.store, true, identity_.rollback_id};
  const bson::Document identity = LocalDocument(fresh, true);
  identity_ = kept;
  log::Info("REPL", "Initial sync begins", {{"source", host}});
  copier_.Post([this, host, identity] {
    auto ask = [this, host](const bson::Document& request) -> Result<bson::Document> {
      auto promise = std::make_shared<std::promise<Result<bson::Document>>>();
      auto future = promise->get_future();
      bson::Builder body;
      AppendEnvelope(&body);
      body.Append("copy", request);
      SendTo(host, "copy", body.Finish(), kCopyTimeout,
             [promise](Result<bson::Document> reply) { promise->set_value(std::move(reply)); });
      while (future.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
        if (stopping_) {
          return Status(kInterruptedAtShutdown, "interrupted at shutdown");
        }
      }
      ASSIGN_OR_RETURN(bson::Document reply, future.get());
      RETURN_IF_ERROR(request::StatusOf(reply));
      return reply;
    };
    auto last_told = std::chrono::steady_clock::now();
    Status copied = CopyFolder(options.dbpath, identity, ask, [&](uint64_t bytes, uint64_t of) {
      constexpr std::chrono::seconds kTell{5};
      if (std::chrono::steady_clock::now() - last_told > kTell) {
        last_told = std::chrono::steady_clock::now();
        log::Info("REPL", "Initial sync goes on", {{"bytes", bytes}, {"of", of}});
      }
    });
    Post([this, copied] {
      if (copied.ok()) {
        StartAgain("the copy of another member is complete");
        return;
      }
      log::Warning("REPL", "Initial sync failed and is tried again",
                   {{"error", copied.ToString()}});
      copy_message_ = copied.message();
      next_copy_ = Now() + kCopyAgain;
      ReadKeysSoon();
    });
  });
}

}  // namespace quire::repl
