// SPDX-License-Identifier: Apache-2.0
#include "pipeline/leading_find.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "pipeline/parse.h"

namespace quire::pipeline {
namespace {

std::string Text(const char* text) {
  bson::Document document = bson::TestDocument(text);
  return bson::ToJson(document.view());
}

TEST(LeadingFind, TakesFilterSortAndLimit) {
  expr::Context context;
  bson::Document spec = bson::TestDocument(
      "{p: [{$match: {a: 1}}, {$sort: {b: 1}}, {$limit: 5}, {$group: {_id: '$c', n: {$sum: "
      "'$d'}}}]}");
  PipelineOptions options;
  options.ns = {"test", "c"};
  auto stages = ParsePipeline(spec["p"].AsArray(), options, &context);
  ASSERT_TRUE(stages.ok());
  LeadingFind find = TakeLeadingFind(&*stages);
  EXPECT_EQ(bson::ToJson(find.filter.view()), Text("{a: 1}"));
  EXPECT_EQ(bson::ToJson(find.sort.view()), Text("{b: 1}"));
  EXPECT_EQ(find.limit, 5);
  EXPECT_EQ(bson::ToJson(find.projection.view()), Text("{_id: 0, c: 1, d: 1}"));
  EXPECT_TRUE(find.only_needs);
  EXPECT_EQ(stages->size(), 1u);
}

TEST(LeadingFind, DistinctKeys) {
  struct KeyCase {
    const char* pipeline;
    const char* key;
  };
  const KeyCase kCases[] = {
      {"{p: [{$group: {_id: '$c'}}]}", "c"},
      {"{p: [{$match: {c: {$gt: 1}}}, {$group: {_id: '$c'}}]}", "c"},
      {"{p: [{$match: {d: 1}}, {$group: {_id: '$c'}}]}", ""},
      {"{p: [{$group: {_id: '$c', n: {$sum: 1}}}]}", ""},
      {"{p: [{$limit: 3}, {$group: {_id: '$c'}}]}", ""},
      {"{p: [{$group: {_id: {x: '$c'}}}]}", ""},
  };
  expr::Context context;
  PipelineOptions options;
  options.ns = {"test", "c"};
  for (const KeyCase& test : kCases) {
    bson::Document spec = bson::TestDocument(test.pipeline);
    auto stages = ParsePipeline(spec["p"].AsArray(), options, &context);
    ASSERT_TRUE(stages.ok());
    EXPECT_EQ(TakeLeadingFind(&*stages).distinct_path, test.key) << test.pipeline;
  }
}

}  // namespace
}  // namespace quire::pipeline
