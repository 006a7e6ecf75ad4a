// SPDX-License-Identifier: Apache-2.0
#include "command/testing/harness.h"

namespace quire::command {
namespace {

constexpr const char* kAllowed =
    R"("indexHints": {"ns": {"db": "test", "coll": "c"}, "allowedIndexes": ["b_1"]})";

std::string Set(const std::string& query, const std::string& settings) {
  return R"({"setQuerySettings": )" + query + R"(, "settings": {)" + settings + "}}";
}

TEST(QuerySettings, RefusesQueriesOfTheShape) {
  Node node;
  std::string query = R"({"find": "c", "filter": {"a": 1}, "$db": "test"})";
  EXPECT_EQ(node.Code(Set(query, R"("reject": true)"), "admin"), 0);
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"a": 7}})"), 411);
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"b": 7}})"), 0);
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"a": 7}, "sort": {"a": 1}})"), 0);
  EXPECT_EQ(node.Code(R"({"removeQuerySettings": )" + query + "}", "admin"), 0);
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"a": 7}})"), 0);
}

// The name of the index explain shows for the query; "" for a collection scan.
std::string IndexOf(Node& node, const std::string& query) {
  bson::Document reply = node.Run(R"({"explain": )" + query + R"(, "verbosity": "queryPlanner"})");
  bson::View stage = reply["queryPlanner"].AsDocument()["winningPlan"].AsDocument();
  while (stage["inputStage"].is_document()) {
    stage = stage["inputStage"].AsDocument();
  }
  return stage["indexName"].is_string() ? std::string(stage["indexName"].AsString()) : "";
}

void MakeIndexes(Node& node) {
  node.Run(R"({"insert": "c", "documents": [{"a": 1, "b": 1}, {"a": 2, "b": 1}]})");
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a_1"},
                                                 {"key": {"b": 1}, "name": "b_1"},
                                                 {"key": {"z": 1}, "name": "z_1"}]})");
}

struct AllowedCase {
  const char* allowed;
  const char* extra;  // of the query
  const char* index;
};
const AllowedCase kAllowedCases[] = {
    {R"("b_1")", "", "b_1"},
    {R"({"b": 1})", "", "b_1"},
    // Goes before the hint.
    {R"("b_1")", R"(, "hint": "a_1")", "b_1"},
    // Of no use, or not there: as if nothing were said.
    {R"("z_1")", "", "a_1"},
    {R"("nosuch")", "", "a_1"},
    {R"("z_1")", R"(, "hint": "b_1")", "b_1"},
    {R"({"$natural": 1})", "", ""},
    {R"("b_1", {"$natural": -1})", "", "b_1"},
};

TEST(QuerySettings, SayWhichIndexesMayBeUsed) {
  for (const AllowedCase& c : kAllowedCases) {
    Node node;
    MakeIndexes(node);
    std::string query = R"({"find": "c", "filter": {"a": 1, "b": 1}, "$db": "test")";
    query += std::string(c.extra) + "}";
    std::string settings =
        R"("indexHints": {"ns": {"db": "test", "coll": "c"}, "allowedIndexes": [)";
    settings += std::string(c.allowed) + "]}";
    EXPECT_EQ(node.Code(Set(query, settings), "admin"), 0);
    EXPECT_EQ(IndexOf(node, query), c.index) << c.allowed << c.extra;
  }
}

TEST(QuerySettings, RunAggregatesWithTheAllowedIndex) {
  Node node;
  MakeIndexes(node);
  std::string query = R"({"aggregate": "c", "pipeline": [{"$match": {"a": 1, "b": 1}}],
                          "$db": "test"})";
  bson::Document made = node.Run(Set(query, kAllowed), "admin");
  EXPECT_EQ(made["queryShapeHash"].AsString().size(), 64U);
  EXPECT_EQ(node.Code(R"({"aggregate": "c", "pipeline": [{"$match": {"a": 2, "b": 1}}],
                          "cursor": {}})"),
            0);
  EXPECT_NE(node.Json(R"({"aggregate": "c", "pipeline": [{"$indexStats": {}},
                          {"$match": {"name": "b_1", "accesses.ops": {"$gt": 0}}}],
                          "cursor": {}})")
                .find("b_1"),
            std::string::npos);
}

TEST(QuerySettings, AreReadAgainAtStart) {
  Node node;
  std::string query = R"({"find": "c", "filter": {"a": 1}, "$db": "test"})";
  EXPECT_EQ(node.Code(Set(query, R"("reject": true)"), "admin"), 0);
  auto parsed = bson::Document::FromJson(query);
  node.engine().query_settings.Remove(QueryShapeHash(*parsed, "test"));
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"a": 7}})"), 0);
  LoadQuerySettings(node.engine());
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"a": 7}})"), 411);
  EXPECT_EQ(node.Code(R"({"explain": {"find": "c", "filter": {"a": 7}}})"), 0);
}

struct ErrorCase {
  const char* query;
  const char* settings;
  int code;
};
const ErrorCase kErrors[] = {
    {"5", R"("reject": true)", 14},
    {R"("")", R"("reject": true)", 16},
    {R"("ab")", R"("reject": true)", 2},
    {R"({"count": "c", "$db": "test"})", R"("reject": true)", 7746402},
    {R"({"find": "c"})", R"("reject": true)", 40414},
    {R"({"find": "c", "$db": "local"})", R"("reject": true)", 8584900},
    {R"({"find": "c", "filter": {"_id": 1}, "$db": "test"})", R"("reject": true)", 7746606},
    {R"({"find": "c", "$db": "test"})", "", 8727502},
    {R"({"find": "c", "$db": "test"})", R"("reject": false)", 7746604},
    {R"({"find": "c", "$db": "test"})", R"("reject": null)", 14},
    {R"({"find": "c", "$db": "test"})", R"("queryFramework": "x")", 2},
    {R"({"find": "c", "$db": "test"})", R"("indexHints": [{"allowedIndexes": []}])", 40414},
    {R"({"find": "c", "$db": "test"})",
     R"("indexHints": [{"ns": {"coll": "c"}, "allowedIndexes": []}])", 8727500},
    {R"({"find": "c", "$db": "test"})",
     R"("indexHints": [{"ns": {"db": "d"}, "allowedIndexes": []}])", 8727501},
    {R"({"find": "c", "$db": "test"})",
     R"("indexHints": [{"ns": {"db": "d", "coll": "c"}, "allowedIndexes": [5]}])", 9},
};

TEST(QuerySettings, Errors) {
  Node node;
  for (const ErrorCase& c : kErrors) {
    EXPECT_EQ(node.Code(Set(c.query, c.settings), "admin"), c.code) << c.query << c.settings;
  }
}

}  // namespace
}  // namespace quire::command
