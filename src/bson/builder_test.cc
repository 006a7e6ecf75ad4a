// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "quire/bson.h"

namespace quire::bson {
namespace {

// Names of every length, with values that are appended in one piece and others.
TEST(Builder, NamesOfEveryLength) {
  const Document inner = Builder().Append("x", 1).Finish();
  const Value values[] = {Value(1.5),
                          Value(int64_t{-3}),
                          Value(7),
                          Value(true),
                          Value(Date{9}),
                          Value(Timestamp{1, 2}),
                          Value(ObjectId()),
                          Value::Null(),
                          Value("text"),
                          Value(inner.view()),
                          Value::Array(inner.view()),
                          Value(Decimal128{1, 2}),
                          Value::Binary("b", 0),
                          Value::MinKey()};
  for (size_t size = 0; size < 100; ++size) {
    const std::string name(size, 'n');
    for (const Value& value : values) {
      const Document made = Builder().Append(name, value).BeginDocument(name).End().Finish();
      ASSERT_TRUE(Document::Parse(made.bytes()).ok()) << size;
      auto field = made.view().begin();
      ASSERT_EQ(field->name(), name);
      ASSERT_TRUE(field->value().BinaryEquals(value)) << size;
      ASSERT_EQ((++field)->name(), name);
      ASSERT_TRUE(field->value().is_document());
      ASSERT_EQ(++field, made.view().end());
    }
  }
}

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
