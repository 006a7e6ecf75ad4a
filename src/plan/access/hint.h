// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/query.h"

namespace quire::plan {

// The hint is the index's name or key pattern.
bool HintNames(const QuerySpec& query, const store::IndexInfo& index);

// {hint: {$natural: 1}} or -1; 0 when the hint is not that.
int NaturalHint(const QuerySpec& query);

}  // namespace quire::plan
