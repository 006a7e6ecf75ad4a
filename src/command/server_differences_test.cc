// SPDX-License-Identifier: Apache-2.0
//
// Commands and stages about the server whose answers were once unlike MongoDB's.
#include "base/error_codes.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

TEST(ServerDifferences, CommitQuorumsAreOfBuilds) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})");
  const bson::Document done = node.Run(
      R"({"setIndexCommitQuorum": "c", "indexNames": ["x_1"], "commitQuorum": "majority"})");
  EXPECT_EQ(done["code"].AsInt32(), kIndexNotFound);
  EXPECT_EQ(done["errmsg"].AsString(),
            "Cannot find an index build on collection 'test.c' with the provided index names");
  const struct {
    const char* command;
    int code;
  } kCases[] = {
      {R"({"setIndexCommitQuorum": "c", "indexNames": [], "commitQuorum": 1})", kIndexNotFound},
      {R"({"setIndexCommitQuorum": "c", "indexNames": ["x_1"]})", 40414},
      {R"({"setIndexCommitQuorum": "c", "commitQuorum": 1})", 40414},
      {R"({"setIndexCommitQuorum": "c", "indexNames": [1], "commitQuorum": 1})", kTypeMismatch},
      {R"({"setIndexCommitQuorum": "c", "indexNames": ["x_1"], "commitQuorum": -1})",
       kFailedToParse},
      {R"({"setIndexCommitQuorum": "none", "indexNames": ["x_1"], "commitQuorum": 1})",
       kNamespaceNotFound},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(node.Code(c.command), c.code) << c.command;
  }
}

TEST(ServerDifferences, TheHashOfADatabaseHasItsViews) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  node.Run(R"({"insert": "z", "documents": [{"_id": 1}]})");
  const auto keys = [&](const char* field) {
    std::string names;
    const bson::Document reply = node.Run(R"({"dbHash": 1})");
    for (const bson::Element& e : reply[field].AsDocument()) {
      names += std::string(e.name()) + " ";
    }
    return names;
  };
  const auto hash = [&] {
    const bson::Document reply = node.Run(R"({"dbHash": 1})");
    return bson::ToJson(reply["md5"]);
  };
  EXPECT_EQ(keys("collections"), "c z ");
  const std::string before = hash();
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  EXPECT_EQ(keys("collections"), "c system.views z ");
  EXPECT_EQ(keys("uuids"), "c system.views z ");
  const std::string with_view = hash();
  EXPECT_NE(with_view, before);
  node.Run(R"({"collMod": "v", "viewOn": "c", "pipeline": [{"$match": {"_id": 2}}]})");
  EXPECT_NE(hash(), with_view);
  const bson::Document hashed = node.Run(R"({"dbHash": 1})");
  const bson::Document listed =
      node.Run(R"({"listCollections": 1, "filter": {"name": "system.views"}})");
  const bson::View first = listed["cursor"].AsDocument()["firstBatch"].AsArray()["0"].AsDocument();
  EXPECT_EQ(bson::ToJson(hashed["uuids"].AsDocument()["system.views"]),
            bson::ToJson(first["info"].AsDocument()["uuid"]));
}

TEST(ServerDifferences, StatisticsOfQueriesAreEmpty) {
  Node node;
  const struct {
    const char* stage;
    int code;
  } kCases[] = {
      {R"({"$queryStats": {}})", 0},
      {R"({"$queryStats": {"transformIdentifiers": {"algorithm": "hmac-sha-256",
          "hmacKey": {"$binary": {"base64": "MTIz", "subType": "08"}}}}})",
       0},
      {R"({"$queryStats": 1})", kFailedToParse},
      {R"({"$queryStats": {"x": 1}})", 40415},
      {R"({"$queryStats": {"transformIdentifiers": {"algorithm": "md5"}}})", kBadValue},
      {R"({"$queryStats": {"transformIdentifiers": {"algorithm": "hmac-sha-256"}}})", 40414},
      {R"({"$listSampledQueries": {}})", 0},
      {R"({"$listSampledQueries": {"namespace": "test.c"}})", 0},
      {R"({"$listSampledQueries": {"namespace": "test"}})", kInvalidNamespace},
      {R"({"$listSampledQueries": {"namespace": 1}})", kTypeMismatch},
      {R"({"$listSampledQueries": {"x": 1}})", 40415},
  };
  for (const auto& c : kCases) {
    const std::string command =
        R"({"aggregate": 1, "cursor": {}, "pipeline": [)" + std::string(c.stage) + "]}";
    EXPECT_EQ(node.Code(command, "admin"), c.code) << c.stage;
    if (c.code == 0) {
      EXPECT_EQ(node.Code(command), kInvalidNamespace) << c.stage;
    }
  }
}

TEST(ServerDifferences, OptionsOfStagesAboutTheServer) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  const struct {
    const char* stage;
    int code;
  } kCases[] = {
      {R"({"$collStats": {"count": null, "count": {}}})", 0},
      {R"({"$collStats": {"count": {}, "count": null}})", 0},
      {R"({"$collStats": {"count": {}, "count": {}}})", 40413},
      {R"({"$planCacheStats": {"allHosts": false, "allHosts": false}})", kFailedToParse},
      {R"({"$facet": {"a": [{"$listLocalSessions": {}}]}})", kInvalidNamespace},
      {R"({"$facet": {"a": [{"$collStats": {}}]}})", 40600},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(node.Code(R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + std::string(c.stage) +
                        "]}"),
              c.code)
        << c.stage;
  }
}

TEST(ServerDifferences, NotesAreInTheOplogAlone) {
  Node node;
  EXPECT_EQ(node.Code(R"({"appendOplogNote": 1, "data": {"msg": "a note"}})", "admin"), 0);
  EXPECT_EQ(node.Code(R"({"appendOplogNote": 1})", "admin"), kNoSuchKey);
  EXPECT_EQ(node.Code(R"({"appendOplogNote": 1, "data": 1})", "admin"), kTypeMismatch);
  const bson::Document found = node.Run(
      R"({"find": "oplog.rs", "filter": {"op": "n", "o.msg": "a note"},
          "projection": {"_id": 0, "op": 1, "ns": 1, "o": 1}})",
      "local");
  EXPECT_EQ(bson::ToJson(found["cursor"].AsDocument()["firstBatch"]),
            R"([{"op":"n","ns":"","o":{"msg":"a note"}}])");
}

// What mongostat shows in its columns qrw and arw.
TEST(ServerDifferences, AnIdleServerHasAllItsTickets) {
  Node node;
  const bson::Document status = node.Run(R"({"serverStatus": 1})", "admin");
  for (const bson::View tickets :
       {status["wiredTiger"].AsDocument()["concurrentTransactions"].AsDocument(),
        status["queues"].AsDocument()["execution"].AsDocument()}) {
    for (const char* of : {"read", "write"}) {
      const bson::View held = tickets[of].AsDocument();
      EXPECT_EQ(bson::ToJson(held["out"]), "0") << of;
      EXPECT_EQ(bson::ToJson(held["available"]), bson::ToJson(held["totalTickets"])) << of;
    }
  }
  EXPECT_EQ(bson::ToJson(status["globalLock"].AsDocument()["currentQueue"]),
            R"({"total":0,"readers":0,"writers":0})");
}

TEST(ServerDifferences, EveryCommandTellsWhatItDoes) {
  Node node;
  node.commands().fail_points().Enable(true);
  for (const auto* command : node.commands().commands()) {
    const std::string name(command->name);
    for (const char* database : {"admin", "test"}) {
      const bson::Document reply = node.Run("{\"" + name + R"(": 1, "help": true})", database);
      EXPECT_EQ(reply["ok"].AsDouble(), 1) << name << " on " << database;
      EXPECT_TRUE(reply["help"].is_string()) << name << " on " << database;
    }
  }
}

TEST(ServerDifferences, ExplainRefusesTheUpdatesThatAreRefused) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "b": [1]}]})");
  for (const char* update : {
           R"("q": {"$expr": {"$eq": ["$a", 1]}}, "u": {"$set": {"x": 1}}, "upsert": true)",
           R"("q": {}, "u": {"$nope": {"a": 1}})",
           R"("q": {}, "u": {"$rename": {"b": "b.x"}})",
           R"("q": {}, "u": {"$pull": {"b": {"$not": {"$gt": 4}}}})",
           R"("q": {}, "u": {"a": 1}, "multi": true)",
           R"("q": {}, "u": {"$set": {"b.$[e]": 1}})",
       }) {
    const std::string command = R"({"update": "c", "updates": [{)" + std::string(update) + "}]}";
    const bson::Document reply = node.Run(command);
    ASSERT_TRUE(reply["writeErrors"].is_array()) << command;
    const bson::View error = reply["writeErrors"].AsArray()["0"].AsDocument();
    EXPECT_EQ(node.Code(R"({"explain": )" + command + "}"), error["code"].AsInt32()) << command;
  }
  EXPECT_EQ(node.Code(R"({"explain": {"findAndModify": "c", "update": {"$nope": {"a": 1}}}})"),
            kFailedToParse);
  EXPECT_EQ(node.Code(R"({"explain": {"findAndModify": "c", "remove": true}})"), 0);
  EXPECT_EQ(node.Code(R"({"explain": {"update": "none", "updates": [{"q": {}, "u": {"a": 1}}]}})"),
            0);
  EXPECT_EQ(node.Code(R"({"findAndModify": "c", "update": {"$set": {"a": 1}},
                          "fields": {"s": {"$meta": "textScore"}}})"),
            40218);
}

TEST(ServerDifferences, EmptyTimestampsAreKeptWhereTheToolsAsk) {
  Node node;
  const std::string keep = R"("bypassEmptyTsReplacement": true})";
  const std::string empty = R"({"$timestamp": {"t": 0, "i": 0}})";
  const auto run = [&](const std::string& command) { EXPECT_EQ(node.Code(command), 0) << command; };
  const auto kept = [&](int id) {
    return node.Batch(R"({"find": "c", "projection": {"_id": 0}, "filter": {"_id": )" +
                      std::to_string(id) + "}}") == R"([{"t":{"$timestamp":{"t":0,"i":0}}}])";
  };
  run(R"({"insert": "c", "documents": [{"_id": 1, "t": )" + empty + "}], " + keep);
  run(R"({"insert": "c", "documents": [{"_id": 2, "t": )" + empty + "}, {\"_id\": 3}]}");
  EXPECT_TRUE(kept(1));
  EXPECT_FALSE(kept(2));
  run(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"t": )" + empty + "}}], " + keep);
  EXPECT_TRUE(kept(2));
  run(R"({"findAndModify": "c", "query": {"_id": 3}, "update": {"t": )" + empty + "}, " + keep);
  EXPECT_TRUE(kept(3));
  run(R"({"update": "c", "updates": [{"q": {"_id": 3}, "u": {"t": )" + empty + "}}]}");
  EXPECT_FALSE(kept(3));
  run(R"({"delete": "c", "deletes": [{"q": {"_id": 3}, "limit": 1}], )" + keep);
  EXPECT_EQ(node.Code(R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 4, "t": )" +
                          empty + R"(}}], "nsInfo": [{"ns": "test.c"}], )" + keep,
                      "admin"),
            0);
  EXPECT_TRUE(kept(4));
}

TEST(ServerDifferences, ApplyOpsHeedsWhatItsCommandSays) {
  Node node;
  node.Run(R"({"create": "v", "validator": {"a": {"$exists": true}}})");
  const std::string ops = R"({"applyOps": [{"op": "i", "ns": "test.v", "o": {"_id": 2}}])";
  EXPECT_EQ(node.Code(ops + "}", "admin"), kDocumentValidationFailure);
  EXPECT_EQ(node.Code(ops + R"(, "bypassDocumentValidation": true})", "admin"), 0);
  EXPECT_EQ(node.Batch(R"({"find": "v"})"), R"([{"_id":2}])");
}

TEST(ServerDifferences, MessagesOfDuplicatesShowValuesAsMongoDBDoes) {
  Node node;
  const auto message = [&](const std::string& id) {
    const std::string insert = R"({"insert": "c", "documents": [{"_id": )" + id + "}]}";
    node.Run(insert);
    const bson::Document reply = node.Run(insert);
    return std::string(reply["writeErrors"].AsArray()["0"].AsDocument()["errmsg"].AsString());
  };
  EXPECT_NE(message(R"({"$oid": "5f0000000000000000000001"})")
                .find("dup key: { _id: ObjectId('5f0000000000000000000001') }"),
            std::string::npos);
  EXPECT_NE(message(R"({"q": ["x", 1]})").find(R"(dup key: { _id: { q: [ "x", 1 ] } })"),
            std::string::npos);
  EXPECT_NE(message('"' + std::string(200, 'x') + '"')
                .find("{ _id: \"" + std::string(150, 'x') + "...\" }"),
            std::string::npos);
}

// Ruby's driver sends names of collections so.
TEST(ServerDifferences, CollectionsMayBeNamedBySymbols) {
  Node node;
  for (const char* command : {
           R"("create": NAME)",
           R"("insert": NAME, "documents": [{"_id": 1, "a": 1}])",
           R"("find": NAME)",
           R"("count": NAME)",
           R"("distinct": NAME, "key": "a")",
           R"("aggregate": NAME, "pipeline": [], "cursor": {})",
           R"("update": NAME, "updates": [{"q": {}, "u": {"$set": {"a": 2}}}])",
           R"("findAndModify": NAME, "update": {"$set": {"a": 3}})",
           R"("createIndexes": NAME, "indexes": [{"key": {"a": 1}, "name": "a"}])",
           R"("listIndexes": NAME)",
           R"("collStats": NAME)",
           R"("validate": NAME)",
           R"("collMod": NAME, "validationLevel": "moderate")",
           R"("dropIndexes": NAME, "index": "a")",
           R"("delete": NAME, "deletes": [{"q": {}, "limit": 1}])",
           R"("drop": NAME)",
       }) {
    std::string text = command;
    text.replace(text.find("NAME"), 4, R"({"$symbol": "c"})");
    EXPECT_EQ(node.Code("{" + text + "}"), 0) << text;
  }
}

}  // namespace
}  // namespace quire::command
