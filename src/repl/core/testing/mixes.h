// SPDX-License-Identifier: Apache-2.0
//
// Mixes of faults that reach certain corners sooner than a little of everything does.
#pragma once

#include <span>
#include <string_view>

#include "repl/core/testing/simulator.h"

namespace quire::repl {

struct Mix {
  const char* name;
  Faults faults;
};

// The first is everything.
std::span<const Mix> AllMixes();
const Mix* FindMix(std::string_view name);

}  // namespace quire::repl
