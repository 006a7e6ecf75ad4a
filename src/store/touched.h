// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

namespace quire::store {

// The paths an update touched; `all` when any may have changed.
struct Touched {
  bool all = true;
  const std::set<std::string>* paths = nullptr;
  bool replacement = false;  // the document was given whole: a change event says "replace"
};

}  // namespace quire::store
