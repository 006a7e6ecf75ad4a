// SPDX-License-Identifier: Apache-2.0
#include "command/auth/auditor.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error_codes.h"
#include "command/testing/guarded.h"

namespace quire::command {
namespace {

class Audited : public testing::Test {
 protected:
  Audited() {
    char name[] = "/tmp/quire-audit-XXXXXX";
    folder_ = mkdtemp(name);
    Open(folder_ + "/audit.json");
    AddUser("root", "root", "admin");
    AddUser("reader", "read", "shop");
    Log(root_, "root");
    Log(reader_, "reader");
  }
  ~Audited() override { std::filesystem::remove_all(folder_); }

  void Open(const std::string& path) {
    commands_ = nullptr;
    audit::Options options;
    options.path = path;
    auto log = audit::Log::Open(std::move(options));
    ASSERT_TRUE(log.ok());
    if (engine_ == nullptr) {
      engine_ = *engine::Engine::Open(Node::MemoryStore(), {});
    }
    ServerInfo info;
    info.access_control = true;
    info.auditor = std::make_shared<Auditor>(*std::move(log));
    commands_ = std::make_unique<Commands>(engine_.get(), std::move(info));
  }
  void AddUser(const std::string& name, const char* role, const char* database) {
    bson::Builder out;
    out.Append("_id", "people." + name).Append("user", name).Append("db", "people");
    AppendRoleNames("roles", {{role, database}}, &out);
    bson::Document user = out.Finish();
    ASSERT_TRUE(SaveOwn(*engine_, kUsers, user.view()).ok());
  }
  void Log(request::Client& client, const char* name) {
    SetLogin(client, *LoadLogin(*commands_, client, name, "people"));
  }
  int Run(request::Client& client, const char* json, std::string_view database) {
    bson::Document body = GuardedNode::Parse(json);
    request::Request request;
    request.body = body.view();
    request.database = database;
    std::string reply;
    commands_->Run(client, request, &reply);
    return GuardedNode::CodeOf(bson::Document::FromTrusted(std::move(reply)));
  }

  // What was told since the last call: "atype param result", a line each.
  std::string Told() {
    std::ifstream file(folder_ + "/audit.json");
    std::string out;
    int line = 0;
    for (std::string text; std::getline(file, text);) {
      if (line++ < seen_) {
        continue;
      }
      bson::Document event = GuardedNode::Parse(text);
      out += std::string(event["atype"].AsString()) + " " + bson::ToJson(event["param"]) + " " +
             std::to_string(event["result"].AsInt32()) + "\n";
    }
    seen_ = line;
    return out;
  }

  std::string folder_;
  int seen_ = 0;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Commands> commands_;
  request::Client root_{"192.0.2.1:40000", "192.0.2.2:27017"};
  request::Client reader_{"192.0.2.1:40001", "192.0.2.2:27017"};
};

TEST_F(Audited, CommandsAndWhatIsToldOfThem) {
  Told();
  struct Case {
    const char* command;
    const char* database;
    const char* told;
  };
  const Case kCases[] = {
      {R"({"ping": 1})", "shop", ""},
      {R"({"insert": "orders", "documents": [{"_id": 1}]})", "shop",
       "createDatabase {\"ns\":\"shop\"} 0\ncreateCollection {\"ns\":\"shop.orders\"} 0\n"},
      {R"({"insert": "orders", "documents": [{"_id": 2}]})", "shop", ""},
      {R"({"create": "view", "viewOn": "orders", "pipeline": [{"$match": {"a": 1}}]})", "shop",
       "createCollection {\"ns\":\"shop.view\",\"viewOn\":\"shop.orders\",\"pipeline\":"
       "[{\"$match\":{\"a\":1}}]} 0\n"},
      {R"({"dropIndexes": "orders", "index": "none"})", "shop", ""},
      {R"({"drop": "view"})", "shop",
       "dropCollection {\"ns\":\"shop.view\",\"viewOn\":\"shop.orders\",\"pipeline\":"
       "[{\"$match\":{\"a\":1}}]} 0\n"},
      {R"({"renameCollection": "shop.orders", "to": "shop.sold"})", "admin",
       "renameCollection {\"old\":\"shop.orders\",\"new\":\"shop.sold\"} 0\n"},
      {R"({"dropDatabase": 1})", "shop",
       "dropCollection {\"ns\":\"shop.sold\"} 0\ndropDatabase {\"ns\":\"shop\"} 0\n"},
      {R"({"createUser": "ann", "pwd": "s3cr3t", "roles": ["read", {"role": "read", "db": "x"}],
           "customData": {"a": 1}})",
       "shop",
       "createUser {\"user\":\"ann\",\"db\":\"shop\",\"customData\":{\"a\":1},\"roles\":"
       "[{\"role\":\"read\",\"db\":\"shop\"},{\"role\":\"read\",\"db\":\"x\"}]} 0\n"},
      {R"({"updateUser": "ann", "pwd": "s3cr3t2"})", "shop",
       "updateUser {\"user\":\"ann\",\"db\":\"shop\",\"passwordChanged\":true} 0\n"},
      {R"({"grantRolesToUser": "ann", "roles": ["dbAdmin"]})", "shop",
       "grantRolesToUser {\"user\":\"ann\",\"db\":\"shop\",\"roles\":"
       "[{\"role\":\"dbAdmin\",\"db\":\"shop\"}]} 0\n"},
      {R"({"revokeRolesFromUser": "ann", "roles": ["dbAdmin"]})", "shop",
       "revokeRolesFromUser {\"user\":\"ann\",\"db\":\"shop\",\"roles\":"
       "[{\"role\":\"dbAdmin\",\"db\":\"shop\"}]} 0\n"},
      {R"({"dropUser": "ann"})", "shop", "dropUser {\"user\":\"ann\",\"db\":\"shop\"} 0\n"},
      {R"({"dropUser": "ann"})", "shop", ""},
      {R"({"dropAllUsersFromDatabase": 1})", "shop",
       "dropAllUsersFromDatabase {\"db\":\"shop\"} 0\n"},
      {R"({"createRole": "r", "roles": [], "privileges": [{"resource": {"db": "shop",
           "collection": ""}, "actions": ["find"]}]})",
       "shop",
       "createRole {\"role\":\"r\",\"db\":\"shop\",\"roles\":[],\"privileges\":[{\"resource\":"
       "{\"db\":\"shop\",\"collection\":\"\"},\"actions\":[\"find\"]}]} 0\n"},
      {R"({"grantRolesToRole": "r", "roles": ["read"]})", "shop",
       "grantRolesToRole {\"role\":\"r\",\"db\":\"shop\",\"roles\":"
       "[{\"role\":\"read\",\"db\":\"shop\"}]} 0\n"},
      {R"({"dropRole": "r"})", "shop", "dropRole {\"role\":\"r\",\"db\":\"shop\"} 0\n"},
      {R"({"dropAllRolesFromDatabase": 1})", "shop",
       "dropAllRolesFromDatabase {\"db\":\"shop\"} 0\n"},
      {R"({"logApplicationMessage": "tea time"})", "admin",
       "applicationMessage {\"msg\":\"tea time\"} 0\n"},
      {R"({"drop": "none"})", "nowhere", nullptr},
  };
  for (const Case& test : kCases) {
    int code = Run(root_, test.command, test.database);
    std::string told = Told();
    if (test.told != nullptr) {
      // The first of a kind makes a collection of the server's own.
      for (const char* own : {"createDatabase {\"ns\":\"admin\"} 0\n",
                              "createCollection {\"ns\":\"admin.system.version\"} 0\n",
                              "createCollection {\"ns\":\"admin.system.roles\"} 0\n"}) {
        if (size_t at = told.find(own); at != std::string::npos) {
          told.erase(at, std::string_view(own).size());
        }
      }
      EXPECT_EQ(told, test.told) << test.command << " " << code;
    }
    EXPECT_EQ(told.find("s3cr3t"), std::string::npos);
  }
}

TEST_F(Audited, WhatClientsSayOfThemselvesIsToldOnce) {
  Told();
  request::Client client("192.0.2.1:40009", "192.0.2.2:27017");
  const char* hello = R"({"hello": 1, "client": {"driver": {"name": "d"}, "os": {"type": "o"}}})";
  EXPECT_EQ(Run(client, hello, "admin"), 0);
  EXPECT_EQ(Told(),
            "clientMetadata {\"localEndpoint\":{\"ip\":\"192.0.2.2\",\"port\":27017},"
            "\"clientMetadata\":{\"driver\":{\"name\":\"d\"},\"os\":{\"type\":\"o\"}}} 0\n");
  EXPECT_EQ(Run(client, hello, "admin"), 0);
  EXPECT_EQ(Told(), "");
}

TEST_F(Audited, AccountsWrittenAsDocumentsAreToldOf) {
  AddUser("system", "__system", "admin");
  request::Client system("192.0.2.1:40008");
  Log(system, "system");
  Told();
  struct Case {
    const char* command;
    const char* told;
  };
  const Case kCases[] = {
      {R"({"insert": "system.users", "documents": [{"_id": "x.a", "user": "a", "db": "x",
           "credentials": {"SCRAM-SHA-256": {"salt": "s3cr3t"}}, "roles": []}]})",
       "directAuthMutation {\"document\":{\"_id\":\"x.a\",\"user\":\"a\",\"db\":\"x\","
       "\"roles\":[]},\"ns\":\"admin.system.users\",\"operation\":\"insert\"} 0\n"},
      {R"({"update": "system.users", "updates": [{"q": {"_id": "x.a"},
           "u": {"$set": {"customData": 1}}}]})",
       "directAuthMutation {\"document\":{\"_id\":\"x.a\"},\"ns\":\"admin.system.users\","
       "\"operation\":\"update\"} 0\n"},
      {R"({"delete": "system.users", "deletes": [{"q": {"_id": "x.a"}, "limit": 1}]})",
       "directAuthMutation {\"document\":{\"_id\":\"x.a\"},\"ns\":\"admin.system.users\","
       "\"operation\":\"remove\"} 0\n"},
      {R"({"insert": "users", "documents": [{"_id": "x.a"}]})",
       "createCollection {\"ns\":\"admin.users\"} 0\n"},
  };
  for (const Case& test : kCases) {
    EXPECT_EQ(Run(system, test.command, "admin"), 0) << test.command;
    EXPECT_EQ(Told(), test.told);
  }
}

TEST_F(Audited, ConfigurationsOfTheSetAreToldOf) {
  Told();
  const int code = Run(root_, R"({"replSetReconfig": {"_id": "quire", "version": 2,
      "members": [{"_id": 0, "host": "localhost"}]}})",
                       "admin");
  EXPECT_EQ(code, 0);
  std::string told = Told();
  EXPECT_TRUE(told.starts_with("replSetReconfig {\"old\":{\"_id\":\"quire\",\"version\":1,"))
      << told;
  EXPECT_NE(told.find("\"new\":{\"_id\":\"quire\",\"version\":2,"), std::string::npos) << told;
}

TEST_F(Audited, IndexesAreToldOf) {
  Run(root_, R"({"insert": "orders", "documents": [{"_id": 1}]})", "shop");
  Told();
  Run(root_, R"({"createIndexes": "orders", "indexes": [{"key": {"a": 1}, "name": "a"}]})", "shop");
  std::string told = Told();
  EXPECT_NE(told.find("\"indexName\":\"a\""), std::string::npos) << told;
  EXPECT_NE(told.find("\"indexBuildState\":\"IndexBuildSucceeded\"} 0\n"), std::string::npos);
  Run(root_, R"({"dropIndexes": "orders", "index": "a"})", "shop");
  EXPECT_EQ(Told(), "dropIndex {\"ns\":\"shop.orders\",\"indexName\":\"a\"} 0\n");
}

TEST_F(Audited, RefusedCommandsAreToldOf) {
  Told();
  EXPECT_EQ(Run(reader_, R"({"find": "orders"})", "shop"), 0);
  EXPECT_EQ(Told(), "");
  EXPECT_EQ(Run(reader_, R"({"createUser": "a", "pwd": "s3cr3t", "roles": []})", "shop"),
            kUnauthorized);
  EXPECT_EQ(Told(),
            "authCheck {\"command\":\"createUser\",\"ns\":\"shop.a\",\"args\":{\"createUser\":"
            "\"a\",\"pwd\":\"xxx\",\"roles\":[]}} 13\n");
  request::Client stranger("192.0.2.1:40002");
  EXPECT_EQ(Run(stranger, R"({"find": "orders", "filter": {"a": 1}})", "shop"), kUnauthorized);
  EXPECT_EQ(Told(), "authCheck {\"command\":\"find\",\"ns\":\"shop.orders\"} 13\n");
  EXPECT_EQ(Run(root_, R"({"setParameter": 1, "auditAuthorizationSuccess": true})", "admin"), 0);
  Told();
  EXPECT_EQ(Run(reader_, R"({"find": "orders"})", "shop"), 0);
  EXPECT_EQ(Told(),
            "authCheck {\"command\":\"find\",\"ns\":\"shop.orders\",\"args\":"
            "{\"find\":\"orders\"}} 0\n");
}

// However long a command is, and every character of it takes six in JSON.
TEST_F(Audited, OfLongCommandsNotAllIsTold) {
  Told();
  std::string escaped;
  for (int i = 0; i < 100'000; ++i) {
    escaped += "\\u0001";
  }
  const std::string find =
      R"({"find": "secrets", "filter": {"a": ")" + escaped + R"("}, "limit": {"$numberInt": "2"}})";
  EXPECT_EQ(Run(reader_, find.c_str(), "other"), kUnauthorized);
  EXPECT_EQ(Told(),
            "authCheck {\"command\":\"find\",\"ns\":\"other.secrets\",\"args\":"
            "{\"find\":\"secrets\",\"limit\":2},\"truncated\":true} 13\n");
  EXPECT_EQ(Run(reader_, (R"({"drop": ")" + escaped + "\"}").c_str(), "other"), kUnauthorized);
  EXPECT_LT(Told().size(), 4000U);
  request::Client stranger("192.0.2.1:40002");
  const std::string login =
      R"({"authenticate": 1, "mechanism": ")" + escaped + R"(", "user": ")" + escaped + "\"}";
  EXPECT_NE(Run(stranger, login.c_str(), "other"), 0);
  EXPECT_LT(Told().size(), 8000U);
  EXPECT_EQ(Run(stranger, R"({"dropDatabase": 1})", std::string(100'000, '\1')), kUnauthorized);
  EXPECT_LT(Told().size(), 4000U);
}

TEST_F(Audited, OfStrangersOnlySomeCommandsAreToldOf) {
  Told();
  request::Client stranger("192.0.2.9:40002", "192.0.2.2:27017", "192.0.2.9");
  request::Client other("192.0.2.8:40002", "192.0.2.2:27017", "192.0.2.8");
  const auto begin = std::chrono::steady_clock::now();
  constexpr int kCommands = 2000;
  for (int i = 0; i < kCommands; ++i) {
    EXPECT_EQ(Run(stranger, R"({"find": "orders"})", "shop"), kUnauthorized);
  }
  EXPECT_EQ(Run(other, R"({"find": "others"})", "shop"), kUnauthorized);
  EXPECT_EQ(Run(reader_, R"({"find": "secrets"})", "other"), kUnauthorized);
  commands_->info().auditor->Stopping();
  const auto seconds =
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
  int64_t told = 0;
  int64_t counted = 0;
  std::istringstream lines(Told());
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kLost = R"(auditLost {"events":)";
    if (line == R"(authCheck {"command":"find","ns":"shop.orders"} 13)") {
      ++told;
    } else if (line.starts_with(kLost)) {
      EXPECT_NE(line.find(R"("reason":"not logged in")"), std::string::npos) << line;
      counted += std::stoll(line.substr(kLost.size()));
    } else {
      rest += line + "\n";
    }
  }
  EXPECT_EQ(told + counted, kCommands);
  EXPECT_GE(told, StrangerEvents::kPerSecond);
  EXPECT_LE(told, StrangerEvents::kPerSecond * (seconds + 1));
  EXPECT_EQ(rest,
            "authCheck {\"command\":\"find\",\"ns\":\"shop.others\"} 13\n"
            "authCheck {\"command\":\"find\",\"ns\":\"other.secrets\",\"args\":"
            "{\"find\":\"secrets\"}} 13\nshutdown {} 0\n");
}

TEST_F(Audited, LoginsAndTheirEndsAreToldOf) {
  Told();
  request::Client client("192.0.2.1:40002");
  // "n,,n=eve,r=abc"
  EXPECT_NE(Run(client, R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256",
                "payload": {"$binary": {"base64": "bixuPWV2ZSxyPWFiYw==", "subType": "00"}}})",
                "shop"),
            1);
  Run(client, R"({"saslContinue": 1, "conversationId": 1, "payload": ""})", "shop");
  EXPECT_NE(Told().find("authenticate {\"user\":\"eve\",\"db\":\"shop\",\"mechanism\":"
                        "\"SCRAM-SHA-256\"} "),
            std::string::npos);
  EXPECT_EQ(Run(reader_, R"({"logout": 1})", "shop"), 0);
  EXPECT_EQ(Told(),
            "logout {\"reason\":\"Explicit logout from shop\",\"initialUsers\":[{\"user\":"
            "\"reader\",\"db\":\"people\"}],\"updatedUsers\":[]} 0\n");
  commands_->Disconnected(reader_);
  EXPECT_EQ(Told(), "");
  commands_->Disconnected(root_);
  EXPECT_EQ(Told(),
            "logout {\"reason\":\"Implicit logout due to client connection closure\","
            "\"initialUsers\":[{\"user\":\"root\",\"db\":\"people\"}],\"updatedUsers\":[]} 0\n");
}

TEST_F(Audited, NothingThatIsAuditedIsDoneWhileItCannotBeTold) {
  Open("/dev/full");
  Log(root_, "root");
  Log(reader_, "reader");
  EXPECT_EQ(Run(reader_, R"({"drop": "orders"})", "shop"), kUnauthorized);  // fills the log
  EXPECT_EQ(Run(root_, R"({"createUser": "a", "pwd": "b", "roles": []})", "shop"),
            kFileStreamFailed);
  EXPECT_EQ(Run(root_, R"({"create": "orders"})", "shop"), kFileStreamFailed);
  EXPECT_EQ(Run(root_, R"({"find": "orders"})", "shop"), 0);
}

TEST(Auditing, IsOffUnlessAskedFor) {
  Node node;
  EXPECT_EQ(node.Code(R"({"setParameter": 1, "auditAuthorizationSuccess": true})", "admin"),
            kInvalidOptions);
  EXPECT_EQ(node.Code(R"({"logRotate": "audit"})", "admin"), kNoSuchKey);
}

}  // namespace
}  // namespace quire::command
