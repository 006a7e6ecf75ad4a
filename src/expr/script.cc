// SPDX-License-Identifier: Apache-2.0
#include "expr/script.h"

namespace quire::expr {

js::ScopePtr ScriptScope(const Context& context) {
  if (context.script_scope == nullptr) {
    context.script_scope = js::Scope::Make({}, context.stored_functions);
  }
  return context.script_scope;
}

}  // namespace quire::expr
