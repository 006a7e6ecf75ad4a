// SPDX-License-Identifier: Apache-2.0
#include "repl/core/ballot.h"

#include <gtest/gtest.h>

namespace quire::repl {
namespace {

class BallotTest : public testing::Test {
 protected:
  BallotTest() {
    config_->members.resize(3);
    for (MemberId id = 0; id < 3; ++id) {
      config_->members[static_cast<size_t>(id)].id = id;
      view_.isr.members.Add({id, static_cast<DataId>(10 + id)});
    }
    view_.config.config = config_;
    view_.leader.leader = {4, 2, 77};
    view_.isr.floor = 50;
    view_.stamp = {9, {1, 1}};
    local_.data = 10;
    local_.fresh = false;
    local_.accepted = {4, 2, 77};
    local_.heard = view_.stamp;
  }

  PreVoteAnswer AnswerOf(MemberId from) const {
    PreVoteAnswer answer;
    answer.accepted = local_.accepted;
    answer.heard = view_.stamp;
    answer.data = static_cast<DataId>(10 + from);
    answer.last = {4, 60};
    return answer;
  }
  Candidate Self(Millis waited = 0) const { return {0, &local_, {4, 60}, waited, 2000}; }
  Verdict JudgeWith(const PreVoteAnswer& answer, Millis waited = 0, bool transfer = false) const {
    Ballot ballot;
    ballot.transfer = transfer;
    ballot.Take(1, answer);
    return Judge(ballot, view_, Self(waited), {});
  }

  std::shared_ptr<SetConfig> config_ = std::make_shared<SetConfig>();
  View view_;
  Local local_;
};

TEST_F(BallotTest, AMajorityThatHearsNobodyLetsItCampaign) {
  EXPECT_TRUE(MayStand(view_, Self(), {}));
  EXPECT_EQ(JudgeWith(AnswerOf(1)), Verdict::kCampaign);
  EXPECT_EQ(Judge({}, view_, Self(), {}), Verdict::kNoMajority);
}

TEST_F(BallotTest, AFolderThatWasNeverInSyncIsNobodysMajority) {
  PreVoteAnswer answer = AnswerOf(1);
  answer.fresh = true;
  EXPECT_EQ(JudgeWith(answer), Verdict::kNoMajority);
}

TEST_F(BallotTest, AnAnswerIsCountedOnce) {
  Ballot ballot;
  ballot.Take(1, AnswerOf(1));
  ballot.Take(1, AnswerOf(1));
  EXPECT_EQ(ballot.answers.size(), 1u);
}

TEST_F(BallotTest, ALivingLeaderStaysUnlessItHandsOver) {
  PreVoteAnswer answer = AnswerOf(1);
  answer.hears = true;
  EXPECT_EQ(JudgeWith(answer), Verdict::kLeaderLives);
  EXPECT_EQ(JudgeWith(answer, 0, true), Verdict::kCampaign);
  answer.data = 99;  // who is not in sync may hear a leader that cannot commit
  EXPECT_EQ(JudgeWith(answer), Verdict::kCampaign);
}

TEST_F(BallotTest, NewerKeysThanItsOwnStopIt) {
  PreVoteAnswer answer = AnswerOf(1);
  answer.heard.counter = 10;
  EXPECT_EQ(JudgeWith(answer), Verdict::kStaleView);
  answer.heard = {9, {5, 5}};  // the same number from another history
  EXPECT_EQ(JudgeWith(answer), Verdict::kStaleView);
  answer = AnswerOf(1);
  answer.accepted.epoch = 5;
  EXPECT_EQ(JudgeWith(answer), Verdict::kStaleView);
  local_.heard.counter = 10;
  EXPECT_FALSE(MayStand(view_, Self(), {}));
}

TEST_F(BallotTest, ALongerLogOrAHigherPriorityGoesFirstForAWhile) {
  PreVoteAnswer answer = AnswerOf(1);
  answer.last.time = 61;
  EXPECT_EQ(JudgeWith(answer), Verdict::kAfterAnother);
  EXPECT_EQ(JudgeWith(answer, 2000), Verdict::kCampaign);
  answer.last.time = 60;
  config_->members[1].priority = 2;
  EXPECT_EQ(JudgeWith(answer), Verdict::kAfterAnother);
  config_->members[1].hidden = true;
  EXPECT_EQ(JudgeWith(answer), Verdict::kCampaign);
}

TEST_F(BallotTest, WhoCannotTakeWritesWaitsForOthers) {
  config_->members[0].priority = 0;
  EXPECT_EQ(JudgeWith(AnswerOf(1)), Verdict::kAfterAnother);
  EXPECT_EQ(JudgeWith(AnswerOf(1), 2000), Verdict::kCampaign);
}

TEST_F(BallotTest, OnlyAFolderInSyncThatReachesTheFloorStands) {
  local_.data = 99;
  EXPECT_FALSE(MayStand(view_, Self(), {}));
  local_.data = 10;
  view_.isr.floor = 61;
  EXPECT_FALSE(MayStand(view_, Self(), {}));
  view_.isr.floor = 60;
  EXPECT_TRUE(MayStand(view_, Self(), {}));
  config_->members[0].newly_added = true;
  EXPECT_FALSE(MayStand(view_, Self(), {}));
}

}  // namespace
}  // namespace quire::repl
