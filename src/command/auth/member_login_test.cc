// SPDX-License-Identifier: Apache-2.0
#include "command/auth/member_login.h"

#include <gtest/gtest.h>

#include "auth/testing/scram_client.h"
#include "base/error_codes.h"
#include "command/testing/guarded.h"

namespace quire::command {
namespace {

class MemberLoginTest : public testing::Test {
 protected:
  int LogIn(std::string_view key) {
    const std::string first = "n=__system,r=nonce";
    bson::Document reply = node_.RunAs(
        client_,
        R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "options": {"skipEmptyExchange": true},
            "payload": ")" +
            auth::Base64("n,," + first) + R"("})",
        "local");
    if (GuardedNode::CodeOf(reply) != 0) {
      return GuardedNode::CodeOf(reply);
    }
    const std::string challenge = *auth::FromBase64(reply["payload"].AsString());
    const std::string last =
        "c=" + auth::Base64("n,,") + ",r=" + challenge.substr(2, challenge.find(',') - 2);
    return node_.CodeAs(
        client_,
        R"({"saslContinue": 1, "conversationId": 1, "payload": ")" +
            auth::Base64(last +
                         ",p=" + auth::Base64(auth::ScramProof(first, challenge, last, key))) +
            R"("})",
        "local");
  }
  int Message() {
    return node_.CodeAs(client_, R"({"replSetMessage": 1, "message": {}})", "admin");
  }

  GuardedNode node_;
  request::Client client_{"10.0.0.1:5", "10.0.0.9:27017", "10.0.0.1"};
};

TEST_F(MemberLoginTest, WhoeverKnowsTheKeyIsAMember) {
  ASSERT_TRUE(node_.commands().members.SetKey("a0+/shared").ok());
  EXPECT_EQ(Message(), kUnauthorized);
  EXPECT_EQ(LogIn("a0+/other"), kAuthenticationFailed);
  EXPECT_EQ(Message(), kUnauthorized);
  EXPECT_EQ(LogIn("a0+/shared"), 0);
  EXPECT_EQ(Message(), kCommandNotFound);  // no set to hear it
  EXPECT_EQ(node_.CodeAs(client_, R"({"find": "c"})", "secret"), 0);
  node_.commands().accounts_version.fetch_add(1);
  EXPECT_EQ(Message(), kCommandNotFound);
}

TEST_F(MemberLoginTest, WithoutAKeyThereIsNoSuchUser) {
  EXPECT_EQ(LogIn(""), kAuthenticationFailed);
  EXPECT_EQ(LogIn("a0+/shared"), kAuthenticationFailed);
}

TEST_F(MemberLoginTest, OnlyMembersSpeakAsSuch) {
  node_.AddUser("boss", {{"root", "admin"}});
  node_.LogIn(client_, "boss");
  EXPECT_EQ(Message(), kUnauthorized);
}

// A router says for whom it works: what is that user's own is theirs, and nobody else's.
TEST_F(MemberLoginTest, OnlyMembersActForOthers) {
  ASSERT_TRUE(node_.commands().members.SetKey("a0+/shared").ok());
  node_.AddUser("boss", {{"root", "admin"}});
  request::Client boss("10.0.0.1:6", "10.0.0.9:27017", "10.0.0.1");
  node_.LogIn(boss, "boss");
  ASSERT_EQ(LogIn("a0+/shared"), 0);
  const auto own = [](std::string_view user) {
    return R"({"currentOp": 1, "$ownOps": true, "$audit": {"$impersonatedUser": {"user": ")" +
           std::string(user) + R"(", "db": "people"}}})";
  };
  EXPECT_EQ(node_.CodeAs(boss, own("ann"), "admin"), kUnauthorized);
  const bson::Document reply = node_.RunAs(client_, own("ann"), "admin");
  const std::string seen = bson::ToJson(reply["inprog"]);
  EXPECT_NE(seen.find(R"("effectiveUsers":[{"user":"ann","db":"people"}])"), std::string::npos);
  EXPECT_NE(seen.find(R"("runBy":[{"user":"__system","db":"local"}])"), std::string::npos);
  EXPECT_EQ(node_.CodeAs(client_, R"({"ping": 1, "$audit": 1})", "admin"), kTypeMismatch);
}

// What a router has opened for a user, that user may read on as far as they may read it themselves.
TEST_F(MemberLoginTest, ACursorShowsNobodyMoreThanTheyMayRead) {
  ASSERT_TRUE(node_.commands().members.SetKey("a0+/shared").ok());
  node_.AddRole("one", R"([{"resource": {"db": "shop", "collection": "c"}, "actions": ["find"]}])");
  node_.AddUser("ann", {{"one", "admin"}});
  for (const char* insert : {R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})",
                             R"({"insert": "secret", "documents": [{"_id": 1}]})"}) {
    node_.Run(insert, "shop");
  }
  request::Client ann("10.0.0.1:6", "10.0.0.9:27017", "10.0.0.1");
  node_.LogIn(ann, "ann");
  ASSERT_EQ(LogIn("a0+/shared"), 0);
  const auto more = [&](const std::string& command, const std::string& collection) {
    const bson::Document reply = node_.RunAs(
        client_,
        "{" + command + R"(, "$audit": {"$impersonatedUser": {"user": "ann", "db": "people"}}})",
        "shop");
    EXPECT_EQ(GuardedNode::CodeOf(reply), 0) << bson::ToJson(reply);
    const bson::Value id = reply["cursor"].AsDocument()["id"];
    return node_.CodeAs(ann,
                        R"({"getMore": {"$numberLong": ")" + std::to_string(id.AsInt64()) +
                            R"("}, "collection": ")" + collection + R"("})",
                        "shop");
  };
  EXPECT_EQ(more(R"("find": "c", "batchSize": 1)", "c"), 0);
  EXPECT_EQ(more(R"("find": "secret", "batchSize": 0)", "secret"), kUnauthorized);
  EXPECT_EQ(more(R"("listCollections": 1, "nameOnly": true, "authorizedCollections": true,
                    "cursor": {"batchSize": 1})",
                 "$cmd.listCollections"),
            kUnauthorized);
}

// {ping: 1} with a cluster time so many seconds ahead of `now`, signed by `key`; empty: not signed.
std::string PingAhead(bson::Timestamp now, uint32_t seconds, std::string_view key) {
  bson::Builder ping;
  const bson::Timestamp time{now.seconds + seconds, now.increment};
  ping.Append("ping", 1).BeginDocument("$clusterTime").Append("clusterTime", time);
  if (!key.empty()) {
    const auth::TimeSigner signer(key);
    const auth::TimeSigner::Hash hash = signer.Sign(time);
    ping.BeginDocument("signature")
        .Append("hash", bson::Value::Binary({hash.data(), hash.size()}, 0))
        .Append("keyId", signer.key_id())
        .End();
  }
  ping.End();
  const bson::Document command = ping.Finish();
  return bson::ToCanonicalJson(command);
}

TEST_F(MemberLoginTest, ClientsBringOnlyTimesThatMembersHaveSigned) {
  ASSERT_TRUE(node_.commands().members.SetKey("a0+/shared").ok());
  node_.AddUser("boss", {{"root", "admin"}});
  request::Client boss("10.0.0.1:6", "10.0.0.9:27017", "10.0.0.1");
  const auto time_in = [](const bson::Document& reply) {
    return reply["$clusterTime"].AsDocument()["clusterTime"].AsTimestamp();
  };
  const auto key_in = [](const bson::Document& reply) {
    return reply["$clusterTime"].AsDocument()["signature"].AsDocument()["keyId"].AsInt64();
  };
  bson::Document reply = node_.RunAs(boss, R"({"ping": 1})", "admin");
  const bson::Timestamp now = time_in(reply);
  EXPECT_EQ(key_in(reply), auth::TimeSigner("a0+/shared").key_id())
      << "a driver's monitors do not log in, and hear of times that its other connections bring";
  reply = node_.RunAs(boss, PingAhead(now, 1000, "a0+/shared"), "admin");
  EXPECT_EQ(time_in(reply), now) << "a stranger moves no clock";
  node_.LogIn(boss, "boss");
  EXPECT_EQ(node_.CodeAs(boss, PingAhead(now, 1, ""), "admin"), kKeyNotFound);
  EXPECT_EQ(node_.CodeAs(boss, PingAhead(now, 1, "a0+/other"), "admin"), kKeyNotFound);
  constexpr uint32_t kOverAYear = 366 * 24 * 60 * 60;
  EXPECT_EQ(node_.CodeAs(boss, PingAhead(now, kOverAYear, "a0+/shared"), "admin"),
            kClusterTimeFailsRateLimiter);
  reply = node_.RunAs(boss, PingAhead(now, 1000, "a0+/shared"), "admin");
  EXPECT_EQ(GuardedNode::CodeOf(reply), 0);
  EXPECT_EQ(time_in(reply).seconds, now.seconds + 1000);
  // What the reply holds is taken by everybody with the key.
  const auth::TimeSigner signer("a0+/shared");
  EXPECT_EQ(
      signer.Check(time_in(reply), reply["$clusterTime"].AsDocument()["signature"].AsDocument())
          .code(),
      0);
  ASSERT_EQ(LogIn("a0+/shared"), 0);
  reply = node_.RunAs(client_, PingAhead(now, 2000, ""), "admin");
  EXPECT_EQ(time_in(reply).seconds, now.seconds + 2000) << "a member needs no signature";
}

// A router says whose session it is; whoever else says so has sessions of its own alone.
TEST_F(MemberLoginTest, OnlyMembersNameTheOwnersOfSessions) {
  ASSERT_TRUE(node_.commands().members.SetKey("a0+/shared").ok());
  node_.AddUser("boss", {{"root", "admin"}});
  request::Client boss("10.0.0.1:6", "10.0.0.9:27017", "10.0.0.1");
  node_.LogIn(boss, "boss");
  ASSERT_EQ(LogIn("a0+/shared"), 0);
  // Whether the statement had been run before in the session of that owner.
  auto retried = [&](request::Client& client, char owner, int document) {
    bson::Builder insert;
    insert.Append("insert", "c").BeginArray("documents").PushDocument();
    insert.Append("_id", document).End().End().BeginDocument("lsid");
    insert.Append("id", bson::Value::Binary("0123456789abcdef", 4));
    const std::string digest(32, owner);
    insert.Append("uid", bson::Value::Binary(std::string_view(digest), 0)).End();
    insert.Append("txnNumber", int64_t{1});
    const bson::Document command = insert.Finish();
    const bson::Document reply = node_.RunAs(client, bson::ToCanonicalJson(command), "secret");
    EXPECT_EQ(GuardedNode::CodeOf(reply), 0) << bson::ToJson(reply);
    return reply.view().Has("retriedStmtIds");
  };
  EXPECT_FALSE(retried(client_, 'a', 1));
  EXPECT_TRUE(retried(client_, 'a', 2));
  EXPECT_FALSE(retried(client_, 'b', 3)) << "another owner's session of the same id";
  EXPECT_FALSE(retried(boss, 'a', 4)) << "boss' own session";
  EXPECT_TRUE(retried(boss, 'b', 5)) << "the same";
}

TEST_F(MemberLoginTest, CertificatesOfTheOwnOrganisation) {
  constexpr std::string_view kLogin = R"({"authenticate": 1, "mechanism": "MONGODB-X509"})";
  client_.encrypted = true;
  client_.certificate_subject = "CN=n2,O=Acme";
  client_.member_certificate = true;
  EXPECT_EQ(node_.CodeAs(client_, kLogin, "$external"), kAuthenticationFailed);
  node_.commands().members.AcceptCertificates();
  EXPECT_EQ(node_.CodeAs(client_, kLogin, "$external"), 0);
  EXPECT_EQ(Message(), kCommandNotFound);
  request::Client other("10.0.0.1:6", "10.0.0.9:27017", "10.0.0.1");
  other.encrypted = true;
  other.certificate_subject = "CN=ann,O=Other";
  EXPECT_EQ(node_.CodeAs(other, kLogin, "$external"), kAuthenticationFailed);
}

}  // namespace
}  // namespace quire::command
