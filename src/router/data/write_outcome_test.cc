// SPDX-License-Identifier: Apache-2.0
#include "router/data/write_outcome.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "quire/doc.h"

namespace quire::router {
namespace {

TEST(WriteOutcome, TheSameErrorOfAllShardsIsOne) {
  const Status merged = MergeErrors({{kInvalidOptions, "no"}, {kInvalidOptions, "no"}});
  EXPECT_EQ(merged.code(), kInvalidOptions);
  EXPECT_EQ(merged.message(), "no");
}

TEST(WriteOutcome, DifferentErrorsAreNamedTogether) {
  const Status merged = MergeErrors({{kBadValue, "a"}, {kTypeMismatch, "b"}});
  EXPECT_EQ(merged.code(), kMultipleErrorsOccurred);
  EXPECT_EQ(merged.message(), "multiple errors for op : a :: and :: b");
}

TEST(WriteOutcome, SeveralConcernErrorsAreAFailedConcern) {
  EXPECT_TRUE(MergeConcernErrors({}).empty());
  const bson::Document one = Doc("code", 79, "errmsg", "x");
  EXPECT_EQ(bson::ToJson(MergeConcernErrors({one})), bson::ToJson(one));
  EXPECT_EQ(bson::ToJson(MergeConcernErrors({one, one})),
            R"({"code":64,"codeName":"WriteConcernFailed",)"
            R"("errmsg":"multiple errors reported : x :: and :: x"})");
}

}  // namespace
}  // namespace quire::router
