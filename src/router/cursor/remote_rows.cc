// SPDX-License-Identifier: Apache-2.0
#include "router/cursor/remote_rows.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/memory_charge.h"
#include "base/mutex.h"
#include "base/try.h"
#include "engine/read/shard_rows.h"
#include "peer/pool.h"
#include "quire/doc.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/remote/end_cursor.h"
#include "router/remote/errors.h"

namespace quire::router {

namespace {

using Clock = std::chrono::steady_clock;

// A shard's reply, for as long as rows of it are wanted. Its bytes count for the process: no one
// operation has them.
struct Reply {
  explicit Reply(bson::Document read) : document(std::move(read)) { Count(document.view().size()); }
  ~Reply() { Count(0); }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  const bson::Document document;

 private:
  void Count(size_t bytes) {
    const CurrentOpScope of_none(nullptr);
    charge_.Set(bytes);
  }
  MemoryCharge charge_;
};
using Held = std::shared_ptr<const Reply>;

// Whether all operations together hold more than they may.
bool HoldTooMuch() {
  const MemoryLimits& limits = OperationMemory();
  const int64_t most = limits.of_all.load(std::memory_order_relaxed);
  return most > 0 && limits.held.load(std::memory_order_relaxed) > most;
}

// One row, in the reply that it came with.
struct Item {
  Held reply;
  bson::View sent;
  std::string_view key;  // compares as the rows are sorted
};

struct Source {
  placement::ShardName shard;
  std::string host;
  int64_t id = 0;  // of the shard's cursor; 0: it has no more
  std::deque<Item> rows;
  size_t batch = 0;  // rows of the last batch
  bool asked = false;
  Lanes::Ticket ticket = 0;
  bson::Document token;  // of the last batch: where a change stream goes on
};

}  // namespace

class RemoteRows::State : public LiveCursors::Owner, public std::enable_shared_from_this<State> {
 public:
  State(Lanes* lanes, RemoteRowsOptions options) : lanes_(*lanes), options_(std::move(options)) {}

  void Open(std::vector<OpenedCursor> cursors) {
    MutexLock lock(mutex_);
    for (OpenedCursor& cursor : cursors) {
      Source& source = sources_.emplace_back();
      source.shard = std::move(cursor.shard);
      source.host = std::move(cursor.host);
      Take(&source, std::move(cursor.reply));
    }
  }

  void AddOpen(LiveCursors::ByHost* cursors) override {
    MutexLock lock(mutex_);
    for (const Source& source : sources_) {
      if (source.id != 0 && !source.asked) {
        (*cursors)[source.host].push_back(source.id);
      }
    }
  }

  // False: there is none now.
  Result<bool> Next(Item* item) {
    std::vector<size_t> wanted;
    bool found = false;
    {
      MutexLock lock(mutex_);
      if (!problem_.ok()) {
        return problem_;
      }
      found = options_.sorted ? TakeLowest(item, &wanted) : TakeAny(item, &wanted);
      if (options_.reads_ahead) {
        AddHalfEmpty(&wanted);
      }
      pending_ = !found && IsOnItsWay();
    }
    for (const size_t i : wanted) {
      Ask(i);
    }
    return found;
  }

  // Whether Next gave none because rows are on their way. They may be there by now.
  bool Pending() {
    MutexLock lock(mutex_);
    return pending_;
  }

  bool HasNews() {
    MutexLock lock(mutex_);
    return !problem_.ok() || Ready() || Ends() || (pending_ && !IsOnItsWay());
  }

  // Somebody waits for what comes next.
  void Watch(bool watched) {
    size_t count = 0;
    {
      MutexLock lock(mutex_);
      watched_ = watched && options_.awaits;
      count = watched ? sources_.size() : 0;
    }
    for (size_t i = 0; i < count; ++i) {
      Ask(i);
    }
  }

  bool AtEnd() {
    MutexLock lock(mutex_);
    return Ends();
  }

  bson::Document Token() {
    MutexLock lock(mutex_);
    return sources_.empty() ? bson::Document() : sources_.front().token;
  }

  void End() {
    std::vector<Lanes::Ticket> open;
    MutexLock lock(mutex_);
    for (Source& source : sources_) {
      if (source.asked) {
        lanes_.Drop(source.ticket);
      }
      if (source.id == 0) {
        continue;
      }
      EndCursor(&lanes_, source.host, options_.database, options_.collection, source.id,
                options_.session);
      source.id = 0;
    }
  }

  Bell news;

 private:
  // Whether a row can be given now.
  bool Ready() QUIRE_REQUIRES(mutex_) {
    auto has_row = [](const Source& source) { return !source.rows.empty(); };
    auto known = [](const Source& source) { return source.id == 0 || !source.rows.empty(); };
    if (options_.sorted) {
      return std::all_of(sources_.begin(), sources_.end(), known);
    }
    return Ends() || std::any_of(sources_.begin(), sources_.end(), has_row);
  }
  // Whether more will be known without anybody's doing.
  bool IsOnItsWay() QUIRE_REQUIRES(mutex_) {
    return std::any_of(sources_.begin(), sources_.end(), [&](const Source& source) {
      return options_.tailable ? !options_.awaits && source.asked : source.id != 0;
    });
  }
  bool Ends() QUIRE_REQUIRES(mutex_) {
    return std::all_of(sources_.begin(), sources_.end(),
                       [](const Source& source) { return source.id == 0 && source.rows.empty(); });
  }

  bool TakeLowest(Item* item, std::vector<size_t>* wanted) QUIRE_REQUIRES(mutex_) {
    Source* lowest = nullptr;
    for (size_t i = 0; i < sources_.size(); ++i) {
      Source& source = sources_[i];
      if (source.rows.empty()) {
        if (source.id != 0) {
          wanted->push_back(i);
        }
      } else if (lowest == nullptr || source.rows.front().key < lowest->rows.front().key) {
        lowest = &source;
      }
    }
    if (!wanted->empty() || lowest == nullptr) {
      return false;
    }
    *item = std::move(lowest->rows.front());
    lowest->rows.pop_front();
    return true;
  }

  bool TakeAny(Item* item, std::vector<size_t>* wanted) QUIRE_REQUIRES(mutex_) {
    bool found = false;
    for (size_t n = 0; n < sources_.size(); ++n) {
      const size_t i = (turn_ + n) % sources_.size();
      Source& source = sources_[i];
      if (!source.rows.empty()) {
        if (!found) {
          *item = std::move(source.rows.front());
          source.rows.pop_front();
          turn_ = i;
          found = true;
        }
      } else if (source.id != 0 && !options_.tailable) {
        wanted->push_back(i);
      }
    }
    if (found) {
      wanted->clear();
    }
    return found;
  }

  void AddHalfEmpty(std::vector<size_t>* wanted) QUIRE_REQUIRES(mutex_) {
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Source& source = sources_[i];
      if (source.id != 0 && !source.asked && source.rows.size() * 2 <= source.batch &&
          std::find(wanted->begin(), wanted->end(), i) == wanted->end()) {
        wanted->push_back(i);
      }
    }
  }

  void Ask(size_t i) {
    bson::Builder more;
    std::string host;
    {
      MutexLock lock(mutex_);
      Source& source = sources_[i];
      if (source.asked || source.id == 0 || (!options_.reads_ahead && !source.rows.empty())) {
        return;
      }
      source.asked = true;
      host = source.host;
      more.Append("getMore", source.id).Append("collection", options_.collection);
      if (options_.batch_size && *options_.batch_size > 0) {
        more.Append("batchSize", *options_.batch_size);
      }
      if (options_.tailable && options_.awaits) {
        more.Append("maxTimeMS", int32_t{1000});
      }
      more.AppendFields(options_.session).Append("$db", options_.database);
    }
    const Lanes::Ticket ticket =
        lanes_.Send(host, more.Finish(), Clock::time_point::max(),
                    [self = shared_from_this(), i](Result<bson::Document> reply) {
                      self->Arrived(i, std::move(reply));
                    });
    MutexLock lock(mutex_);
    sources_[i].ticket = ticket;
  }

  void Arrived(size_t i, Result<bson::Document> reply) {
    bool again = false;
    {
      MutexLock lock(mutex_);
      Source& source = sources_[i];
      source.asked = false;
      Status status = reply.ok() ? request::StatusOf(*reply) : reply.status();
      if (!status.ok() && options_.allows_partial && IsUnreachable(status.code())) {
        source.id = 0;
      } else if (!status.ok()) {
        problem_ = ForClients(status);
        source.id = 0;
      } else {
        Take(&source, *std::move(reply));
      }
      again = watched_ && problem_.ok() && source.rows.empty() && source.id != 0;
    }
    if (again) {
      Ask(i);
    }
    news.Ring();
  }

  void Take(Source* source, bson::Document reply) QUIRE_REQUIRES(mutex_) {
    const auto held = std::make_shared<const Reply>(std::move(reply));
    auto cursor = request::CursorReply::Read(held->document);
    if (!cursor.ok()) {
      problem_ = cursor.status();
      source->id = 0;
      return;
    }
    source->id = cursor->id;
    source->token = cursor->post_batch_resume_token;
    source->batch = cursor->batch.Count();
    if (HoldTooMuch()) {
      OperationMemory().refused.fetch_add(1, std::memory_order_relaxed);
      problem_ = Status(kExceededMemoryLimit,
                        "the rows that shards have sent to this router take too much memory");
    }
    for (const bson::Element& row : cursor->batch) {
      Item item{held, row.value().AsDocument(), {}};
      if (options_.sorted) {
        exec::Row read;
        if (Status status = engine::ReadShardRow(item.sent, &read); !status.ok()) {
          problem_ = status;
          return;
        }
        item.key = read.sort_key;
      }
      source->rows.push_back(std::move(item));
    }
  }

  Lanes& lanes_;
  const RemoteRowsOptions options_;
  Mutex mutex_;
  std::deque<Source> sources_ QUIRE_GUARDED_BY(mutex_);
  Status problem_ QUIRE_GUARDED_BY(mutex_);
  size_t turn_ QUIRE_GUARDED_BY(mutex_) = 0;
  bool pending_ QUIRE_GUARDED_BY(mutex_) = false;
  bool watched_ QUIRE_GUARDED_BY(mutex_) = false;

 public:
  Item current;  // what Next gave last; used by whoever has the cursor
};

RemoteRows::RemoteRows(Lanes* lanes, RemoteRowsOptions options, std::vector<OpenedCursor> cursors)
    : wrapped_(options.wrapped),
      shows_(options.shows),
      to_skip_(options.skip),
      left_(options.limit == 0 ? -1 : options.limit) {
  LiveCursors* live = options.live;
  state_ = std::make_shared<State>(lanes, std::move(options));
  state_->Open(std::move(cursors));
  if (live != nullptr) {
    live->Add(state_);
  }
}

RemoteRows::~RemoteRows() { state_->End(); }

Result<bool> RemoteRows::Next(OpContext&, exec::Row* row) {
  while (true) {
    if (left_ == 0) {
      state_->End();
      return false;
    }
    Result<bool> found = state_->Next(&state_->current);
    if (!found.ok() || !*found) {
      return found;
    }
    if (shows_ && !shows_(state_->current.sent)) {
      continue;
    }
    if (to_skip_ > 0) {
      --to_skip_;
      continue;
    }
    left_ -= left_ > 0 ? 1 : 0;
    if (wrapped_) {
      RETURN_IF_ERROR(engine::ReadShardRow(state_->current.sent, row));
    } else {
      row->document = state_->current.sent;
    }
    return true;
  }
}

Status RemoteRows::Refresh(OpContext&) {
  state_->Watch(true);
  return Status::Ok();
}

Bell* RemoteRows::News() { return &state_->news; }
bool RemoteRows::HasNews() const { return state_->HasNews(); }
bool RemoteRows::Pending() const { return left_ != 0 && state_->Pending(); }
void RemoteRows::Rest() { state_->Watch(false); }
bson::Document RemoteRows::ResumeToken() const { return state_->Token(); }
bool RemoteRows::Ended() const { return state_->AtEnd(); }

}  // namespace quire::router
