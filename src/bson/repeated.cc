// SPDX-License-Identifier: Apache-2.0
#include "bson/repeated.h"

#include <algorithm>
#include <array>
#include <set>

namespace quire::bson {

std::optional<std::string_view> RepeatedName(View document) {
  constexpr size_t kFew = 24;  // compared one by one: cheaper than any table
  std::array<std::string_view, kFew> few;
  std::set<std::string_view> many;
  size_t count = 0;
  for (const Element& e : document) {
    const std::string_view name = e.name();
    if (std::find(few.begin(), few.begin() + std::min(count, kFew), name) !=
        few.begin() + std::min(count, kFew)) {
      return name;
    }
    if (count < kFew) {
      few[count] = name;
    } else if (!many.insert(name).second) {
      return name;
    }
    ++count;
  }
  return std::nullopt;
}

}  // namespace quire::bson
