// SPDX-License-Identifier: Apache-2.0
//
// A run in words: one line for what happened to a member, an indented one for each thing it did.
#pragma once

#include <ostream>

#include "repl/core/events.h"

namespace quire::repl {

void Trace(std::ostream& out, Millis now, MemberId member, const Input& input);
void Trace(std::ostream& out, MemberId member, const Action& action);

}  // namespace quire::repl
