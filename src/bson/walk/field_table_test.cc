// SPDX-License-Identifier: Apache-2.0
#include "bson/walk/field_table.h"

#include <gtest/gtest.h>

namespace quire::bson {
namespace {

TEST(FieldTable, FindsTheFirstOfAName) {
  Builder b;
  b.Append("a", 1).Append("b", 2).Append("a", 3).Append("", 4);
  const Document document = b.Finish();
  for (size_t names : {1, 100}) {
    const FieldTable fields(document, names);
    EXPECT_EQ(fields["a"].AsInt32(), 1) << names;
    EXPECT_EQ(fields["b"].AsInt32(), 2) << names;
    EXPECT_EQ(fields[""].AsInt32(), 4) << names;
    EXPECT_TRUE(fields["c"].missing()) << names;
  }
  EXPECT_TRUE(FieldTable(View(), 100)["a"].missing());
}

}  // namespace
}  // namespace quire::bson
