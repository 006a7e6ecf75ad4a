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
  // Null when the owner would have more than `most` with it. It counts for `weight` of them; one
  // that outweighs the limit alone is taken by who has no other.
  OwnerTicket Take(std::string_view owner, int64_t most, int64_t weight = 1) {
    if (counts_.size() > kTidyAbove) {
      std::erase_if(counts_, [](const auto& entry) { return entry.second->load() == 0; });
    }
    auto it = counts_.find(owner);
    if (it == counts_.end()) {
      it = counts_.emplace(owner, std::make_shared<std::atomic<int64_t>>(0)).first;
    }
    std::shared_ptr<std::atomic<int64_t>> count = it->second;
    const int64_t held = count->load();
    if (held == 0 ? most <= 0 : held + weight > most) {
      return nullptr;
    }
    count->fetch_add(weight);
    return {count.get(), [count, weight](std::atomic<int64_t>*) { count->fetch_sub(weight); }};
  }

 private:
  static constexpr size_t kTidyAbove = 1000;
  std::map<std::string, std::shared_ptr<std::atomic<int64_t>>, std::less<>> counts_;  // by owner
};

}  // namespace quire::run
