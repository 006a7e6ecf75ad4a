// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <thread>

#include "command/testing/harness.h"

namespace quire::command {
namespace {

std::string Open(Node& node, std::string_view target, std::string_view pipeline,
                 bson::Document* reply, std::string_view database = "test") {
  *reply = node.Run(R"({"aggregate": )" + std::string(target) + R"(, "pipeline": )" +
                        std::string(pipeline) + R"(, "cursor": {}})",
                    database);
  return bson::ToJson(*reply);
}

class Watcher {
 public:
  Watcher(Node& node, std::string_view pipeline, std::string_view target = "\"c\"",
          std::string_view database = "test")
      : node_(node), database_(database) {
    bson::Document reply;
    std::string text = Open(node, target, pipeline, &reply, database);
    EXPECT_EQ(reply["ok"].AsDouble(), 1) << text;
    Take(reply, "firstBatch");
  }

  // The next batch: `show(event)` of each, with spaces between.
  template <typename F>
  std::string Events(F show) {
    if (batch_.empty() && id_ != 0) {
      bson::Document reply =
          node_.Run(R"({"getMore": {"$numberLong": ")" + std::to_string(id_) +
                        R"("}, "collection": ")" + collection_ + R"(", "maxTimeMS": 1})",
                    database_);
      if (reply["ok"].AsDouble() != 1) {
        id_ = 0;
        bson::Value labels = reply["errorLabels"];
        return "error " + std::to_string(reply["code"].AsInt32()) +
               (labels.missing() ? "" : " " + bson::ToJson(labels));
      }
      Take(reply, "nextBatch");
    }
    std::string out;
    for (const bson::Document& event : batch_) {
      out += (out.empty() ? "" : " ") + show(event.view());
      last_ = event;
    }
    batch_.clear();
    return out;
  }
  std::string Types() {
    return Events([](bson::View e) { return std::string(e["operationType"].AsString()); });
  }
  std::string Field(std::string_view name) {
    return Events([&](bson::View e) { return bson::ToJson(e[name]); });
  }

  const bson::Document& last() const { return last_; }
  std::string token() const { return bson::ToJson(last_["_id"]); }
  std::string after_batch() const { return after_batch_; }
  int64_t id() const { return id_; }

 private:
  void Take(const bson::Document& reply, std::string_view field) {
    bson::View cursor = reply["cursor"].AsDocument();
    id_ = cursor["id"].AsInt64();
    std::string_view ns = cursor["ns"].AsString();
    collection_ = ns.substr(ns.find('.') + 1);
    after_batch_ = bson::ToJson(cursor["postBatchResumeToken"]);
    for (const bson::Element& e : cursor[field].AsArray()) {
      batch_.emplace_back(e.value().AsDocument());
    }
  }

  Node& node_;
  std::string database_;
  std::string collection_;
  int64_t id_ = 0;
  std::vector<bson::Document> batch_;
  bson::Document last_;
  std::string after_batch_;
};

void Insert(Node& node, int id, std::string_view collection = "c") {
  EXPECT_EQ(node.Code(R"({"insert": ")" + std::string(collection) + R"(", "documents": [{"_id": )" +
                      std::to_string(id) + "}]}"),
            0);
}

void Update(Node& node, std::string_view query, std::string_view update) {
  EXPECT_EQ(node.Code(R"({"update": "c", "updates": [{"q": )" + std::string(query) + R"(, "u": )" +
                      std::string(update) + "}]}"),
            0);
}

constexpr char kPlain[] = R"([{"$changeStream": {}}])";

TEST(ChangeStream, ShowsChangesOfDocuments) {
  Node node;
  Watcher all(node, kPlain);
  EXPECT_EQ(all.Types(), "");
  Insert(node, 1);
  Insert(node, 9, "other");
  Update(node, R"({"_id": 1})", R"({"$set": {"a.b": 1}})");
  Update(node, R"({"_id": 1})", R"({"$set": {"a.b": 1}})");  // changes nothing
  Update(node, R"({"_id": 1})", R"({"x": 1})");
  EXPECT_EQ(node.Code(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"), 0);
  EXPECT_EQ(all.Types(), "insert update replace delete");
  EXPECT_EQ(all.Types(), "");
}

TEST(ChangeStream, EventsHaveTheirFields) {
  Node node;
  Watcher stream(node, kPlain);
  Insert(node, 1);
  auto names = [](bson::View e) {
    std::string out;
    for (const bson::Element& field : e) {
      out += std::string(field.name()) + ",";
    }
    return out;
  };
  EXPECT_EQ(stream.Events(names),
            "_id,operationType,clusterTime,wallTime,fullDocument,ns,documentKey,");
  Update(node, R"({"_id": 1})", R"({"$set": {"a": 1}, "$unset": {"b": 1}})");
  EXPECT_EQ(stream.Events(names),
            "_id,operationType,clusterTime,wallTime,ns,documentKey,updateDescription,");
  EXPECT_EQ(bson::ToJson(stream.last()["updateDescription"]),
            R"({"updatedFields":{"a":1},"removedFields":[],"truncatedArrays":[]})");
}

TEST(ChangeStream, ScopesAreCollectionDatabaseAndNode) {
  Node node;
  Watcher database(node, kPlain, "1");
  Watcher everything(node, R"([{"$changeStream": {"allChangesForCluster": true}}])", "1", "admin");
  Insert(node, 1, "a");
  node.Run(R"({"insert": "b", "documents": [{"_id": 2}]})", "second");
  node.Run(R"({"insert": "b", "documents": [{"_id": 3}]})", "admin");
  EXPECT_EQ(database.Field("documentKey"), R"({"_id":1})");
  EXPECT_EQ(everything.Field("documentKey"), R"({"_id":1} {"_id":2})");
  node.Run(R"({"dropDatabase": 1})");
  EXPECT_EQ(database.Types(), "drop dropDatabase invalidate");
  EXPECT_EQ(database.id(), 0);
  EXPECT_EQ(everything.Types(), "drop dropDatabase");
  EXPECT_NE(everything.id(), 0);
}

TEST(ChangeStream, DropAndRenameInvalidateACollectionsStream) {
  Node node;
  Insert(node, 1);
  Watcher stream(node, kPlain);
  Watcher target(node, kPlain, "\"d\"");
  node.Run(R"({"renameCollection": "test.c", "to": "test.d"})", "admin");
  EXPECT_EQ(stream.Types(), "rename invalidate");
  EXPECT_EQ(stream.id(), 0);
  EXPECT_EQ(target.Types(), "rename invalidate");
  std::string token = stream.token();
  EXPECT_EQ(
      node.Code(
          R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$changeStream": {"resumeAfter": )" +
          token + "}}]}"),
      260);
  Insert(node, 5);
  Watcher again(node, R"([{"$changeStream": {"startAfter": )" + token + "}}]");
  EXPECT_EQ(again.Types(), "insert");
}

TEST(ChangeStream, ResumesAfterAnyEvent) {
  Node node;
  Watcher stream(node, kPlain);
  for (int i = 1; i <= 3; ++i) {
    Insert(node, i);
  }
  std::vector<std::string> tokens;
  stream.Events([&](bson::View e) {
    tokens.push_back(bson::ToJson(e["_id"]));
    return std::string();
  });
  ASSERT_EQ(tokens.size(), 3U);
  const char* rest[] = {R"({"_id":2} {"_id":3})", R"({"_id":3})", ""};
  for (size_t i = 0; i < 3; ++i) {
    Watcher resumed(node, R"([{"$changeStream": {"resumeAfter": )" + tokens[i] + "}}]");
    EXPECT_EQ(resumed.Field("documentKey"), rest[i]);
  }
  // The token after the batch stands behind everything seen.
  Watcher behind(node, R"([{"$changeStream": {"resumeAfter": )" + stream.after_batch() + "}}]");
  EXPECT_EQ(behind.Types(), "");
  // A token of another collection is not found among this one's events.
  Watcher foreign(node, R"([{"$changeStream": {"resumeAfter": )" + tokens[2] + "}}]", "\"other\"");
  Insert(node, 1, "other");
  EXPECT_EQ(foreign.Types(), R"(error 280 ["NonResumableChangeStreamError"])");
}

TEST(ChangeStream, StartsAtATime) {
  Node node;
  bson::Document reply = node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  std::string time = bson::ToJson(reply["operationTime"]);
  Insert(node, 2);
  Watcher stream(node, R"([{"$changeStream": {"startAtOperationTime": )" + time + "}}]");
  EXPECT_EQ(stream.Field("documentKey"), R"({"_id":1} {"_id":2})");
  Watcher start(
      node, R"([{"$changeStream": {"startAtOperationTime": {"$timestamp": {"t": 1, "i": 1}}}}])");
  EXPECT_EQ(start.Types(), "insert insert");
  // Once the log was cut, an early start is refused.
  bson::Timestamp now = node.engine().log().Visible();
  ASSERT_TRUE(node.engine().log().Trim(0, {now.seconds + 10, 0}).ok());
  EXPECT_EQ(node.Code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$changeStream":
      {"startAtOperationTime": {"$timestamp": {"t": 1, "i": 1}}}}]})"),
            286);
}

TEST(ChangeStream, TransactionsShowTheirOperationsWithOneTime) {
  Node node;
  node.Run(R"({"create": "c"})");
  Watcher stream(node, kPlain);
  const std::string kSession =
      R"("lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}},
         "txnNumber": {"$numberLong": "3"}, "autocommit": false)";
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}], "startTransaction": true, )" +
           kSession + "}");
  node.Run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}], )" + kSession + "}");
  EXPECT_EQ(stream.Types(), "");
  node.Run(R"({"commitTransaction": 1, )" + kSession + "}", "admin");
  std::vector<std::string> tokens;
  std::set<std::string> times;
  EXPECT_EQ(stream.Events([&](bson::View e) {
    tokens.push_back(bson::ToJson(e["_id"]));
    times.insert(bson::ToJson(e["clusterTime"]));
    EXPECT_EQ(e["txnNumber"].AsInt64(), 3);
    return std::string(e["operationType"].AsString());
  }),
            "insert insert delete");
  EXPECT_EQ(times.size(), 1U);
  Watcher resumed(node, R"([{"$changeStream": {"resumeAfter": )" + tokens[0] + "}}]");
  EXPECT_EQ(resumed.Types(), "insert delete");
}

TEST(ChangeStream, ExpandedEventsTellOfTheSchema) {
  Node node;
  Watcher plain(node, kPlain, "1");
  Watcher stream(node, R"([{"$changeStream": {"showExpandedEvents": true}}])", "1");
  node.Run(R"({"create": "c"})");
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"}]})");
  node.Run(R"({"collMod": "c", "index": {"name": "a_1", "hidden": true}})");
  node.Run(R"({"dropIndexes": "c", "index": "a_1"})");
  node.Run(R"({"collMod": "c", "validationLevel": "off"})");
  EXPECT_EQ(stream.Types(), "create createIndexes modify dropIndexes modify");
  EXPECT_EQ(bson::ToJson(stream.last()["operationDescription"]), R"({"validationLevel":"off"})");
  EXPECT_TRUE(stream.last().view().Has("collectionUUID"));
  node.Run(R"({"collMod": "c"})");
  EXPECT_EQ(stream.Field("operationDescription"), "{}") << "a collMod that changes nothing";
  EXPECT_EQ(plain.Types(), "");
}

TEST(ChangeStream, ExpandedEventsTellOfViews) {
  Node node;
  constexpr std::string_view kExpanded = R"([{"$changeStream": {"showExpandedEvents": true}}])";
  Watcher plain(node, kPlain, "1");
  Watcher elsewhere(node, kExpanded, "1", "other");
  Watcher alone(node, kExpanded, R"("v")");
  Watcher stream(node, kExpanded, "1");
  auto show = [](bson::View e) {
    return std::string(e["operationType"].AsString()) + bson::ToJson(e["ns"]) +
           bson::ToJson(e["operationDescription"]);
  };
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": [{"$match": {"a": 1}}]})");
  EXPECT_EQ(stream.Events(show), R"(create{"db":"test","coll":"v"})"
                                 R"({"viewOn":"c","pipeline":[{"$match":{"a":1}}]})");
  EXPECT_FALSE(stream.last().view().Has("collectionUUID"));
  EXPECT_FALSE(stream.last().view().Has("fullDocument"));
  std::string created = stream.token();
  node.Run(R"({"collMod": "v", "viewOn": "d", "pipeline": []})");
  EXPECT_EQ(stream.Events(show), R"(modify{"db":"test","coll":"v"}{"viewOn":"d","pipeline":[]})");
  node.Run(R"({"drop": "v"})");
  EXPECT_EQ(stream.Types(), "drop");
  EXPECT_FALSE(stream.last().view().Has("operationDescription"));
  Watcher resumed(
      node, R"([{"$changeStream": {"showExpandedEvents": true, "resumeAfter": )" + created + "}}]",
      "1");
  EXPECT_EQ(resumed.Types(), "modify drop");
  EXPECT_EQ(plain.Types() + elsewhere.Types() + alone.Types(), "");
}

TEST(ChangeStream, DroppingAllViewsIsOneDrop) {
  Node node;
  node.Run(R"({"create": "c"})");
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  node.Run(R"({"create": "w", "viewOn": "c", "pipeline": []})");
  Watcher stream(node, R"([{"$changeStream": {"showExpandedEvents": true}}])", "1");
  Watcher all(
      node, R"([{"$changeStream": {"showExpandedEvents": true, "showSystemEvents": true}}])", "1");
  ASSERT_EQ(node.Code(R"({"drop": "system.views"})"), 0);
  EXPECT_EQ(stream.Types(), "");
  auto names = [](bson::View e) { return std::string(e["ns"].AsDocument()["coll"].AsString()); };
  EXPECT_EQ(all.Events(names), "system.views");
  EXPECT_EQ(all.last()["operationType"].AsString(), "drop");
  EXPECT_EQ(node.Code(R"({"drop": "system.views"})"), 0) << "MongoDB 7 drops what is not there";
  EXPECT_EQ(all.Types(), "");
}

TEST(Oplog, ShowsViewsAsDocumentsOfSystemViews) {
  Node node;
  node.Run(R"({"create": "v", "viewOn": "c", "pipeline": []})");
  node.Run(R"({"drop": "v"})");
  bson::Document found = node.Run(R"({"find": "oplog.rs", "filter": {"ns": "test.system.views"},
      "projection": {"_id": 0, "op": 1, "o": 1, "ui": 1}})",
                                  "local");
  EXPECT_EQ(bson::ToJson(found["cursor"].AsDocument()["firstBatch"]),
            R"([{"op":"i","o":{"_id":"test.v","viewOn":"c","pipeline":[]}},)"
            R"({"op":"d","o":{"_id":"test.v"}}])");
}

TEST(ChangeStream, ImagesOfDocuments) {
  Node node;
  node.Run(R"({"create": "c", "changeStreamPreAndPostImages": {"enabled": true}})");
  Insert(node, 1);
  Watcher stream(node, R"([{"$changeStream":
      {"fullDocument": "required", "fullDocumentBeforeChange": "required"}}])");
  Update(node, R"({"_id": 1})", R"({"$set": {"a": 1}})");
  Update(node, R"({"_id": 1})", R"({"$set": {"a": 2}})");
  auto images = [](bson::View e) {
    return bson::ToJson(e["fullDocumentBeforeChange"]) + bson::ToJson(e["fullDocument"]);
  };
  EXPECT_EQ(stream.Events(images), R"({"_id":1}{"_id":1,"a":1} {"_id":1,"a":1}{"_id":1,"a":2})");
  node.Run(R"({"collMod": "c", "changeStreamPreAndPostImages": {"enabled": false}})");
  Update(node, R"({"_id": 1})", R"({"$set": {"a": 3}})");
  EXPECT_EQ(stream.Types(), "error 47");
}

TEST(ChangeStream, PipelinesMaySeeOneEventAtATime) {
  struct Case {
    const char* stage;
    int code;
  };
  const Case kCases[] = {
      {R"({"$match": {"operationType": "insert"}})", 0},
      {R"({"$project": {"ns": 0}})", 0},
      {R"({"$addFields": {"x": 1}})", 0},
      {R"({"$changeStreamSplitLargeEvent": {}})", 0},
      {R"({"$sort": {"_id": 1}})", 20},
      {R"({"$group": {"_id": null}})", 20},
      {R"({"$limit": 1})", 20},
      {R"({"$lookup": {"from": "x", "localField": "a", "foreignField": "b", "as": "c"}})", 20},
      {R"({"$out": "x"})", 20},
      {R"({"$changeStream": {}})", 40602},
  };
  Node node;
  for (const Case& c : kCases) {
    EXPECT_EQ(node.Code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$changeStream": {}}, )" +
                        std::string(c.stage) + "]}"),
              c.code)
        << c.stage;
  }
  EXPECT_EQ(node.Code(R"({"aggregate": "c", "cursor": {}, "pipeline":
      [{"$changeStreamSplitLargeEvent": {}}]})"),
            20);
  Watcher stream(node, R"([{"$changeStream": {}}, {"$match": {"documentKey._id": {"$gt": 1}}}])");
  Watcher changed(node, R"([{"$changeStream": {}}, {"$project": {"_id": 0}}])");
  Insert(node, 1);
  Insert(node, 2);
  EXPECT_EQ(stream.Field("documentKey"), R"({"_id":2})");
  EXPECT_EQ(changed.Types(), R"(error 280 ["NonResumableChangeStreamError"])");
}

TEST(ChangeStream, LargeEventsAreSplitAndResumed) {
  Node node;
  node.Run(R"({"create": "c", "changeStreamPreAndPostImages": {"enabled": true}})");
  std::string text(9 << 20, 'x');
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "t": ")" + text + R"("}]})");
  const std::string kSpec = R"("fullDocument": "required", "fullDocumentBeforeChange": "required")";
  Watcher whole(node, R"([{"$changeStream": {)" + kSpec + "}}]");
  Watcher split(node,
                R"([{"$changeStream": {)" + kSpec + R"(}}, {"$changeStreamSplitLargeEvent": {}}])");
  Update(node, R"({"_id": 1})", R"({"$set": {"a": 1}})");
  EXPECT_EQ(whole.Types(), "error 10334");
  EXPECT_EQ(split.Field("splitEvent"), R"({"fragment":1,"of":2})");
  std::string token = split.token();
  EXPECT_EQ(split.Field("splitEvent"), R"({"fragment":2,"of":2})");
  EXPECT_EQ(split.Types(), "");
  Watcher resumed(node, R"([{"$changeStream": {"resumeAfter": )" + token + ", " + kSpec +
                            R"(}}, {"$changeStreamSplitLargeEvent": {}}])");
  EXPECT_EQ(resumed.Field("splitEvent"), R"({"fragment":2,"of":2})");
}

TEST(ChangeStream, AKilledCursorEndsItsGetMore) {
  Node node;
  Watcher stream(node, kPlain);
  std::string id = R"({"$numberLong": ")" + std::to_string(stream.id()) + R"("})";
  std::thread waiting([&] {
    int code = node.Code(R"({"getMore": )" + id + R"(, "collection": "c", "maxTimeMS": 3600000})");
    EXPECT_TRUE(code == 237 || code == 43) << code;  // killed before it began: not found
  });
  bool running = false;
  while (!running) {
    node.commands().operations().ForEach(
        [&](const run::RunningOp& op) { running |= op.call->command.name == "getMore"; });
  }
  EXPECT_EQ(node.Code(R"({"killCursors": "c", "cursors": [)" + id + "]}"), 0);
  waiting.join();
}

TEST(Oplog, IsReadableAndReadOnly) {
  Node node;
  Insert(node, 1);
  Update(node, R"({"_id": 1})", R"({"$set": {"a": 1}})");
  bson::Document reply = node.Run(
      R"({"find": "oplog.rs", "filter": {"op": {"$in": ["i", "u"]}},
          "projection": {"_id": 0, "op": 1, "ns": 1, "o": 1, "o2": 1}})",
      "local");
  EXPECT_EQ(bson::ToJson(reply["cursor"].AsDocument()["firstBatch"]),
            R"([{"op":"i","ns":"test.c","o":{"_id":1},"o2":{"_id":1}},)"
            R"({"op":"u","ns":"test.c","o":{"$v":2,"diff":{"i":{"a":1}}},"o2":{"_id":1}}])");
  reply = node.Run(R"({"find": "oplog.rs", "sort": {"$natural": -1}, "limit": 1})", "local");
  bson::View newest =
      reply["cursor"].AsDocument()["firstBatch"].AsArray().front().value().AsDocument();
  EXPECT_EQ(newest["ts"].AsTimestamp(), node.engine().log().Visible());
  EXPECT_EQ(newest["v"].AsInt64(), 2);
  struct Case {
    const char* command;
    int code;
  };
  const Case kCases[] = {
      {R"({"drop": "oplog.rs"})", 5255000},
      {R"({"createIndexes": "oplog.rs", "indexes": [{"key": {"a": 1}, "name": "a"}]})", 67},
      {R"({"insert": "oplog.rs", "documents": [{"a": 1}]})", 73},
      {R"({"delete": "oplog.rs", "deletes": [{"q": {}, "limit": 0}]})", 73},
      {R"({"count": "oplog.rs"})", 0},
      {R"({"aggregate": "oplog.rs", "pipeline": [{"$group": {"_id": "$op"}}], "cursor": {}})", 0},
      {R"({"collStats": "oplog.rs"})", 0},
      {R"({"listCollections": 1})", 0},
      {R"({"dbStats": 1})", 0},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(node.Code(c.command, "local"), c.code) << c.command;
  }
}

TEST(Oplog, CanBeTailed) {
  Node node;
  Insert(node, 1);
  std::string from = bson::ToJson(bson::Value(node.engine().log().Visible()));
  bson::Document reply = node.Run(R"({"find": "oplog.rs", "tailable": true, "awaitData": true,
      "filter": {"ts": {"$gte": )" + from +
                                      "}}}",
                                  "local");
  EXPECT_EQ(reply["cursor"].AsDocument()["firstBatch"].AsArray().Count(), 1U);
  std::string more = R"({"getMore": {"$numberLong": ")" +
                     std::to_string(reply["cursor"].AsDocument()["id"].AsInt64()) +
                     R"("}, "collection": "oplog.rs", "maxTimeMS": 1})";
  reply = node.Run(more, "local");
  EXPECT_EQ(reply["cursor"].AsDocument()["nextBatch"].AsArray().Count(), 0U);
  Insert(node, 2);
  Insert(node, 3);
  reply = node.Run(more, "local");
  EXPECT_EQ(reply["cursor"].AsDocument()["nextBatch"].AsArray().Count(), 2U);
}

}  // namespace
}  // namespace quire::command
