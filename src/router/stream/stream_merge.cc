// SPDX-License-Identifier: Apache-2.0
#include "router/stream/stream_merge.h"

#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "store/log/logical_clock.h"

namespace quire::router {

namespace {

// Upper-case hexadecimal digits compare as the bytes that they write.
std::string_view OrderOf(bson::View token) {
  const bson::Value data = token["_data"];
  return data.is_string() ? data.AsString() : std::string_view();
}

bool IsEvent(bson::View token) {
  const Result<engine::ResumePoint> point = engine::ReadResumeToken(token);
  return point.ok() && point->event;
}

}  // namespace

StreamMerge::StreamMerge(bson::View start)
    : start_(start), last_(OrderOf(start)), checked_(!IsEvent(start)) {}

size_t StreamMerge::Add(placement::ShardName shard) {
  Source& source = sources_.emplace_back();
  source.shard = std::move(shard);
  return sources_.size() - 1;
}

void StreamMerge::Take(size_t place, StreamBatch batch) {
  Source& source = sources_[place];
  for (const bson::View event : batch.events) {
    source.events.push_back({batch.holder, event, OrderOf(event["_id"].AsDocument())});
  }
  source.order = OrderOf(batch.token);
  source.token = std::move(batch.token);
  source.ended = batch.ended;
  source.found = source.found || batch.found;
}

const StreamMerge::Source* StreamMerge::Lowest() const {
  const Source* lowest = nullptr;
  for (const Source& source : sources_) {
    if (!source.events.empty() &&
        (lowest == nullptr || source.events.front().order < lowest->events.front().order)) {
      lowest = &source;
    }
  }
  return lowest;
}

bool StreamMerge::MayGo(const Source& lowest) const {
  const std::string_view order = lowest.events.front().order;
  return std::all_of(sources_.begin(), sources_.end(), [&](const Source& source) {
    return !source.Empty() || order <= source.order;
  });
}

// What may go out lies behind the start, and so does every shard by then.
bool StreamMerge::Lost() const {
  return !checked_ && std::none_of(sources_.begin(), sources_.end(),
                                   [](const Source& source) { return source.found; });
}

Result<bool> StreamMerge::Next(Event* event) {
  const Source* lowest = ended_ ? nullptr : Lowest();
  if (lowest == nullptr || !MayGo(*lowest)) {
    return false;
  }
  if (Lost()) {
    return Status(kChangeStreamFatalError,
                  "cannot resume stream; the resume token was not found. " + bson::ToJson(start_));
  }
  checked_ = true;
  Source& source = sources_[static_cast<size_t>(lowest - sources_.data())];
  Held& held = source.events.front();
  last_ = held.order;
  ended_ = source.ended && source.events.size() == 1;
  event->holder = std::move(held.holder);
  event->document = held.document;
  source.events.pop_front();
  return true;
}

bool StreamMerge::Ready() const {
  const Source* lowest = ended_ ? nullptr : Lowest();
  return lowest != nullptr && MayGo(*lowest);
}

bool StreamMerge::Holds() const { return !ended_ && Lowest() != nullptr && !Ready(); }

std::vector<size_t> StreamMerge::Behind() const {
  std::vector<size_t> behind;
  const Source* lowest = ended_ ? nullptr : Lowest();
  for (size_t i = 0; lowest != nullptr && i < sources_.size(); ++i) {
    if (sources_[i].Empty() && sources_[i].order < lowest->events.front().order) {
      behind.push_back(i);
    }
  }
  return behind;
}

bson::Timestamp StreamMerge::Reach() const {
  std::string_view highest;
  for (const Source& source : sources_) {
    if (!source.events.empty() && highest < source.events.back().order) {
      highest = source.events.back().order;
    }
  }
  const bson::Document token = bson::Builder().Append("_data", highest).Finish();
  const Result<engine::ResumePoint> point = engine::ReadResumeToken(token);
  // A shard that has read all up to a time says that it is before the events of that time.
  return point.ok() ? store::UnpackTime(store::PackTime(point->time) + 1) : bson::Timestamp();
}

bson::Document StreamMerge::Mark() const {
  const Source* lowest_event = Lowest();
  const Source* lowest = nullptr;
  for (const Source& source : sources_) {
    if (source.Empty() && (lowest == nullptr || source.order < lowest->order)) {
      lowest = &source;
    }
  }
  const bool later =
      lowest != nullptr && last_ < lowest->order &&
      (lowest_event == nullptr || lowest->order < lowest_event->events.front().order);
  return later && !Lost() ? lowest->token : bson::Document();
}

}  // namespace quire::router
