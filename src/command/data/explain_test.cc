// SPDX-License-Identifier: Apache-2.0
//
// explain where there is no table to plan on: views, the oplog and system.views.
#include "command/testing/harness.h"

namespace quire::command {

namespace {

class ExplainWithoutTableTest : public testing::Test {
 protected:
  void SetUp() override {
    Node& n = node_;
    n.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1, "b": [1, 2]}, {"_id": 2, "a": 2}]})");
    n.Run(R"({"create": "v", "viewOn": "c", "pipeline": [{"$match": {"a": {"$gt": 1}}}]})");
    n.Run(R"({"create": "vv", "viewOn": "v", "pipeline": [{"$group": {"_id": "$a"}}]})");
    n.Run(R"({"create": "nothing", "viewOn": "none", "pipeline": []})");
  }

  // The reply to {explain: command, verbosity}.
  bson::Document Explain(const std::string& command, const std::string& verbosity,
                         std::string_view database = "test") {
    return node_.Run(R"({"explain": )" + command + R"(, "verbosity": ")" + verbosity + R"("})",
                     database);
  }

  Node node_;
};

constexpr std::string_view kVerbosities[] = {"queryPlanner", "executionStats", "allPlansExecution"};

std::string StageNames(bson::View reply) {
  std::string names;
  for (const bson::Element& stage : reply["stages"].AsArray()) {
    names += std::string(stage.value().AsDocument().front().name()) + " ";
  }
  return names;
}

std::string_view WinningStage(bson::View reply) {
  return reply["queryPlanner"].AsDocument()["winningPlan"].AsDocument()["stage"].AsString();
}

TEST_F(ExplainWithoutTableTest, ReadsOfViewsShowTheAggregation) {
  bson::Document find = Explain(R"({"find": "v", "filter": {"b": 1}})", "queryPlanner");
  EXPECT_EQ(find["ok"].AsDouble(), 1) << bson::ToJson(find);
  EXPECT_EQ(WinningStage(find), "COLLSCAN") << bson::ToJson(find);
  EXPECT_EQ(bson::ToJson(find["command"]),
            R"({"aggregate":"v","pipeline":[{"$match":{"b":1}}],"cursor":{}})");
  bson::Document count = Explain(R"({"count": "vv", "skip": 1})", "executionStats");
  EXPECT_EQ(count["ok"].AsDouble(), 1) << bson::ToJson(count);
  EXPECT_TRUE(StageNames(count).starts_with("$cursor $group ")) << bson::ToJson(count);
  EXPECT_EQ(bson::ToJson(count["command"].AsDocument()["pipeline"]),
            R"([{"$skip":1},{"$count":"count"}])");
  bson::Document distinct = Explain(R"({"distinct": "v", "key": "a.b"})", "queryPlanner");
  EXPECT_EQ(distinct["ok"].AsDouble(), 1) << bson::ToJson(distinct);
  EXPECT_EQ(StageNames(distinct), "$cursor $unwind $unwind $group ");
}

TEST_F(ExplainWithoutTableTest, EveryKindOfReadAndVerbosity) {
  const std::pair<std::string_view, std::string_view> kNamespaces[] = {
      {"test", "v"},    {"test", "vv"},        {"test", "nothing"},
      {"test", "none"}, {"local", "oplog.rs"}, {"test", "system.views"}};
  for (const auto& [database, name] : kNamespaces) {
    for (std::string_view verbosity : kVerbosities) {
      for (const char* rest :
           {R"("find": "%", "filter": {"a": 1}, "sort": {"a": 1}, "limit": 1)",
            R"("find": "%", "filter": {"_id": 1})", R"("count": "%")",
            R"("count": "%", "query": {"a": 1})", R"("distinct": "%", "key": "a")",
            R"("aggregate": "%", "pipeline": [{"$match": {"a": 1}}], "cursor": {})"}) {
        std::string command = "{" + std::string(rest) + "}";
        command.replace(command.find('%'), 1, name);
        bson::Document reply = Explain(command, std::string(verbosity), database);
        EXPECT_EQ(reply["ok"].AsDouble(), 1) << command << bson::ToJson(reply);
      }
    }
  }
}

TEST_F(ExplainWithoutTableTest, WritesOfViewsAreRefused) {
  for (std::string_view verbosity : kVerbosities) {
    for (const char* command :
         {R"({"update": "v", "updates": [{"q": {}, "u": {"$set": {"x": 1}}}]})",
          R"({"delete": "vv", "deletes": [{"q": {}, "limit": 0}]})",
          R"({"findAndModify": "nothing", "query": {}, "remove": true})"}) {
      bson::Document reply = Explain(command, std::string(verbosity));
      EXPECT_EQ(reply["code"].AsInt32(), 166) << bson::ToJson(reply);
      EXPECT_EQ(reply["codeName"].AsString(), "CommandNotSupportedOnView");
    }
  }
}

TEST_F(ExplainWithoutTableTest, TheOplogIsScanned) {
  bson::Document find = Explain(R"({"find": "oplog.rs", "filter": {"op": "i", "ns": "test.c"}})",
                                "executionStats", "local");
  EXPECT_EQ(WinningStage(find), "COLLSCAN") << bson::ToJson(find);
  bson::View stats = find["executionStats"].AsDocument();
  EXPECT_EQ(stats["nReturned"].AsInt32(), 2) << bson::ToJson(find);
  EXPECT_GT(stats["totalDocsExamined"].AsInt32(), 2);
  bson::Document newest =
      Explain(R"({"find": "oplog.rs", "sort": {"$natural": -1}})", "queryPlanner", "local");
  EXPECT_EQ(newest["queryPlanner"].AsDocument()["winningPlan"].AsDocument()["direction"].AsString(),
            "backward");
  bson::Document update =
      Explain(R"({"update": "oplog.rs", "updates": [{"q": {"op": "n"}, "u": {"$set": {"x": 1}}}]})",
              "executionStats", "local");
  EXPECT_EQ(update["ok"].AsDouble(), 1) << bson::ToJson(update);
  EXPECT_EQ(WinningStage(update), "UPDATE");
}

TEST_F(ExplainWithoutTableTest, SystemViewsIsScanned) {
  bson::Document find = Explain(R"({"find": "system.views"})", "executionStats");
  EXPECT_EQ(WinningStage(find), "COLLSCAN") << bson::ToJson(find);
  EXPECT_EQ(find["executionStats"].AsDocument()["nReturned"].AsInt32(), 3);
}

}  // namespace

}  // namespace quire::command
