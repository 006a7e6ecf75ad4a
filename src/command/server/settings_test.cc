// SPDX-License-Identifier: Apache-2.0
//
// Settings that outlive the process, users and roles, and the stable API.
#include "base/error_codes.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

struct Case {
  const char* command;
  int code;
};

void ExpectCodes(std::span<const Case> cases, std::string_view database) {
  Node node;
  for (const Case& c : cases) {
    EXPECT_EQ(node.Code(c.command, database), c.code) << c.command;
  }
}

TEST(TlsMode, GoesForwardByOneStep) {
  Node node;
  std::string mode = "allowTLS";
  auto set = [&](const char* value) {
    return node.Code(std::string(R"({"setParameter": 1, "tlsMode": )") + value + "}", "admin");
  };
  auto shown = [&] {
    bson::Document reply = node.Run(R"({"getParameter": 1, "tlsMode": 1})", "admin");
    return std::string(reply["tlsMode"].AsString());
  };
  EXPECT_EQ(set(R"("preferTLS")"), kBadValue);  // there is no TLS
  EXPECT_EQ(shown(), "disabled");
  node.commands().info().tls_mode = [&] { return mode; };
  node.commands().info().set_tls_mode = [&](std::string_view value) { mode = value; };
  EXPECT_EQ(set("1"), kTypeMismatch);
  EXPECT_EQ(set(R"("requireTLS")"), kBadValue);
  EXPECT_EQ(set(R"("allowTLS")"), kBadValue);
  EXPECT_EQ(set(R"("preferTLS")"), 0);
  EXPECT_EQ(mode, "preferTLS");
  EXPECT_EQ(set(R"("disabled")"), kBadValue);
  EXPECT_EQ(set(R"("requireTLS")"), 0);
  EXPECT_EQ(set(R"("preferTLS")"), kBadValue);
  EXPECT_EQ(shown(), "requireTLS");
}

TEST(StableApi, HoldsCommandsToTheVersion) {
  const Case kCases[] = {
      {R"({"ping": 1, "apiVersion": "1"})", 0},
      {R"({"ping": 1, "apiVersion": "1", "apiStrict": true, "apiDeprecationErrors": true})", 0},
      {R"({"find": "c", "apiVersion": "1", "apiStrict": true})", 0},
      {R"({"find": "c", "apiVersion": "1", "apiDeprecationErrors": true})", 0},
      {R"({"insert": "c", "documents": [{}], "apiVersion": "1", "apiDeprecationErrors": true})", 0},
      {R"({"listCollections": 1, "apiVersion": "1", "apiDeprecationErrors": true})", 0},
      {R"({"create": "d", "apiVersion": "1", "apiDeprecationErrors": true})", 0},
      {R"({"distinct": "c", "key": "a", "apiVersion": "1", "apiStrict": true})", kAPIStrictError},
      {R"({"ping": 1, "apiVersion": "2"})", kAPIVersionError},
      {R"({"ping": 1, "apiVersion": 1})", kTypeMismatch},
      {R"({"ping": 1, "apiStrict": true})", 4886600},
      {R"({"ping": 1, "apiDeprecationErrors": true})", 4886600},
      {R"({"ping": 1, "apiVersion": "1", "apiStrict": 1})", kTypeMismatch},
  };
  ExpectCodes(kCases, "test");
}

TEST(StableApi, IsRequiredOfClientsOnDemand) {
  constexpr int kMissing = 498870;
  Node node;
  EXPECT_EQ(node.Code(R"({"setParameter": 1, "requireApiVersion": true})", "admin"), 0);
  EXPECT_EQ(node.Code(R"({"ping": 1})"), 0);  // embedded
  request::Client client("127.0.0.1:50000", "127.0.0.1:27017", "127.0.0.1");
  auto code = [&](const char* command, const char* database) {
    const bson::Document reply = node.RunAs(client, command, database);
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  };
  EXPECT_EQ(code(R"({"ping": 1})", "test"), kMissing);
  EXPECT_EQ(code(R"({"hello": 1})", "admin"), kMissing);
  EXPECT_EQ(code(R"({"ping": 1, "apiVersion": "1"})", "test"), 0);
  EXPECT_EQ(code(R"({"distinct": "c", "key": "a", "apiVersion": "1"})", "test"), 0);
  EXPECT_EQ(code(R"({"setParameter": 1, "requireApiVersion": false})", "admin"), kMissing);
  EXPECT_EQ(code(R"({"setParameter": 1, "requireApiVersion": false, "apiVersion": "1"})", "admin"),
            0);
  EXPECT_EQ(code(R"({"ping": 1})", "test"), 0);
}

TEST(StableApi, HasASecondVersionForTests) {
  Node node;
  node.commands().fail_points().Enable(true);
  constexpr const char* kVersion2 = R"("apiVersion": "2", )";
  constexpr const char* kVersion1 = R"("apiVersion": "1", )";
  const auto code = [&](const std::string& command, const char* version, const char* how) {
    return node.Code("{\"" + command + R"(": 1, )" + version + "\"" + how + "\": true}");
  };
  EXPECT_EQ(code("testVersion2", kVersion2, "apiStrict"), kAPIVersionError);
  EXPECT_EQ(node.Code(R"({"setParameter": 1, "acceptApiVersion2": true})", "admin"), 0);
  EXPECT_EQ(code("testVersion2", kVersion2, "apiStrict"), 0);
  EXPECT_EQ(code("testVersion2", kVersion1, "apiStrict"), kAPIStrictError);
  EXPECT_EQ(code("testVersions1And2", kVersion1, "apiStrict"), 0);
  EXPECT_EQ(code("testDeprecation", kVersion1, "apiStrict"), 0);
  EXPECT_EQ(code("testDeprecation", kVersion1, "apiDeprecationErrors"), kAPIDeprecationError);
  EXPECT_EQ(code("testDeprecationInVersion2", kVersion1, "apiDeprecationErrors"), 0);
  EXPECT_EQ(code("testDeprecationInVersion2", kVersion2, "apiDeprecationErrors"),
            kAPIDeprecationError);
}

TEST(WriteConcern, IsRefusedWhereItMakesNoSense) {
  const Case kCases[] = {
      {R"({"ping": 1, "writeConcern": {}})", kInvalidOptions},
      {R"({"insert": "c", "documents": [{}], "writeConcern": {}})", 0},
      {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1.9}})", 0},
      {R"({"insert": "c", "documents": [{}], "writeConcern": {"w": {}}})", kFailedToParse},
      {R"({"insert": "c", "documents": [{}], "writeConcern": {"j": "x"}})", kTypeMismatch},
      {R"({"insert": "c", "documents": [{}], "writeConcern": {"wtimeout": 1e10}})", kFailedToParse},
      {R"({"insert": "c", "documents": [{}], "writeConcern": {"q": 1}})", 40415},
      {R"({"ping": 1, "maxTimeMS": "1"})", kTypeMismatch},
      {R"({"ping": 1, "maxTimeMS": 1.5})", kFailedToParse},
      {R"({"ping": 1, "maxTimeMS": -1})", kBadValue},
      {R"({"ping": 1, "maxTimeMS": null})", 0},
  };
  ExpectCodes(kCases, "test");
}

TEST(WriteConcern, IsOfPipelinesThatWrite) {
  Node node;
  ASSERT_EQ(node.Code(R"({"insert": "c", "documents": [{}]})"), 0);
  for (const auto& [stage, writes] :
       {std::pair{R"({"$out": "d"})", true}, {R"({"$limit": 1})", false}}) {
    const bson::Document reply = node.Run(
        std::string(R"({"aggregate": "c", "cursor": {}, "writeConcern": {"w": 5}, "pipeline": [)") +
        stage + "]}");
    EXPECT_EQ(reply["ok"].AsDouble(), 1);
    EXPECT_EQ(reply.view().Has("writeConcernError"), writes) << stage;
  }
}

TEST(Validate, TakesNoContradictions) {
  Node node;
  ASSERT_EQ(node.Code(R"({"insert": "c", "documents": [{}]})"), 0);
  EXPECT_EQ(node.Code(R"({"validate": "c", "background": true})"), 0);
  EXPECT_EQ(node.Code(R"({"validate": "c", "background": true, "full": true})"), kInvalidOptions);
  EXPECT_EQ(node.Code(R"({"validate": "c", "metadata": true, "full": true})"), kInvalidOptions);
}

TEST(Users, AreCheckedBeforeTheyAreMade) {
  const Case kCases[] = {
      {R"({"createUser": "u", "pwd": "p", "roles": ["read", {"role": "root", "db": "admin"}]})", 0},
      {R"({"createUser": "u", "pwd": "p", "roles": []})", 51003},
      {R"({"createUser": "v", "roles": []})", kBadValue},
      {R"({"createUser": "v", "pwd": "p"})", 40414},
      {R"({"createUser": "", "pwd": "p", "roles": []})", kBadValue},
      {R"({"createUser": 1, "pwd": "p", "roles": []})", kTypeMismatch},
      {R"({"createUser": "v", "pwd": "p", "roles": ["nobody"]})", kRoleNotFound},
      {R"({"createUser": "v", "pwd": "p", "roles": [], "mechanisms": ["MD5"]})", kBadValue},
      {R"({"createUser": "v", "pwd": "p", "roles": [], "mechanisms": []})", kBadValue},
      {R"({"createUser": "v", "pwd": "p", "roles": [], "digestPassword": false,
           "mechanisms": ["SCRAM-SHA-256"]})",
       kBadValue},
      {R"({"updateUser": "nobody", "pwd": "p"})", kUserNotFound},
      {R"({"updateUser": "u"})", kBadValue},
      {R"({"grantRolesToUser": "u", "roles": []})", kBadValue},
      {R"({"grantRolesToUser": "nobody", "roles": ["read"]})", kUserNotFound},
      {R"({"dropUser": "nobody"})", kUserNotFound},
      {R"({"createRole": "read", "privileges": [], "roles": []})", kBadValue},
      {R"({"createRole": "r", "privileges": [], "roles": ["read"]})", 0},
      {R"({"createRole": "r", "privileges": [], "roles": []})", 51002},
      {R"({"createRole": "s", "privileges": [], "roles": ["r"]})", 0},
      {R"({"grantRolesToRole": "r", "roles": ["s"]})", kInvalidRoleModification},
      {R"({"createRole": "t", "privileges": [{"resource": {"cluster": true},
           "actions": ["shutdown"]}], "roles": []})",
       kInvalidRoleModification},
      {R"({"dropRole": "read"})", kInvalidRoleModification},
      {R"({"dropRole": "nobody"})", kRoleNotFound},
  };
  ExpectCodes(kCases, "test");
}

TEST(Roles, ShowWhatTheyInherit) {
  Node node;
  EXPECT_EQ(node.Code(R"({"createRole": "r", "privileges": [], "roles": ["read"]})"), 0);
  EXPECT_EQ(
      node.Json(R"({"rolesInfo": "r"})"),
      R"({"roles":[{"_id":"test.r","role":"r","db":"test","roles":[{"role":"read","db":"test"}],)"
      R"("inheritedRoles":[{"role":"read","db":"test"}],"isBuiltin":false}],"ok":1.0})");
  EXPECT_EQ(node.Json(R"({"usersInfo": 1})"), R"({"users":[],"ok":1.0})");
}

TEST(Cluster, ParametersAreStoredAndChecked) {
  const Case kCases[] = {
      {R"({"getClusterParameter": "*"})", 0},
      {R"({"getClusterParameter": "nothing"})", kNoSuchKey},
      {R"({"getClusterParameter": []})", kBadValue},
      {R"({"getClusterParameter": 1})", kTypeMismatch},
      {R"({"setClusterParameter": {"defaultMaxTimeMS": {"readOperations": 5}}})", 0},
      {R"({"setClusterParameter": {"defaultMaxTimeMS": {"readOperations": "x"}}})", kBadValue},
      {R"({"setClusterParameter": {"nothing": {}}})", kNoSuchKey},
      {R"({"setClusterParameter": {"a": {}, "b": {}}})", kInvalidOptions},
      {R"({"mergeChunks": "a.b"})", kNoShardingEnabled},
      {R"({"setFeatureCompatibilityVersion": "7.0"})", 7369100},
      {R"({"setFeatureCompatibilityVersion": "7.0", "confirm": true})", 0},
      {R"({"setFeatureCompatibilityVersion": "1.0", "confirm": true})", 4926900},
  };
  ExpectCodes(kCases, "admin");
}

TEST(Cluster, BlockedWritesAreRefused) {
  Node node;
  EXPECT_EQ(node.Code(R"({"setUserWriteBlockMode": 1, "global": true})", "admin"), 0);
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{}]})"), kUserWritesBlocked);
  EXPECT_EQ(node.Code(R"({"find": "c"})"), 0);
  EXPECT_EQ(node.Code(R"({"setUserWriteBlockMode": 1, "global": false, "reason":
                          "DiskUseThresholdExceeded"})",
                      "admin"),
            kIllegalOperation);
  EXPECT_EQ(node.Code(R"({"setUserWriteBlockMode": 1, "global": false})", "admin"), 0);
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{}]})"), 0);
}

TEST(Settings, AreInForceAfterARestart) {
  Node node;
  EXPECT_EQ(
      node.Code(R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": "majority"}})", "admin"),
      0);
  EXPECT_EQ(node.Code(R"({"setFeatureCompatibilityVersion": "7.0", "confirm": true})", "admin"), 0);
  Commands again(&node.engine(), ServerInfo());
  EXPECT_TRUE(again.default_concerns().waits_for_disk());
  EXPECT_EQ(again.cluster().version(), "7.0");
}

TEST(DataHash, ChangesWithTheData) {
  Node node;
  auto hash = [&] {
    bson::Document reply = node.Run(R"({"dbHash": 1})");
    return std::string(reply["md5"].AsString());
  };
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{"_id": 1}]})"), 0);
  std::string before = hash();
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{"_id": 2}]})"), 0);
  EXPECT_NE(hash(), before);
  EXPECT_EQ(node.Code(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})"), 0);
  EXPECT_EQ(hash(), before);
  EXPECT_EQ(node.Code(R"({"dbHash": 1, "collections": [1]})"), kBadValue);
}

}  // namespace
}  // namespace quire::command
