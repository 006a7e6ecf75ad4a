// SPDX-License-Identifier: Apache-2.0
//
// What strangers who have logged in may not do: each case was once a way in.
#include "command/authorise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "command/auth/login.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

constexpr int kDuplicateField = 40413;

// A node with access control, and some users of each kind.
class AccessTest : public testing::Test {
 protected:
  AccessTest() {
    AsRoot("admin", R"({"createUser": "root", "pwd": "secret-of-root", "roles": ["root"]})");
    AsRoot("app", R"({"createUser": "nobody", "pwd": "x", "roles": []})");
    AsRoot("app", R"({"createUser": "writer", "pwd": "x", "roles": ["readWrite"]})");
    AsRoot("app", R"({"createUser": "reader", "pwd": "x", "roles": ["read"]})");
    AsRoot("app", R"({"createUser": "keeper", "pwd": "x", "roles": ["userAdmin"]})");
    AsRoot("app", R"({"createUser": "admin", "pwd": "x", "roles": ["dbAdmin"]})");
    AsRoot("admin", R"({"createUser": "adminWriter", "pwd": "x", "roles": ["readWrite"]})");
    AsRoot("admin", R"({"createUser": "adminReader", "pwd": "x", "roles": ["read"]})");
    AsRoot(
        "app",
        R"({"insert": "own", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}, {"_id": 3}]})");
    AsRoot("other", R"({"insert": "foreign", "documents": [{"_id": 1, "secret": 1}]})");
    node_.commands().info().access_control = true;
  }

  void AsRoot(std::string_view database, std::string_view json) {
    bson::Document reply = node_.Run(json, database);
    ASSERT_EQ(reply["ok"].AsDouble(), 1) << json << bson::ToJson(reply);
  }

  // A client that has logged in as `user`.
  void LogIn(request::Client& client, std::string_view user, std::string_view database) {
    auto login = LoadLogin(node_.commands(), client, user, database);
    ASSERT_TRUE(login.ok() && *login != nullptr) << user;
    SetLogin(client, *login);
  }

  bson::Document RunAs(std::string_view user, std::string_view json,
                       std::string_view database = "app") {
    request::Client client;
    const bool of_admin = user == "root" || user == "adminWriter" || user == "adminReader";
    LogIn(client, user, of_admin ? "admin" : "app");
    return node_.RunAs(client, json, database);
  }

  int CodeOf(request::Client& client, std::string_view json, std::string_view database) {
    bson::Document reply = node_.RunAs(client, json, database);
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }

  int Code(std::string_view user, std::string_view json, std::string_view database = "app") {
    bson::Document reply = RunAs(user, json, database);
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }

  Node node_;
};

TEST_F(AccessTest, EveryRowStatesWhatItNeeds) {
  for (const Row* row : node_.commands().rows()) {
    EXPECT_NE(row->access.scope, Access::Scope::kUnstated) << row->info.name;
  }
}

TEST_F(AccessTest, ARepeatedFieldIsRefusedBeforeAnybodyReadsIt) {
  constexpr std::string_view kCommands[] = {
      R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": null, "nsInfo": [{"ns": "other.x"}]})",
      R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": null, "ns": "other.x"}]})",
      R"({"find": "own", "filter": {}, "filter": {"a": 1}})",
      R"({"find": "own", "lsid": {}, "lsid": {}})",
  };
  for (std::string_view command : kCommands) {
    EXPECT_EQ(Code("writer", command, "admin"), kDuplicateField) << command;
  }
  constexpr std::string_view kPipelines[] = {
      R"({"$merge": {"into": "own", "into": {"db": "other", "coll": "x"}}})",
      R"({"$merge": {"into": {"db": null, "db": "other", "coll": "x"}}})",
      R"({"$out": {"db": null, "db": "other", "coll": "x"}})",
      R"({"$graphLookup": {"from": "own", "from": "system.views", "startWith": "$a", "connectFromField": "a",
          "connectToField": "a", "as": "x"}})",
      R"({"$unionWith": {"coll": "own", "coll": "system.profile"}})",
      R"({"$lookup": {"from": "own", "from": "system.profile", "as": "x", "pipeline": []}})",
  };
  for (std::string_view stage : kPipelines) {
    std::string command =
        R"({"aggregate": "own", "cursor": {}, "pipeline": [)" + std::string(stage) + "]}";
    EXPECT_EQ(Code("writer", command), kDuplicateField) << stage;
  }
}

TEST_F(AccessTest, NobodyWritesWithoutRoles) {
  constexpr std::string_view kBulk =
      R"({"bulkWrite": 1, "ops": [{"update": 0, "filter": {}, "updateMods": {"$set": {"roles": []}}}],
          "nsInfo": [{"ns": "admin.system.users"}]})";
  EXPECT_EQ(Code("nobody", kBulk, "admin"), kUnauthorized);
  EXPECT_EQ(Code("writer", kBulk, "admin"), kUnauthorized);
}

TEST_F(AccessTest, BulkWriteNeedsWhatEachNamespaceIsFor) {
  constexpr std::string_view kBoth =
      R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}, {"delete": 1, "filter": {}}],
          "nsInfo": [{"ns": "app.own"}, {"ns": "other.foreign"}]})";
  EXPECT_EQ(Code("writer", kBoth, "admin"), kUnauthorized);
  EXPECT_EQ(Code("root", kBoth, "admin"), 0);
  EXPECT_EQ(Code("writer",
                 R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}],
                     "nsInfo": [{"ns": "app.own"}, {"ns": "other.foreign"}]})",
                 "admin"),
            0);
}

TEST_F(AccessTest, AViewShowsWhatItsMakerMayRead) {
  // Pipelines stay in their database.
  EXPECT_EQ(Code("writer", R"({"create": "v", "viewOn": "own", "pipeline": [
      {"$graphLookup": {"from": {"db": "admin", "coll": "system.users"}, "startWith": 1,
       "connectFromField": "a", "connectToField": "b", "as": "x"}}]})"),
            kFailedToParse);
  EXPECT_EQ(Code("writer", R"({"create": "v", "viewOn": "system.profile", "pipeline": []})"),
            kUnauthorized);
  EXPECT_EQ(Code("writer", R"({"create": "v", "viewOn": "own", "pipeline": [
      {"$lookup": {"from": "system.profile", "pipeline": [], "as": "x"}}]})"),
            kUnauthorized);
  EXPECT_EQ(Code("writer", R"({"create": "v", "viewOn": "own", "pipeline": [
      {"$facet": {"a": [{"$unionWith": "system.profile"}]}}]})"),
            kUnauthorized);
  EXPECT_EQ(Code("admin", R"({"create": "unread", "viewOn": "own", "pipeline": []})"), 0)
      << "who may not read the view either learns nothing by it";
  EXPECT_EQ(Code("writer", R"({"create": "v", "viewOn": "own", "pipeline": [{"$match": {}}]})"), 0);
  EXPECT_EQ(Code("reader", R"({"find": "v"})"), 0);
  EXPECT_EQ(Code("writer", R"({"collMod": "v", "viewOn": "system.profile", "pipeline": []})"),
            kUnauthorized);
  EXPECT_EQ(Code("writer", R"({"collMod": "v", "viewOn": "own",
                              "pipeline": [{"$unionWith": "system.profile"}]})"),
            kUnauthorized);
  // Half of it would be put together with what somebody else was allowed.
  EXPECT_EQ(Code("writer", R"({"collMod": "v", "viewOn": "own"})"), kInvalidOptions);
  EXPECT_EQ(Code("writer", R"({"collMod": "v", "pipeline": []})"), kInvalidOptions);
  EXPECT_EQ(Code("root", R"({"collMod": "v", "viewOn": "own", "pipeline": []})"), 0);
}

TEST_F(AccessTest, AVariableDoesNotHideASubPipeline) {
  // With null in its place the expression fails: what follows it was once not looked at.
  EXPECT_EQ(Code("writer", R"({"aggregate": "own", "cursor": {}, "pipeline": [
      {"$lookup": {"from": "own", "let": {"x": "$_id"}, "as": "y", "pipeline": [
         {"$match": {"$expr": {"$eq": [1, {"$strLenCP": "$$x"}]}}},
         {"$lookup": {"from": "system.profile", "pipeline": [], "as": "z"}}]}}]})"),
            kUnauthorized);
}

TEST_F(AccessTest, PipelinesNeedWhatTheirStagesDo) {
  struct Case {
    std::string_view user;
    std::string_view stage;
    int code;
  };
  const Case kCases[] = {
      {"reader", R"({"$out": "copy"})", kUnauthorized},
      {"writer", R"({"$out": "copy"})", 0},
      {"writer", R"({"$out": {"db": "other", "coll": "copy"}})", kUnauthorized},
      {"reader", R"({"$merge": "copy"})", kUnauthorized},
      {"writer", R"({"$merge": {"into": {"db": "other", "coll": "x"}}})", kUnauthorized},
      {"writer", R"({"$collStats": {"count": {}}})", 0},
      {"nobody", R"({"$collStats": {"count": {}}})", kUnauthorized},
      {"reader", R"({"$planCacheStats": {}})", 0},
      {"reader", R"({"$unionWith": {"coll": "own", "pipeline": [{"$unionWith": "system.js"}]}})",
       0},
      {"reader",
       R"({"$unionWith": {"coll": "own", "pipeline": [{"$unionWith": "system.profile"}]}})",
       kUnauthorized},
  };
  for (const Case& c : kCases) {
    std::string command =
        R"({"aggregate": "own", "cursor": {}, "pipeline": [)" + std::string(c.stage) + "]}";
    EXPECT_EQ(Code(c.user, command), c.code) << c.user << " " << c.stage;
    std::string explained = R"({"explain": )" + command + "}";
    if (c.code != 0) {
      EXPECT_EQ(Code(c.user, explained), c.code) << c.user << " " << c.stage;
    }
  }
}

TEST_F(AccessTest, BypassingValidationIsAPrivilegeOfItsOwn) {
  EXPECT_EQ(
      Code("writer", R"({"insert": "own", "documents": [{}], "bypassDocumentValidation": true})"),
      kUnauthorized);
  EXPECT_EQ(Code("writer", R"({"update": "own", "updates": [{"q": {}, "u": {"$set": {"b": 1}}}],
                              "bypassDocumentValidation": 1})"),
            kUnauthorized);
  EXPECT_EQ(Code("writer", R"({"findAndModify": "own", "query": {}, "update": {"$set": {"b": 1}},
                              "bypassDocumentValidation": true})"),
            kUnauthorized);
  EXPECT_EQ(Code("writer", R"({"aggregate": "own", "cursor": {}, "pipeline": [{"$out": "x"}],
                              "bypassDocumentValidation": true})"),
            kUnauthorized);
  EXPECT_EQ(
      Code("root", R"({"insert": "own", "documents": [{}], "bypassDocumentValidation": true})"), 0);
}

TEST_F(AccessTest, NumbersAreBooleansForBoth) {
  AsRoot("admin", R"({"ping": 1})");
  EXPECT_EQ(Code("root", R"({"createRole": "changer", "roles": [], "privileges": [
      {"resource": {"db": "app", "collection": "own"}, "actions": ["find", "update"]}]})"),
            0);
  EXPECT_EQ(Code("root", R"({"createUser": "changer", "pwd": "x", "roles": ["changer"]})"), 0);
  EXPECT_EQ(Code("changer", R"({"findAndModify": "own", "query": {}, "remove": 1})"),
            kUnauthorized);
  EXPECT_EQ(Code("changer",
                 R"({"findAndModify": "own", "query": {"_id": 9}, "update": {}, "upsert": 1})"),
            kUnauthorized);
  EXPECT_EQ(
      Code("changer", R"({"findAndModify": "own", "query": {}, "update": {"$set": {"c": 1}}})"), 0);
}

TEST_F(AccessTest, SystemCollectionsAreNotCopiedOrRenamed) {
  EXPECT_EQ(
      Code("adminWriter",
           R"({"cloneCollectionAsCapped": "system.users", "toCollection": "x", "size": 100000})",
           "admin"),
      kUnauthorized);
  EXPECT_EQ(
      Code("reader", R"({"cloneCollectionAsCapped": "own", "toCollection": "x", "size": 100000})"),
      kUnauthorized);
  EXPECT_EQ(
      Code("writer", R"({"cloneCollectionAsCapped": "own", "toCollection": "x", "size": 100000})"),
      0);
}

TEST_F(AccessTest, RenamingShowsNothingNew) {
  EXPECT_EQ(Code("root", R"({"createRole": "mover", "roles": [], "privileges": [
      {"resource": {"db": "app", "collection": "own"}, "actions": ["renameCollectionSameDB"]},
      {"resource": {"db": "app", "collection": "mine"},
       "actions": ["renameCollectionSameDB", "find"]}]})"),
            0);
  EXPECT_EQ(Code("root", R"({"createUser": "mover", "pwd": "x", "roles": ["mover"]})"), 0);
  EXPECT_EQ(Code("mover", R"({"renameCollection": "app.own", "to": "app.mine"})", "admin"),
            kUnauthorized);
  EXPECT_EQ(Code("root", R"({"createRole": "dropper", "roles": [], "privileges": [
      {"resource": {"db": "app", "collection": ""}, "actions": ["renameCollectionSameDB"]}]})"),
            0);
  EXPECT_EQ(Code("root", R"({"createUser": "dropper", "pwd": "x", "roles": ["dropper"]})"), 0);
  AsRoot("app", R"({"ping": 1})");
  EXPECT_EQ(Code("root", R"({"create": "goal"})"), 0);
  EXPECT_EQ(
      Code("dropper", R"({"renameCollection": "app.own", "to": "app.goal", "dropTarget": true})",
           "admin"),
      kUnauthorized);
  EXPECT_EQ(Code("dropper", R"({"renameCollection": "app.own", "to": "app.free"})", "admin"), 0);
}

TEST_F(AccessTest, UsersSeeThemselvesAndWhatTheyKeep) {
  EXPECT_EQ(Code("keeper",
                 R"({"usersInfo": [{"user": "root", "db": "admin"}], "showCredentials": true})"),
            kUnauthorized);
  EXPECT_EQ(Code("keeper", R"({"usersInfo": {"forAllDBs": true}})"), kUnauthorized);
  EXPECT_EQ(Code("keeper", R"({"usersInfo": ["writer", "reader"]})"), 0);
  EXPECT_EQ(Code("reader", R"({"usersInfo": "reader"})"), 0);
  EXPECT_EQ(Code("reader", R"({"usersInfo": "writer"})"), kUnauthorized);
  EXPECT_EQ(Code("reader", R"({"rolesInfo": "read"})"), 0);
  EXPECT_EQ(Code("reader", R"({"rolesInfo": "dbAdmin"})"), kUnauthorized);
}

TEST_F(AccessTest, CredentialsAreChangedByWhoMay) {
  EXPECT_EQ(Code("reader", R"({"updateUser": "writer", "mechanisms": ["SCRAM-SHA-1"]})"),
            kUnauthorized);
  EXPECT_EQ(Code("reader", R"({"updateUser": "reader", "mechanisms": ["SCRAM-SHA-1"]})"),
            kUnauthorized);
  EXPECT_EQ(Code("keeper", R"({"updateUser": "writer", "mechanisms": ["SCRAM-SHA-1"]})"), 0);
  // Roles of other databases are not a keeper's to give or to take.
  EXPECT_EQ(
      Code("keeper", R"({"updateUser": "writer", "roles": [{"role": "root", "db": "admin"}]})"),
      kUnauthorized);
  EXPECT_EQ(Code("keeper",
                 R"({"grantRolesToUser": "writer", "roles": [{"role": "root", "db": "admin"}]})"),
            kUnauthorized);
  EXPECT_EQ(Code("keeper", R"({"grantRolesToUser": "reader", "roles": ["readWrite"]})"), 0);
}

TEST_F(AccessTest, CursorsBelongToWhoOpenedThem) {
  request::Client writer;
  request::Client reader;
  LogIn(writer, "writer", "app");
  LogIn(reader, "reader", "app");
  bson::Document opened = node_.RunAs(writer, R"({"find": "own", "batchSize": 1})", "app");
  const int64_t id = opened["cursor"].AsDocument()["id"].AsInt64();
  ASSERT_NE(id, 0);
  const std::string wanted = R"({"$numberLong": ")" + std::to_string(id) + R"("})";
  const std::string more = R"({"getMore": )" + wanted + R"(, "collection": "own", "batchSize": 1})";
  const std::string kill = R"({"killCursors": "own", "cursors": [)" + wanted + "]}";
  EXPECT_EQ(CodeOf(reader, more, "app"), kUnauthorized);
  EXPECT_EQ(CodeOf(reader, kill, "app"), kUnauthorized);
  EXPECT_EQ(CodeOf(writer, more, "app"), 0);
  // What is taken from a user is taken from its cursors, too.
  EXPECT_EQ(Code("root", R"({"revokeRolesFromUser": "writer", "roles": ["readWrite"]})"), 0);
  EXPECT_EQ(CodeOf(writer, more, "app"), kUnauthorized);
}

TEST_F(AccessTest, SessionsBelongToWhoBeganThem) {
  request::Client writer;
  request::Client reader;
  LogIn(writer, "writer", "app");
  LogIn(reader, "reader", "app");
  const std::string session = R"({"$uuid": "01020304-0506-0708-090a-0b0c0d0e0f10"})";
  const std::string lsid = R"("lsid": {"id": )" + session + "}";
  const std::string in_transaction =
      lsid + R"(, "txnNumber": {"$numberLong": "1"}, "autocommit": false)";
  EXPECT_EQ(CodeOf(writer,
                   R"({"insert": "own", "documents": [{"_id": 10}], "startTransaction": true, )" +
                       in_transaction + "}",
                   "app"),
            0);
  // The same id is another session for another user.
  EXPECT_EQ(CodeOf(reader, R"({"find": "own", )" + in_transaction + "}", "app"),
            kNoSuchTransaction);
  EXPECT_EQ(CodeOf(reader, R"({"killSessions": []})", "app"), 0);
  EXPECT_EQ(CodeOf(reader, R"({"killSessions": [{"id": )" + session + "}]}", "app"), 0);
  EXPECT_EQ(Code("reader", R"({"killAllSessions": []})"), kUnauthorized);
  EXPECT_EQ(CodeOf(writer, R"({"commitTransaction": 1, )" + in_transaction + "}", "admin"), 0);
  EXPECT_EQ(Code("root", R"({"killAllSessions": [{"user": "writer", "db": "app"}]})"), 0);
}

TEST_F(AccessTest, ChangesOfTheClusterAreForThoseWhoReadIt) {
  constexpr std::string_view kStream =
      R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$changeStream": {"allChangesForCluster": true}}]})";
  EXPECT_EQ(Code("adminReader", kStream, "admin"), kUnauthorized);
  EXPECT_EQ(Code("root", kStream, "admin"), 0);
  EXPECT_EQ(
      Code("reader", R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$changeStream": {}}]})"), 0);
}

TEST_F(AccessTest, EverybodySeesTheirOwnOperations) {
  EXPECT_EQ(Code("reader", R"({"currentOp": 1})", "admin"), kUnauthorized);
  EXPECT_EQ(Code("reader", R"({"currentOp": 1, "$ownOps": true})", "admin"), 0);
  EXPECT_EQ(Code("reader", R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$currentOp": {}}]})",
                 "admin"),
            0);
  EXPECT_EQ(
      Code("reader",
           R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$currentOp": {"allUsers": true}}]})",
           "admin"),
      kUnauthorized);
  bson::Document own = RunAs("reader", R"({"currentOp": 1, "$ownOps": true})", "admin");
  for (const bson::Element& op : own["inprog"].AsArray()) {
    EXPECT_EQ(op.value()
                  .AsDocument()["effectiveUsers"]
                  .AsArray()
                  .front()
                  .value()
                  .AsDocument()["user"]
                  .AsString(),
              "reader");
  }
}

TEST_F(AccessTest, RootMayMapReduceAndApplyOps) {
  EXPECT_EQ(Code("root", R"({"mapReduce": "own", "map": "function() { emit(1, 1); }",
                            "reduce": "function(k, v) { return 1; }", "out": {"inline": 1}})"),
            0);
  EXPECT_EQ(Code("reader", R"({"mapReduce": "own", "map": "function() { emit(1, 1); }",
                              "reduce": "function(k, v) { return 1; }", "out": "x"})"),
            kUnauthorized);
  EXPECT_EQ(
      Code("root", R"({"applyOps": [{"op": "i", "ns": "app.own", "o": {"_id": 20}}]})", "admin"),
      0);
  EXPECT_EQ(
      Code("writer", R"({"applyOps": [{"op": "i", "ns": "other.foreign", "o": {"_id": 20}}]})",
           "admin"),
      kUnauthorized);
  EXPECT_EQ(
      Code("writer", R"({"applyOps": [{"op": "c", "ns": "other.$cmd", "o": {"drop": "foreign"}}]})",
           "admin"),
      kUnauthorized);
}

TEST_F(AccessTest, AUserMadeAnewIsNotTheOneBefore) {
  request::Client reader;
  LogIn(reader, "reader", "app");
  EXPECT_EQ(CodeOf(reader, R"({"find": "own"})", "app"), 0);
  EXPECT_EQ(Code("root", R"({"dropUser": "reader"})"), 0);
  EXPECT_EQ(Code("root", R"({"createUser": "reader", "pwd": "y", "roles": ["root"]})"),
            kRoleNotFound);
  EXPECT_EQ(Code("root", R"({"createUser": "reader", "pwd": "y", "roles": ["dbOwner"]})"), 0);
  EXPECT_EQ(CodeOf(reader, R"({"find": "own"})", "app"), kUnauthorized);
}

}  // namespace
}  // namespace quire::command
