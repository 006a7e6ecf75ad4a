// SPDX-License-Identifier: Apache-2.0
#include "pipeline/parse.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"

namespace quire::pipeline {
namespace {

TEST(ParsePipeline, Errors) {
  struct ErrorCase {
    const char* pipeline;
    int code;
  };
  const ErrorCase kCases[] = {
      {"[{$nope: {}}]", 40324},
      {"[{}]", 40323},
      {"[{$match: {}, $sort: {a: 1}}]", 40323},
      {"[5]", 14},
      {"[{$out: 'x'}, {$match: {}}]", 40601},
      {"[{$limit: 0}]", 15958},
      {"[{$limit: 'x'}]", 5107201},
      {"[{$sort: {}}]", 15976},
      {"[{$sort: {a: 2}}]", 15975},
      {"[{$unwind: 'a'}]", 28818},
      {"[{$match: 1}]", 15959},
      {"[{$match: {}}, {$match: {$text: {$search: 'x'}}}]", 17313},
      {"[{$merge: {into: 'x', whenMatched: 'fail', whenNotMatched: 'discard'}}]", 51181},
      {"[{$merge: {}}]", 40414},
      {"[{$out: 5}]", 16990},
  };
  expr::Context context;
  PipelineOptions options;
  options.ns = {"test", "c"};
  for (const ErrorCase& test : kCases) {
    bson::Document spec = bson::TestDocument(std::string("{p: ") + test.pipeline + "}");
    EXPECT_EQ(ParsePipeline(spec["p"].AsArray(), options, &context).status().code(), test.code)
        << test.pipeline;
  }
}

}  // namespace
}  // namespace quire::pipeline
