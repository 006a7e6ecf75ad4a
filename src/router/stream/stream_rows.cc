// SPDX-License-Identifier: Apache-2.0
#include "router/stream/stream_rows.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/error_codes.h"
#include "base/memory_charge.h"
#include "base/mutex.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/remote/end_cursor.h"
#include "router/remote/errors.h"
#include "router/stream/stream_merge.h"

namespace quire::router {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kAwaitMillis = 1000;  // of a getMore on a shard
constexpr int64_t kBatch = 1000;
constexpr std::chrono::seconds kTimeout{10};
constexpr std::chrono::seconds kFirstTimeout{2};

// A batch with its events, of which some may have to wait for other shards.
struct HeldReply {
  bson::Document reply;
  MemoryCharge charge;
};

// A shard's cursor.
struct OnShard {
  std::string host;
  int64_t id = 0;
  bool asked = false;
  Lanes::Ticket ticket = 0;
  bool told = false;  // the time that it has to reach
};

}  // namespace

class StreamRows::State : public std::enable_shared_from_this<State> {
 public:
  State(Core* core, StreamOptions options)
      : core_(*core), options_(std::move(options)), merge_(options_.start) {}

  void Open(std::vector<OpenedCursor> cursors) {
    MutexLock lock(mutex_);
    for (OpenedCursor& cursor : cursors) {
      merge_.Add(std::move(cursor.shard));
      remotes_.push_back({std::move(cursor.host)});
    }
    // Each may tell of any other.
    for (size_t place = 0; place < cursors.size(); ++place) {
      Take(place, std::move(cursors[place].reply));
    }
  }

  // False: there is none now. What is missing is asked for.
  Result<bool> Next(StreamMerge::Event* event) {
    bool found = false;
    std::vector<size_t> wanted;
    std::vector<size_t> behind;
    bool look = false;
    bson::Timestamp reach;
    {
      MutexLock lock(mutex_);
      if (!problem_.ok()) {
        return problem_;
      }
      if (joining_.empty()) {
        Result<bool> next = merge_.Next(event);
        if (!next.ok()) {
          return next;
        }
        found = *next;
      } else {
        look = lookup_ == nullptr;
      }
      if (!found && !merge_.ended()) {
        for (size_t i = 0; i < remotes_.size(); ++i) {
          if (Unasked(i)) {
            remotes_[i].asked = true;
            wanted.push_back(i);
          }
        }
        for (const size_t i : merge_.Behind()) {
          if (!remotes_[i].told && remotes_[i].id != 0) {
            remotes_[i].told = true;
            behind.push_back(i);
          }
        }
        reach = merge_.Reach();
      }
    }
    for (const size_t i : wanted) {
      Ask(i);
    }
    for (const size_t i : behind) {
      Tell(i, reach);
    }
    if (look) {
      LookForShards();
    }
    return found;
  }

  bool HasNews() {
    MutexLock lock(mutex_);
    if (!problem_.ok() || merge_.ended() || (joining_.empty() && merge_.Ready())) {
      return true;
    }
    for (size_t i = 0; i < remotes_.size(); ++i) {
      if (Unasked(i)) {
        return true;
      }
    }
    return false;
  }
  bool Holds() {
    MutexLock lock(mutex_);
    return problem_.ok() && merge_.Holds();
  }
  bool Ended() {
    MutexLock lock(mutex_);
    return merge_.ended();
  }
  bson::Document Mark() {
    MutexLock lock(mutex_);
    return merge_.Mark();
  }

  void End() {
    MutexLock lock(mutex_);
    over_ = true;
    lookup_ = nullptr;
    for (OnShard& remote : remotes_) {
      if (remote.asked) {
        core_.lanes().Drop(remote.ticket);
      }
      if (remote.id == 0) {
        continue;
      }
      EndCursor(&core_.lanes(), remote.host, options_.database, options_.collection, remote.id,
                options_.session);
      remote.id = 0;
    }
  }

  Bell news;

 private:
  bool Unasked(size_t i) const QUIRE_REQUIRES(mutex_) {
    return merge_.Wants(i) && !remotes_[i].asked && remotes_[i].id != 0;
  }

  void Ask(size_t i) {
    bson::Builder more;
    std::string host;
    {
      MutexLock lock(mutex_);
      host = remotes_[i].host;
      more.Append("getMore", remotes_[i].id)
          .Append("collection", options_.collection)
          .Append("batchSize", kBatch)
          .Append("maxTimeMS", kAwaitMillis)
          .AppendFields(options_.session);
    }
    core_.AppendClusterTime(&more);
    more.Append("$db", options_.database);
    const Lanes::Ticket ticket =
        core_.lanes().Send(host, more.Finish(), Clock::time_point::max(),
                           [self = shared_from_this(), i](Result<bson::Document> reply) {
                             self->Arrived(i, std::move(reply));
                           });
    MutexLock lock(mutex_);
    remotes_[i].ticket = ticket;
  }

  void Arrived(size_t i, Result<bson::Document> reply) {
    const Status status = reply.ok() ? request::StatusOf(*reply) : reply.status();
    {
      MutexLock lock(mutex_);
      if (over_) {  // and the router, perhaps, with it
        return;
      }
      OnShard& remote = remotes_[i];
      remote.asked = false;
      if (reply.ok()) {
        core_.remote->heard(*reply);
      }
      if (status.ok()) {
        Take(i, *std::move(reply));
      } else {
        if (IsNetworkError(status.code()) || IsStepDown(status.code())) {
          core_.remote->members.Doubt(remote.host);
        }
        problem_ = ForClients(status);
        remote.id = 0;
      }
    }
    news.Ring();
  }

  // Makes the shard's log reach the time, and its getMore end then.
  void Tell(size_t i, bson::Timestamp reach) {
    bson::Builder command;
    std::string host;
    {
      MutexLock lock(mutex_);
      host = remotes_[i].host;
      command.Append("_shardsvrReachTime", remotes_[i].id).Append("time", reach);
    }
    core_.AppendClusterTime(&command);
    command.Append("$db", "admin");
    core_.lanes().Send(host, command.Finish(), Clock::now() + kTimeout,
                       [self = shared_from_this(), i](const Result<bson::Document>&) {
                         {
                           MutexLock lock(self->mutex_);
                           self->remotes_[i].told = false;
                         }
                         self->news.Ring();
                       });
  }

  void Take(size_t place, bson::Document reply) QUIRE_REQUIRES(mutex_) {
    auto held = std::make_shared<HeldReply>();
    held->reply = std::move(reply);
    held->charge.Set(held->reply.view().size());
    const auto cursor = request::CursorReply::Read(held->reply);
    if (!cursor.ok()) {
      problem_ = cursor.status();
      return;
    }
    remotes_[place].id = cursor->id;
    StreamBatch batch;
    for (const bson::Element& row : cursor->batch) {
      batch.events.push_back(row.value().AsDocument());
    }
    batch.holder = held;
    batch.token = cursor->post_batch_resume_token;
    batch.ended = cursor->id == 0;
    const bson::Value found = cursor->stream["found"];
    batch.found = found.type() == bson::Type::kBool && found.AsBool();
    merge_.Take(place, std::move(batch));
    NoteJoins(cursor->stream["joins"]);
  }

  // Shards that the stream does not read: before what comes next goes out, it must be known whether
  // they have something.
  void NoteJoins(const bson::Value& names) QUIRE_REQUIRES(mutex_) {
    if (!names.is_array()) {
      return;
    }
    for (const bson::Element& e : names.AsArray()) {
      const std::string name(e.value().is_string() ? e.value().AsString() : "");
      bool known = seen_.contains(name);
      for (size_t i = 0; i < merge_.size(); ++i) {
        known = known || merge_.shard(i) == name;
      }
      if (!known) {
        joining_.insert(name);
      }
    }
  }

  void LookForShards() {
    auto lookup = core_.catalog->ReloadShards();
    {
      MutexLock lock(mutex_);
      lookup_ = std::move(lookup);
    }
    // Behind it. Not by its bell: this may be the last to know the stream, and ends it.
    core_.catalog->Run([self = weak_from_this()](coord::Store&) -> Result<bson::Document> {
      if (const auto state = self.lock()) {
        state->ShardsKnown();
      }
      return bson::Document();
    });
  }

  void ShardsKnown() {
    {
      MutexLock lock(mutex_);
      if (lookup_ == nullptr || !lookup_->ready()) {
        return;
      }
      const bool known = lookup_->Get().ok();
      lookup_ = nullptr;
      if (known) {
        for (const placement::ShardRecord& shard : core_.catalog->Shards()) {
          if (joining_.contains(shard.name)) {
            problem_ = Status(kRetryChangeStream, "Shard " + shard.name +
                                                      " has joined the cluster: the stream has to "
                                                      "be opened again to read it");
          }
        }
        seen_.merge(joining_);
        joining_.clear();
      }
    }
    news.Ring();
  }

  Core& core_;
  const StreamOptions options_;
  Mutex mutex_;
  StreamMerge merge_ QUIRE_GUARDED_BY(mutex_);
  std::vector<OnShard> remotes_ QUIRE_GUARDED_BY(mutex_);  // by their places
  Status problem_ QUIRE_GUARDED_BY(mutex_);
  bool over_ QUIRE_GUARDED_BY(mutex_) = false;
  std::set<std::string> joining_ QUIRE_GUARDED_BY(mutex_);  // shards that are looked for
  std::set<std::string> seen_ QUIRE_GUARDED_BY(mutex_);     // that were not there
  std::shared_ptr<Lookup<bool>> lookup_ QUIRE_GUARDED_BY(mutex_);

 public:
  StreamMerge::Event current;  // what Next gave last; used by whoever has the cursor
};

StreamRows::StreamRows(Core* core, StreamOptions options, std::vector<OpenedCursor> cursors)
    : last_token_(options.start) {
  state_ = std::make_shared<State>(core, std::move(options));
  state_->Open(std::move(cursors));
}

StreamRows::~StreamRows() { state_->End(); }

Result<bool> StreamRows::Next(OpContext&, exec::Row* row) {
  Result<bool> found = state_->Next(&state_->current);
  gave_ = found.ok() && *found;
  if (gave_) {
    *row = exec::Row();
    row->document = state_->current.document;
  }
  return found;
}

Bell* StreamRows::News() { return &state_->news; }
bool StreamRows::HasNews() const { return state_->HasNews(); }
bool StreamRows::Pending() const {
  return first_ && Clock::now() < opened_ + kFirstTimeout && state_->Holds();
}
bool StreamRows::Ended() const { return state_->Ended(); }

bson::Document StreamRows::ResumeToken() const {
  if (gave_) {
    return last_token_;
  }
  bson::Document mark = state_->Mark();
  return mark.empty() ? last_token_ : mark;
}

void StreamRows::Returned(bson::View document) {
  if (const bson::Value token = document["_id"]; token.is_document()) {
    last_token_ = bson::Document(token.AsDocument());
  }
}

}  // namespace quire::router
