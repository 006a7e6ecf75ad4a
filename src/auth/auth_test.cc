// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "auth/privilege.h"
#include "auth/scram.h"
#include "auth/testing/role_table.h"
#include "base/error_codes.h"

namespace quire::auth {
namespace {

const RoleTable& Roles() {
  static const RoleTable table(QUIRE_SOURCE_DIR "/tests/privileges/roles.txt");
  return table;
}

// "cluster", "db.collection", "db." or "." as RoleTable has them.
Resource ResourceOf(std::string_view text) {
  if (text == "cluster") {
    return Cluster();
  }
  if (text == "everything") {
    return AnyResource();
  }
  size_t dot = text.find('.');
  return Collection(text.substr(0, dot), text.substr(dot + 1));
}

// Whoever has so many privileges that they are looked up may do what those say one by one.
TEST(Privileges, ManyAllowWhatEachAllows) {
  const Resource kResources[] = {Cluster(),
                                 AnyResource(),
                                 Database(""),
                                 Database("shop"),
                                 Database("local"),
                                 Collection("", "orders"),
                                 Collection("", "system.js"),
                                 Collection("shop", "orders"),
                                 Collection("shop", "system.js"),
                                 Collection("local", "orders"),
                                 Collection("admin", "system.users")};
  const Resource kAsked[] = {Cluster(),
                             AnyResource(),
                             Database(""),
                             Database("shop"),
                             Database("other"),
                             Database("config"),
                             Collection("shop", "orders"),
                             Collection("other", "orders"),
                             Collection("shop", "system.js"),
                             Collection("other", "system.js"),
                             Collection("local", "orders"),
                             Collection("local", "replset.x"),
                             Collection("admin", "system.users")};
  ActionSet find;
  find.set(static_cast<size_t>(Action::find));
  for (const Resource& given : kResources) {
    Privileges one;
    one.Add(given, find);
    Privileges many;
    for (int i = 0; i < 200; ++i) {
      many.Add(Collection("none", "c" + std::to_string(i)), find);
    }
    many.Add(given, find);
    for (const Resource& asked : kAsked) {
      EXPECT_EQ(many.Allow(Action::find, asked), one.Allow(Action::find, asked))
          << given.database << "." << given.collection << " for " << asked.database << "."
          << asked.collection;
      EXPECT_EQ(many.AllowAnythingOn(asked), one.AllowAnythingOn(asked));
      EXPECT_FALSE(many.Allow(Action::insert, asked));
    }
    EXPECT_EQ(many.all().size(), 201U);
    many.Add(given, find);
    EXPECT_EQ(many.all().size(), 201U) << "what is there is not added again";
    EXPECT_NE(many.Find(given), nullptr);
  }
}

// Every action of every built-in role on every kind of resource, as the manual has it.
TEST(Roles, AllowWhatMongoDBsDo) {
  const char* const kAsked[] = {"cluster",
                                "everything",
                                ".",
                                "shop.",
                                "shop.orders",
                                "shop.system.js",
                                "shop.system.profile",
                                "shop.system.views",
                                "shop.system.users",
                                "shop.system.buckets.x",
                                "shop.systematic",
                                "other.",
                                "other.orders",
                                "other.system.js",
                                "admin.",
                                "admin.orders",
                                "admin.system.users",
                                "admin.system.roles",
                                "admin.system.version",
                                "admin.system.views",
                                "config.",
                                "config.settings",
                                "config.orders",
                                "config.system.sessions",
                                "config.system.preimages",
                                "local.",
                                "local.orders",
                                "local.oplog.rs",
                                "local.system.replset",
                                "local.system.js"};
  const RoleTable& table = Roles();
  for (const auto& [name, row] : table.roles()) {
    for (const char* database : {"shop", "admin", "config", "local"}) {
      Privileges privileges;
      bool exists = row.everywhere || database == std::string_view("admin");
      ASSERT_EQ(AddBuiltInRole({name, database}, &privileges), exists) << name << "@" << database;
      if (!exists) {
        continue;
      }
      for (const char* asked : kAsked) {
        for (size_t i = 0; i < kActionCount; ++i) {
          Action action = static_cast<Action>(i);
          std::string action_name(ActionName(action));
          EXPECT_EQ(privileges.Allow(action, ResourceOf(asked)),
                    table.Gives(name, database, action_name, asked))
              << name << "@" << database << " " << action_name << " on " << asked;
        }
      }
      for (const char* asked : {"shop", "other", "admin", "config", "local"}) {
        EXPECT_EQ(privileges.AllowAnythingIn(asked), table.GivesAnything(name, database, asked))
            << name << "@" << database << " in " << asked;
      }
    }
  }
}

TEST(Roles, AreThoseOfTheManual) {
  std::vector<std::string> of_admin;
  std::vector<std::string> of_shop;
  for (const auto& [name, row] : Roles().roles()) {
    of_admin.push_back(name);
    if (row.everywhere) {
      of_shop.push_back(name);
    }
    for (const RoleTable::Line& line : row.lines) {
      for (const std::string& action : line.actions) {
        EXPECT_TRUE(FindAction(action).has_value()) << action;
      }
    }
  }
  auto names = [](std::string_view database) {
    std::vector<std::string_view> all = BuiltInRoles(database);
    return std::vector<std::string>(all.begin(), all.end());
  };
  EXPECT_EQ(names("admin"), of_admin);
  EXPECT_EQ(names("shop"), of_shop);
}

struct Question {
  const char* privilege;  // the resource it is on
  const char* asked;
  bool covered;
};

TEST(Privileges, CoverWhatMongoDBsDo) {
  const Question kQuestions[] = {
      {"shop.orders", "shop.orders", true},
      {"shop.orders", "shop.orders2", false},
      {"shop.orders", "shop.", false},
      {"shop.orders", "other.orders", false},
      {"shop.", "shop.", true},
      {"shop.", "shop.orders", true},
      {"shop.", "shop.system.views", false},
      {"shop.", "Shop.orders", false},
      {"shop.", ".", false},
      {".orders", "shop.orders", true},
      {".orders", "local.orders", true},
      {".orders", "shop.", false},
      {".system.js", "shop.system.js", true},
      {".system.js", "shop.system.users", false},
      {".", "shop.orders", true},
      {".", "shop.", true},
      {".", ".", true},
      {".", "shop.system.js", false},
      {".", "local.orders", false},
      {".", "config.", false},
      {".", "cluster", false},
      {".", "everything", false},
      {"local.", "local.orders", true},
      {"local.", "local.system.replset", false},
      {"local.", "local.replset.minvalid", false},
      {"shop.", "shop.replset.minvalid", true},
      {"cluster", "cluster", true},
      {"cluster", "shop.orders", false},
      {"everything", "cluster", true},
      {"everything", "shop.system.users", true},
      {"everything", "local.system.replset", true},
      {"everything", "everything", true},
      {"cluster", "everything", false},
  };
  for (const Question& q : kQuestions) {
    Privileges privileges;
    ActionSet find;
    find.set(static_cast<size_t>(Action::find));
    privileges.Add(ResourceOf(q.privilege), find);
    EXPECT_EQ(privileges.Allow(Action::find, ResourceOf(q.asked)), q.covered)
        << q.privilege << " and " << q.asked;
    EXPECT_FALSE(privileges.Allow(Action::insert, ResourceOf(q.asked))) << q.privilege;
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

TEST(Scram, ClientAndServerKnowEachOther) {
  Credential stored = *MakeCredential(Mechanism::kScramSha256, "a,b=c", "pencil", false);
  SaltedPasswords known;
  for (const char* password : {"pencil", "pencil", "pen"}) {
    ScramServer server(Mechanism::kScramSha256);
    auto client = ScramClient::Make("a,b=c", password);
    ASSERT_TRUE(client.ok());
    if (std::string_view(password) == "pen") {
      known.clear();  // it is kept for one password
    }
    ASSERT_TRUE(server.ReadFirst(client->First()).ok());
    EXPECT_EQ(server.user(), "a,b=c");
    auto proof = client->Prove(server.Challenge(stored), &known);
    ASSERT_TRUE(proof.ok());
    EXPECT_EQ(known.size(), 1U);
    auto signature = server.Verify(*proof);
    ASSERT_EQ(signature.ok(), std::string_view(password) == "pencil");
    if (signature.ok()) {
      EXPECT_TRUE(client->CheckSignature(*signature).ok());
      EXPECT_FALSE(client->CheckSignature("v=" + Base64(std::string(32, 'x'))).ok());
    }
  }
}

TEST(Scram, ClientsRefuseWhatNoHonestServerSays) {
  auto client = ScramClient::Make("user", "pencil");
  ASSERT_TRUE(client.ok());
  const std::string first = client->First();
  const std::string nonce = first.substr(first.find("r=") + 2);
  SaltedPasswords known;
  for (const std::string& bad :
       {std::string(), std::string("r=other,s=AAAA,i=15000"), "r=" + nonce + ",s=AAAA,i=15000",
        "r=" + nonce + "x,s=AAAA,i=1", "r=" + nonce + "x,s=AAAA,i=2000000000",
        "r=" + nonce + "x,s=A,i=15000", "r=" + nonce + "x,i=15000"}) {
    EXPECT_EQ(client->Prove(bad, &known).status().code(), kAuthenticationFailed) << bad;
  }
  EXPECT_FALSE(client->CheckSignature("v=").ok());
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
