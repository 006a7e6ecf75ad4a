// SPDX-License-Identifier: Apache-2.0
#include "router/pipeline/aggregation.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "bson/testing/json.h"

namespace quire::router {
namespace {

Status Refusal(const char* view) {
  const bson::Document extra = bson::TestDocument(view);
  return Status(kCommandOnShardedViewNotSupportedOnMongod, "")
      .WithExtra(std::string(extra.bytes()));
}

TEST(Aggregation, AViewsStagesComeFirst) {
  const bson::Document command =
      bson::TestDocument("{aggregate: 'v', pipeline: [{$limit: 1}], cursor: {batchSize: 2}}");
  Aggregation aggregation = Aggregation::Of("db", command);
  EXPECT_EQ(aggregation.ns, "db.v");
  const Status refusal = Refusal(
      "{resolvedView: {ns: 'db.c', pipeline: [{$match: {a: 1}}], collation: {locale: 'de'}}}");
  EXPECT_TRUE(Aggregation::IsRefusal(refusal));
  ASSERT_TRUE(aggregation.Resolve(refusal).ok());
  EXPECT_EQ(aggregation.ns, "db.c");
  EXPECT_EQ(aggregation.shown, "db.v");
  EXPECT_TRUE(aggregation.reads_through_router);
  EXPECT_EQ(bson::ToJson(aggregation.command),
            R"({"aggregate":"c","pipeline":[{"$match":{"a":1}},{"$limit":1}],)"
            R"("cursor":{"batchSize":2},"collation":{"locale":"de"}})");
  // What is resolved once is not resolved again.
  EXPECT_FALSE(aggregation.Resolve(refusal).ok());
}

TEST(Aggregation, ACollectionStaysWhatItIs) {
  const bson::Document command = bson::TestDocument("{aggregate: 'c', pipeline: [], cursor: {}}");
  Aggregation aggregation = Aggregation::Of("db", command);
  ASSERT_TRUE(aggregation.Resolve(Refusal("{resolvedView: {ns: 'db.c', pipeline: []}}")).ok());
  EXPECT_EQ(bson::ToJson(aggregation.command), R"({"aggregate":"c","pipeline":[],"cursor":{}})");
  EXPECT_FALSE(Aggregation::Of("db", command)
                   .Resolve(Status(kCommandOnShardedViewNotSupportedOnMongod, ""))
                   .ok());
}

}  // namespace
}  // namespace quire::router
