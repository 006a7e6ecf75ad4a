// SPDX-License-Identifier: Apache-2.0
//
// shard_simulate: random schedules of a simulated sharded cluster until the time is over or a
// promise is broken.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "shard/core/testing/simulator.h"
#include "simulate/bounds.h"

namespace quire::shard {
namespace {

constexpr const char* kUsage =
    "usage: shard_simulate [--minutes N] [--schedules N] [--seed S] [--steps N] [--off RULE]...\n"
    "  --minutes N    run for so long (1)\n"
    "  --schedules N  or so many schedules\n"
    "  --seed S       begin with this seed; alone: run this schedule only, and print it\n"
    "  --steps N      of one schedule (1500)\n"
    "  --off RULE     without this rule (src/shard/core/rules.h); may be repeated\n";

struct Arguments {
  Bounds bounds;
  SimulatorOptions options;
};

bool SwitchOff(const std::string& name, Rules* rules) {
#define QUIRE_SHARD_RULE(rule, text) \
  if (name == #rule) {               \
    rules->rule = false;             \
    return true;                     \
  }
  QUIRE_SHARD_RULES(QUIRE_SHARD_RULE)
#undef QUIRE_SHARD_RULE
  return false;
}

bool Parse(int count, char** words, Arguments* arguments) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i];
    const std::string value = words[i + 1];
    if (arguments->bounds.Take(name, value)) {
      continue;
    }
    if (name == "--steps") {
      arguments->options.steps = std::atoi(value.c_str());
    } else if (name != "--off" || !SwitchOff(value, &arguments->options.rules)) {
      return false;
    }
  }
  return count % 2 == 1;
}

// Every second seed has few writes: its ranges stay empty, and move. Every third has some that are
// sent again.
void Mix(SimulatorOptions* options) {
  const bool sparse = options->seed % 2 == 0;
  options->writes = sparse ? 0.01 : 0.08;
  options->changes = sparse ? 0.05 : 0.04;
  options->repeated = options->seed % 3 == 0 ? 0.05 : 0;
}

int Main(int count, char** words) {
  Arguments arguments;
  if (!Parse(count, words, &arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  SimulatorOptions options = arguments.options;
  Bounds& bounds = arguments.bounds;
  options.seed = bounds.seed;
  if (bounds.one()) {
    bounds.schedules = 1;
    options.trace = &std::cout;
  }
  const auto started = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  };
  uint64_t runs = 0;
  SimulatorCounts sum;
  for (; runs < bounds.schedules && seconds() < bounds.minutes * 60; ++runs) {
    Mix(&options);
    Simulator simulator(options);
    const std::string loss = simulator.Run();
    const SimulatorCounts& counts = simulator.counts();
    sum.writes += counts.writes;
    sum.reads += counts.reads;
    sum.changes += counts.changes;
    sum.undone += counts.undone;
    sum.failovers += counts.failovers;
    if (!loss.empty()) {
      std::cout << "seed " << options.seed << ": " << loss << "\n";
      return 1;
    }
    ++options.seed;
  }
  std::cout << runs << " schedules in " << static_cast<int>(seconds()) << " s: " << sum.writes
            << " writes, " << sum.reads << " reads, " << sum.changes << " changes, " << sum.undone
            << " undone, " << sum.failovers << " failovers; nothing lost\n";
  return 0;
}

}  // namespace
}  // namespace quire::shard

int main(int count, char** words) { return quire::shard::Main(count, words); }
