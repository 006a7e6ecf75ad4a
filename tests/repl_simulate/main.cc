// SPDX-License-Identifier: Apache-2.0
//
// repl_simulate: random schedules of a simulated replica set until the time is over or a promise is
// broken.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <string>

#include "repl/core/testing/mixes.h"
#include "repl/core/testing/scenarios.h"
#include "repl/core/testing/simulator.h"
#include "simulate/bounds.h"

namespace quire::repl {
namespace {

constexpr const char* kUsage =
    "usage: repl_simulate [--minutes N] [--schedules N] [--seed S] [--members M] [--steps N]\n"
    "                     [--mix NAME | --scenario NAME] [--off RULE]... [--losses] [--all]\n"
    "  --minutes N    run for so long (1)\n"
    "  --schedules N  or so many schedules\n"
    "  --seed S       begin with this seed; alone: run this schedule only, and print it\n"
    "  --members M    of the set (3 and 5 in turn)\n"
    "  --steps N      of one schedule (1500)\n"
    "  --mix NAME     of faults (src/repl/core/testing/mixes.cc; all in turn)\n"
    "  --scenario S   faults in a chosen order instead (src/repl/core/testing/scenarios.cc)\n"
    "  --off RULE     without this rule (src/repl/core/rules.h); may be repeated\n"
    "  --losses       look for what clients lose only\n"
    "  --all          go on after a violation, and count them\n";

struct Arguments {
  Bounds bounds;
  int members = 0;
  const Mix* mix = nullptr;
  std::string scenario;
  bool all = false;
  SimulatorOptions options;
};

bool SwitchOff(const std::string& name, Rules* rules) {
#define QUIRE_REPL_RULE(rule, text) \
  if (name == #rule) {              \
    rules->rule = false;            \
    return true;                    \
  }
  QUIRE_REPL_RULES(QUIRE_REPL_RULE)
#undef QUIRE_REPL_RULE
  return false;
}

bool Parse(int count, char** words, Arguments* arguments) {
  for (int i = 1; i < count; ++i) {
    std::string name = words[i];
    if (name == "--losses" || name == "--all") {
      (name == "--all" ? arguments->all : arguments->options.losses_only) = true;
      continue;
    }
    if (++i == count) return false;
    std::string value = words[i];
    if (arguments->bounds.Take(name, value)) continue;
    if (name == "--members") {
      arguments->members = std::atoi(value.c_str());
      if (arguments->members < 1 || arguments->members > kMaxVoters) return false;
    } else if (name == "--mix") {
      arguments->mix = FindMix(value);
      if (arguments->mix == nullptr) return false;
    } else if (name == "--scenario") {
      arguments->scenario = value;
    } else if (name == "--steps") {
      arguments->options.steps = std::atoi(value.c_str());
    } else if (name != "--off" || !SwitchOff(value, &arguments->options.rules)) {
      return false;
    }
  }
  return true;
}

// Shows the schedule from its first event to the violation.
void Print(SimulatorOptions options, const std::string& scenario) {
  options.trace = &std::cout;
  if (scenario.empty())
    Simulator(options).Run();
  else
    RunScenario(scenario, options);
}

int Main(int count, char** words) {
  Arguments arguments;
  if (!Parse(count, words, &arguments)) {
    std::cerr << kUsage;
    return 2;
  }
  SimulatorOptions options = arguments.options;
  Bounds& bounds = arguments.bounds;
  const bool one = bounds.one();
  if (one) bounds.schedules = 1;
  auto started = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  };
  options.seed = bounds.seed;
  uint64_t runs = 0, violations = 0;
  std::map<std::string, std::pair<uint64_t, uint64_t>> kinds;  // count, first seed
  SimulatorCounts sum;
  for (; runs < bounds.schedules && seconds() < bounds.minutes * 60; ++runs, ++options.seed) {
    options.members = arguments.members != 0 ? arguments.members : options.seed % 2 == 0 ? 5 : 3;
    // Every second schedule has everything.
    size_t turn = options.seed / 2 % (2 * AllMixes().size());
    const Mix* mix = arguments.mix != nullptr   ? arguments.mix
                     : turn < AllMixes().size() ? &AllMixes()[turn]
                                                : &AllMixes()[0];
    options.faults = mix->faults;
    if (one) options.trace = &std::cout;
    Simulator simulator(options);
    std::string violation =
        arguments.scenario.empty() ? simulator.Run() : RunScenario(arguments.scenario, options);
    const SimulatorCounts& counts = simulator.counts();
    sum.steps += counts.steps;
    sum.leaders += counts.leaders;
    sum.committed += counts.committed;
    sum.promised += counts.promised;
    sum.in_sync_changes += counts.in_sync_changes;
    sum.cuts += counts.cuts;
    sum.copies += counts.copies;
    if (violation.empty()) continue;
    ++violations;
    auto& kind = kinds.try_emplace(violation, 0, options.seed).first->second;
    ++kind.first;
    if (arguments.all) continue;
    if (!one) Print(options, arguments.scenario);
    std::cout << "seed " << options.seed << ", " << options.members << " members, mix " << mix->name
              << ": " << violation << "\n";
    ++runs;
    break;
  }
  double processor_seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  auto each = [&](uint64_t total) {
    return static_cast<double>(total) / static_cast<double>(runs);
  };
  std::cout << runs << " schedules in " << seconds() << " s, "
            << static_cast<uint64_t>(static_cast<double>(runs) / processor_seconds)
            << " a second of processor time; " << violations << " violations\n"
            << "a schedule on average: steps " << each(sum.steps) << ", leaders "
            << each(sum.leaders) << ", committed slots " << each(sum.committed) << ", answers "
            << each(sum.promised) << ", in-sync changes " << each(sum.in_sync_changes) << ", cuts "
            << each(sum.cuts) << ", copies " << each(sum.copies) << "\n";
  for (const auto& [what, kind] : kinds)
    std::cout << "  " << kind.first << " x " << what << ", first with seed " << kind.second << "\n";
  return violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace quire::repl

int main(int count, char** words) { return quire::repl::Main(count, words); }
