// SPDX-License-Identifier: Apache-2.0
//
// Whether a query asks only for documents that a partial index holds.
#pragma once

#include <span>

#include "expr/match/node.h"

namespace quire::plan {

// Whether every document that satisfies all of `known` satisfies `wanted`. May say no though it
// is so.
bool Implies(std::span<const expr::match::NodePtr> known, const expr::match::Node& wanted);

}  // namespace quire::plan
