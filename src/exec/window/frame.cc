// SPDX-License-Identifier: Apache-2.0
#include "exec/window/frame.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"

namespace quire::exec {

namespace {

size_t Clamp(int64_t at, size_t rows) {
  return at < 0 ? 0 : std::min(static_cast<size_t>(at), rows);
}

int64_t OffsetOf(const WindowBound& bound) {
  return bound.kind == WindowBound::Kind::kOffset ? bson::ClampedInt64(bound.offset.value()) : 0;
}

std::vector<Frame> DocumentFrames(const WindowBounds& bounds, size_t rows) {
  constexpr int64_t kFar = int64_t{1} << 40;
  int64_t lower = std::clamp(OffsetOf(bounds.lower), -kFar, kFar);
  int64_t upper = std::clamp(OffsetOf(bounds.upper), -kFar, kFar);
  std::vector<Frame> frames;
  frames.reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    auto at = static_cast<int64_t>(i);
    size_t begin = bounds.lower.kind == WindowBound::Kind::kUnbounded ? 0 : Clamp(at + lower, rows);
    size_t end =
        bounds.upper.kind == WindowBound::Kind::kUnbounded ? rows : Clamp(at + upper + 1, rows);
    frames.emplace_back(begin, std::max(begin, end));
  }
  return frames;
}

Status CheckKeys(const WindowBounds& bounds, const std::vector<bson::Value>& keys) {
  for (const bson::Value& key : keys) {
    if (bounds.unit && key.type() != bson::Type::kDate) {
      return Status(5429513, "Invalid range: Expected the sortBy field to be a Date, but it was " +
                                 std::string(bson::TypeName(key.type())));
    }
    if (!bounds.unit && !key.is_number()) {
      return Status(5429414,
                    "Invalid range: Expected the sortBy field to be a number, but it was " +
                        std::string(bson::TypeName(key.type())));
    }
  }
  return Status::Ok();
}

// The value `bound` away from `key`.
Result<bson::Value> Shifted(const bson::Value& key, const WindowBound& bound,
                            const std::optional<expr::date::Unit>& unit) {
  if (bound.kind == WindowBound::Kind::kCurrent) {
    return key;
  }
  if (!unit) {
    return bson::Add(key, bound.offset.value());
  }
  static const expr::date::TimeZone utc;
  auto moved =
      expr::date::Add(key.AsDate().millis, *unit, bson::ClampedInt64(bound.offset.value()), utc);
  if (!moved) {
    return Status(5166406, "dateAdd overflowed");
  }
  return bson::Value(bson::Date{*moved});
}

Result<std::vector<Frame>> RangeFrames(const WindowBounds& bounds,
                                       const std::vector<bson::Value>& keys) {
  RETURN_IF_ERROR(CheckKeys(bounds, keys));
  std::vector<Frame> frames;
  size_t begin = 0;
  size_t end = 0;
  for (const bson::Value& key : keys) {
    if (bounds.lower.kind != WindowBound::Kind::kUnbounded) {
      ASSIGN_OR_RETURN(bson::Value least, Shifted(key, bounds.lower, bounds.unit));
      while (begin < keys.size() && bson::Compare(keys[begin], least) < 0) {
        ++begin;
      }
    }
    if (bounds.upper.kind == WindowBound::Kind::kUnbounded) {
      end = keys.size();
    } else {
      ASSIGN_OR_RETURN(bson::Value most, Shifted(key, bounds.upper, bounds.unit));
      while (end < keys.size() && bson::Compare(keys[end], most) <= 0) {
        ++end;
      }
    }
    frames.emplace_back(begin, std::max(begin, end));
  }
  return frames;
}

}  // namespace

Result<std::vector<Frame>> ComputeFrames(const WindowBounds& bounds, size_t rows,
                                         const std::vector<bson::Value>& keys) {
  if (bounds.whole_partition()) {
    return std::vector<Frame>(rows, Frame(0, rows));
  }
  return bounds.range ? RangeFrames(bounds, keys)
                      : Result<std::vector<Frame>>(DocumentFrames(bounds, rows));
}

}  // namespace quire::exec
