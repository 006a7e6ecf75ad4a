// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "auth/privilege.h"
#include "auth/scram.h"
#include "base/error_codes.h"

namespace quire::auth {
namespace {

struct Question {
  const char* role;
  const char* database;  // of the role
  Action action;
  Resource asked;
  bool allowed;
};

TEST(Roles, AllowWhatMongoDBsDo) {
  const Question kQuestions[] = {
      {"read", "shop", Action::find, Collection("shop", "orders"), true},
      {"read", "shop", Action::find, Collection("shop", "system.users"), false},
      {"read", "shop", Action::find, Collection("other", "orders"), false},
      {"read", "shop", Action::insert, Collection("shop", "orders"), false},
      {"read", "shop", Action::listCollections, Database("shop"), true},
      {"readWrite", "shop", Action::insert, Collection("shop", "orders"), true},
      {"readWrite", "shop", Action::createIndex, Collection("shop", "orders"), true},
      {"readWrite", "shop", Action::dropDatabase, Database("shop"), false},
      {"dbAdmin", "shop", Action::find, Collection("shop", "orders"), false},
      {"dbAdmin", "shop", Action::find, Collection("shop", "system.profile"), true},
      {"dbOwner", "shop", Action::createUser, Database("shop"), true},
      {"userAdmin", "shop", Action::createUser, Database("other"), false},
      {"readAnyDatabase", "admin", Action::find, Collection("any", "thing"), true},
      {"readAnyDatabase", "admin", Action::listDatabases, Cluster(), true},
      {"readAnyDatabase", "admin", Action::serverStatus, Cluster(), false},
      {"clusterMonitor", "admin", Action::serverStatus, Cluster(), true},
      {"root", "admin", Action::shutdown, Cluster(), true},
      {"root", "admin", Action::find, Collection("admin", "system.users"), true},
      {"root", "admin", Action::anyAction, AnyResource(), false},
      {"__system", "admin", Action::anyAction, AnyResource(), true},
  };
  for (const Question& q : kQuestions) {
    Privileges privileges;
    ASSERT_TRUE(AddBuiltInRole({q.role, q.database}, &privileges)) << q.role;
    EXPECT_EQ(privileges.Allow(q.action, q.asked), q.allowed)
        << q.role << " " << ActionName(q.action) << " " << q.asked.database << "."
        << q.asked.collection;
  }
}

TEST(Roles, OfTheClusterExistOnAdminOnly) {
  EXPECT_TRUE(IsBuiltInRole({"root", "admin"}));
  EXPECT_FALSE(IsBuiltInRole({"root", "shop"}));
  EXPECT_TRUE(IsBuiltInRole({"read", "shop"}));
  EXPECT_FALSE(IsBuiltInRole({"nobody", "admin"}));
}

TEST(Privilege, ParsesAndShows) {
  const char* text = R"({"resource":{"db":"a","collection":""},"actions":["find","insert"]})";
  auto document = bson::Document::FromJson(text);
  auto privilege = ParsePrivilege(document->view());
  ASSERT_TRUE(privilege.ok());
  bson::Builder out;
  out.BeginArray("p");
  AppendPrivilege(*privilege, &out);
  out.End();
  bson::Document shown = out.Finish();
  EXPECT_EQ(bson::ToJson(shown), std::string(R"({"p":[)") + text + "]}");
  for (const char* bad :
       {R"({"resource":{"db":"a"},"actions":["find"]})",
        R"({"resource":{"cluster":false},"actions":["find"]})",
        R"({"resource":{"cluster":true},"actions":["fly"]})",
        R"({"resource":{"cluster":true},"actions":[]})", R"({"actions":["find"]})"}) {
    auto parsed = bson::Document::FromJson(bad);
    EXPECT_FALSE(ParsePrivilege(parsed->view()).ok()) << bad;
  }
}

// The client's half with the values of RFC 5802 and RFC 7677 cannot be replayed, since the server
// chooses its nonce; these check what does not depend on it.
TEST(Scram, CredentialsDependOnPasswordAndSalt) {
  for (Mechanism mechanism : {Mechanism::kScramSha1, Mechanism::kScramSha256}) {
    auto one = MakeCredential(mechanism, "user", "pencil", false);
    auto two = MakeCredential(mechanism, "user", "pencil", false);
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_NE(one->salt, two->salt);
    EXPECT_NE(one->stored_key, two->stored_key);
    bson::Document stored = CredentialDocument(*one);
    auto read = ReadCredential(stored.view());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->stored_key, one->stored_key);
    EXPECT_EQ(read->server_key, one->server_key);
    EXPECT_EQ(read->salt, one->salt);
  }
}

TEST(Scram, RefusesMalformedFirstMessages) {
  for (const char* bad : {"", "n", "n,", "n,,", "n,,n=user", "n,,n=user,r=", "p=tls,,n=u,r=x",
                          "n,,n=a=2Xb,r=x", "n,,r=x,n=user", ",,n=u,r=x"}) {
    EXPECT_EQ(ScramServer(Mechanism::kScramSha1).ReadFirst(bad).code(), kBadValue) << bad;
  }
  ScramServer escaped(Mechanism::kScramSha256);
  ASSERT_TRUE(escaped.ReadFirst("n,,n=a=2Cb=3Dc,r=nonce").ok());
  EXPECT_EQ(escaped.user(), "a,b=c");
}

TEST(Scram, RefusesWrongProofs) {
  ScramServer server(Mechanism::kScramSha256);
  ASSERT_TRUE(server.ReadFirst("n,,n=user,r=abc").ok());
  std::string challenge =
      server.Challenge(*MakeCredential(Mechanism::kScramSha256, "user", "x", false));
  ASSERT_TRUE(challenge.starts_with("r=abc"));
  std::string nonce = challenge.substr(2, challenge.find(',') - 2);
  std::string zeros(32, '\0');
  EXPECT_EQ(server.Verify("c=biws,r=" + nonce + ",p=" + Base64(zeros)).status().code(),
            kAuthenticationFailed);
  EXPECT_EQ(server.Verify("c=biws,r=other,p=" + Base64(zeros)).status().code(),
            kAuthenticationFailed);
  EXPECT_EQ(server.Verify("c=biws,r=" + nonce + ",p=!").status().code(), kAuthenticationFailed);
  EXPECT_EQ(server.Verify("nonsense").status().code(), kBadValue);
}

TEST(Scram, AStandInLooksLikeACredential) {
  for (Mechanism mechanism : {Mechanism::kScramSha1, Mechanism::kScramSha256}) {
    auto real = MakeCredential(mechanism, "user", "pencil", false);
    ASSERT_TRUE(real.ok());
    Credential one = StandInCredential(mechanism, "secret", "user");
    EXPECT_EQ(one.iterations, real->iterations);
    EXPECT_EQ(one.salt.size(), real->salt.size());
    EXPECT_EQ(one.stored_key.size(), real->stored_key.size());
    EXPECT_EQ(one.server_key.size(), real->server_key.size());
    EXPECT_EQ(StandInCredential(mechanism, "secret", "user").salt, one.salt);
    EXPECT_NE(StandInCredential(mechanism, "secret", "other").salt, one.salt);
    EXPECT_NE(StandInCredential(mechanism, "another secret", "user").salt, one.salt);
  }
}

TEST(Scram, PreparesPasswords) {
  // A soft hyphen maps to nothing, so both are the same password: each server accepts the other's.
  EXPECT_TRUE(MakeCredential(Mechanism::kScramSha256, "u", "I\xc2\xadX", false).ok());
  // A private-use character is prohibited.
  EXPECT_FALSE(MakeCredential(Mechanism::kScramSha256, "u", "\xee\x80\x80", false).ok());
}

TEST(Base64, BothWays) {
  const std::string kTexts[] = {"", "f", "fo", "foo", "foob", std::string("\0\xff", 2)};
  for (const std::string& text : kTexts) {
    EXPECT_EQ(FromBase64(Base64(text)), text);
  }
  EXPECT_FALSE(FromBase64("abc").has_value());
  EXPECT_FALSE(FromBase64("!!!!").has_value());
}

}  // namespace
}  // namespace quire::auth
