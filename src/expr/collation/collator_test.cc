// SPDX-License-Identifier: Apache-2.0
#include "expr/collation/collator.h"

#include <gtest/gtest.h>

namespace quire::expr {
namespace {

Result<std::shared_ptr<const Collator>> Parse(std::string_view json) {
  auto spec = bson::Document::FromJson(json);
  EXPECT_TRUE(spec.ok()) << json;
  return Collator::Parse(*spec);
}

int Sign(int i) { return i < 0 ? -1 : i > 0; }

TEST(Collator, ComparesByEveryOption) {
  const struct {
    const char* spec;
    const char* a;
    const char* b;
    int order;
  } cases[] = {
      {R"({"locale": "en"})", "a", "B", -1},
      {R"({"locale": "en"})", "a", "A", -1},
      {R"({"locale": "en", "strength": 2})", "a", "A", 0},
      {R"({"locale": "en", "strength": 1})", "e", "\xC3\xA9", 0},
      {R"({"locale": "en", "strength": 1, "caseLevel": true})", "a", "A", -1},
      {R"({"locale": "en", "caseFirst": "upper"})", "a", "A", 1},
      {R"({"locale": "en", "numericOrdering": true})", "item9", "item10", -1},
      {R"({"locale": "en", "alternate": "shifted"})", "co-op", "coop", 0},
      {R"({"locale": "en", "alternate": "shifted", "maxVariable": "space"})", "co-op", "coop", -1},
      {R"({"locale": "fr", "backwards": true})", "cot\xC3\xA9", "c\xC3\xB4te", 1},
      {R"({"locale": "sv"})", "z", "\xC3\xB6", -1},
  };
  for (const auto& c : cases) {
    auto collator = Parse(c.spec);
    ASSERT_TRUE(collator.ok()) << c.spec << collator.status().ToString();
    EXPECT_EQ(Sign((*collator)->Compare(c.a, c.b)), c.order) << c.spec << c.a << c.b;
    std::string a = (*collator)->SortKey(c.a);
    std::string b = (*collator)->SortKey(c.b);
    EXPECT_EQ(Sign(a.compare(b)), c.order) << "keys " << c.spec << c.a << c.b;
  }
}

TEST(Collator, CompletesItsSpec) {
  auto collator = Parse(R"({"locale": "en", "strength": 2})");
  ASSERT_TRUE(collator.ok());
  auto want = bson::Document::FromJson(
      R"({"locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 2,
          "numericOrdering": false, "alternate": "non-ignorable", "maxVariable": "punct",
          "normalization": false, "backwards": false, "version": "57.1"})");
  EXPECT_EQ(bson::ToJson((*collator)->spec()), bson::ToJson(*want));
  EXPECT_EQ(*Parse(R"({"locale": "simple"})"), nullptr);
}

TEST(Collator, RefusesBadSpecs) {
  const std::pair<const char*, int> cases[] = {
      {R"({})", 40414},
      {R"({"locale": "nosuch"})", 2},
      {R"({"locale": 5})", 14},
      {R"({"locale": "en", "strength": 6})", 2},
      {R"({"locale": "en", "strength": "x"})", 14},
      {R"({"locale": "en", "foo": 1})", 40415},
      {R"({"locale": "en", "caseFirst": "sideways"})", 2},
      {R"({"locale": "en", "numericOrdering": "yes"})", 14},
      {R"({"locale": "en", "backwards": null})", 14},
      {R"({"locale": "en", "version": "1"})", 161},
      {R"({"locale": "en", "strength": 2, "caseFirst": "upper"})", 2},
      {R"({"locale": "en", "strength": 1, "backwards": true})", 2},
  };
  for (const auto& [spec, code] : cases) {
    EXPECT_EQ(Parse(spec).status().code(), code) << spec;
  }
}

}  // namespace
}  // namespace quire::expr
