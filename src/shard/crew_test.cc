// SPDX-License-Identifier: Apache-2.0
#include "shard/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace quire::shard {
namespace {

TEST(Crew, WorkThatIsAwayLeavesItsPlaceToOthers) {
  std::promise<void> come;
  std::shared_future<void> comes = come.get_future().share();
  std::promise<void> done[2];
  Crew crew(1, 2);
  for (auto& one : done) {
    crew.Do([&] {
      const Crew::Away away;
      comes.wait();
      one.set_value();
    });
  }
  crew.Do([&] { come.set_value(); });
  for (auto& one : done) {
    one.get_future().wait();
  }
}

TEST(Crew, SoMuchMayBeAway) {
  std::promise<void> come;
  std::shared_future<void> comes = come.get_future().share();
  std::atomic<bool> second{false};
  std::promise<bool> third;
  Crew crew(1, 1);
  crew.Do([comes] {
    const Crew::Away away;
    comes.wait();
  });
  crew.Do([&] {
    const Crew::Away without_effect;
    crew.Do([&] { third.set_value(second.load()); });
    second = true;
  });
  EXPECT_TRUE(third.get_future().get()) << "the third one has waited for the second";
  come.set_value();
}

TEST(Crew, WhoComesBackMayLeaveAgain) {
  std::promise<void> come[3];
  std::promise<void> done[3];
  Crew crew(1, 1);
  for (int i = 0; i < 3; ++i) {
    crew.Do([&, i] {
      {
        const Crew::Away away;
        const Crew::Away within;
        come[i].get_future().wait();
      }
      done[i].set_value();
    });
    crew.Do([&, i] { come[i].set_value(); });
    done[i].get_future().wait();
  }
}

TEST(Crew, ThreadsOfNobodyAreNeverAway) {
  const Crew::Away away;
  std::promise<void> done;
  Crew crew(1);
  crew.Do([&] {
    const Crew::Away without_effect;
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace
}  // namespace quire::shard
