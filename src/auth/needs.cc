// SPDX-License-Identifier: Apache-2.0
#include "auth/needs.h"

#include <algorithm>

namespace quire::auth {

bool Needs::MetBy(const Privileges& privileges) const {
  auto allowed = [&](const Need& need) { return privileges.Allow(need.action, need.resource); };
  auto possible = [&](const std::vector<Need>& way) {
    return std::all_of(way.begin(), way.end(), allowed);
  };
  return std::all_of(all_.begin(), all_.end(), [&](const Ways& ways) {
    return std::any_of(ways.begin(), ways.end(), possible);
  });
}

Resource OfNamespace(std::string_view ns) {
  size_t dot = ns.find('.');
  return dot == std::string_view::npos ? Database(ns)
                                       : Collection(ns.substr(0, dot), ns.substr(dot + 1));
}

}  // namespace quire::auth
