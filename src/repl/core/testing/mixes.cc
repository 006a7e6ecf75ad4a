// SPDX-License-Identifier: Apache-2.0
#include "repl/core/testing/mixes.h"

#include <vector>

namespace quire::repl {
namespace {

Faults Elections() {
  Faults faults;
  faults.between = 25;
  faults.wipe = faults.rot = faults.restore = faults.store_back = faults.recover = 0;
  faults.reconfig = faults.trim = faults.freeze = 0;
  faults.step_up = 3;
  faults.isolate = faults.cut_link = 2;
  return faults;
}

Faults SlowDisks() {
  Faults faults = Elections();
  faults.hung_disk = 4;
  faults.power = 4;
  faults.kill = faults.pause = 0.2;
  return faults;
}

Faults WipedDisks() {
  Faults faults = Elections();
  faults.step_up = 0.5;
  faults.wipe = 3;
  faults.isolate = faults.cut_link = 0.5;
  faults.kill = 2;
  return faults;
}

Faults OldDisks() {
  Faults faults = Elections();
  faults.restore = 4;
  faults.rot = 2;
  return faults;
}

Faults StoreBack() {
  Faults faults;
  faults.between = 20;
  faults.wipe = faults.rot = faults.restore = faults.recover = faults.trim = faults.freeze = 0;
  faults.kill = faults.power = faults.torn_step = 0.3;
  faults.store_back = 2;
  faults.isolate = faults.cut_link = 2;
  faults.reconfig = 0.3;
  return faults;
}

Faults Reconfigs() {
  Faults faults = Elections();
  faults.step_up = 0.5;
  faults.reconfig = 6;
  faults.isolate = faults.cut_link = 1;
  return faults;
}

Faults Recoveries() {
  Faults faults = Elections();
  faults.step_up = 0;
  faults.kill = faults.power = faults.torn_step = 0.3;
  faults.recover = 6;
  faults.refused = 3;
  return faults;
}

const std::vector<Mix>& Table() {
  static const std::vector<Mix> mixes = {
      {"all", Faults()},           {"elections", Elections()},
      {"slow_disks", SlowDisks()}, {"wiped_disks", WipedDisks()},
      {"old_disks", OldDisks()},   {"store_back", StoreBack()},
      {"reconfigs", Reconfigs()},  {"recoveries", Recoveries()},
  };
  return mixes;
}

}  // namespace

std::span<const Mix> AllMixes() { return Table(); }

const Mix* FindMix(std::string_view name) {
  for (const Mix& mix : Table())
    if (mix.name == name) return &mix;
  return nullptr;
}

}  // namespace quire::repl
