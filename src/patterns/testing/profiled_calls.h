// SPDX-License-Identifier: Apache-2.0
//
// Which indexes the systems' calls really use.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "patterns/testing/world.h"

namespace quire::patterns {

// Runs the calls under the profiler of the world's database and of `databases`, which sees every
// command they send there: none may scan a collection, and a find examines at most one key more
// than it returns for each interval of its filter. `more_keys` names collections (and says why
// beside the call) whose finds may examine more. Returns how many reads and writes there were.
int ExpectIndexed(World* world, const std::function<void()>& calls,
                  const std::vector<std::string>& more_keys = {},
                  std::vector<std::string> databases = {});

}  // namespace quire::patterns
