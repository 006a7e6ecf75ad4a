// SPDX-License-Identifier: Apache-2.0
#include "router/cursor/live_cursors.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "quire/bson.h"

namespace quire::router {

void LiveCursors::Add(std::weak_ptr<Owner> owner) {
  MutexLock lock(mutex_);
  if (owners_.size() >= swept_at_) {
    std::erase_if(owners_, [](const auto& one) { return one.expired(); });
    swept_at_ = std::max<size_t>(64, owners_.size() * 2);
  }
  owners_.push_back(std::move(owner));
}

void LiveCursors::Touch(Lanes& lanes) {
  std::vector<std::shared_ptr<Owner>> owners;
  {
    MutexLock lock(mutex_);
    for (const std::weak_ptr<Owner>& one : owners_) {
      if (std::shared_ptr<Owner> owner = one.lock()) {
        owners.push_back(std::move(owner));
      }
    }
  }
  ByHost cursors;
  for (const auto& owner : owners) {
    owner->AddOpen(&cursors);
  }
  for (const auto& [host, ids] : cursors) {
    bson::Builder command;
    command.Append("_shardsvrTouchCursors", 1).BeginArray("cursors");
    for (const int64_t id : ids) {
      command.Push(id);
    }
    command.End().Append("$db", "admin");
    constexpr std::chrono::seconds kTimeout{10};
    lanes.Send(host, command.Finish(), std::chrono::steady_clock::now() + kTimeout,
               [](const Result<bson::Document>&) {});
  }
}

}  // namespace quire::router
