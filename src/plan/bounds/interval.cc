// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/interval.h"

#include <algorithm>

#include "bson/compare.h"
#include "bson/json/value_text.h"

namespace quire::plan {

namespace {

int Compare(const bson::OwnedValue& a, const bson::OwnedValue& b) {
  return bson::Compare(a.value(), b.value());
}

// Order of the lower ends: an inclusive one comes first.
int CompareLow(const Interval& a, const Interval& b) {
  int order = Compare(a.low, b.low);
  return order != 0 ? order : static_cast<int>(b.low_inclusive) - static_cast<int>(a.low_inclusive);
}

// Order of the upper ends: an inclusive one comes last.
int CompareHigh(const Interval& a, const Interval& b) {
  int order = Compare(a.high, b.high);
  return order != 0 ? order
                    : static_cast<int>(a.high_inclusive) - static_cast<int>(b.high_inclusive);
}

// Whether `next`, which starts no earlier, continues `last` without a gap.
bool Touches(const Interval& last, const Interval& next) {
  int order = Compare(next.low, last.high);
  return order < 0 || (order == 0 && (last.high_inclusive || next.low_inclusive));
}

}  // namespace

Interval Interval::Point(const bson::Value& value) { return Range(value, true, value, true); }

Interval Interval::Range(const bson::Value& low, bool low_inclusive, const bson::Value& high,
                         bool high_inclusive) {
  return {bson::OwnedValue(low), bson::OwnedValue(high), low_inclusive, high_inclusive};
}

Interval Interval::All() { return Range(bson::Value::MinKey(), true, bson::Value::MaxKey(), true); }

bool Interval::IsPoint() const {
  return low_inclusive && high_inclusive && Compare(low, high) == 0;
}

bool Interval::IsAll() const {
  return low_inclusive && high_inclusive && low.type() == bson::Type::kMinKey &&
         high.type() == bson::Type::kMaxKey;
}

bool Interval::IsEmpty() const {
  int order = Compare(low, high);
  return order > 0 || (order == 0 && !(low_inclusive && high_inclusive));
}

IntervalList::IntervalList(Interval only) {
  if (!only.IsEmpty()) {
    intervals_.push_back(std::move(only));
  }
}

void IntervalList::Unite() {
  std::erase_if(intervals_, [](const Interval& i) { return i.IsEmpty(); });
  std::stable_sort(intervals_.begin(), intervals_.end(),
                   [](const Interval& a, const Interval& b) { return CompareLow(a, b) < 0; });
  std::vector<Interval> united;
  for (Interval& interval : intervals_) {
    if (!united.empty() && Touches(united.back(), interval)) {
      if (CompareHigh(united.back(), interval) < 0) {
        united.back().high = std::move(interval.high);
        united.back().high_inclusive = interval.high_inclusive;
      }
    } else {
      united.push_back(std::move(interval));
    }
  }
  intervals_ = std::move(united);
}

void IntervalList::IntersectWith(const IntervalList& other) {
  std::vector<Interval> common;
  size_t i = 0;
  size_t j = 0;
  while (i < intervals_.size() && j < other.intervals_.size()) {
    const Interval& a = intervals_[i];
    const Interval& b = other.intervals_[j];
    const Interval& low = CompareLow(a, b) < 0 ? b : a;
    const Interval& high = CompareHigh(a, b) > 0 ? b : a;
    Interval both{low.low, high.high, low.low_inclusive, high.high_inclusive};
    if (!both.IsEmpty()) {
      common.push_back(std::move(both));
    }
    if (CompareHigh(a, b) <= 0) {
      ++i;
    } else {
      ++j;
    }
  }
  intervals_ = std::move(common);
}

void IntervalList::Complement() {
  std::vector<Interval> rest;
  Interval gap = Interval::All();
  for (const Interval& interval : intervals_) {
    gap.high = interval.low;
    gap.high_inclusive = !interval.low_inclusive;
    if (!gap.IsEmpty()) {
      rest.push_back(gap);
    }
    gap.low = interval.high;
    gap.low_inclusive = !interval.high_inclusive;
  }
  gap.high = bson::OwnedValue(bson::Value::MaxKey());
  gap.high_inclusive = true;
  if (!gap.IsEmpty()) {
    rest.push_back(gap);
  }
  intervals_ = std::move(rest);
}

bool IntervalList::IsPoints() const {
  return !intervals_.empty() && std::all_of(intervals_.begin(), intervals_.end(),
                                            [](const Interval& i) { return i.IsPoint(); });
}

void IntervalList::AppendTo(std::string_view name, bool descending, bson::Builder* out) const {
  out->BeginArray(name);
  for (size_t i = 0; i < intervals_.size(); ++i) {
    const Interval& interval = intervals_[descending ? intervals_.size() - 1 - i : i];
    std::string low = bson::ValueText(interval.low.value());
    std::string high = bson::ValueText(interval.high.value());
    if (descending) {
      out->Push((interval.high_inclusive ? "[" : "(") + high + ", " + low +
                (interval.low_inclusive ? "]" : ")"));
    } else {
      out->Push((interval.low_inclusive ? "[" : "(") + low + ", " + high +
                (interval.high_inclusive ? "]" : ")"));
    }
  }
  out->End();
}

}  // namespace quire::plan
