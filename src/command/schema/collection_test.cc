// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "command/testing/harness.h"

namespace quire::command {
namespace {

TEST(Clustered, KeepsDocumentsInTheOrderOfTheirIds) {
  Node node;
  ASSERT_EQ(node.Code(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true,
      "name": "by id"}})"),
            0);
  node.Run(R"({"insert": "c", "documents": [{"_id": 3}, {"_id": 1}, {"_id": 2}]})");
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1},{"_id":2},{"_id":3}])");
  EXPECT_EQ(node.Batch(R"({"find": "c", "sort": {"$natural": -1}})"),
            R"([{"_id":3},{"_id":2},{"_id":1}])");
  EXPECT_EQ(node.Batch(R"({"listIndexes": "c"})"),
            R"([{"v":2,"key":{"_id":1},"name":"by id","unique":true,"clustered":true}])");
  EXPECT_EQ(node.Code(R"({"dropIndexes": "c", "index": "by id"})"), 5979800);
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{"_id": 1}]})"), 0);
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":3,"ok":1.0})");
}

TEST(Clustered, ExpiresByItsIds) {
  Node node;
  ASSERT_EQ(node.Code(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true},
      "expireAfterSeconds": 10})"),
            0);
  node.Run(R"({"insert": "c", "documents": [{"_id": {"$date": "2001-01-01T00:00:00Z"}},
      {"_id": {"$date": "2999-01-01T00:00:00Z"}}, {"_id": 1}]})");
  node.engine().RunTtlPass();
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":2,"ok":1.0})");
  EXPECT_EQ(node.Code(R"({"collMod": "c", "expireAfterSeconds": "off"})"), 0);
}

TEST(Ttl, CollectionsComeAndGoDuringAPass) {
  Node node;
  std::atomic<bool> done = false;
  std::thread changes([&] {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(node.Code(R"({"createIndexes": "c", "indexes": [
          {"key": {"at": 1}, "name": "at", "expireAfterSeconds": 0}]})"),
                0);
      EXPECT_EQ(node.Code(R"({"drop": "c"})"), 0);
    }
    done = true;
  });
  while (!done) {
    node.engine().RunTtlPass();
  }
  changes.join();
}

TEST(Create, ChecksItsOptions) {
  struct Case {
    std::string_view options;
    int code;
  };
  constexpr Case kCases[] = {
      {R"("clusteredIndex": {"key": {"a": 1}, "unique": true})", 197},
      {R"("clusteredIndex": {"key": {"_id": 1}, "unique": false})", 5979700},
      {R"("clusteredIndex": {"key": {"_id": 1}, "unique": true, "v": 1})", 5979704},
      {R"("clusteredIndex": {"key": {"_id": 1}})", 40414},
      {R"("clusteredIndex": true)", 5979703},
      {R"("clusteredIndex": null)", 14},
      {R"("clusteredIndex": {"key": {"_id": 1}, "unique": true}, "capped": true, "size": 9)",
       6049200},
      {R"("expireAfterSeconds": 10)", 72},
      {R"("idIndex": {"key": {"_id": 1}})", 9},
      {R"("idIndex": {"key": {"a": 1}, "name": "a"})", 2},
      {R"("idIndex": {"key": {"_id": 1}, "name": "_id_", "sparse": true})", 197},
      {R"("idIndex": {"key": {"_id": 1}, "name": "_id_"})", 0},
      {R"("capped": true, "size": 4096, "max": 2147483647)", 0},
      {R"("capped": true)", 72},
  };
  Node node;
  for (const Case& c : kCases) {
    EXPECT_EQ(node.Code(R"({"create": "c", )" + std::string(c.options) + "}"), c.code) << c.options;
    node.Run(R"({"drop": "c"})");
  }
}

TEST(Create, NamesTheBoundThatASizeBreaks) {
  struct Case {
    std::string_view size;
    std::string_view message;
  };
  constexpr Case kCases[] = {
      {"0", "BSON field 'size' value must be >= 1, actual value '0'"},
      {"-5", "BSON field 'size' value must be >= 1, actual value '-5'"},
      {"1125899906842625",
       "BSON field 'size' value must be <= 1125899906842624, actual value '1125899906842625'"},
  };
  Node node;
  for (const Case& c : kCases) {
    const bson::Document reply =
        node.Run(R"({"create": "c", "capped": true, "size": )" + std::string(c.size) + "}");
    EXPECT_EQ(reply["code"].AsInt32(), 2);
    EXPECT_EQ(reply["errmsg"].AsString(), c.message);
  }
  EXPECT_EQ(node.Code(R"({"create": "c", "capped": true, "size": 1125899906842624})"), 0);
}

TEST(Create, TheSameAgainIsFine) {
  Node node;
  constexpr std::string_view kCreate = R"({"create": "c", "capped": true, "size": 4096})";
  EXPECT_EQ(node.Code(kCreate), 0);
  EXPECT_EQ(node.Code(kCreate), 0);
  EXPECT_EQ(node.Code(R"({"create": "c"})"), 48);
}

TEST(Capped, IsMadeFromACollection) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
  EXPECT_EQ(node.Code(R"({"cloneCollectionAsCapped": "c", "toCollection": "d", "size": 4096})"), 0);
  EXPECT_EQ(node.Batch(R"({"find": "d"})"), R"([{"_id":1},{"_id":2}])");
  EXPECT_EQ(node.Code(R"({"cloneCollectionAsCapped": "c", "toCollection": "d", "size": 4096})"),
            48);
  EXPECT_EQ(node.Code(R"({"cloneCollectionAsCapped": "no", "toCollection": "e", "size": 1})"), 26);
  EXPECT_EQ(node.Code(R"({"cloneCollectionAsCapped": "c", "toCollection": "e"})"), 72);
  EXPECT_EQ(node.Code(R"({"cloneCollectionAsCapped": "c", "toCollection": 1, "size": 1})"), 14);
  EXPECT_EQ(node.Code(R"({"collMod": "d", "cappedMax": 1})"), 0);
  node.Run(R"({"insert": "d", "documents": [{"_id": 3}]})");
  EXPECT_EQ(node.Batch(R"({"find": "d"})"), R"([{"_id":3}])");
  EXPECT_EQ(node.Code(R"({"collMod": "d", "cappedSize": 0})"), 2);
}

TEST(Clustered, TheClusteredIndexIsNotCounted) {
  Node node;
  node.Run(R"({"create": "c", "clusteredIndex": {"key": {"_id": 1}, "unique": true}})");
  bson::Document made =
      node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
  EXPECT_EQ(made["numIndexesBefore"].AsInt32(), 0);
  EXPECT_EQ(made["numIndexesAfter"].AsInt32(), 1);
  bson::Document stats = node.Run(R"({"collStats": "c"})");
  EXPECT_EQ(stats["nindexes"].AsInt32(), 1);
  bson::Document dropped = node.Run(R"({"dropIndexes": "c", "index": "a_1"})");
  EXPECT_EQ(dropped["nIndexesWas"].AsInt32(), 1);
}

TEST(CollMod, AnIndexBecomesUnique) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 1}]})");
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
  constexpr std::string_view kUnique =
      R"({"collMod": "c", "index": {"name": "a_1", "unique": true}})";
  EXPECT_EQ(node.Code(kUnique), 72);
  EXPECT_EQ(node.Json(R"({"collMod": "c", "index": {"name": "a_1", "prepareUnique": true}})"),
            R"({"prepareUnique_old":false,"prepareUnique_new":true,"ok":1.0})");
  bson::Document third = node.Run(R"({"insert": "c", "documents": [{"_id": 3, "a": 1}]})");
  EXPECT_EQ(third["n"].AsInt32(), 0);
  bson::Document refused = node.Run(kUnique);
  EXPECT_EQ(refused["code"].AsInt32(), 359);
  EXPECT_EQ(bson::ToJson(refused["violations"]), R"([{"ids":[1,2]}])");
  node.Run(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})");
  EXPECT_EQ(node.Json(kUnique), R"({"unique_new":true,"ok":1.0})");
  bson::Document again = node.Run(R"({"insert": "c", "documents": [{"_id": 2, "a": 1}]})");
  EXPECT_EQ(again["n"].AsInt32(), 0);
  EXPECT_EQ(
      node.Code(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"b": 1}}}]})"), 0);
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"a": 1}, "hint": "a_1"})"),
            R"([{"_id":1,"a":1,"b":1}])");
  bson::Document valid = node.Run(R"({"validate": "c"})");
  EXPECT_TRUE(valid["valid"].AsBool());
}

TEST(CollMod, IsDoneAsAWholeOrNotAtAll) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
  const auto index = [&] {
    const bson::Document listed = node.Run(R"({"listIndexes": "c"})");
    return bson::ToJson(listed["cursor"].AsDocument()["firstBatch"].AsArray()["1"]);
  };
  const std::string before = index();
  EXPECT_NE(node.Code(R"({"collMod": "c", "index": {"name": "a_1", "hidden": true},
                          "validationLevel": "none"})"),
            0);
  EXPECT_EQ(index(), before);
  node.Run(R"({"collMod": "c", "index": {"name": "a_1", "prepareUnique": true}})");
  const std::string prepared = index();
  EXPECT_EQ(node.Json(R"({"collMod": "c", "index": {"name": "a_1", "unique": true, "hidden": true},
                          "dryRun": true})"),
            R"({"ok":1.0})");
  EXPECT_EQ(index(), prepared);
}

struct CovarianceCase {
  const char* documents;
  const char* result;  // of every row
};
const CovarianceCase kCovariances[] = {
    {R"({"x": 1, "y": 2}, {"x": 3, "y": 6})", "2.0"},
    {R"({"x": 1, "y": 2}, {"x": {"$numberDouble": "Infinity"}, "y": 4}, {"x": 3, "y": 6})",
     R"({"$numberDouble":"Infinity"})"},
    {R"({"x": 1, "y": 2}, {"x": 2, "y": {"$numberDouble": "-Infinity"}}, {"x": 3, "y": 6})",
     R"({"$numberDouble":"-Infinity"})"},
    // One finite pair deviates from nothing, none has no covariance.
    {R"({"x": 1, "y": 2}, {"x": {"$numberDouble": "Infinity"}, "y": 4})", "0.0"},
    {R"({"x": {"$numberDouble": "Infinity"}, "y": 4})", "null"},
};

TEST(Window, CovarianceWithInfinities) {
  for (const CovarianceCase& c : kCovariances) {
    Node node;
    node.Run(R"({"insert": "c", "documents": [)" + std::string(c.documents) + "]}");
    EXPECT_EQ(node.Batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [
        {"$setWindowFields": {"output": {"r": {"$covariancePop": ["$x", "$y"]}}}},
        {"$limit": 1}, {"$project": {"_id": 0, "r": 1}}]})"),
              R"([{"r":)" + std::string(c.result) + "}]")
        << c.documents;
  }
}

TEST(Collection, ClusterCatalogTellsOfTheDatabaseOrOfAll) {
  Node node;
  node.Run(R"({"create": "c", "capped": true, "size": 4096})");
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  EXPECT_EQ(node.Code(R"({"insert": "other", "documents": [{"_id": 1}]})", "db2"), 0);
  auto list = [&](const std::string& spec, std::string_view database) {
    bson::Document reply = node.Run(R"({"aggregate": 1, "cursor": {}, "pipeline": [
        {"$listClusterCatalog": )" + spec +
                                        R"(}, {"$unset": ["info.uuid", "idIndex"]},
        {"$match": {"db": {"$in": ["test", "db2"]}}}, {"$sort": {"ns": 1}}]})",
                                    database);
    return bson::ToJson(reply["cursor"].AsDocument()["firstBatch"]);
  };
  EXPECT_EQ(
      list("{}", "test"),
      R"([{"ns":"test.c","db":"test","type":"collection","options":{"capped":true,"size":4096},)"
      R"("info":{"readOnly":false},"sharded":false},)"
      R"({"ns":"test.system.views","db":"test","type":"collection","options":{},)"
      R"("info":{"readOnly":false},"sharded":false},)"
      R"({"ns":"test.v","db":"test","type":"view","options":{"viewOn":"c","pipeline":[]},)"
      R"("info":{"readOnly":true},"sharded":false}])");
  EXPECT_EQ(list(R"({"shards": true, "balancingConfiguration": true})", "db2"),
            R"([{"ns":"db2.other","db":"db2","type":"collection","options":{},)"
            R"("info":{"readOnly":false},"sharded":false,"shards":[]}])");
  EXPECT_NE(list("{}", "admin").find("db2.other"), std::string::npos);
  EXPECT_EQ(list("{}", "nosuch"), "[]");
}

TEST(Collection, ClusterCatalogRefuses) {
  Node node;
  const std::pair<const char*, int> cases[] = {
      {R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listClusterCatalog": 1}]})", 9621302},
      {R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listClusterCatalog": {"shards": 1}}]})",
       14},
      {R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listClusterCatalog": {"x": true}}]})",
       40415},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$listClusterCatalog": {}}]})", 9621301},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [
          {"$facet": {"f": [{"$listClusterCatalog": {}}]}}]})",
       9621301},
      {R"({"aggregate": 1, "cursor": {}, "pipeline": [
          {"$facet": {"f": [{"$listClusterCatalog": {}}]}}]})",
       40600},
      {R"({"aggregate": 1, "cursor": {}, "pipeline": [
          {"$listClusterCatalog": {}}, {"$listClusterCatalog": {}}]})",
       40602},
      {R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$match": {}}, {"$listClusterCatalog": {}}]})",
       73},
      {R"({"aggregate": 1, "cursor": {}, "pipeline": [{"$listClusterCatalog": {}}],
          "readConcern": {"level": "majority"}})",
       72},
  };
  for (const auto& [command, code] : cases) {
    EXPECT_EQ(node.Code(command), code) << command;
  }
}

TEST(Create, ViewsIgnoreOptionsOfCollections) {
  Node node;
  EXPECT_EQ(node.Code(R"({"create": "v", "viewOn": "c", "pipeline": [null, {"$match": {}}, null],
      "capped": true, "size": 4096, "validator": {"a": 1}, "storageEngine": {}})"),
            0);
  EXPECT_EQ(node.Batch(R"({"listCollections": 1, "filter": {"name": "v"}})"),
            R"([{"name":"v","type":"view","options":{"viewOn":"c","pipeline":[{"$match":{}}]},)"
            R"("info":{"readOnly":true}}])");
  EXPECT_EQ(node.Json(R"({"drop": "system.views"})"),
            R"({"nIndexesWas":1,"ns":"test.system.views","ok":1.0})");
  EXPECT_EQ(node.Batch(R"({"listCollections": 1})"), "[]");
}

TEST(Create, RefusesViewsThatCannotBe) {
  struct Case {
    std::string_view options;
    int code;
  };
  constexpr Case kCases[] = {
      {R"("viewOn": "")", 2},
      {R"("viewOn": "$c")", 73},
      {R"("viewOn": ".c")", 73},
      {R"("viewOn": "c", "pipeline": [1])", 14},
      {R"("viewOn": "c", "pipeline": [{"$documents": []}])", 73},
      {R"("viewOn": "c", "pipeline": [{"$currentOp": {}}])", 73},
      {R"("viewOn": "c", "pipeline": [{"$listSessions": {}}])", 73},
      {R"("viewOn": "c", "pipeline": [{"$listLocalSessions": {}}])", 73},
      {R"("viewOn": "c", "pipeline": [{"$out": "d"}])", 167},
      {R"("viewOn": "c", "storageEngine": {"none": {}})", 72},
      {R"("viewOn": "c", "changeStreamPreAndPostImages": {"enabled": true})", 72},
  };
  Node node;
  node.Run(R"({"create": "v", "viewOn": "c"})");
  for (const Case& c : kCases) {
    std::string options(c.options);
    EXPECT_EQ(node.Code(R"({"create": "w", )" + options + "}"), c.code) << options;
    if (options.find("storageEngine") == std::string::npos) {
      EXPECT_EQ(node.Code(R"({"collMod": "v", )" + options + "}"), c.code) << options;
    }
  }
}

TEST(Create, ChecksOptionsOfTheStorageEngine) {
  struct Case {
    std::string_view options;
    int code;
  };
  constexpr Case kCases[] = {
      {R"({})", 0},
      {R"({"wiredTiger": {"configString": ""}})", 0},
      {R"x({"wiredTiger": {"configString": "block_compressor=zlib,log=(enabled=false)"}})x", 0},
      {R"({"wiredTiger": {"configString": "app_metadata=\"x,y=1\""}})", 0},
      {R"({"wiredTiger": {"configString": "none=1"}})", 2},
      {R"({"wiredTiger": {"configString": "log=(enabled"}})", 2},
      {R"({"wiredTiger": {"configString": "a\u0000b"}})", 9},
      {R"({"wiredTiger": {"configString": 1}})", 14},
      {R"({"wiredTiger": {"other": ""}})", 72},
      {R"({"wiredTiger": ""})", 2},
      {R"({"none": {}})", 72},
  };
  Node node;
  for (const Case& c : kCases) {
    std::string options(c.options);
    EXPECT_EQ(node.Code(R"({"create": "c", "storageEngine": )" + options + "}"), c.code) << options;
    node.Run(R"({"drop": "c"})");
    EXPECT_EQ(
        node.Code(R"({"create": "c", "indexOptionDefaults": {"storageEngine": )" + options + "}}"),
        c.code)
        << options;
    node.Run(R"({"drop": "c"})");
  }
  EXPECT_EQ(node.Code(R"({"create": "c", "indexOptionDefaults": {"x": 1}})"), 40415);
  EXPECT_EQ(node.Code(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1",
      "storageEngine": {"none": {}}}]})"),
            72);
}

TEST(Create, SwitchedOffOptionsAreNone) {
  Node node;
  node.Run(R"({"create": "c"})");
  EXPECT_EQ(node.Code(R"({"create": "c", "storageEngine": {}, "indexOptionDefaults": {},
      "changeStreamPreAndPostImages": {"enabled": false}, "collation": {"locale": "simple"}})"),
            0);
  EXPECT_EQ(node.Code(R"({"create": "c", "validationLevel": "strict"})"), 48);
  EXPECT_EQ(node.Code(R"({"create": "d", "collation": {}})"), 40414);
  EXPECT_EQ(node.Code(R"({"create": "d", "expireAfterSeconds": "1",
      "timeseries": {"timeField": "t"}})"),
            14);
}

TEST(CollMod, OnlyTimeSeriesHaveTheirOptions) {
  Node node;
  node.Run(R"({"create": "c"})");
  node.Run(R"({"create": "v", "viewOn": "c"})");
  const std::string options = R"(, "timeseries": {"granularity": "hours"}})";
  EXPECT_EQ(node.Code(R"({"collMod": "none")" + options), 26);
  EXPECT_EQ(node.Code(R"({"collMod": "c")" + options), 72);
  EXPECT_EQ(node.Code(R"({"collMod": "v")" + options), 72);
  EXPECT_EQ(node.Code(R"({"collMod": "c", "timeseries": 1})"), 14);
}

TEST(Create, APipelineIsAsLongAsItsStages) {
  Node node;
  const std::string longest(15'999'974, 'x');
  const std::string view = R"({"create": "v", "viewOn": "c", "pipeline": [{"$match": {"a": ")";
  EXPECT_EQ(node.Code(view + longest + R"(x"}}]})"), 195);
  EXPECT_EQ(node.Code(view + longest + R"("}}]})"), 0);
}

TEST(ListIndexes, OfTheViewsOfADatabase) {
  Node node;
  EXPECT_EQ(node.Code(R"({"listIndexes": "system.views"})"), 26);
  node.Run(R"({"create": "v", "viewOn": "c"})");
  EXPECT_EQ(node.Batch(R"({"listIndexes": "system.views"})"),
            R"([{"v":2,"key":{"_id":1},"name":"_id_"}])");
  EXPECT_EQ(node.Code(R"({"listIndexes": "v"})"), 166);
}

TEST(Create, ChecksNames) {
  Node node;
  EXPECT_EQ(node.Code(R"({"create": "system.views"})"), 0);
  EXPECT_EQ(node.Code(R"({"create": "system.users"})"), 0);
  EXPECT_EQ(node.Code(R"({"create": "system.other"})"), 73);
  EXPECT_EQ(node.Code(R"({"create": ")" + std::string(251, 'x') + R"("})"), 73);
  EXPECT_EQ(node.Code(R"({"create": "system.js", "validator": {"a": 1}})"), 72);
  EXPECT_EQ(node.Code(R"({"create": "c", "validator": {"a": {"$near": [0, 0]}}})"), 5626500);
  EXPECT_EQ(node.Code(R"({"create": "c"})", "TEST"), 13297);
}

TEST(Capped, ConversionChecksItsSize) {
  Node node;
  node.Run(R"({"create": "c"})");
  EXPECT_EQ(node.Code(R"({"convertToCapped": "c", "size": "x"})"), 72);
  EXPECT_EQ(node.Code(R"({"convertToCapped": "c", "size": null})"), 72);
  EXPECT_EQ(node.Code(R"({"convertToCapped": "c", "size": {"$numberDouble": "Infinity"}})"), 2);
  EXPECT_EQ(node.Code(R"({"convertToCapped": "c", "size": {"$numberDecimal": "0.5"}})"), 72);
  EXPECT_EQ(node.Code(R"({"convertToCapped": "c", "size": {"$numberDecimal": "0.6"}})"), 0);
  EXPECT_EQ(node.Code(R"({"convertToCapped": "c", "size": 5000})"), 0);
  EXPECT_EQ(node.Code(R"({"cloneCollectionAsCapped": "c", "toCollection": "system.x",
      "size": 5000})"),
            73);
}

TEST(Rename, ChecksNames) {
  struct Case {
    std::string_view command;
    int code;
  };
  constexpr Case kCases[] = {
      {R"({"renameCollection": null, "to": "test.d"})", 40414},
      {R"({"renameCollection": "te$t.c", "to": "test.d"})", 20},
      {R"({"renameCollection": "test.c", "to": "local.oplog.x"})", 20},
      {R"({"renameCollection": "test.c", "to": "Test.d"})", 13297},
      {R"({"renameCollection": "test.c", "to": "test.v", "dropTarget": true})", 48},
      {R"({"renameCollection": "test.c", "to": "test.d"})", 0},
  };
  Node node;
  node.Run(R"({"create": "c"})");
  node.Run(R"({"create": "v", "viewOn": "c"})");
  for (const Case& c : kCases) {
    EXPECT_EQ(node.Code(c.command, "admin"), c.code) << c.command;
  }
}

TEST(ListCollections, TheLastBatchIsKnown) {
  Node node;
  node.Run(R"({"create": "c"})");
  node.Run(R"({"create": "d"})");
  auto id = [&](std::string_view command) {
    bson::Document reply = node.Run(command);
    return reply["cursor"].AsDocument()["id"].AsInt64();
  };
  EXPECT_EQ(id(R"({"listCollections": 1, "cursor": {"batchSize": 2}})"), 0);
  EXPECT_NE(id(R"({"listCollections": 1, "cursor": {"batchSize": 1}})"), 0);
}

TEST(Capped, ConversionNeedsRoomForATemporaryName) {
  Node node;
  const std::string longest(225, 'x');
  for (const std::string& name : {longest, longest + "x"}) {
    node.Run(R"({"create": ")" + name + R"("})");
  }
  EXPECT_EQ(node.Code(R"({"convertToCapped": ")" + longest + R"(", "size": 5000})"), 0);
  EXPECT_EQ(node.Code(R"({"convertToCapped": ")" + longest + R"(x", "size": 5000})"), 73);
}

TEST(Compact, ReadsItsFields) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  EXPECT_EQ(node.Code(R"({"compact": "c", "force": 1})"), 14);
  EXPECT_EQ(node.Code(R"({"compact": "c", "freeSpaceTargetMB": 0})"), 2);
  EXPECT_EQ(node.Code(R"({"compact": "c", "other": 1})"), 40415);
  EXPECT_EQ(node.Json(R"({"compact": "c", "freeSpaceTargetMB": 1000})"),
            R"({"bytesFreed":0,"ok":1.0})");
  bson::Document dry = node.Run(R"({"compact": "c", "dryRun": true})");
  EXPECT_TRUE(dry.view().Has("estimatedBytesFreed"));
}

TEST(Validator, KnowsTheTime) {
  Node node;
  node.Run(R"({"create": "c", "validator": {"$expr": {"$lt": ["$d", "$$NOW"]}}})");
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "d": {"$date": "2001-01-01T00:00:00Z"}}]})");
  for (const char* refused :
       {R"({"insert": "c", "documents": [{"_id": 2, "d": {"$date": "2101-01-01T00:00:00Z"}}]})",
        R"({"update": "c", "updates":
            [{"q": {"_id": 1}, "u": {"$set": {"d": {"$date": "2101-01-01T00:00:00Z"}}}}]})"}) {
    bson::Document reply = node.Run(refused);
    ASSERT_TRUE(reply["writeErrors"].is_array()) << refused;
    EXPECT_EQ(reply["writeErrors"].AsArray()["0"].AsDocument()["code"].AsInt32(), 121) << refused;
  }
  EXPECT_EQ(node.Batch(R"({"find": "c", "projection": {"_id": 1}})"), R"([{"_id":1}])");
}

}  // namespace
}  // namespace quire::command
