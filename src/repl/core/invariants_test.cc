// SPDX-License-Identifier: Apache-2.0
//
// What the simulator says of a member that may cut, or may have missed, what is committed.
#include "repl/core/testing/invariants.h"

#include <gtest/gtest.h>

#include <memory>

namespace quire::repl {
namespace {

constexpr Epoch kCommittedIn = 4;
constexpr MemberId kMember = 1;
constexpr DataId kData = 7;
constexpr Time kKept = 10, kCommitted = 20;

// Of a member that holds both slots, from before the epoch that committed them.
Disk DiskOf(Epoch accepted) {
  Disk disk;
  disk.Write({{2, kKept}, 0, 100, 0});
  disk.Write({{2, kCommitted}, kKept, 200, 100});
  disk.Sync(disk.written());
  disk.local.data = kData;
  disk.local.accepted.epoch = accepted;
  return disk;
}

class CommittedTest : public testing::Test {
 protected:
  CommittedTest() : store(FirstView()) {
    Disk disk = DiskOf(kCommittedIn);
    Core core(0, 1, Settings(), 1, Rules());
    std::vector<Action> actions;
    core.Step(Started{0, disk.local, disk.Summary(), kCommitted, kCommitted}, &actions);
    invariants.CommitAdvanced(core, disk, store);
  }
  static View FirstView() {
    View view;
    auto config = std::make_shared<SetConfig>();
    config->members.emplace_back().id = kMember;
    view.config.config = std::move(config);
    view.isr.members.Add({kMember, kData});
    return view;
  }
  const std::string& Cut(Epoch accepted, Time after) {
    invariants.Cut(DiskOf(accepted), after);
    return invariants.violation();
  }
  const std::string& InSync(MemberId member, Epoch accepted) {
    invariants.InSyncHolds(member, DiskOf(accepted), store);
    return invariants.violation();
  }

  Store store;
  Invariants invariants{false, true};
};

TEST_F(CommittedTest, WhoHasAcceptedTheEpochCutsNothing) {
  ASSERT_EQ(invariants.committed().size(), 2u);
  EXPECT_EQ(Cut(kCommittedIn, kCommitted), "");
  EXPECT_EQ(Cut(kCommittedIn, kKept), "I5: a committed slot is cut");
}

TEST_F(CommittedTest, NorWhoHasAcceptedALaterOne) {
  EXPECT_EQ(Cut(kCommittedIn + 1, kKept), "I5: a committed slot is cut");
}

TEST_F(CommittedTest, WhoNeverHeardOfItMay) { EXPECT_EQ(Cut(kCommittedIn - 1, kKept), ""); }

TEST_F(CommittedTest, WhoIsInSyncHasAcceptedTheEpoch) {
  EXPECT_EQ(InSync(kMember + 1, kCommittedIn - 1), "");  // is not in sync
  EXPECT_EQ(InSync(kMember, kCommittedIn), "");
  EXPECT_EQ(InSync(kMember, kCommittedIn - 1),
            "I4: an in-sync member has not accepted the epoch that committed");
}

}  // namespace
}  // namespace quire::repl
