// SPDX-License-Identifier: Apache-2.0
#include "bson/key_tuples.h"

#include <gtest/gtest.h>

namespace quire::bson {
namespace {

std::string Tuples(std::initializer_list<const char*> paths, std::string_view json) {
  Result<Document> document = Document::FromJson(json);
  EXPECT_TRUE(document.ok()) << json;
  std::vector<FieldPath> split;
  for (const char* path : paths) {
    split.emplace_back(path);
  }
  std::string out;
  uint64_t array_parts = 0;
  Status status = ForEachKeyTuple(split, document->view(), &array_parts,
                                  [&](std::span<const Value> values, bool nothing) {
                                    out += nothing ? "(nothing" : "(";
                                    for (const Value& v : values) {
                                      out += " " + ToJson(v);
                                    }
                                    out += ")";
                                  });
  return status.ok() ? out : status.ToString();
}

TEST(KeyTuples, MakesOnePerElement) {
  EXPECT_EQ(Tuples({"a", "b"}, R"({"a":1})"), "( 1 null)");
  EXPECT_EQ(Tuples({"a", "b"}, "{}"), "(nothing null null)");
  EXPECT_EQ(Tuples({"a"}, R"({"a":[1,2]})"), "( 1)( 2)");
  EXPECT_EQ(Tuples({"a", "b"}, R"({"a":[1,2],"b":3})"), "( 1 3)( 2 3)");
  EXPECT_EQ(Tuples({}, R"({"a":[1]})"), "(nothing)");
}

TEST(KeyTuples, NumericPartsAndNestedArrays) {
  EXPECT_EQ(Tuples({"a.0", "a.0.b"}, R"({"a":[[{"b":1},{"b":2}]]})"),
            R"(( [{"b":1},{"b":2}] 1)( [{"b":1},{"b":2}] 2))");
  EXPECT_EQ(Tuples({"a", "a.0"}, R"({"a":[5,6]})"), "( 5 5)( 6 5)");
  EXPECT_EQ(Tuples({"a.0.0"}, R"({"a":[[7,8],[9]]})"), "( 7)");
}

TEST(KeyTuples, MoreThanAFewPaths) {
  EXPECT_EQ(Tuples({"a", "b", "c", "d", "e", "f", "g", "h", "i"}, R"({"i":[1,2]})"),
            "( null null null null null null null null 1)"
            "( null null null null null null null null 2)");
}

// Every level names the first element by its index: a tuple per combination would never end.
TEST(KeyTuples, DeepPositionsStayCheap) {
  std::string json = "1";
  std::string path = "a";
  for (int level = 0; level < 12; ++level) {
    std::string element = json;
    json = "[" + element;
    for (int i = 0; i < 30; ++i) {
      json += i % 2 == 0 ? ",{}" : ",1";
    }
    json += "]";
    path += ".0";
  }
  EXPECT_EQ(Tuples({path.c_str()}, "{\"a\":" + json + "}"), "( 1)");
}

}  // namespace
}  // namespace quire::bson
