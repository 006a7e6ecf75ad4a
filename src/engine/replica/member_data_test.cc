// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "engine/own_state.h"
#include "engine/read/read.h"
#include "engine/replica/keep_snapshot.h"
#include "engine/replica/testing/member.h"
#include "engine/session.h"
#include "engine/write/write.h"

namespace quire::engine {
namespace {

using testing::Member;

TEST(MemberData, AFollowerBecomesWhatItsLeaderIs) {
  Member leader("leads");
  Member follower(leader, "follows");
  leader.data().OpenLog(1);
  leader.Change(300, /*seed=*/1);
  follower.Follow(leader);
  EXPECT_EQ(follower.Content(), leader.Content());
  EXPECT_EQ(follower.data().LastSlot(), leader.data().LastSlot());
  EXPECT_EQ(follower.data().Applied(), leader.data().Visible());
}

// Its log refers to documents that others do not have.
TEST(MemberData, WhatAFolderWasFilledWithAloneIsSentToOthers) {
  Member leader("leads");
  Member follower(leader, "follows");
  leader.Reopen(/*start=*/false);
  std::vector<bson::Document> documents;
  request::InsertRequest insert;
  for (int i = 0; i < 500; ++i) {
    documents.push_back(
        bson::Builder().Append("_id", i).Append("n", std::string(300, 'x')).Finish());
  }
  insert.documents.assign(documents.begin(), documents.end());
  OpContext op;
  EXPECT_TRUE(engine::Insert({leader.engine(), op}, "db.c", insert).ok());
  const auto info = leader.engine().catalog().Find("db.c");
  EXPECT_TRUE(*leader.engine().log().MayReferTo(info->table->id));
  ASSERT_TRUE(leader.data().Start().ok());
  EXPECT_FALSE(*leader.engine().log().MayReferTo(info->table->id));
  follower.Follow(leader);
  EXPECT_EQ(follower.Content(), leader.Content());
  EXPECT_EQ(follower.data().LastSlot(), leader.data().LastSlot());
}

// Whether the member knows what the first statement of the session's first write answered; with
// `documents` it runs it.
bool Remembers(Member& member, const std::vector<bson::View>& documents = {}) {
  auto shared = member.engine().sessions().Get(std::string(16, 's'));
  EXPECT_TRUE(shared.ok());
  auto& session = static_cast<Session&>(**shared);
  run::Checkout checkout = run::Checkout::Wait(&session);
  EXPECT_TRUE(session.EnterRetryable(1).ok());
  if (!documents.empty()) {
    OpContext op;
    Operation operation{member.engine(), op};
    operation.session = &session;
    operation.retryable = true;
    request::InsertRequest insert;
    insert.documents.assign(documents.begin(), documents.end());
    EXPECT_TRUE(engine::Insert(operation, "db.c", insert).ok());
  }
  return session.Remembered(0) != nullptr;
}

TEST(MemberData, ANewPrimaryRemembersWhatItLearntAsAFollower) {
  Member leader("leads");
  Member follower(leader, "follows");
  leader.data().OpenLog(1);
  EXPECT_FALSE(Remembers(follower));  // its session is loaded from here on
  const bson::Document document = bson::TestDocument("{_id: 1}");
  EXPECT_TRUE(Remembers(leader, {document}));
  follower.Follow(leader);
  follower.data().OpenLog(2);
  EXPECT_TRUE(Remembers(follower));
}

// How many documents db.c had at that time; the error's code, negative, when nobody knows.
int64_t CountAt(Member& member, bson::Timestamp time) {
  auto snapshot = member.engine().snapshots().At(time);
  if (!snapshot.ok()) {
    return -snapshot.status().code();
  }
  OpContext op;
  Operation operation{member.engine(), op};
  operation.snapshot = *snapshot;
  EXPECT_EQ(operation.snapshot->time, time);
  request::OpSummary summary;
  const bson::Document all = bson::TestDocument("{_id: {$gte: 0}}");
  request::CountRequest count;
  count.query = all;
  auto n = engine::Count(operation, "db.c", count, &summary);
  EXPECT_TRUE(n.ok()) << n.status().ToString();
  return n.ok() ? *n : 0;
}

// A little later than everything so far.
bson::Timestamp Ahead(Member& member) {
  member.engine().clock().Tick(10);
  return member.engine().clock().Now();
}

TEST(MemberData, ASnapshotIsKeptByAllMembers) {
  Member leader("leads");
  Member follower(leader, "follows");
  leader.data().OpenLog(1);
  const bson::Timestamp early = Ahead(leader);
  EXPECT_TRUE(leader.Insert("db.c", "{_id: 1}").ok());
  EXPECT_EQ(KeepSnapshot(leader.engine(), early).status().code(), kSnapshotTooOld);
  const bson::Timestamp time = Ahead(leader);
  ASSERT_TRUE(*KeepSnapshot(leader.engine(), time));
  EXPECT_TRUE(leader.Insert("db.c", "{_id: 2}").ok());
  follower.Follow(leader);
  for (Member* member : {&leader, &follower}) {
    EXPECT_EQ(CountAt(*member, time), 1);
  }
  EXPECT_FALSE(*KeepSnapshot(leader.engine(), time));  // not by those who come to it now
}

// Its slot is before the note that tells the others, but not all of them have it before them yet.
TEST(MemberData, ACommitUnderWayIsKnownToWhoeverKeepsASnapshot) {
  kv::FaultPlan faults;
  Member leader("leads", &faults);
  leader.data().OpenLog(1);
  EXPECT_TRUE(leader.Insert("db.c", "{_id: 1}").ok());
  const bson::Timestamp time = Ahead(leader);
  ASSERT_TRUE(leader.engine().snapshots().At(time).ok());
  std::promise<void> has_slot;
  std::promise<void> is_kept;
  std::thread writer;
  faults.RunAtNth(kv::FaultPoint::kBegin, 1, [&] {  // by who writes the note
    faults.RunAtNth(kv::FaultPoint::kCommit, 1, [&] {
      has_slot.set_value();
      // Whoever keeps it waits for this commit; who does not is done before.
      is_kept.get_future().wait_for(std::chrono::milliseconds(300));
    });
    writer = std::thread([&] { EXPECT_TRUE(leader.Insert("db.c", "{_id: 2}").ok()); });
    has_slot.get_future().wait();
  });
  const Result<bool> kept = KeepSnapshot(leader.engine(), time);
  is_kept.set_value();
  writer.join();
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_FALSE(*kept);
}

TEST(MemberData, ASnapshotThatNobodyReadsAnyMoreIsNotKeptWhileCatchingUp) {
  Member leader("leads");
  Member follower(leader, "follows");
  leader.data().OpenLog(1);
  EXPECT_TRUE(leader.Insert("db.c", "{_id: 1}").ok());
  const bson::Timestamp time = Ahead(leader);
  ASSERT_TRUE(*KeepSnapshot(leader.engine(), time));
  EXPECT_TRUE(leader.Insert("db.c", "{_id: 2}").ok());
  const int64_t window = follower.engine().snapshot_window_seconds.exchange(-1);
  follower.Follow(leader);
  follower.engine().snapshot_window_seconds = window;
  EXPECT_EQ(CountAt(follower, time), -kSnapshotTooOld);
}

TEST(MemberData, WhatIsBehindTheEndOfItsLogAMemberLearnsFromTheNextLeader) {
  Member before("before");
  Member after(before, "after");
  before.data().OpenLog(1);
  EXPECT_TRUE(before.Insert("db.c", "{_id: 1}").ok());
  after.Follow(before);
  const bson::Timestamp end = before.engine().log().Visible();
  bson::Timestamp ahead = before.engine().clock().Now();
  ahead.seconds += 1000;
  before.engine().clock().Advance(ahead);
  EXPECT_EQ(CountAt(before, ahead), 1);
  ASSERT_TRUE(before.data().CloseLog().ok());
  after.data().OpenLog(2);
  EXPECT_TRUE(after.Insert("db.c", "{_id: 2}").ok());
  before.Follow(after);
  EXPECT_EQ(CountAt(before, ahead), 2);
  EXPECT_EQ(CountAt(before, end), 1);
}

TEST(MemberData, AKeptSnapshotGoesWithWhatIsUndone) {
  Member leader("leads");
  leader.data().OpenLog(1);
  EXPECT_TRUE(leader.Insert("db.c", "{_id: 1}").ok());
  const engine::LogPosition common = leader.data().LastSlot();
  leader.data().SetCommit(common.time);
  EXPECT_TRUE(leader.Insert("db.c", "{_id: 2}").ok());
  const bson::Timestamp time = Ahead(leader);
  ASSERT_TRUE(*KeepSnapshot(leader.engine(), time));
  EXPECT_EQ(CountAt(leader, time), 2);
  ASSERT_TRUE(leader.data().CloseLog().ok());
  ASSERT_TRUE(leader.data().Cut(common).ok());
  EXPECT_NE(CountAt(leader, time), 2);
}

TEST(MemberData, WhatAShardRemembersIsTakenOverByAnother) {
  Member from("from");
  Member to("to");
  from.data().OpenLog(1);
  to.data().OpenLog(1);
  const bson::Document document = bson::TestDocument("{_id: 1}");
  EXPECT_TRUE(Remembers(from, {document}));
  std::vector<bson::Document> answers;
  const auto take = [&](bson::Document answer) {
    answers.push_back(std::move(answer));
    return Status::Ok();
  };
  ASSERT_TRUE(from.engine().sessions().ReadAnswers("db.other", take).ok());
  EXPECT_TRUE(answers.empty());
  ASSERT_TRUE(from.engine().sessions().ReadAnswers("db.c", take).ok());
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_FALSE(Remembers(to));
  ASSERT_TRUE(to.engine().sessions().Import(answers[0]).ok());
  EXPECT_TRUE(Remembers(to));
  Member follows(to, "follows");
  follows.Follow(to);
  follows.data().OpenLog(2);
  EXPECT_TRUE(Remembers(follows)) << "the log has it";
  EXPECT_FALSE(to.engine().sessions().Import(document).ok());
}

TEST(MemberData, WhatASessionHasGoneBeyondIsNotTakenOver) {
  Member from("from");
  Member to("to");
  from.data().OpenLog(1);
  to.data().OpenLog(1);
  const bson::Document document = bson::TestDocument("{_id: 1}");
  EXPECT_TRUE(Remembers(from, {document}));
  std::vector<bson::Document> answers;
  ASSERT_TRUE(from.engine()
                  .sessions()
                  .ReadAnswers("db.c",
                               [&](bson::Document answer) {
                                 answers.push_back(std::move(answer));
                                 return Status::Ok();
                               })
                  .ok());
  auto shared = to.engine().sessions().Get(std::string(16, 's'));
  ASSERT_TRUE(shared.ok());
  auto& session = static_cast<Session&>(**shared);
  {
    run::Checkout checkout = run::Checkout::Wait(&session);
    ASSERT_TRUE(session.EnterRetryable(2).ok());
  }
  ASSERT_TRUE(to.engine().sessions().Import(answers.at(0)).ok());
  run::Checkout checkout = run::Checkout::Wait(&session);
  EXPECT_EQ(session.txn_number(), 2);
  EXPECT_EQ(session.Remembered(0), nullptr);
}

TEST(MemberData, AClosedLogTakesNoWrites) {
  Member member("closed");
  EXPECT_EQ(member.Insert("db.c", "{_id: 1}").code(), kInterruptedDueToReplStateChange);
  member.data().OpenLog(1);
  EXPECT_TRUE(member.Insert("db.c", "{_id: 1}").ok());
  ASSERT_TRUE(member.data().CloseLog().ok());
  EXPECT_EQ(member.Insert("db.c", "{_id: 2}").code(), kInterruptedDueToReplStateChange);
  EXPECT_EQ(member.data().LastSlot().epoch, 1U);
  EXPECT_TRUE(member.Insert("local.c", "{_id: 2}").ok());
}

TEST(MemberData, TheSizeOfTheLogOutlivesTheProcess) {
  constexpr uint64_t kBytes = uint64_t{2} << 30;
  Member member("sized");
  ASSERT_TRUE(KeepLogSize(member.engine(), kBytes).ok());
  EXPECT_EQ(member.engine().log_bytes, kBytes);
  member.Reopen();
  EXPECT_EQ(member.engine().log_bytes, kBytes);
}

TEST(MemberData, ACopyForgetsWhatWasItsSourcesOwn) {
  Member member("copied");
  member.data().OpenLog(1);
  EXPECT_TRUE(member.Insert("db.c", "{_id: 1}").ok());
  EXPECT_TRUE(member.Insert("local.c", "{_id: 1}").ok());
  ASSERT_TRUE(KeepLogSize(member.engine(), uint64_t{2} << 30).ok());
  ASSERT_TRUE(member.data().CloseLog().ok());
  ASSERT_TRUE(ForgetSource(member.engine()).ok());
  EXPECT_EQ(member.engine().catalog().Find("local.c"), nullptr);
  EXPECT_NE(member.engine().catalog().Find("local.oplog.rs"), nullptr);
  EXPECT_NE(member.engine().catalog().Find("db.c"), nullptr);
  member.Reopen();
  EXPECT_EQ(member.engine().log_bytes, EngineOptions().log_bytes);
}

TEST(MemberData, WallTimesAreThoseOfTheWrites) {
  Member leader("writes");
  Member follower(leader, "follows");
  leader.data().OpenLog(1);
  // Some clock ran an hour ahead: the set's times do so until the others have caught up.
  const int64_t now = bson::Date::Now().millis;
  constexpr uint32_t kAhead = 3600;
  leader.engine().clock().Advance({static_cast<uint32_t>(now / 1000) + kAhead, 1});
  ASSERT_TRUE(leader.Insert("db.c", "{_id: 1}").ok());
  follower.Follow(leader);
  const uint64_t last = leader.data().LastSlot().time;
  const int64_t wall = leader.data().WallOf(last);
  EXPECT_GE(static_cast<int64_t>(last >> 32), now / 1000 + kAhead);
  EXPECT_GE(wall, now);
  EXPECT_LE(wall, bson::Date::Now().millis);
  EXPECT_EQ(follower.data().WallOf(last), wall);
  EXPECT_EQ(follower.data().WallOf(last + 1), wall) << "the last one before";
  EXPECT_EQ(follower.data().WallOf(uint64_t{100} << 32 | 7), 100'000) << "it is not in the log";
}

TEST(MemberData, ALeaderTakesBackWhatIsCut) {
  Member leader("cuts");
  leader.data().OpenLog(1);
  leader.Change(200, /*seed=*/2);
  const std::string before = leader.Content();
  const LogPosition at = leader.data().LastSlot();
  leader.Change(200, /*seed=*/3);
  ASSERT_TRUE(leader.data().CloseLog().ok());
  EXPECT_NE(leader.Content(), before);
  const Status cut = leader.data().Cut(at);
  ASSERT_TRUE(cut.ok()) << cut.ToString();
  EXPECT_EQ(leader.Content(), before);
  EXPECT_EQ(leader.data().LastSlot(), at);
  leader.Reopen();
  EXPECT_EQ(leader.Content(), before);
  EXPECT_EQ(leader.data().LastSlot(), at);
}

}  // namespace
}  // namespace quire::engine
