// SPDX-License-Identifier: Apache-2.0
//
// The events of several shards' change streams as one, in the order of their resume tokens. Pure:
// it asks nobody.
//
// An event may go out only when every other shard is known to have nothing before it: it has given
// a later event, or has read its log that far.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/stream/resume_token.h"
#include "placement/chunk_map.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::router {

// What a shard has sent.
struct StreamBatch {
  std::shared_ptr<const void> holder;  // of the events' bytes
  std::vector<bson::View> events;
  bson::Document token;  // where the shard's stream goes on after them
  bool ended = false;    // it gives nothing more
  bool found = true;     // the event to resume after was met, or there is none
};

// Not safe for concurrent use.
class StreamMerge {
 public:
  // Events behind `start` are wanted.
  explicit StreamMerge(bson::View start);

  // A shard whose stream begins at the start, too; its place.
  size_t Add(placement::ShardName shard);
  void Take(size_t place, StreamBatch batch);

  struct Event {
    std::shared_ptr<const void> holder;
    bson::View document;
  };
  // False: none may go out now. Error: ChangeStreamFatalError when no shard has the event to resume
  // after.
  Result<bool> Next(Event* event);

  // Whether Next would give one, or an error.
  bool Ready() const;
  // Whether there are events that may not go out yet.
  bool Holds() const;
  // Whether the shard has to be asked for more.
  bool Wants(size_t place) const { return sources_[place].Empty(); }
  // The shards that keep an event from going out.
  std::vector<size_t> Behind() const;
  // The time that they have to reach so that all events go out.
  bson::Timestamp Reach() const;
  // After an event that ends the stream.
  bool ended() const { return ended_; }
  // A token behind which nothing has been given and before which nothing will be; empty: none that
  // is later than the last event's.
  bson::Document Mark() const;

  size_t size() const { return sources_.size(); }
  const placement::ShardName& shard(size_t place) const { return sources_[place].shard; }

 private:
  struct Held {
    std::shared_ptr<const void> holder;
    bson::View document;
    std::string_view order;  // of its token, compares as the events do
  };
  struct Source {
    placement::ShardName shard;
    std::deque<Held> events;
    bson::Document token;
    std::string order;  // of the token
    bool ended = false;
    bool found = false;

    bool Empty() const { return events.empty() && !ended; }
  };
  const Source* Lowest() const;
  bool MayGo(const Source& lowest) const;
  bool Lost() const;

  std::vector<Source> sources_;
  const bson::Document start_;
  std::string last_;  // order of the event given last
  bool checked_;      // the event to resume after is known to be there
  bool ended_ = false;
};

}  // namespace quire::router
