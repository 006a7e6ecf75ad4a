// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "engine/own_state.h"
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

TEST(MemberData, AClosedLogTakesNoWrites) {
  Member member("closed");
  EXPECT_EQ(member.Insert("db.c", "{_id: 1}").code(), kNotWritablePrimary);
  member.data().OpenLog(1);
  EXPECT_TRUE(member.Insert("db.c", "{_id: 1}").ok());
  ASSERT_TRUE(member.data().CloseLog().ok());
  EXPECT_EQ(member.Insert("db.c", "{_id: 2}").code(), kNotWritablePrimary);
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
