// SPDX-License-Identifier: Apache-2.0
//
// What a client can do before it has logged in, and what failed logins cost.
#include <chrono>
#include <string>
#include <vector>

#include "auth/scram.h"
#include "base/error_codes.h"
#include "command/diagnostic.h"
#include "command/testing/harness.h"
#include "kv/testing/fault_store.h"

namespace quire::command {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

class StrangersTest : public ::testing::Test {
 protected:
  StrangersTest() {
    EXPECT_EQ(
        Code(node_.Run(R"({"createUser": "ann", "pwd": "right", "roles": ["root"]})", "admin")), 0);
    node_.commands().info().access_control = true;
    node_.commands().info().compressors = {"snappy", "zlib"};
  }
  bson::Document Run(std::string_view json) { return node_.RunAs(stranger_, json, "admin"); }
  // The error code; 0 when the command succeeded.
  static int Code(const bson::Document& reply) {
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }
  // The reply to saslStart, and what was to be sent with it.
  bson::Document Start(const std::string& user, size_t padding = 0) {
    return Run(R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ")" +
               auth::Base64("n,,n=" + user + ",r=nonce" + std::string(padding, 'x')) + R"("})");
  }
  static std::string Challenge(const bson::Document& reply) {
    return auth::FromBase64(reply["payload"].AsString()).value_or("");
  }
  bson::Document Prove(const std::string& challenge) {
    const std::string nonce = challenge.substr(2, challenge.find(',') - 2);
    return Run(R"({"saslContinue": 1, "conversationId": 1, "payload": ")" +
               auth::Base64("c=" + auth::Base64("n,,") + ",r=" + nonce +
                            ",p=" + auth::Base64(std::string(32, 'p'))) +
               R"("})");
  }
  // From the salt on.
  static std::string Salt(const std::string& challenge) {
    return challenge.substr(challenge.find(",s="));
  }

  Node node_;
  request::Client stranger_{"10.0.0.1:5", "10.0.0.9:27017", "10.0.0.1"};
};

TEST_F(StrangersTest, CompressorsAreAgreedOnOnce) {
  std::string list;
  for (int i = 0; i < 1000; ++i) {
    list += R"("zlib", "snappy", "nonsense", )";
  }
  bson::Document reply = Run(R"({"hello": 1, "compression": [)" + list + R"("zlib"]})");
  EXPECT_EQ(bson::ToJson(reply["compression"]), R"(["zlib","snappy"])");
  EXPECT_EQ(stranger_.compressors.size(), 2U);
}

TEST_F(StrangersTest, LargePayloadsAreNotKept) {
  EXPECT_EQ(Code(Start("ann", 8 << 10)), kAuthenticationFailed);
  EXPECT_EQ(stranger_.login_under_way, nullptr);
  EXPECT_EQ(Code(Start("ann", 4 << 10)), 0);
}

// The first user is made by whoever is on the same machine, unless the server was told otherwise.
TEST(LocalhostException, CanBeTakenAway) {
  constexpr std::string_view kFirst = R"({"createUser": "a", "pwd": "x", "roles": ["root"]})";
  Node node;
  node.commands().info().access_control = true;
  EXPECT_TRUE(SetStartupParameters(node.commands(), {"enableLocalhostAuthBypass=false"}).ok());
  EXPECT_EQ(node.Code(kFirst, "admin"), kUnauthorized);
  EXPECT_TRUE(SetStartupParameters(node.commands(), {"enableLocalhostAuthBypass=true"}).ok());
  EXPECT_EQ(node.Code(kFirst, "admin"), 0);
  EXPECT_EQ(node.Code(R"({"createUser": "b", "pwd": "x", "roles": []})", "admin"), kUnauthorized);
}

TEST_F(StrangersTest, DoNotSetTheClock) {
  const bson::Timestamp before = node_.engine().clock().Now();
  const uint32_t later = before.seconds + 30;
  EXPECT_EQ(Code(Run(R"({"ping": 1, "$clusterTime": {"clusterTime": {"$timestamp": {"t": )" +
                     std::to_string(later) + R"(, "i": 1}}}})")),
            0);
  EXPECT_LT(node_.engine().clock().Now().seconds, later);
}

TEST_F(StrangersTest, HaveNoSessions) {
  const std::string lsid = R"("lsid": {"id": {"$uuid": "7a2f3c8e-1111-2222-3333-444455556666"}})";
  EXPECT_EQ(Code(Run(R"({"ping": 1, )" + lsid + "}")), 0);
  EXPECT_EQ(Code(Run(R"({"hello": 1, )" + lsid + "}")), 0);
  EXPECT_EQ(node_.engine().sessions().size(), 0U);
  EXPECT_EQ(Code(Run(R"({"find": "c", )" + lsid + "}")), kUnauthorized);
  EXPECT_EQ(Code(Run(R"({"insert": "c", "documents": [{}], "txnNumber": {"$numberLong": "1"}, )" +
                     lsid + "}")),
            kUnauthorized);
  EXPECT_EQ(node_.engine().sessions().size(), 0U);
}

TEST_F(StrangersTest, CannotFindOutWhoExists) {
  std::vector<std::string> errors;
  for (const char* user : {"ann", "nobody"}) {
    bson::Document first = Start(user);
    ASSERT_EQ(first["ok"].AsDouble(), 1) << user;
    const std::string challenge = Challenge(first);
    EXPECT_TRUE(challenge.ends_with(",i=15000")) << challenge;
    EXPECT_EQ(Salt(Challenge(Start(user))), Salt(challenge)) << "the same whenever it is asked";
    EXPECT_EQ(Salt(challenge).size(), Salt(Challenge(Start("ann"))).size());
    bson::Document last = Prove(Challenge(Start(user)));
    errors.push_back(std::string(last["errmsg"].AsString()) +
                     std::string(last["codeName"].AsString()));
    bson::Document hello =
        Run(R"({"hello": 1, "saslSupportedMechs": "admin.)" + std::string(user) + R"("})");
    EXPECT_EQ(bson::ToJson(hello["saslSupportedMechs"]), R"(["SCRAM-SHA-1","SCRAM-SHA-256"])");
  }
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_NE(Salt(Challenge(Start("nobody"))), Salt(Challenge(Start("nobody else"))));
}

// A client that guessed the mechanism learns the right one from hello and begins anew.
TEST_F(StrangersTest, ALoginBegunByHelloNeedsTheRightMechanism) {
  node_.commands().info().access_control = false;
  EXPECT_EQ(Code(node_.Run(R"({"createUser": "old", "pwd": "x", "roles": [],
                               "mechanisms": ["SCRAM-SHA-1"]})",
                           "admin")),
            0);
  node_.commands().info().access_control = true;
  auto begins = [&](const std::string& user) {
    bson::Document hello = Run(R"({"hello": 1, "speculativeAuthenticate": {"saslStart": 1,
        "mechanism": "SCRAM-SHA-256", "db": "admin", "payload": ")" +
                               auth::Base64("n,,n=" + user + ",r=nonce") + R"("}})");
    return !hello["speculativeAuthenticate"].missing();
  };
  EXPECT_TRUE(begins("ann"));
  EXPECT_TRUE(begins("nobody"));
  EXPECT_FALSE(begins("old"));
  EXPECT_EQ(Code(Start("old")), 0) << "saslStart itself goes on as with a wrong password";
}

TEST_F(StrangersTest, FailedLoginsMakeTheNextOnesWait) {
  auto delay = [&](request::Client& client) {
    auto body =
        bson::Document::FromJson(R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ")" +
                                 auth::Base64("n,,n=ann,r=nonce") + R"("})");
    request::Request request;
    request.body = *body;
    request.database = "admin";
    std::string reply;
    return node_.commands().Run(client, request, &reply).delay;
  };
  for (int i = 0; i <= FailedLogins::kFree; ++i) {
    EXPECT_EQ(Code(Prove(Challenge(Start("ann")))), kAuthenticationFailed);
  }
  EXPECT_GT(delay(stranger_), 0ms);
  // The login that hello may begin is left to saslStart, which waits.
  bson::Document hello = Run(R"({"hello": 1, "speculativeAuthenticate": {"saslStart": 1,
      "mechanism": "SCRAM-SHA-256", "db": "admin", "payload": ")" +
                             auth::Base64("n,,n=ann,r=nonce") + R"("}})");
  EXPECT_EQ(hello["ok"].AsDouble(), 1);
  EXPECT_TRUE(hello["speculativeAuthenticate"].missing());
  request::Client elsewhere("10.0.0.2:5", "10.0.0.9:27017", "10.0.0.2");
  EXPECT_EQ(delay(elsewhere), 0ms);
  node_.commands().login_guard().most_delay_millis = 0;
  EXPECT_EQ(delay(stranger_), 0ms);
}

TEST(FailedLogins, WaitForEachOtherUpToABound) {
  FailedLogins failed("secret");
  for (int i = 0; i < FailedLogins::kFree; ++i) {
    failed.Failed("a", "user", 0ms);
  }
  EXPECT_EQ(failed.Begin("a", "user", 0ms, 10s), 0ms);
  EXPECT_FALSE(failed.Slows("a", "user", 0ms));
  failed.Failed("a", "user", 0ms);
  EXPECT_TRUE(failed.Slows("a", "user", 0ms));
  milliseconds before = failed.Begin("a", "user", 0ms, 10s);
  EXPECT_GT(before, 0ms);
  for (int i = 0; i < 100; ++i) {  // as many at once
    milliseconds next = failed.Begin("a", "user", 0ms, 10s);
    EXPECT_TRUE(next > before || next == 10s);
    before = next;
  }
  EXPECT_EQ(before, 10s);
  EXPECT_EQ(failed.Begin("a", "other", 0ms, 10s), 0ms);
  EXPECT_EQ(failed.Begin("b", "user", 0ms, 10s), 0ms);
  failed.Succeeded("a", "user");
  EXPECT_EQ(failed.Begin("a", "user", 0ms, 10s), 0ms);
}

TEST(FailedLogins, AreForgotten) {
  FailedLogins failed("secret");
  for (int i = 0; i < 20; ++i) {
    failed.Failed("a", "user", 0ms);
  }
  EXPECT_TRUE(failed.Slows("a", "user", FailedLogins::kForget - 1ms));
  EXPECT_FALSE(failed.Slows("a", "user", FailedLogins::kForget));
}

// Whoever tries many names is slowed down by his address, and others are not.
TEST(FailedLogins, OfManyUsersCountForTheAddress) {
  FailedLogins failed("secret");
  for (int i = 0; i < 100'000; ++i) {
    failed.Failed("a", "user" + std::to_string(i), 0ms);
  }
  EXPECT_GT(failed.Begin("a", "new", 0ms, 10s), 0ms);
  EXPECT_EQ(failed.Begin("b", "new", 0ms, 10s), 0ms);
}

TEST(UserPlaces, AreGivenBack) {
  auto places = std::make_shared<UserPlaces>();
  auto one = places->Take("a", 2);
  auto two = places->Take("a", 2);
  EXPECT_NE(two, nullptr);
  EXPECT_EQ(places->Take("a", 2), nullptr);
  EXPECT_NE(places->Take("b", 2), nullptr);
  one = nullptr;
  EXPECT_NE(places->Take("a", 2), nullptr);
  EXPECT_NE(places->Take("a", 0), nullptr);
}

TEST(Health, IsToldByHello) {
  kv::FaultPlan plan;
  Node node(kv::NewFaultStore(Node::MemoryStore(), plan));
  bson::Document hello = node.Run(R"({"hello": 1})");
  EXPECT_TRUE(hello["isWritablePrimary"].AsBool());
  plan.FailRandomly(kv::FaultPoint::kHealth, 1, 1, Status(kInternalError, "played"));
  node.engine().CheckStorage();
  hello = node.Run(R"({"hello": 1})");
  EXPECT_FALSE(hello["isWritablePrimary"].AsBool());
  EXPECT_TRUE(hello["secondary"].AsBool());
  EXPECT_TRUE(hello["primary"].missing());
  plan.Clear();
  node.engine().CheckStorage();
  hello = node.Run(R"({"isMaster": 1})");
  EXPECT_TRUE(hello["ismaster"].AsBool());
  EXPECT_FALSE(hello["secondary"].AsBool());
}

}  // namespace
}  // namespace quire::command
