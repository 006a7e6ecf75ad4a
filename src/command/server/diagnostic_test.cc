// SPDX-License-Identifier: Apache-2.0
#include "command/diagnostic.h"

#include <atomic>
#include <thread>

#include "base/log.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

TEST(Hello, ShowsThePrimaryOfOneMember) {
  Node node;
  bson::Document hello = node.Run(R"({"hello": 1})", "admin");
  EXPECT_TRUE(hello["isWritablePrimary"].AsBool());
  EXPECT_EQ(hello["maxWireVersion"].AsInt32(), 25);
  EXPECT_EQ(hello["me"].AsString(), hello["primary"].AsString());
  EXPECT_EQ(hello["setName"].AsString(), "quire");
  bson::Document old = node.Run(R"({"ismaster": 1, "helloOk": true})", "admin");
  EXPECT_TRUE(old["ismaster"].AsBool());
  EXPECT_TRUE(old["helloOk"].AsBool());
  EXPECT_TRUE(old["isWritablePrimary"].missing());
}

TEST(Hello, Errors) {
  Node node;
  EXPECT_EQ(node.Code(R"({"hello": 1, "saslSupportedMechs": 1})"), 14);
  EXPECT_EQ(node.Code(R"({"hello": 1, "saslSupportedMechs": "nodot"})"), 2);
  EXPECT_EQ(node.Code(R"({"hello": 1, "maxAwaitTimeMS": 10})"), 31368);
  EXPECT_EQ(node.Code(R"({"hello": 1, "client": 1})"), 14);
  EXPECT_EQ(node.Code(R"({"hello": 1, "client": {"driver": {"name": "x"}}})"), 183);
}

TEST(Hello, OthersSeeAllOfTheMetadataOrNone) {
  Node node;
  std::atomic<bool> done{false};
  std::thread arriving([&] {
    for (int i = 0; i < 200; ++i) {
      request::Client client;
      bson::Document reply = node.RunAs(
          client, R"({"hello": 1, "client": {"driver": {"name": "d"}, "os": {"type": "o"}}})",
          "admin");
      EXPECT_EQ(reply["ok"].AsDouble(), 1);
      node.RunAs(client, R"({"getLog": "*"})", "admin");
    }
    done = true;
  });
  while (!done) {
    bson::Document reply = node.Run(R"({"currentOp": 1})", "admin");
    for (const bson::Element& op : reply["inprog"].AsArray()) {
      bson::Value metadata = op.value().AsDocument()["clientMetadata"];
      if (!metadata.missing()) {
        EXPECT_EQ(bson::ToJson(metadata), R"({"driver":{"name":"d"},"os":{"type":"o"}})");
      }
    }
  }
  arriving.join();
}

TEST(CurrentOp, ShowsTheMetadataOfAClient) {
  Node node;
  node.Run(R"({"hello": 1, "client": {"application": {"name": "a"}, "driver": {"name": "d"},
               "os": {"type": "o"}}})");
  bson::Document reply = node.Run(R"({"currentOp": 1})", "admin");
  bson::View op = reply["inprog"].AsArray().front().value().AsDocument();
  EXPECT_EQ(op["appName"].AsString(), "a");
  EXPECT_TRUE(op["clientMetadata"].is_document());
}

TEST(SlowQuery, ShowsTheCommandAsADocument) {
  Node node;
  node.Run(R"({"profile": 0, "slowms": 0})");
  node.Run(R"({"count": "c", "query": {"a": "x\ny"}})");
  const std::string line = log::RecentLines().lines.back();
  node.Run(R"({"profile": 0, "slowms": 100})");
  EXPECT_NE(line.find(R"("command":{"count":"c","query":{"a":"x\ny"})"), std::string::npos) << line;
}

// Codes by command, on the database given.
TEST(Diagnostics, CodesByCommand) {
  Node node;
  struct Case {
    const char* command;
    const char* database;
    int code;
  };
  const Case cases[] = {
      {R"({"ping": 1})", "x", 0},
      {R"({"buildInfo": 1})", "x", 0},
      {R"({"buildInfo": 1, "unknown": 1})", "x", 40415},
      {R"({"hostInfo": 1})", "x", 0},
      {R"({"serverStatus": 1})", "x", 0},
      {R"({"connectionStatus": 1, "showPrivileges": "x"})", "x", 14},
      {R"({"getCmdLineOpts": 1})", "x", 13},
      {R"({"getLog": "*"})", "admin", 0},
      {R"({"getLog": "nope"})", "admin", 96},
      {R"({"getLog": 1})", "admin", 14},
      {R"({"getLog": null})", "admin", 40414},
      {R"({"getParameter": 1})", "admin", 72},
      {R"({"getParameter": "*"})", "admin", 0},
      {R"({"getParameter": 1, "logLevel": 1})", "x", 13},
      {R"({"setParameter": 1, "nosuch": 1})", "admin", 72},
      {R"({"setParameter": 1, "logLevel": 9})", "admin", 2},
      {R"({"setParameter": 1, "authSchemaVersion": 3})", "admin", 20},
      {R"({"replSetInitiate": {}})", "admin", 0},
      {R"({"replSetInitiate": {}})", "admin", 23},
      {R"({"replSetGetStatus": 1})", "admin", 0},
      {R"({"replSetFreeze": 1})", "admin", 95},
      {R"({"killOp": 1})", "admin", 4},
      {R"({"killOp": 1, "op": 1})", "admin", 0},
      {R"({"currentOp": 1})", "admin", 0},
      {R"({"currentOp": 1, "$bad": 1})", "admin", 2},
      {R"({"fsync": 1})", "admin", 0},
      {R"({"fsyncUnlock": 1})", "admin", 20},
      {R"({"shutdown": 1})", "admin", 20},
      {R"({"dropConnections": 1, "hostAndPort": ["a:1", "b"]})", "admin", 0},
      {R"({"dropConnections": 1, "hostAndPort": ["a:x"]})", "admin", 9},
      {R"({"isdbgrid": 1})", "admin", 59},
      {R"({"atlasVersion": 1})", "admin", 59},
      {R"({"top": 1})", "x", 13},
      {R"({"createSearchIndexes": "c", "indexes": []})", "x", 31082},
      {R"({"dropSearchIndex": "c", "name": "i"})", "x", 31082},
      {R"({"updateSearchIndex": "c", "name": "i", "definition": {}})", "x", 31082},
      {R"({"listSearchIndexes": "c"})", "x", 31082},
      {R"({"listSearchIndexes": 1})", "x", 73},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$search": {}}]})", "x", 31082},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$vectorSearch": {}}]})", "x", 31082},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$listSearchIndexes": {}}]})", "x", 31082},
      {R"({"profile": null})", "x", 40414},
      {R"({"profile": 0, "sampleRate": 2})", "x", 2},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(node.Code(c.command, c.database), c.code) << c.command;
  }
}

TEST(ReplicaSet, IsInitiatedOnceAsItIs) {
  Node node;
  bson::Document first = node.Run(R"({"replSetInitiate": {}})", "admin");
  EXPECT_EQ(first["me"].AsString(), "localhost");
  Node other;
  const char* initiate = R"({"replSetInitiate": {"_id": "quire",
      "members": [{"_id": 3, "host": "db.example:27017", "priority": 1.0}],
      "writeConcernMajorityJournalDefault": true, "settings": {"electionTimeoutMillis": 500}}})";
  EXPECT_EQ(other.Code(initiate, "admin"), 0);
  EXPECT_EQ(other.Code(initiate, "admin"), 23);
  bson::Document reply = other.Run(R"({"replSetGetConfig": 1})", "admin");
  bson::View config = reply["config"].AsDocument();
  EXPECT_EQ(config["settings"].AsDocument()["electionTimeoutMillis"].AsInt32(), 500);
  EXPECT_EQ(config["settings"].AsDocument()["heartbeatTimeoutSecs"].AsInt32(), 10);
  bson::View member = config["members"].AsArray().front().value().AsDocument();
  EXPECT_EQ(member["host"].AsString(), "db.example:27017");
  EXPECT_EQ(member["votes"].AsInt32(), 1);
  bson::Document stored = other.Run(R"({"find": "system.replset"})", "local");
  bson::View batch = stored["cursor"].AsDocument()["firstBatch"].AsArray();
  EXPECT_EQ(bson::ToJson(batch.front().value()), bson::ToJson(reply["config"]));
}

TEST(ReplicaSet, IsNotInitiatedAsAnother) {
  Node node;
  for (const char* config : {
           R"({"members": [{"_id": 0, "host": "a"}]})",
           R"({"_id": "other", "members": [{"_id": 0, "host": "a"}]})",
           R"({"_id": "quire"})",
           R"({"_id": "quire", "members": []})",
           R"({"_id": "quire", "members": [1]})",
           R"({"_id": "quire", "members": [{"_id": 0}]})",
           R"({"_id": "quire", "members": [{"_id": 0, "host": "a"}, {"_id": 1, "host": "b"}]})",
           R"({"_id": "quire", "members": [{"_id": 0, "host": "a", "arbiterOnly": true}]})",
           R"({"_id": "quire", "members": [{"_id": 0, "host": "a", "tags": {"dc": "x"}}]})",
           R"({"_id": "quire", "members": [{"_id": 0, "host": "a", "other": 1}]})",
           R"({"_id": "quire", "members": [{"_id": 0, "host": "a"}], "configsvr": true})",
           R"({"_id": "quire", "members": [{"_id": 0, "host": "a"}], "settings": 1})",
           R"({"_id": "quire", "members": [{"_id": 0, "host": "a"}],
               "settings": {"electionTimeoutMillis": "x"}})",
           R"({"_id": "quire", "members": [{"_id": 0, "host": "a"}],
               "settings": {"getLastErrorModes": {"m": {"dc": 2}}}})",
       }) {
    EXPECT_EQ(node.Code(R"({"replSetInitiate": )" + std::string(config) + "}", "admin"), 23)
        << config;
  }
  EXPECT_EQ(node.Code(R"({"replSetInitiate": 1})", "admin"), 0);
}

TEST(Parameters, SetShowsWhatWas) {
  Node node;
  node.Run(R"({"setParameter": 1, "transactionLifetimeLimitSeconds": 30})", "admin");
  bson::Document was =
      node.Run(R"({"setParameter": 1, "transactionLifetimeLimitSeconds": 60})", "admin");
  EXPECT_EQ(was["was"].AsInt32(), 30);
  node.Run(R"({"setParameter": 1, "transactionLifetimeLimitSeconds": 5, "nosuch": 1})", "admin");
  bson::Document now =
      node.Run(R"({"getParameter": 1, "transactionLifetimeLimitSeconds": 1})", "admin");
  EXPECT_EQ(now["transactionLifetimeLimitSeconds"].AsInt32(), 60) << "all or nothing";
}

TEST(Top, NamespacesThatAreGoneMakeRoom) {
  Node node;
  constexpr int kMoreThanItKeeps = 10'001;
  for (int i = 0; i < kMoreThanItKeeps; ++i) {
    node.Run(R"({"find": "c)" + std::to_string(i) + R"("})");
  }
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  EXPECT_EQ(node.Batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [
      {"$collStats": {"latencyStats": {}}}, {"$project": {"n": "$latencyStats.writes.ops"}}]})"),
            R"([{"n":1}])");
}

TEST(Profile, KeepsOperationsInSystemProfile) {
  Node node;
  EXPECT_EQ(node.Code(R"({"profile": 2})"), 0);
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  node.Run(R"({"find": "c"})");
  node.Run(R"({"profile": 0})");
  node.Run(R"({"find": "c"})");
  bson::Document count = node.Run(R"({"count": "system.profile", "query": {"op": "query"}})");
  EXPECT_EQ(count["n"].AsInt32(), 1);
}

// The entries of system.profile, each as the values of some fields.
std::string Profiled(Node& node, std::string_view projection) {
  node.Run(R"({"profile": 0})");
  return node.Batch(R"({"find": "system.profile", "projection": )" + std::string(projection) + "}");
}

TEST(Profile, TellsOfWhatReachesACollection) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  node.Run(R"({"profile": 2})");
  node.Run(R"({"ping": 1})");
  node.Run(R"({"profile": -1})");
  node.Run(R"({"listCollections": 1})");
  node.Run(R"({"find": 1})");
  node.Run(R"({"count": "system.profile"})");
  node.Run(R"({"collStats": "c"})");
  node.Run(R"({"listIndexes": "c"})");
  EXPECT_EQ(Profiled(node, R"({"_id": 0, "op": 1, "ns": 1})"),
            R"([{"op":"command","ns":"test.system.profile"},{"op":"command","ns":"test.c"},)"
            R"({"op":"command","ns":"test.c"}])");
}

TEST(Profile, EveryStatementHasAnEntry) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 1}]})");
  node.Run(R"({"profile": 2})");
  node.Run(R"({"update": "c", "ordered": false, "updates": [
      {"q": {"a": 1}, "u": {"$set": {"b": 1}}, "multi": true},
      {"q": {"_id": 9}, "u": {"$set": {"b": 1}}, "upsert": true},
      {"q": {"_id": 1}, "u": {"$set": {"_id": 2}}}]})");
  node.Run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1},
      {"q": {}, "limit": 0}]})");
  EXPECT_EQ(Profiled(node, R"({"_id": 0, "op": 1, "command": 1, "docsExamined": 1, "nMatched": 1,
          "nModified": 1, "nUpserted": 1, "ndeleted": 1, "errCode": 1})"),
            R"([{"op":"update","command":{"q":{"a":1},"u":{"$set":{"b":1}},"multi":true,)"
            R"("upsert":false},"docsExamined":2,"nMatched":2,"nModified":2,"nUpserted":0},)"
            R"({"op":"update","command":{"q":{"_id":9},"u":{"$set":{"b":1}},"multi":false,)"
            R"("upsert":true},"docsExamined":0,"nMatched":0,"nModified":0,"nUpserted":1},)"
            R"({"op":"update","command":{"q":{"_id":1},"u":{"$set":{"_id":2}},"multi":false,)"
            R"("upsert":false},"docsExamined":1,"errCode":66},)"
            R"({"op":"remove","command":{"q":{"_id":1},"limit":1},"docsExamined":1,"ndeleted":1},)"
            R"({"op":"remove","command":{"q":{},"limit":0},"docsExamined":2,"ndeleted":2}])");
}

TEST(Profile, GetMoresHaveTheCommentOfTheirCursor) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
  node.Run(R"({"profile": 2})");
  bson::Document found = node.Run(R"({"find": "c", "batchSize": 1, "comment": "first"})");
  const std::string get_more = R"({"getMore": {"$numberLong": ")" +
                               std::to_string(found["cursor"].AsDocument()["id"].AsInt64()) +
                               R"("}, "collection": "c", "batchSize": 1)";
  node.Run(get_more + "}");
  node.Run(get_more + R"(, "comment": "own"})");
  EXPECT_EQ(Profiled(node, R"({"_id": 0, "op": 1, "command.comment": 1})"),
            R"([{"op":"query","command":{"comment":"first"}},)"
            R"({"op":"getmore","command":{"comment":"first"}},)"
            R"({"op":"getmore","command":{"comment":"own"}}])");
}

TEST(ValidateDBMetadata, AsksForNames) {
  struct Case {
    std::string_view asked;
    int code;
  };
  const std::string longest(10'000, 'x');
  const std::string any_length = R"("collection": ")" + longest + "\"";
  const Case kCases[] = {
      {R"("db": "$a")", 0},      {R"("db": "")", 28539},      {R"("db": "a.b")", 73},
      {R"("db": "a b")", 13280}, {R"("db": "a/b")", 13280},   {R"("db": "a\\b")", 13280},
      {any_length, 0},           {R"("collection": "")", 73}, {R"("collection": ".a")", 73},
  };
  Node node;
  for (const Case& c : kCases) {
    EXPECT_EQ(node.Code(R"({"validateDBMetadata": 1, "apiParameters": {"version": "1"}, )" +
                        std::string(c.asked) + "}"),
              c.code)
        << c.asked;
  }
}

TEST(Profile, EntriesTellWhatWasDone) {
  Node node;
  node.Run(R"({"profile": 2})");
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})");
  bson::Document found = node.Run(R"({"find": "c", "batchSize": 2})");
  std::string id = std::to_string(found["cursor"].AsDocument()["id"].AsInt64());
  node.Run(R"({"getMore": {"$numberLong": ")" + id + R"("}, "collection": "c"})");
  node.Run(R"({"findAndModify": "c", "query": {"_id": 3}, "remove": true})");
  EXPECT_EQ(Profiled(node, R"({"_id": 0, "op": 1, "ninserted": 1, "nreturned": 1, "cursorid": 1,
                "cursorExhausted": 1, "originatingCommand.find": 1, "ndeleted": 1})"),
            R"([{"op":"insert","ninserted":3},{"op":"query","cursorid":)" + id +
                R"(,"nreturned":2},{"op":"getmore","originatingCommand":{"find":"c"},"cursorid":)" +
                id + R"(,"cursorExhausted":true,"nreturned":1},{"op":"command","ndeleted":1}])");
}

TEST(Profile, ClientsAreNamedByTheirHosts) {
  Node node;
  node.Run(R"({"profile": 2})");
  for (std::string_view remote : {"127.0.0.1:50000", "[::1]:50000", "/tmp/quire.sock"}) {
    request::Client client{std::string(remote)};
    node.RunAs(client, R"({"find": "c"})", "test");
  }
  EXPECT_EQ(Profiled(node, R"({"_id": 0, "client": 1})"),
            R"([{"client":"127.0.0.1"},{"client":"::1"},{"client":"/tmp/quire.sock"}])");
}

TEST(Profile, LongCommandsAreCut) {
  Node node;
  node.Run(R"({"profile": 2})");
  std::string text;
  for (int i = 0; i < 30000; ++i) {
    text += "\u00e9";
  }
  node.Run(R"({"find": "c", "filter": {"a": ")" + text + R"("}, "comment": "long"})");
  node.Run(R"({"profile": 0})");
  bson::Document entry = node.Run(R"({"find": "system.profile"})");
  bson::View command = entry["cursor"]
                           .AsDocument()["firstBatch"]
                           .AsArray()
                           .front()
                           .value()
                           .AsDocument()["command"]
                           .AsDocument();
  EXPECT_TRUE(command["$truncated"].AsString().ends_with("\u00e9..."))
      << command["$truncated"].AsString().substr(0, 80);
  EXPECT_EQ(command["comment"].AsString(), "long");
}

int Level(Node& node) {
  bson::Document reply = node.Run(R"({"profile": -1})");
  return reply["was"].AsInt32();
}

TEST(Profile, ItsCollectionIsKept) {
  Node node;
  node.Run(R"({"profile": 2})");
  EXPECT_EQ(node.Code(R"({"drop": "system.profile"})"), 20);
  EXPECT_EQ(node.Code(R"({"insert": "system.profile", "documents": [{}]})"), 73);
  EXPECT_EQ(node.Code(R"({"delete": "system.profile", "deletes": [{"q": {}, "limit": 0}]})"), 73);
  EXPECT_EQ(node.Code(R"({"dropDatabase": 1})"), 0);
  EXPECT_EQ(Level(node), 0);
  node.Run(R"({"create": "system.profile"})");
  EXPECT_EQ(node.Code(R"({"profile": 1})"), 48) << "not capped";
  EXPECT_EQ(Level(node), 0);
  EXPECT_EQ(node.Code(R"({"drop": "system.profile"})"), 0);
}

TEST(Fsync, LockHoldsWritesBack) {
  Node node;
  bson::Document locked = node.Run(R"({"fsync": 1, "lock": true})", "admin");
  EXPECT_EQ(locked["lockCount"].AsInt64(), 1);
  std::thread writer(
      [&] { EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{"_id": 1}]})"), 0); });
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":0,"ok":1.0})");
  const bson::Document current = node.Run(R"({"currentOp": 1})", "admin");
  EXPECT_TRUE(current["fsyncLock"].AsBool());
  const bson::Document held = node.Run(R"({"lockInfo": 1})", "admin");
  const bson::View lock = held["lockInfo"].AsArray()["0"].AsDocument();
  EXPECT_EQ(lock["granted"].AsArray()["0"].AsDocument()["mode"].AsString(), "S");
  EXPECT_EQ(lock["pending"].AsArray().Count(), 0);
  EXPECT_EQ(node.Code(R"({"fsyncUnlock": 1})", "admin"), 0);
  EXPECT_EQ(node.Json(R"({"lockInfo": 1})", "admin"), R"({"lockInfo":[],"ok":1.0})");
  const bson::Document after = node.Run(R"({"currentOp": 1})", "admin");
  EXPECT_TRUE(after["fsyncLock"].missing());
  writer.join();
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":1,"ok":1.0})");
}

TEST(Top, CountsByNamespace) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  node.Run(R"({"find": "c"})");
  bson::Document top = node.Run(R"({"top": 1})", "admin");
  bson::View totals = top["totals"].AsDocument();
  EXPECT_EQ(totals["test.c"].AsDocument()["insert"].AsDocument()["count"].AsInt64(), 1);
  EXPECT_EQ(totals["test.c"].AsDocument()["total"].AsDocument()["count"].AsInt64(), 2);
}

}  // namespace
}  // namespace quire::command
