// SPDX-License-Identifier: Apache-2.0
#include "command/testing/harness.h"

namespace quire::command {
namespace {

TEST(ListedIndex, HasAnOrderAndTypesOfItsOwn) {
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [
      {"expireAfterSeconds": 5.0, "sparse": 1, "unique": true, "name": "x", "key": {"x": 1}},
      {"max": 100, "min": -100, "bits": 20, "key": {"l": "2d"}, "name": "l"},
      {"collation": {"locale": "simple"}, "hidden": true, "name": "h", "key": {"h": 1}}]})");
  const std::string hidden = R"({"v":2,"key":{"h":1},"name":"h","hidden":true})";
  EXPECT_EQ(node.Batch(R"({"listIndexes": "c"})"),
            R"([{"v":2,"key":{"_id":1},"name":"_id_"},)"
            R"({"v":2,"key":{"x":1},"name":"x","unique":true,"sparse":true,)"
            R"("expireAfterSeconds":5},)"
            R"({"v":2,"key":{"l":"2d"},"name":"l","bits":20,"min":-100.0,"max":100.0},)" +
                hidden + "]");
  EXPECT_NE(node.Batch(R"({"listIndexes": "c", "includeIndexBuildInfo": true})")
                .find(R"({"spec":)" + hidden + "}"),
            std::string::npos);
}

}  // namespace
}  // namespace quire::command
