// SPDX-License-Identifier: Apache-2.0
//
// $clusterTime and the times of read concerns.
#include "command/testing/harness.h"

namespace quire::command {
namespace {

std::string Json(bson::Timestamp time) {
  return R"({"$timestamp": {"t": )" + std::to_string(time.seconds) + R"(, "i": )" +
         std::to_string(time.increment) + "}}";
}

bson::Timestamp Ahead(Node& node, uint32_t seconds) {
  bson::Timestamp time = node.engine().clock().Now();
  time.seconds += seconds;
  return time;
}

TEST(ClusterTime, TheClockGoesOnFromWhatClientsHaveSeen) {
  Node node;
  const bson::Timestamp ahead = Ahead(node, 1000);
  const std::string find_after =
      R"({"find": "c", "readConcern": {"afterClusterTime": )" + Json(ahead) + "}}";
  EXPECT_EQ(node.Code(find_after), 72) << "still to come";
  const bson::Document reply =
      node.Run(R"({"ping": 1, "$clusterTime": {"clusterTime": )" + Json(ahead) + "}}");
  EXPECT_EQ(reply["$clusterTime"].AsDocument()["clusterTime"].AsTimestamp(), ahead);
  EXPECT_EQ(node.Code(find_after), 0);
  node.Run(R"({"insert": "c", "documents": [{}]})");
  EXPECT_GT(store::PackTime(node.engine().clock().Now()), store::PackTime(ahead));
}

TEST(ClusterTime, Errors) {
  Node node;
  EXPECT_EQ(node.Code(R"({"ping": 1, "$clusterTime": 1})"), 14);
  EXPECT_EQ(node.Code(R"({"ping": 1, "$clusterTime": {}})"), 40414);
  EXPECT_EQ(node.Code(R"({"ping": 1, "$clusterTime": {"clusterTime": {}}})"), 14);
  const std::string now = Json(node.engine().clock().Now());
  EXPECT_EQ(
      node.Code(R"({"ping": 1, "$clusterTime": {"signature": 1, "clusterTime": )" + now + "}}"),
      14);
  const bson::Timestamp ahead = Ahead(node, 366 * 24 * 60 * 60);
  EXPECT_EQ(node.Code(R"({"ping": 1, "$clusterTime": {"clusterTime": )" + Json(ahead) + "}}"), 205);
  EXPECT_LT(store::PackTime(node.engine().clock().Now()), store::PackTime(ahead));
  EXPECT_EQ(node.Code(R"({"find": "c", "readConcern": {"level": "snapshot", "atClusterTime": )" +
                      Json(ahead) + "}}"),
            72);
}

}  // namespace
}  // namespace quire::command
