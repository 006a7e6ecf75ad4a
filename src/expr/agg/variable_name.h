// SPDX-License-Identifier: Apache-2.0
//
// The names users may give to variables.
#pragma once

#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::agg {

// FailedToParse unless the name starts with a lower-case letter or a byte beyond ASCII and goes on
// with letters, digits and underscores; CURRENT too when allowed.
Status CheckVariableName(std::string_view name, bool allow_current = false);

// Whether an expression, or a filter with some in it, names a variable that the clock gives:
// $$NOW or $$CLUSTER_TIME.
bool NamesClock(const bson::Value& value);

}  // namespace quire::expr::agg
