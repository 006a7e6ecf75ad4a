// SPDX-License-Identifier: Apache-2.0
//
// The scripts of one operation.
#pragma once

#include "expr/context.h"
#include "js/script.h"

namespace quire::expr {

// The scope that all scripts parsed with the context share. REQUIRES: parsing is still under way.
js::ScopePtr ScriptScope(const Context& context);

}  // namespace quire::expr
