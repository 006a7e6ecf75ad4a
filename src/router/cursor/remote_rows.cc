// SPDX-License-Identifier: Apache-2.0
#include "router/cursor/remote_rows.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "bson/ordered.h"
#include "peer/pool.h"
#include "quire/doc.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/remote/errors.h"

namespace quire::router {

namespace {

using Clock = std::chrono::steady_clock;
using Held = std::shared_ptr<const bson::Document>;

// One row, with the reply that it lies in.
struct Item {
  Held reply;
  bson::View document;
  std::string key;     // compares as the rows are sorted
  bson::Document own;  // the document when it is not as it came
};

struct Source {
  placement::ShardName shard;
  std::string host;
  int64_t id = 0;  // of the shard's cursor; 0: it has no more
  std::deque<Item> rows;
  bool asked = false;
  Lanes::Ticket ticket = 0;
  bson::Document token;  // of the last batch: where a change stream goes on
};

// Bytes that compare as the parts of a sort key do.
std::string KeyBytes(const bson::Value& parts, const std::vector<bool>& ascending) {
  std::string bytes;
  size_t i = 0;
  if (parts.is_array()) {
    for (const bson::Element& part : parts.AsArray()) {
      const bool up = i >= ascending.size() || ascending[i];
      bson::AppendOrdered(part.value(),
                          up ? bson::Direction::kAscending : bson::Direction::kDescending, nullptr,
                          &bytes, nullptr);
      ++i;
    }
  }
  return bytes;
}

bson::Document Without(bson::View document, std::string_view name) {
  bson::Builder out;
  for (const bson::Element& field : document) {
    if (field.name() != name) {
      out.Append(field);
    }
  }
  return out.Finish();
}

}  // namespace

class RemoteRows::State : public std::enable_shared_from_this<State> {
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

  // False: there is none now.
  Result<bool> Next(Item* item) {
    std::vector<size_t> wanted;
    bool found = false;
    {
      MutexLock lock(mutex_);
      if (!problem_.ok()) {
        return problem_;
      }
      found = !options_.sort.empty() ? TakeLowest(item, &wanted) : TakeAny(item, &wanted);
      pending_ = !found && !options_.tailable &&
                 std::any_of(sources_.begin(), sources_.end(),
                             [](const Source& source) { return source.id != 0; });
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
    return !problem_.ok() || Ready() || Ends();
  }

  // Somebody waits for what comes next.
  void Watch(bool watched) {
    size_t count = 0;
    {
      MutexLock lock(mutex_);
      watched_ = watched;
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
      bson::Builder kill;
      kill.Append("killCursors", options_.collection)
          .BeginArray("cursors")
          .Push(source.id)
          .End()
          .AppendFields(options_.session)
          .Append("$db", options_.database);
      constexpr std::chrono::seconds kPatience{10};
      lanes_.Send(source.host, kill.Finish(), Clock::now() + kPatience,
                  [](const Result<bson::Document>&) {});
      source.id = 0;
    }
  }

  Bell news;

 private:
  // Whether a row can be given now.
  bool Ready() QUIRE_REQUIRES(mutex_) {
    auto has_row = [](const Source& source) { return !source.rows.empty(); };
    auto known = [](const Source& source) { return source.id == 0 || !source.rows.empty(); };
    if (!options_.sort.empty()) {
      return std::all_of(sources_.begin(), sources_.end(), known);
    }
    return Ends() || std::any_of(sources_.begin(), sources_.end(), has_row);
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

  void Ask(size_t i) {
    bson::Builder more;
    std::string host;
    {
      MutexLock lock(mutex_);
      Source& source = sources_[i];
      if (source.asked || source.id == 0 || !source.rows.empty()) {
        return;
      }
      source.asked = true;
      host = source.host;
      more.Append("getMore", source.id).Append("collection", options_.collection);
      if (options_.batch_size && *options_.batch_size > 0) {
        more.Append("batchSize", *options_.batch_size);
      }
      if (options_.tailable) {
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
      if (!status.ok()) {
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
    auto held = std::make_shared<const bson::Document>(std::move(reply));
    auto cursor = request::CursorReply::Read(*held);
    if (!cursor.ok()) {
      problem_ = cursor.status();
      source->id = 0;
      return;
    }
    source->id = cursor->id;
    source->token = cursor->post_batch_resume_token;
    for (const bson::Element& row : cursor->batch) {
      const bson::View fields = row.value().AsDocument();
      if (options_.sort.empty()) {
        source->rows.push_back({held, fields, {}, {}});
      } else {
        source->rows.push_back({nullptr,
                                {},
                                KeyBytes(fields[options_.sort_key], options_.sort),
                                Without(fields, options_.sort_key)});
      }
    }
  }

  Lanes& lanes_;
  const RemoteRowsOptions options_;
  Mutex mutex_;
  std::vector<Source> sources_ QUIRE_GUARDED_BY(mutex_);
  Status problem_ QUIRE_GUARDED_BY(mutex_);
  size_t turn_ QUIRE_GUARDED_BY(mutex_) = 0;
  bool pending_ QUIRE_GUARDED_BY(mutex_) = false;
  bool watched_ QUIRE_GUARDED_BY(mutex_) = false;

 public:
  Item current;  // what Next gave last; used by whoever has the cursor
};

RemoteRows::RemoteRows(Lanes* lanes, RemoteRowsOptions options, std::vector<OpenedCursor> cursors)
    : to_skip_(options.skip), left_(options.limit == 0 ? -1 : options.limit) {
  state_ = std::make_shared<State>(lanes, std::move(options));
  state_->Open(std::move(cursors));
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
    if (to_skip_ > 0) {
      --to_skip_;
      continue;
    }
    left_ -= left_ > 0 ? 1 : 0;
    const Item& given = state_->current;
    row->document = given.reply == nullptr ? given.own.view() : given.document;
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
bool RemoteRows::AtEnd() const { return left_ == 0 || state_->AtEnd(); }
bool RemoteRows::Ended() const { return state_->AtEnd(); }

}  // namespace quire::router
