// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plan/query.h"

namespace quire::plan {

// What MongoDB's planner says when it finds no plan.
inline Status PlannerError(int code, const QuerySpec& query, const std::string& what) {
  return {code, "error processing query: ns=" + query.collection->ns() +
                    " planner returned error :: caused by :: " + what};
}

}  // namespace quire::plan
