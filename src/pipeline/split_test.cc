// SPDX-License-Identifier: Apache-2.0
#include "pipeline/split.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "pipeline/parse.h"
#include "pipeline/rewrite.h"

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

// The names of stages, separated by spaces.
std::string NamesOf(const std::vector<bson::Document>& stages) {
  std::string names;
  for (const bson::Document& stage : stages) {
    names += (names.empty() ? "" : " ") + std::string(stage.view().front().name().substr(1));
  }
  return names;
}

// The stages as a pipeline, which has to be one.
std::string JsonOf(const std::vector<bson::Document>& stages, bool is_whole = true) {
  bson::Builder out;
  out.BeginArray("p");
  for (const bson::Document& stage : stages) {
    out.Push(stage.view());
  }
  bson::Document pipeline = out.End().Finish();
  expr::Context context;
  PipelineOptions options;
  options.ns = {"test", "c"};
  auto parsed = ParsePipeline(pipeline["p"].AsArray(), options, &context);
  EXPECT_TRUE(!is_whole || parsed.ok()) << parsed.status().ToString();
  return bson::ToJson(pipeline["p"]);
}

SplitPipeline SplitOf(std::string_view text, const IsLocal& is_local = {}) {
  expr::Context context;
  PipelineOptions options;
  options.ns = {"test", "c"};
  bson::Document spec = bson::TestDocument("{p: " + std::string(text) + "}");
  auto stages = ParsePipeline(spec["p"].AsArray(), options, &context);
  EXPECT_TRUE(stages.ok()) << text << stages.status().ToString();
  EXPECT_TRUE(RewriteStages(&*stages, &context, {"fuse-lookups"}).ok());
  SplitPipeline split = Split(*stages, is_local);
  JsonOf(split.shards);
  JsonOf(split.merger);
  return split;
}

// As MongoDB's explain shows them.
TEST(Split, ShownParts) {
  struct Case {
    const char* pipeline;
    const char* shards;
    const char* merger;
  };
  const Case kCases[] = {
      {"[]", "", ""},
      {"[{$match: {n: {$gt: 6}}}, {$project: {n: 1}}, {$sort: {_id: 1}}]", "match project sort",
       ""},
      {"[{$addFields: {m: 1}}, {$project: {m: 1}}, {$sort: {_id: 1}}]", "addFields project sort",
       ""},
      {"[{$unset: ['l', 'f']}, {$sort: {x: 1}}]", "project sort", ""},
      {"[{$sort: {_id: 1}}, {$replaceRoot: {newRoot: '$o'}}]", "sort project", "replaceRoot"},
      {"[{$redact: '$$KEEP'}, {$sort: {_id: 1}}, {$project: {n: 1}}]", "redact sort project", ""},
      {"[{$sort: {n: 1}}, {$project: {n: 1}}]", "sort project", ""},
      {"[{$sort: {n: -1}}, {$project: {_id: 1}}]", "sort project", "project"},
      {"[{$sort: {g: 1, n: -1}}, {$project: {_id: 1, g: 1}}]", "sort project", "project"},
      {"[{$sort: {n: 1}}, {$limit: 3}, {$project: {n: 1}}]", "sort project", "limit project"},
      {"[{$sort: {n: 1}}, {$skip: 3}, {$limit: 3}, {$project: {n: 1}}]", "sort project",
       "limit skip project"},
      {"[{$sort: {n: 1}}, {$limit: 6}, {$skip: 4}, {$project: {n: 1}}]", "sort project",
       "limit skip project"},
      {"[{$sort: {n: 1}}, {$skip: 20}]", "sort", "skip"},
      {"[{$limit: 5}]", "limit", "limit"},
      {"[{$skip: 5}]", "", "skip"},
      {"[{$skip: 2}, {$limit: 5}]", "limit", "skip limit"},
      {"[{$sort: {n: 1}}, {$match: {g: 'a'}}, {$project: {n: 1}}]", "match sort project", ""},
      {"[{$limit: 6}, {$match: {g: 'zz'}}]", "limit", "limit match"},
      {"[{$sort: {n: 1}}, {$group: {_id: '$g', v: {$push: '$_id'}}}, {$sort: {_id: 1}}]",
       "sort project", "group sort"},
      {"[{$group: {_id: null, v: {$addToSet: '$g'}}}, {$sort: {_id: 1}}]", "group", "group sort"},
      {"[{$group: {_id: '$x'}}]", "group", "group"},
      {"[{$count: 'n'}]", "group", "group project"},
      {"[{$match: {n: {$gt: 100}}}, {$count: 'n'}]", "match group", "group project"},
      {"[{$sortByCount: '$g'}, {$sort: {count: -1, _id: 1}}]", "group", "group sort"},
      {"[{$unwind: '$tags'}, {$sortByCount: '$tags'}, {$sort: {count: -1, _id: 1}}]",
       "unwind group", "group sort"},
      {"[{$bucket: {groupBy: '$n', boundaries: [0, 3, 6]}}]", "group", "group sort"},
      {"[{$bucketAuto: {groupBy: '$n', buckets: 3}}]", "project", "bucketAuto"},
      {"[{$unwind: '$tags'}, {$sort: {_id: 1, tags: 1}}, {$limit: 5}, {$project: {tags: 1}}]",
       "unwind sort project", "limit project"},
      {"[{$unwind: {path: '$tags', includeArrayIndex: 'i'}}, {$match: {i: 0}}, {$group: {_id: "
       "'$tags', n: {$sum: 1}}}, {$sort: {_id: 1}}]",
       "unwind match group", "group sort"},
      {"[{$project: {g: 1}}, {$unionWith: 'u'}, {$group: {_id: '$g', n: {$sum: 1}}}, {$sort: {_id: "
       "1}}]",
       "project", "unionWith group sort"},
      {"[{$project: {n: 1}}, {$merge: {into: 'm'}}]", "project merge", ""},
      {"[{$geoNear: {near: [0, 0], distanceField: 'd'}}]", "geoNear", ""},
      {"[{$geoNear: {near: [0, 0], distanceField: 'd'}}, {$limit: 3}]", "geoNear limit", "limit"},
      {"[{$group: {_id: '$g', n: {$sum: 1}}}, {$sort: {n: -1}}, {$limit: 2}]", "group",
       "group sort"},
      {"[{$group: {_id: '$g', n: {$sum: '$n'}}}, {$match: {n: {$gt: 1}}}, {$project: {m: '$n'}}, "
       "{$sort: {_id: 1}}, {$skip: 1}]",
       "group", "group match project sort skip"},
      {"[{$unwind: '$tags'}]", "", "unwind"},
      {"[{$sample: {size: 3}}, {$match: {a: 1}}]", "sample", "limit match"},
      {"[{$facet: {x: [{$count: 'n'}]}}]", "project", "facet"},
      {"[{$match: {a: 1}}, {$out: 'd'}]", "match", "out"},
      {"[{$skip: 3}, {$count: 'n'}]", "project", "skip group project"},
      {"[{$match: {}}, {$skip: 3}, {$match: {}}]", "", "skip"},
  };
  for (const Case& test : kCases) {
    SplitPipeline split = SplitOf(test.pipeline);
    EXPECT_EQ(NamesOf(split.shards_shown), test.shards) << test.pipeline;
    EXPECT_EQ(NamesOf(split.merger_shown), test.merger) << test.pipeline;
  }
}

TEST(Split, ALookupIsShownWithItsUnwind) {
  const SplitPipeline split = SplitOf(
      "[{$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j'}}, {$unwind: '$j'}, "
      "{$unwind: '$k'}]",
      [](const Namespace&) { return false; });
  EXPECT_EQ(NamesOf(split.merger_shown), "lookup unwind");
  EXPECT_FALSE(split.merger_shown[0].view()["$lookup"].AsDocument()["unwinding"].missing());
  EXPECT_EQ(NamesOf(split.merger), "lookup unwind unwind");
}

TEST(Split, SentParts) {
  SplitPipeline split = SplitOf("[{$sort: {n: 1}}, {$skip: 3}, {$limit: 2}, {$project: {m: 1}}]");
  EXPECT_EQ(JsonOf(split.shards),
            R"([{"$sort":{"n":1}},{"$limit":5},{"$project":{"_id":1,"m":1}}])");
  EXPECT_EQ(JsonOf(split.merger), R"([{"$limit":5},{"$skip":3},{"$project":{"m":1}}])");
  EXPECT_EQ(split.joined, Joined::kBySortKey);

  split = SplitOf("[{$skip: 2}, {$limit: 5}, {$limit: 4}]");
  EXPECT_EQ(JsonOf(split.shards), R"([{"$limit":6}])");
  EXPECT_EQ(JsonOf(split.merger), R"([{"$skip":2},{"$limit":4}])");
  EXPECT_EQ(split.joined, Joined::kAsTheyCome);

  split = SplitOf("[{$count: 'n'}]");
  EXPECT_EQ(JsonOf(split.shards), R"([{"$group":{"_id":null,"n":{"$sum":1}}}])");
  EXPECT_EQ(JsonOf(split.merger),
            R"([{"$group":{"_id":null,"n":{"$sum":1}}},{"$project":{"_id":0,"n":1}}])");
  EXPECT_EQ(split.joined, Joined::kPartials);
  EXPECT_TRUE(split.merger_shown[0].view()["$group"].AsDocument()["$doingMerge"].AsBool());

  split = SplitOf("[{$geoNear: {near: [0, 0], distanceField: 'd'}}, {$match: {a: 1}}]");
  EXPECT_EQ(JsonOf(split.shards), R"([{"$geoNear":{"near":[0,0],"distanceField":"d"}}])");
  EXPECT_EQ(JsonOf(split.merger), R"([{"$match":{"a":1}}])");
  EXPECT_EQ(split.joined, Joined::kBySortKey);

  split = SplitOf("[{$sample: {size: 3}}]");
  EXPECT_EQ(JsonOf(split.merger), R"([{"$limit":3}])");
  EXPECT_EQ(split.joined, Joined::kBySortKey);

  split = SplitOf("[{$changeStream: {}}, {$match: {a: 1}}]");
  EXPECT_EQ(JsonOf(split.shards), R"([{"$changeStream":{}}])");
  EXPECT_EQ(split.joined, Joined::kByTime);
}

TEST(Split, TheRouterWrites) {
  SplitPipeline split = SplitOf("[{$project: {n: 1}}, {$merge: {into: 'm'}}]");
  EXPECT_EQ(JsonOf(split.shards), R"([{"$project":{"n":1}}])");
  EXPECT_EQ(JsonOf(split.merger), R"([{"$merge":{"into":"m"}}])");
}

TEST(Split, LimitsTooLargeToAddStayBehind) {
  SplitPipeline split = SplitOf("[{$skip: {$numberLong: '9223372036854775807'}}, {$limit: 5}]");
  EXPECT_TRUE(split.shards.empty());
}

TEST(Split, ForeignDataElsewhereIsReadOnce) {
  const char* pipeline =
      "[{$match: {a: 1}}, {$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j'}}, "
      "{$set: {c: 1}}]";
  SplitPipeline split = SplitOf(pipeline, [](const Namespace&) { return false; });
  EXPECT_EQ(NamesOf(split.shards), "match");
  EXPECT_EQ(NamesOf(split.merger), "lookup set");
  split = SplitOf(pipeline, [](const Namespace& ns) { return ns.collection == "d"; });
  EXPECT_EQ(NamesOf(split.shards), "match lookup set");
  EXPECT_TRUE(split.merger.empty());
}

}  // namespace
}  // namespace quire::pipeline
