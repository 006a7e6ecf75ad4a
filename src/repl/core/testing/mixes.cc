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

// Links that break in one direction, and an operator who moves the leadership: nobody dies.
Faults Links() {
  Faults faults = Elections();
  faults.between = 12;
  faults.kill = faults.power = faults.torn_step = faults.pause = faults.hung_disk = 0;
  faults.cut_link = 5;
  faults.isolate = 3;
  faults.step_up = 4;
  return faults;
}

// Leaders that wake up after the set has gone on without them.
Faults Sleepers() {
  Faults faults = Elections();
  faults.pause = 5;
  faults.kill = 3;
  faults.store_away = 4;
  faults.isolate = faults.cut_link = faults.hung_disk = 0.1;
  faults.step_up = 0.5;
  return faults;
}

// Followers that never quite catch up.
Faults SlowFollowers() {
  Faults faults = Elections();
  faults.divided_append = 1;
  faults.between = 15;
  return faults;
}

Faults SlowDisks() {
  Faults faults = Elections();
  faults.between = 12;
  faults.hung_disk = 2;
  faults.power = 6;
  faults.kill = faults.pause = 0.2;
  faults.clock_jump = 2;
  faults.clock_skew = 500;
  return faults;
}

Faults WipedDisks() {
  Faults faults = Elections();
  faults.step_up = 0.5;
  faults.wipe = 3;
  faults.divided_append = 1;
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
  faults.divided_append = 1;
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
      {"all", Faults()},
      {"elections", Elections()},
      {"links", Links()},
      {"sleepers", Sleepers()},
      {"slow_followers", SlowFollowers()},
      {"slow_disks", SlowDisks()},
      {"wiped_disks", WipedDisks()},
      {"old_disks", OldDisks()},
      {"store_back", StoreBack()},
      {"reconfigs", Reconfigs()},
      {"recoveries", Recoveries()},
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
