// SPDX-License-Identifier: Apache-2.0
//
// How many things of a kind (cursors, sessions) each user has, so that one does not take all.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace quire::run {

// One more of an owner's, for as long as somebody holds it.
using OwnerTicket = std::shared_ptr<std::atomic<int64_t>>;

// Not safe for concurrent use; tickets may be given back anywhere.
class OwnerCounts {
 public:
  // Null when the owner has `most` already.
  OwnerTicket Take(std::string_view owner, int64_t most) {
    if (counts_.size() > kTidyAbove) {
      std::erase_if(counts_, [](const auto& entry) { return entry.second->load() == 0; });
    }
    auto it = counts_.find(owner);
    if (it == counts_.end()) {
      it = counts_.emplace(owner, std::make_shared<std::atomic<int64_t>>(0)).first;
    }
    std::shared_ptr<std::atomic<int64_t>> count = it->second;
    if (count->load() >= most) {
      return nullptr;
    }
    count->fetch_add(1);
    return {count.get(), [count](std::atomic<int64_t>*) { count->fetch_sub(1); }};
  }

 private:
  static constexpr size_t kTidyAbove = 1000;
  std::map<std::string, std::shared_ptr<std::atomic<int64_t>>, std::less<>> counts_;  // by owner
};

}  // namespace quire::run
