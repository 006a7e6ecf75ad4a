// SPDX-License-Identifier: Apache-2.0
#include "pipeline/split.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "pipeline/parse.h"

namespace quire::pipeline {
namespace {

struct SplitCase {
  const char* pipeline;
  size_t point;
  Spread spread;  // of the stage there; kEach when it is the end
};

void Check(const SplitCase& test, const Namespace& ns) {
  SCOPED_TRACE(test.pipeline);
  expr::Context context;
  PipelineOptions options;
  options.ns = ns;
  bson::Document spec = bson::TestDocument(std::string("{p: ") + test.pipeline + "}");
  auto stages = ParsePipeline(spec["p"].AsArray(), options, &context);
  ASSERT_TRUE(stages.ok()) << stages.status().ToString();
  EXPECT_EQ(SplitPoint(*stages), test.point);
  if (test.point < stages->size()) {
    EXPECT_EQ((*stages)[test.point]->spread(), test.spread);
  } else {
    EXPECT_EQ(test.spread, Spread::kEach);
  }
}

TEST(SplitPoint, OfCollections) {
  const SplitCase kCases[] = {
      {"[]", 0, Spread::kEach},
      {"[{$match: {a: 1}}, {$set: {b: 1}}, {$unwind: '$c'}, {$project: {a: 1}}]", 4, Spread::kEach},
      {"[{$redact: '$$KEEP'}, {$replaceWith: '$a'}, {$unset: 'b'}]", 3, Spread::kEach},
      {"[{$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j'}}]", 1, Spread::kEach},
      {"[{$match: {}}, {$sort: {a: 1}}, {$group: {_id: 1}}]", 1, Spread::kMerged},
      {"[{$set: {a: 1}}, {$group: {_id: '$a'}}]", 1, Spread::kMerged},
      {"[{$limit: 3}]", 0, Spread::kMerged},
      {"[{$skip: 3}, {$limit: 2}]", 0, Spread::kOnce},
      {"[{$sample: {size: 3}}]", 0, Spread::kMerged},
      {"[{$count: 'n'}]", 0, Spread::kMerged},
      {"[{$sortByCount: '$a'}]", 0, Spread::kMerged},
      {"[{$bucketAuto: {groupBy: '$a', buckets: 2}}]", 0, Spread::kOnce},
      {"[{$unionWith: 'd'}]", 0, Spread::kOnce},
      {"[{$facet: {x: [{$match: {}}]}}]", 0, Spread::kOnce},
      {"[{$densify: {field: 'a', range: {step: 1, bounds: 'full'}}}]", 0, Spread::kOnce},
      {"[{$setWindowFields: {sortBy: {a: 1}, output: {r: {$rank: {}}}}}]", 0, Spread::kOnce},
      {"[{$match: {}}, {$out: 'd'}]", 1, Spread::kOnce},
      {"[{$match: {}}, {$merge: 'd'}]", 2, Spread::kEach},
      {"[{$geoNear: {near: [1, 2]}}]", 1, Spread::kMerged},
      {"[{$indexStats: {}}, {$match: {}}]", 2, Spread::kEach},
      {"[{$changeStream: {}}, {$match: {}}]", 0, Spread::kMerged},
  };
  for (const SplitCase& test : kCases) {
    Check(test, {"test", "c"});
  }
}

TEST(SplitPoint, OfTheServer) {
  Check({"[{$currentOp: {}}, {$match: {}}]", 2, Spread::kEach}, {"admin", ""});
  Check({"[{$documents: []}, {$match: {}}]", 0, Spread::kOnce}, {"test", ""});
}

}  // namespace
}  // namespace quire::pipeline
