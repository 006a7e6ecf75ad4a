// SPDX-License-Identifier: Apache-2.0
#include "engine/stream/split_event.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/stream/resume_token.h"

namespace quire::engine {

namespace {

using Part = std::vector<bson::Element>;

// Room for splitEvent and terminators.
constexpr size_t kReserve = 256;

// The fields of the event in runs that fit.
Result<std::vector<Part>> Cut(bson::View event, size_t room) {
  std::vector<Part> parts(1);
  size_t size = 0;
  for (const bson::Element& e : event) {
    if (e.name() == "_id") {
      continue;
    }
    if (e.raw().size() > room) {
      return Status(kBSONObjectTooLarge, "Splitting change event failed: the field '" +
                                             std::string(e.name()) + "' is too large");
    }
    if (size + e.raw().size() > room) {
      parts.emplace_back();
      size = 0;
    }
    parts.back().push_back(e);
    size += e.raw().size();
  }
  return parts;
}

}  // namespace

Status EventSplitter::Split(exec::Row* row, uint32_t skip) {
  bson::View event = row->document;
  fragments_.clear();
  next_ = skip;
  if (event.size() <= max_size_) {
    return Status::Ok();
  }
  bson::View token = event["_id"].AsDocument();
  ASSIGN_OR_RETURN(auto parts, Cut(event, max_size_ - kReserve - token.size()));
  for (uint32_t i = 0; i < parts.size(); ++i) {
    bson::Builder out;
    out.Append("_id", FragmentToken(token, i));
    out.BeginDocument("splitEvent")
        .Append("fragment", static_cast<int32_t>(i + 1))
        .Append("of", static_cast<int32_t>(parts.size()))
        .End();
    for (const bson::Element& e : parts[i]) {
      out.Append(e);
    }
    fragments_.push_back(out.Finish());
  }
  if (!Next(row)) {
    return {kChangeStreamFatalError, "cannot resume stream; the fragment was not found"};
  }
  return Status::Ok();
}

bool EventSplitter::Next(exec::Row* row) {
  if (next_ >= fragments_.size()) {
    return false;
  }
  *row = exec::Row();
  row->document = fragments_[next_++];
  return true;
}

}  // namespace quire::engine
