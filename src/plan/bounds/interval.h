// SPDX-License-Identifier: Apache-2.0
//
// Sets of values of one field of an index, as sorted intervals.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "quire/bson.h"

namespace quire::plan {

// Values between two others in MongoDB's order.
struct Interval {
  bson::OwnedValue low;
  bson::OwnedValue high;
  bool low_inclusive = true;
  bool high_inclusive = true;

  static Interval Point(const bson::Value& value);
  static Interval Range(const bson::Value& low, bool low_inclusive, const bson::Value& high,
                        bool high_inclusive);
  static Interval All();

  bool IsPoint() const;
  bool IsAll() const;
  // Nothing lies in it.
  bool IsEmpty() const;
};

// Ascending intervals that neither overlap nor touch in a way that would make them one.
class IntervalList {
 public:
  IntervalList() = default;
  explicit IntervalList(Interval only);
  static IntervalList All() { return IntervalList(Interval::All()); }

  // In any order; call Unite afterwards.
  void Add(Interval interval) { intervals_.push_back(std::move(interval)); }
  // Sorts and merges what overlaps or touches.
  void Unite();
  void IntersectWith(const IntervalList& other);
  // Everything that was not in it.
  void Complement();

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  bool IsAll() const { return intervals_.size() == 1 && intervals_[0].IsAll(); }
  bool IsPoint() const { return intervals_.size() == 1 && intervals_[0].IsPoint(); }
  // At least one interval and only points.
  bool IsPoints() const;

  // ["[1, 5)", ...] in the order of a scan; descending swaps the ends.
  void AppendTo(std::string_view name, bool descending, bson::Builder* out) const;

 private:
  std::vector<Interval> intervals_;
};

}  // namespace quire::plan
