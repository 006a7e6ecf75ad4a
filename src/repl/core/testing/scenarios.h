// SPDX-License-Identifier: Apache-2.0
//
// Faults in a chosen order, for losses that chance alone meets once in a hundred thousand
// schedules. What is left to the seed are the delays of messages, disks and the store.
#pragma once

#include <string>
#include <string_view>

#include "repl/core/testing/simulator.h"

namespace quire::repl {

// Runs the scenario of that name and returns the violation, or "". REQUIRES: there is one.
std::string RunScenario(std::string_view name, SimulatorOptions options);

}  // namespace quire::repl
