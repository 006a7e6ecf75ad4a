// SPDX-License-Identifier: Apache-2.0
#include "expr/match/path.h"

#include <algorithm>

namespace quire::expr::match {
namespace {

bool IsIndex(std::string_view part) {
  if (part.empty() || part.size() > 10 || (part[0] == '0' && part.size() > 1)) {
    return false;
  }
  return std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Path::Path(std::string_view dotted) : dotted_(dotted) {
  const std::string_view own = dotted_;
  for (size_t at = 0;;) {
    size_t dot = own.find('.', at);
    std::string_view part = own.substr(at, dot == own.npos ? own.npos : dot - at);
    parts_.push_back({bson::FieldName(part), IsIndex(part)});
    if (dot == own.npos) {
      return;
    }
    at = dot + 1;
  }
}

}  // namespace quire::expr::match
