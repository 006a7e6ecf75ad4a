// SPDX-License-Identifier: Apache-2.0
#include "store/keys/key_bounds.h"

#include <algorithm>

#include "bson/ordered.h"

namespace quire::store {

namespace {

// No encoding starts with this byte: a prefix followed by it is above all that start with the
// prefix.
constexpr char kAbove = '\xff';

bool IsPoint(const KeyInterval& interval) {
  return interval.low_inclusive && interval.high_inclusive && interval.low == interval.high;
}

std::string Encoded(const bson::Value& value) {
  std::string bytes;
  bson::AppendOrdered(value, bson::Direction::kAscending, nullptr, &bytes, nullptr);
  return bytes;
}

// From MinKey to MaxKey, in either direction.
bool IsAll(const std::vector<KeyInterval>& list) {
  static const std::string least = Encoded(bson::Value::MinKey());
  static const std::string most = Encoded(bson::Value::MaxKey());
  auto inverted = [](std::string bytes) {
    for (char& c : bytes) {
      c = static_cast<char>(~c);
    }
    return bytes;
  };
  if (list.size() != 1 || !list[0].low_inclusive || !list[0].high_inclusive) {
    return false;
  }
  return (list[0].low == least && list[0].high == most) ||
         (list[0].low == inverted(most) && list[0].high == inverted(least));
}

}  // namespace

bool KeyBounds::IsRange(std::string* begin, std::string* end) const {
  begin->clear();
  end->clear();
  size_t i = 0;
  while (i < parts.size() && parts[i].size() == 1 && IsPoint(parts[i][0])) {
    begin->append(parts[i++][0].low);
  }
  *end = *begin;
  if (i < parts.size()) {
    if (parts[i].size() != 1) {
      return false;
    }
    const KeyInterval& last = parts[i++][0];
    begin->append(last.low);
    if (!last.low_inclusive) {
      begin->push_back(kAbove);
    }
    end->append(last.high);
    if (last.high_inclusive) {
      end->push_back(kAbove);
    }
    for (; i < parts.size(); ++i) {
      if (!IsAll(parts[i])) {
        return false;
      }
    }
  } else {
    end->push_back(kAbove);
  }
  return true;
}

void BoundsChecker::AppendStart(const KeyInterval& interval, size_t part,
                                std::string* target) const {
  // Forward: at the low end, past it when it is not included. Backward: up to the high end.
  target->append(backward_ ? interval.high : interval.low);
  bool inclusive = backward_ ? interval.high_inclusive : interval.low_inclusive;
  if (!inclusive) {
    if (!backward_) {
      target->push_back(kAbove);
    }
    return;
  }
  AppendStarts(part + 1, target);
}

void BoundsChecker::AppendStarts(size_t part, std::string* target) const {
  if (part == bounds_->parts.size()) {
    if (backward_) {
      target->push_back(kAbove);
    }
    return;
  }
  const auto& list = bounds_->parts[part];
  AppendStart(backward_ ? list.back() : list.front(), part, target);
}

std::string BoundsChecker::Start() const {
  std::string target;
  AppendStarts(0, &target);
  return target;
}

KeyPlace BoundsChecker::Check(std::string_view key, std::string* target) {
  bson::OrderedReader reader(key, "");
  bool room = false;  // a part before can still grow within its intervals
  for (size_t part = 0; part < bounds_->parts.size(); ++part) {
    std::string_view rest = reader.rest();
    reader.Skip(spec_->parts[part].descending ? bson::Direction::kDescending
                                              : bson::Direction::kAscending);
    std::string_view value = rest.substr(0, rest.size() - reader.rest().size());
    std::string_view prefix = key.substr(0, key.size() - rest.size());
    const auto& list = bounds_->parts[part];
    // The first interval, in scan order, that does not end before the value.
    const KeyInterval* next = nullptr;
    if (!backward_) {
      auto it = std::lower_bound(list.begin(), list.end(), value,
                                 [](const KeyInterval& i, std::string_view v) {
                                   return i.high < v || (i.high == v && !i.high_inclusive);
                                 });
      next = it == list.end() ? nullptr : &*it;
    } else {
      auto it = std::lower_bound(list.rbegin(), list.rend(), value,
                                 [](const KeyInterval& i, std::string_view v) {
                                   return i.low > v || (i.low == v && !i.low_inclusive);
                                 });
      next = it == list.rend() ? nullptr : &*it;
    }
    if (next == nullptr) {
      if (!room) {
        return KeyPlace::kPast;
      }
      target->assign(prefix);
      if (!backward_) {
        target->push_back(kAbove);
      }
      return KeyPlace::kSkip;
    }
    bool before = backward_ ? next->high < value || (next->high == value && !next->high_inclusive)
                            : next->low > value || (next->low == value && !next->low_inclusive);
    if (before) {
      target->assign(prefix);
      AppendStart(*next, part, target);
      return KeyPlace::kSkip;
    }
    room = room || next != (backward_ ? &list.front() : &list.back()) ||
           value != (backward_ ? next->low : next->high);
  }
  return KeyPlace::kInside;
}

}  // namespace quire::store
