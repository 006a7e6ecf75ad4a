// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rewrite.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "pipeline/explain.h"
#include "pipeline/parse.h"

namespace quire::pipeline {
namespace {

// What one step makes of a pipeline.
TEST(Rewrite, Steps) {
  struct StepCase {
    const char* step;
    const char* before;
    const char* after;
  };
  const StepCase kCases[] = {
      {"split-matches", "[{$limit: 1}, {$match: {a: 1, $and: [{b: 2}, {c: 3}]}}]",
       "[{$limit: 1}, {$match: {a: 1}}, {$match: {b: 2}}, {$match: {c: 3}}]"},
      {"split-matches", "[{$match: {a: 1, b: 1}}]", "[{$match: {a: 1, b: 1}}]"},
      {"split-matches", "[{$match: {}}, {$limit: 1}, {$match: {}}]", "[{$limit: 1}]"},
      {"push-matches", "[{$unwind: '$t'}, {$match: {a: 1}}]",
       "[{$match: {a: 1}}, {$unwind: {path: '$t'}}]"},
      {"push-matches", "[{$unwind: {path: '$t'}}, {$match: {t: 1}}]",
       "[{$unwind: {path: '$t'}}, {$match: {t: 1}}]"},
      {"push-matches", "[{$project: {a: 1}}, {$match: {a: 1}}]",
       "[{$match: {a: 1}}, {$project: {a: 1}}]"},
      {"push-matches", "[{$group: {_id: '$a'}}, {$match: {_id: {$gt: 3}}}]",
       "[{$match: {a: {$gt: 3}}}, {$group: {_id: '$a'}}]"},
      {"push-matches", "[{$group: {_id: {p: '$a'}}}, {$match: {'_id.p': 3}}]",
       "[{$match: {a: 3}}, {$group: {_id: {p: '$a'}}}]"},
      {"push-matches", "[{$group: {_id: '$a'}}, {$match: {_id: {$exists: true}}}]",
       "[{$group: {_id: '$a'}}, {$match: {_id: {$exists: true}}}]"},
      {"push-matches", "[{$group: {_id: '$a.b'}}, {$match: {_id: 1}}]",
       "[{$group: {_id: '$a.b'}}, {$match: {_id: 1}}]"},
      {"push-matches", "[{$limit: 1}, {$match: {a: 1}}]", "[{$limit: 1}, {$match: {a: 1}}]"},
      {"push-matches",
       "[{$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j'}}, {$match: {a: 1}}]",
       "[{$match: {a: 1}}, {$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j'}}]"},
      {"fuse-lookups",
       "[{$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j'}}, {$unwind: '$j'}, "
       "{$match: {'j.x': 1}}, {$match: {j: 1}}]",
       "[{$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j', unwinding: "
       "{preserveNullAndEmptyArrays: false}, matching: {$and: [{x: 1}]}}}, {$match: {j: 1}}]"},
      {"fuse-lookups",
       "[{$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j'}}, {$unwind: {path: "
       "'$j', preserveNullAndEmptyArrays: true}}, {$match: {'j.x': 1}}]",
       "[{$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'j', unwinding: "
       "{preserveNullAndEmptyArrays: true}}}, {$match: {'j.x': 1}}]"},
      {"merge-matches", "[{$match: {a: 1}}, {$match: {}}, {$match: {b: 1}}]",
       "[{$match: {$and: [{a: 1}, {b: 1}]}}]"},
      {"cut-early", "[{$project: {a: 0}}, {$skip: 1}, {$limit: 2}]",
       "[{$skip: {$numberLong: '1'}}, {$limit: {$numberLong: '2'}}, {$project: {a: 0}}]"},
      {"cut-early", "[{$replaceWith: '$a'}, {$limit: 2}]",
       "[{$replaceRoot: {newRoot: '$a'}}, {$limit: {$numberLong: '2'}}]"},
      {"merge-cuts", "[{$limit: 5}, {$limit: 3}]", "[{$limit: {$numberLong: '3'}}]"},
      {"merge-cuts", "[{$skip: 5}, {$skip: 3}]", "[{$skip: {$numberLong: '8'}}]"},
      {"merge-cuts", "[{$skip: 5}, {$limit: 3}]",
       "[{$skip: {$numberLong: '5'}}, {$limit: {$numberLong: '3'}}]"},
      {"drop-sorts", "[{$sort: {a: 1}}, {$sort: {b: 1}}]", "[{$sort: {sortKey: {b: 1}}}]"},
      {"limit-sorts", "[{$sort: {a: 1}}, {$skip: 2}, {$limit: 3}]",
       "[{$sort: {sortKey: {a: 1}, limit: {$numberLong: '5'}}}, {$skip: {$numberLong: '2'}}, "
       "{$limit: {$numberLong: '3'}}]"},
  };
  expr::Context context;
  PipelineOptions options;
  options.ns = {"test", "c"};
  for (const StepCase& test : kCases) {
    SCOPED_TRACE(test.before);
    bson::Document spec = bson::TestDocument(std::string("{p: ") + test.before + "}");
    auto stages = ParsePipeline(spec["p"].AsArray(), options, &context);
    ASSERT_TRUE(stages.ok());
    std::set<std::string> off;
    for (const Rewrite& rewrite : Rewrites()) {
      if (rewrite.name != test.step) {
        off.insert(std::string(rewrite.name));
      }
    }
    ASSERT_TRUE(RewriteStages(&*stages, &context, off).ok());
    bson::Builder out;
    out.BeginArray("p");
    ExplainStages(*stages, {}, &out);
    out.End();
    bson::Document got = out.Finish();
    bson::Document after = bson::TestDocument(std::string("{p: ") + test.after + "}");
    EXPECT_EQ(bson::ToJson(got.view()), bson::ToJson(after.view()));
  }
}

}  // namespace
}  // namespace quire::pipeline
