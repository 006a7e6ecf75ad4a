// SPDX-License-Identifier: Apache-2.0
#include "engine/stream/change_stream.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "store/log/note.h"

namespace quire::engine {

ChangeStream::ChangeStream(Engine& engine, StreamSpec spec)
    : engine_(engine),
      spec_(std::move(spec)),
      from_(store::PackTime(spec_.start.time)),
      found_(!spec_.start.event),
      read_upto_(from_),
      last_token_(spec_.start_token),
      last_point_(spec_.start) {
  if (spec_.start.split) {
    fragments_to_skip_ = spec_.start.fragment + 1;
  }
}

Status ChangeStream::OpenReader() {
  ASSIGN_OR_RETURN(auto reader, store::ChangeReader::Open(engine_.store(), engine_.log(),
                                                          store::UnpackTime(from_)));
  // What is cut off from here on is still there for the reader.
  const uint64_t oldest = store::PackTime(engine_.log().Oldest());
  if (oldest != 0 && from_ < oldest) {
    return {kChangeStreamHistoryLost,
            "Resume of change stream was not possible, as the resume point may no longer be in the "
            "oplog."};
  }
  reader_ = std::move(reader);
  return Status::Ok();
}

Result<ChangeStream::Admit> ChangeStream::Place(const store::Change& change, bool invalidate) {
  ResumePoint point{change.time, true, change.index, invalidate};
  if (point.CompareInLog(spec_.start) == 0) {  // what the token says of the event decides
    const bson::Document token = EventToken(change, invalidate);
    ASSIGN_OR_RETURN(point, ReadResumeToken(token));
  }
  if (found_ || passed_) {
    return point < spec_.start ? Admit::kSkip : Admit::kGive;
  }
  if (point < spec_.start) {
    return Admit::kSkip;
  }
  if (point > spec_.start && spec_.merged) {
    passed_ = true;
    fragments_to_skip_ = 0;
    return Admit::kGive;
  }
  if (point > spec_.start) {
    return Status(
        kChangeStreamFatalError,
        "cannot resume stream; the resume token was not found. " + bson::ToJson(spec_.start_token));
  }
  found_ = true;
  // Of a split event the later fragments are still to come.
  return fragments_to_skip_ > 0 ? Admit::kGive : Admit::kSkip;
}

Result<bool> ChangeStream::Invalidate(const store::Change& change) {
  invalidate_next_ = false;
  ASSIGN_OR_RETURN(Admit admit, Place(change, true));
  if (admit == Admit::kSkip) {
    return false;
  }
  event_ = MakeInvalidateEvent(change);
  ended_ = true;
  reader_.reset();
  return true;
}

Result<bool> ChangeStream::Next(OpContext& op, exec::Row* row) {
  *row = exec::Row();
  at_end_ = false;
  if (ended_) {
    return false;
  }
  if (reader_ == nullptr) {
    RETURN_IF_ERROR(OpenReader());
  }
  while (true) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    if (invalidate_next_) {
      ASSIGN_OR_RETURN(bool given, Invalidate(change_));
      if (given) {
        row->document = event_;
        return true;
      }
    }
    ASSIGN_OR_RETURN(bool more, reader_->Next(&change_));
    if (!more) {
      read_upto_ = std::max(read_upto_, store::PackTime(reader_->upto()));
      from_ = std::max(from_, store::PackTime(reader_->upto()) + 1);
      reader_.reset();  // an idle stream holds no snapshot
      at_end_ = true;
      return false;
    }
    if (change_.kind != 'S') {
      lone_event_.reset();
    }
    if (!ShowsChange(spec_, change_, &invalidate_next_)) {
      if (const std::string_view shard = store::JoiningShard(change_); !shard.empty()) {
        joins_.emplace_back(shard);
      }
      continue;
    }
    ASSIGN_OR_RETURN(Admit admit, Place(change_, false));
    if (admit == Admit::kGive) {
      Operation operation{engine_, op};
      ASSIGN_OR_RETURN(event_, MakeEvent(operation, spec_, change_));
      row->document = event_;
      lone_event_ = ResumePoint{change_.time, true, change_.index, false};
      return true;
    }
  }
}

bool ChangeStream::HasNews() const { return store::PackTime(engine_.log().Readable()) >= from_; }

void ChangeStream::Returned(bson::View document) {
  bson::View token = document["_id"].AsDocument();
  Result<ResumePoint> point = ReadResumeToken(token);
  if (point.ok()) {
    last_point_ = *point;
    last_token_ = bson::Document(token);
  }
}

bson::Document ChangeStream::ResumeToken() const {
  ResumePoint mark{store::UnpackTime(read_upto_)};
  // A router waits for times, drivers compare the token with the event's.
  const bool at_event = !spec_.merged && lone_event_ && last_point_.CompareInLog(*lone_event_) == 0;
  return at_end_ && !at_event && last_point_ < mark ? MakeResumeToken(mark, {}, bson::View())
                                                    : last_token_;
}

bson::Document ChangeStream::State() const {
  if (!spec_.merged) {
    return {};
  }
  bson::Builder out;
  out.Append("found", found_).BeginArray("joins");
  for (const std::string& shard : joins_) {
    out.Push(shard);
  }
  return out.End().Finish();
}

}  // namespace quire::engine
