// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the simulator share.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "shard/core/testing/simulator.h"

namespace quire::shard {

inline placement::KeyRange RangeOf(int key) {
  placement::KeyRange range;
  range.min.order = std::string(1, static_cast<char>('a' + key));
  range.max.order = std::string(1, static_cast<char>('b' + key));
  return range;
}

inline bool Owns(const Placed& placed, int key) {
  for (const placement::KeyRange& range : placed.owned) {
    if (range == RangeOf(key)) {
      return true;
    }
  }
  return false;
}

template <typename... Parts>
void Simulator::Say(const Parts&... parts) {
  if (options_.trace != nullptr) {
    *options_.trace << step_ << ": ";
    ((*options_.trace << parts), ...);
    *options_.trace << "\n";
  }
}

// A write on its way.
struct Simulator::Request {
  int id = 0;
  int key = 0;
  int shard = 0;
  int boot = 0;  // of the process that took it
  int router = -1;
  int tries = 0;
  int parked = 0;
  bool fleeting = false;
  std::optional<placement::ShardVersion> version;
};

struct Simulator::Reading {
  int router = 0;
  Routing table;
  std::set<int> open;
  std::set<int> required;  // documents
  std::set<Uuid> forbidden;
  std::set<int> found;
};

struct Simulator::Running {
  Change change;
  Coordinator coordinator;
  int boot = 0;   // of the process that coordinates
  int shard = 0;  // whose primary that is
  bool writing = false;
  bool finished = false;
  std::set<ShardName> sent = {};
};

struct Simulator::StepAtShard {
  Change change;
  Step step;
  int shard = 0;
  int boot = 0;
  int parked = 0;
  bool empty = false;
  bool answered = false;
  std::function<void(StepAnswer, const StepAtShard&)> answer;
};

}  // namespace quire::shard
