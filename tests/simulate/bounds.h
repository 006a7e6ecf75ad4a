// SPDX-License-Identifier: Apache-2.0
//
// How long a simulation goes on, by the options that all of them have.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace quire {

struct Bounds {
  double minutes = 1;
  uint64_t schedules = UINT64_MAX;
  uint64_t seed = 1;
  bool seeded = false;
  bool bounded = false;  // by time or number

  // Takes --minutes, --schedules or --seed; false for another option.
  bool Take(const std::string& name, const std::string& value) {
    if (name == "--minutes") {
      minutes = std::atof(value.c_str());
      bounded = true;
    } else if (name == "--schedules") {
      schedules = std::strtoull(value.c_str(), nullptr, 10);
      minutes = 1e9;
      bounded = true;
    } else if (name == "--seed") {
      seed = std::strtoull(value.c_str(), nullptr, 10);
      seeded = true;
    } else {
      return false;
    }
    return true;
  }
  // Whether the schedule of the seed is wanted alone.
  bool one() const { return seeded && !bounded; }
};

}  // namespace quire
