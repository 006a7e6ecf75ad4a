// SPDX-License-Identifier: Apache-2.0
#include "command/testing/harness.h"

namespace quire::command {
namespace {

std::string Apply(const std::string& ops) { return R"({"applyOps": [)" + ops + "]}"; }

TEST(ApplyOps, RunsOperationsOfTheOplog) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1, "a": [1, 2, 3]}]})");
  EXPECT_EQ(node.Json(Apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 2, "x": 1}},
                               {"op": "d", "ns": "", "o": {}})"),
                      "admin")
                .find("applied"),
            std::string::npos);  // nothing is run when one of them is malformed
  EXPECT_EQ(node.Json(Apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 2, "x": 1}},
                               {"op": "i", "ns": "test.c", "o": {"_id": 2, "x": 2}},
                               {"op": "u", "ns": "test.c", "o2": {"_id": 1},
                                "o": {"$v": 2, "diff": {"sa": {"a": true, "l": 2, "u0": 9}}}},
                               {"op": "n", "ns": "test.c", "o": {"msg": "hello"}},
                               {"op": "c", "ns": "test.$cmd", "o": {"create": "d"}},
                               {"op": "c", "ns": "test.$cmd",
                                "o": {"createIndexes": "d", "v": 2, "key": {"a": 1}, "name": "a"}},
                               {"op": "d", "ns": "test.c", "o": {"_id": 7}})"),
                      "admin"),
            R"({"applied":6,"results":[true,true,true,true,true,true],"ok":1.0})");
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1,"a":[9,2]},{"_id":2,"x":2}])");
  EXPECT_EQ(node.Batch(R"({"listIndexes": "d"})"),
            R"([{"v":2,"key":{"_id":1},"name":"_id_"},{"v":2,"key":{"a":1},"name":"a"}])");
}

TEST(ApplyOps, StopsAtTheFirstError) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  bson::Document reply = node.Run(Apply(R"({"op": "i", "ns": "test.c", "o": {"_id": 2}},
                                           {"op": "u", "ns": "test.none", "o": {"x": 1},
                                            "o2": {"_id": 9}},
                                           {"op": "i", "ns": "test.c", "o": {"_id": 3}})"),
                                  "admin");
  EXPECT_EQ(reply["code"].AsInt32(), 26);
  EXPECT_EQ(reply["applied"].AsInt32(), 2);
  EXPECT_EQ(bson::ToJson(reply["results"]), "[true,false]");
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1},{"_id":2}])");
}

struct RefusedCase {
  const char* command;
  int code;
};
const RefusedCase kRefused[] = {
    {R"({"applyOps": 1})", 14},
    {R"({"applyOps": [1]})", 14},
    {R"({"applyOps": [{}]})", 4},
    {R"({"applyOps": [{"op": 5, "ns": "test.c", "o": {}}]})", 14},
    {R"({"applyOps": [{"op": "", "ns": "test.c", "o": {}}]})", 20},
    {R"({"applyOps": [{"op": "x", "ns": "test.c", "o": {}}]})", 2},
    {R"({"applyOps": [{"op": "i", "o": {"_id": 1}}]})", 20},
    {R"({"applyOps": [{"op": "i", "ns": "test.c"}]})", 40414},
    {R"({"applyOps": [{"op": "i", "ns": "test.c", "o": {"x": 1}}]})", 4},
    {R"({"applyOps": [{"op": "i", "ns": "test.no", "o": {"_id": 1}}]})", 26},
    {R"({"applyOps": [{"op": "u", "ns": "test.c", "o": {"x": 1}}]})", 4},
    {R"({"applyOps": [{"op": "c", "ns": "test.$cmd", "o": {"find": "c"}}]})", 2},
    {R"({"applyOps": [{"op": "d", "ns": "test.no", "o": {"_id": 1}}]})", 0},
    {R"({"applyOps": [{"op": "d", "ns": "test.c", "o": {"x": 1}}]})", 4},
    {R"({"applyOps": [{"op": "n", "ns": "", "o": {}}]})", 0},
    {R"({"applyOps": [{"op": "c", "ns": "test.$cmd", "o": {"dropDatabase": 1}},
                      {"op": "n", "ns": "", "o": {}}]})",
     6275900},
    {R"({"applyOps": [{"op": "c", "ns": "test.$cmd", "o": {"drop": "no", "x": 1}}]})", 40415},
    {R"({"applyOps": [], "preCondition": []})", 6711600},
    {R"({"applyOps": [], "alwaysUpsert": true})", 0},
    {R"({"applyOps": [], "alwaysUpsert": 1})", 14},
    {R"({"applyOps": [], "count": 1})", 31240},
    {R"({"applyOps": [], "count": "1"})", 14},
    {R"({"applyOps": [], "prepare": false})", 2},
    {R"({"applyOps": [], "oplogApplicationMode": "Secondary"})", 0},
    {R"({"applyOps": [], "oplogApplicationMode": "Nosuch"})", 9},
    {R"({"applyOps": [], "partialTxn": false})", 31056},
};

TEST(ApplyOps, Errors) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  for (const RefusedCase& c : kRefused) {
    EXPECT_EQ(node.Code(c.command, "admin"), c.code) << c.command;
  }
}

TEST(ApplyOps, ErrorsSayWhatIsMissing) {
  Node node;
  auto text = [&](const std::string& op) {
    const bson::Document reply = node.Run(Apply(op), "admin");
    return std::string(reply["errmsg"].AsString());
  };
  node.Run(R"({"create": "c"})");
  EXPECT_EQ(text(R"({"op": "i", "ns": "test.no", "o": {"_id": 1}})"),
            "cannot apply insert or update operation on a non-existent namespace test.no: "
            R"({"op":"i","ns":"test.no","o":{"_id":1}})");
  EXPECT_EQ(text(R"({"op": "u", "ns": "test.c", "o": {"a": 1}, "o2": {"b": 1}})"),
            "Failed to apply update due to missing _id: "
            R"({"op":"u","ns":"test.c","o":{"a":1},"o2":{"b":1}})");
  std::string nested = R"({"op": "n", "ns": "", "o": {}})";
  for (int i = 0; i < 12; ++i) {
    nested = R"({"op": "c", "ns": "test.$cmd", "o": {"applyOps": [)" + nested + "]}}";
  }
  EXPECT_EQ(text(nested), "Too many nested applyOps");
}

// An update that finds nothing fails by itself; the others are run.
TEST(ApplyOps, GoesOnAfterWhatFindsNothing) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  const std::string ops = R"({"applyOps": [
      {"op": "u", "ns": "test.c", "o2": {"_id": 8}, "o": {"$v": 2, "diff": {"i": {"x": 1}}}},
      {"op": "u", "ns": "test.c", "o2": {"_id": 9}, "o": {"_id": 9}},
      {"op": "i", "ns": "test.c", "o": {"_id": 2}}], "alwaysUpsert": false})";
  EXPECT_EQ(node.Json(ops, "admin"),
            R"({"ok":0.0,"errmsg":"applyOps had one or more errors applying ops","code":8,)"
            R"("codeName":"UnknownError","results":[false,false,true],"applied":3})");
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1},{"_id":2}])");
  const bson::Document other = node.Run(Apply(
                                            R"({"op": "i", "ns": "test.c", "o": {"_id": 5},
          "ui": {"$binary": {"base64": "MTIzNDU2Nzg5MGFiY2RlZg==", "subType": "04"}}})"),
                                        "admin");
  EXPECT_EQ(other["code"].AsInt32(), 8) << "the collection of that uuid is another one";
}

}  // namespace
}  // namespace quire::command
