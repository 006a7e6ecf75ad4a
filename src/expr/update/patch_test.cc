// SPDX-License-Identifier: Apache-2.0
#include "expr/update/patch.h"

#include <gtest/gtest.h>

#include "expr/update/diff.h"

namespace quire::expr::update {
namespace {

struct PatchCase {
  const char* before;
  const char* diff;
  const char* after;  // "": refused
};
const PatchCase kCases[] = {
    {R"({"_id":1,"x":1})", R"({"u":{"x":2}})", R"({"_id":1,"x":2})"},
    {R"({"_id":1,"x":1})", R"({"d":{"x":false},"i":{"y":3}})", R"({"_id":1,"y":3})"},
    {R"({"_id":1})", R"({"u":{"x":2}})", R"({"_id":1,"x":2})"},
    {R"({"a":{"b":1,"c":2}})", R"({"sa":{"u":{"c":3}}})", R"({"a":{"b":1,"c":3}})"},
    {R"({"a":[1,2,3]})", R"({"sa":{"a":true,"l":2,"u0":9}})", R"({"a":[9,2]})"},
    {R"({"a":[1]})", R"({"sa":{"a":true,"u2":5}})", R"({"a":[1,null,5]})"},
    {R"({"a":[{"b":1}]})", R"({"sa":{"a":true,"s0":{"u":{"b":2}}}})", R"({"a":[{"b":2}]})"},
    // Something else is there: it stays.
    {R"({"a":5})", R"({"sa":{"u":{"c":3}}})", R"({"a":5})"},
    {R"({"a":1})", R"({"x":{"a":2}})", ""},
    {R"({"a":1})", R"({"u":5})", ""},
    {R"({"a":[1]})", R"({"sa":{"a":true,"ux":5}})", ""},
    {R"({"a":[1]})", R"({"sa":{"a":true,"u99999999999":5}})", ""},
};

TEST(Patch, AppliesDifferences) {
  for (const PatchCase& c : kCases) {
    auto before = bson::Document::FromJson(c.before);
    auto diff = bson::Document::FromJson(c.diff);
    ASSERT_TRUE(before.ok() && diff.ok()) << c.diff;
    auto after = Patch(*before, *diff);
    EXPECT_EQ(after.ok() ? bson::ToJson(*after) : "", c.after) << c.diff;
  }
}

TEST(Patch, UndoesDiff) {
  const char* documents[] = {R"({"_id":1})", R"({"_id":1,"a":[1,{"b":2}],"c":{"d":1,"e":2}})",
                             R"({"_id":1,"c":{"e":3},"a":[1,{"b":3},4],"z":null})"};
  for (const char* from : documents) {
    for (const char* to : documents) {
      auto before = bson::Document::FromJson(from);
      auto after = bson::Document::FromJson(to);
      bson::Document diff = Diff(*before, *after);
      auto patched = Patch(*before, diff);
      ASSERT_TRUE(patched.ok());
      bson::Document left = Diff(*patched, *after);
      EXPECT_TRUE(left.view().empty()) << from << to << bson::ToJson(left);
    }
  }
}

// In time that grows with the number of fields, not with its square: this would take minutes.
TEST(Patch, ManyFields) {
  constexpr int kFields = 200'000;
  bson::Builder before;
  bson::Builder after;
  for (int i = 0; i < 2 * kFields; ++i) {
    const std::string name = "f" + std::to_string(i);
    if (i < kFields) {
      before.Append(name, i);
    }
    if (i % 4 != 0) {
      after.Append(name, i % 2 == 0 ? i : -i);
    }
  }
  const bson::Document from = before.Finish();
  const bson::Document to = after.Finish();
  const bson::Document diff = Diff(from, to);
  auto patched = Patch(from, diff);
  ASSERT_TRUE(patched.ok());
  EXPECT_EQ(patched->bytes(), to.bytes());
}

}  // namespace
}  // namespace quire::expr::update
