// SPDX-License-Identifier: Apache-2.0
#include "expr/sort/sort_key.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::expr {
namespace {

bson::Document Json(std::string_view text) {
  Result<bson::Document> document = bson::Document::FromJson(text);
  EXPECT_TRUE(document.ok()) << text;
  return *std::move(document);
}

SortPattern Pattern(std::string_view json) {
  bson::Document spec = Json(json);
  Result<SortPattern> pattern = SortPattern::Parse(spec);
  EXPECT_TRUE(pattern.ok()) << json << pattern.status().ToString();
  return *std::move(pattern);
}

std::string Key(const SortPattern& pattern, std::string_view json,
                const Metadata* metadata = nullptr) {
  bson::Document document = Json(json);
  Context context;
  std::string key;
  Status status = pattern.AppendKey(document, metadata, context, &key);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return key;
}

TEST(SortPattern, ParsesDirections) {
  for (const char* json :
       {R"({"a":1})", R"({"a":1.999})", R"({"a":{"$numberLong":"1"}})",
        R"({"a":{"$numberDecimal":"0.51"}})", R"({"a":{"$numberDecimal":"1.49"}})"}) {
    EXPECT_TRUE(Pattern(json).parts()[0].ascending) << json;
  }
  for (const char* json : {R"({"a":-1})", R"({"a":-1.999})", R"({"a":{"$numberDecimal":"-1.49"}})",
                           R"({"a":{"$meta":"geoNearDistance"}})"}) {
    EXPECT_FALSE(Pattern(json).parts()[0].ascending) << json;
  }
  EXPECT_TRUE(Pattern("{}").empty());
  EXPECT_EQ(Pattern(R"({"s":{"$meta":"textScore"}})").parts()[0].meta, "textScore");
}

TEST(SortPattern, RefusesBadSpecifications) {
  struct Row {
    std::string spec;
    int code;
  };
  std::string many = "{";
  std::string metas = "{";
  std::string deep = "a";
  for (int i = 0; i < 33; ++i) {
    const std::string name = (i > 0 ? ",\"f" : "\"f") + std::to_string(i);
    many += name + "\":1";
    metas += name + R"(":{"$meta":"randVal"})";
  }
  for (int i = 0; i < 200; ++i) {
    deep += ".a";
  }
  for (const Row& row : std::initializer_list<Row>{
           {R"({"a":"asc"})", 15974},
           {R"({"a":true})", 15974},
           {R"({"a":[1]})", 15974},
           {R"({"a":0})", 15975},
           {R"({"a":2})", 15975},
           {R"({"a":0.5})", 15975},
           {R"({"a":{"$numberDecimal":"1.5"}})", 15975},
           {R"({"a":{"$numberDecimal":"0.5"}})", 15975},
           {R"({"a":{"$numberDouble":"NaN"}})", 15975},
           {R"({"a":{"$numberDouble":"Infinity"}})", 15975},
           {R"({"$a":0})", 15975},
           {R"({"":1})", 40352},
           {R"({"a.":1})", 40353},
           {R"({".a":1})", 15998},
           {R"({"a..b":1})", 15998},
           {R"({"$natural":1})", 16410},
           {R"({"a.$b":1})", 16410},
           {"{\"" + deep + "\":1}", kOverflow},
           {many + "}", 13103},
           {R"({"a":1,"a":-1})", 7472500},
           {R"({"a":{"$foo":1}})", 17312},
           {R"({"a":{"$meta":"randVal","x":1}})", kFailedToParse},
           {R"({"a":{"$meta":"recordId"}})", 31138},
           {R"({"a":{"$meta":1}})", 31138},
       }) {
    bson::Document spec = Json(row.spec);
    EXPECT_EQ(SortPattern::Parse(spec).status().code(), row.code) << row.spec;
  }
  const bson::Document many_metas = Json(metas + "}");
  EXPECT_TRUE(SortPattern::Parse(many_metas).ok()) << "the limit is one of fields";
}

// Each document is below the next under the pattern.
void ExpectRising(std::string_view spec, std::initializer_list<const char*> documents) {
  SortPattern pattern = Pattern(spec);
  const char* last = nullptr;
  for (const char* document : documents) {
    if (last != nullptr) {
      EXPECT_LT(Key(pattern, last), Key(pattern, document)) << last << " and " << document;
    }
    last = document;
  }
}

TEST(SortPattern, OrdersDocuments) {
  ExpectRising(R"({"v":1})", {R"({"v":[]})", R"({"v":null})", R"({"v":5})", R"({"v":[30,10]})",
                              R"({"v":12})", R"({"v":[15,20,25]})", R"({"v":"x"})"});
  ExpectRising(R"({"v":-1})", {R"({"v":"x"})", R"({"v":[30,10]})", R"({"v":[15,20,25]})",
                               R"({"v":12})", R"({})", R"({"v":[]})"});
  ExpectRising(R"({"a":1,"b":-1})", {R"({"a":1,"b":2})", R"({"a":1,"b":1})", R"({"a":2,"b":9})"});
  ExpectRising(R"({"a.x":1,"a.y":1})",
               {R"({"a":[{"x":2,"y":1},{"x":1,"y":5}]})", R"({"a":[{"x":1,"y":6}]})"});
  SortPattern pattern = Pattern(R"({"v":1})");
  EXPECT_EQ(Key(pattern, R"({"v":[null]})"), Key(pattern, "{}"));
  EXPECT_EQ(Key(pattern, R"({"v":[5]})"), Key(pattern, R"({"v":5.0})"));
}

TEST(SortPattern, RefusesParallelArrays) {
  SortPattern pattern = Pattern(R"({"x":1,"y":1})");
  bson::Document document = Json(R"({"x":[1],"y":[2]})");
  std::string key;
  Status status = pattern.AppendKey(document, nullptr, Context(), &key);
  EXPECT_EQ(status.code(), kBadValue);
  EXPECT_EQ(status.message(), "cannot sort with keys that are parallel arrays");
}

TEST(SortPattern, SortsByMetadata) {
  SortPattern pattern = Pattern(R"({"a":1,"s":{"$meta":"textScore"}})");
  Metadata low;
  low.has_text_score = true;
  low.text_score = 1;
  Metadata high = low;
  high.text_score = 2;
  EXPECT_LT(Key(pattern, R"({"a":1})", &high), Key(pattern, R"({"a":1})", &low));
  EXPECT_LT(Key(pattern, R"({"a":1})", &low), Key(pattern, R"({"a":2})", &high));
}

TEST(SortPattern, ShowsTheValuesOfAKey) {
  SortPattern pattern = Pattern(R"({"a":1,"b":-1})");
  bson::Document document = Json(R"({"a":[3,2.0],"b":"x"})");
  std::string key = "before";
  std::string type_bits;
  Context context;
  ASSERT_TRUE(pattern.AppendKey(document, nullptr, context, &key, &type_bits).ok());
  bson::Document values = pattern.KeyValues(std::string_view(key).substr(6), type_bits);
  EXPECT_EQ(bson::ToJson(bson::Value::Array(values.view())), R"([2.0,"x"])");
}

}  // namespace
}  // namespace quire::expr
