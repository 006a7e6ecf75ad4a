// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "quire/bson.h"

namespace quire::bson {
namespace {

TEST(Builder, NestsDocumentsAndArrays) {
  Builder b;
  b.Append("a", 1).BeginArray("b");
  b.Push(int64_t{2}).Push("x").PushDocument().Append("c", true).End();
  b.End().Append("d", 1.5);
  Document doc = b.Finish();
  EXPECT_EQ(doc["a"].AsInt32(), 1);
  View array = doc["b"].AsArray();
  EXPECT_EQ(array["0"].AsInt64(), 2);
  EXPECT_EQ(array["1"].AsString(), "x");
  EXPECT_TRUE(array["2"].AsDocument()["c"].AsBool());
  EXPECT_EQ(doc["d"].AsDouble(), 1.5);
  EXPECT_EQ(doc.view().Count(), 3u);
  EXPECT_TRUE(doc["e"].missing());
}

TEST(Builder, AppendsToAnotherBuffer) {
  std::string out = "head";
  Builder b(&out);
  b.Append("a", 1);
  b.Close();
  EXPECT_EQ(View(out.data() + 4)["a"].AsInt32(), 1);
}

}  // namespace
}  // namespace quire::bson
