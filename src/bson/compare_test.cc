// SPDX-License-Identifier: Apache-2.0
#include "bson/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "bson/decimal.h"

namespace quire::bson {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kTwo53 = int64_t{1} << 53;
constexpr int64_t kMaxLong = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinLong = std::numeric_limits<int64_t>::min();

Value Dec(const char* text) { return Value(*decimal::FromString(text)); }

// Every value is below all that follow it in the list and equal to those of its own row.
void ExpectOrdered(const std::vector<std::vector<Value>>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const Value& a : rows[i]) {
      for (size_t j = 0; j < rows.size(); ++j) {
        for (const Value& b : rows[j]) {
          int expected = i < j ? -1 : i > j ? 1 : 0;
          EXPECT_EQ(Compare(a, b), expected) << "rows " << i << " and " << j;
          if (expected == 0) {
            EXPECT_EQ(Hash(a), Hash(b)) << "row " << i;
          }
        }
      }
    }
  }
}

TEST(Compare, OrdersTypes) {
  Builder builder;
  builder.BeginDocument("document").Append("a", 1).End();
  builder.BeginArray("array").Push(1).End();
  builder.AppendRegex("regex", "a", "i");
  builder.AppendDbPointer("pointer", "db.c", ObjectId{});
  builder.AppendCodeWithScope("scope", "f", View());
  Document doc = builder.Finish();
  ExpectOrdered({{Value::MinKey()},
                 {Value(), Value::Undefined()},
                 {Value::Null()},
                 {Value(1), Value(int64_t{1}), Value(1.0), Dec("1"), Dec("1.00")},
                 {Value("s"), Value::Symbol("s")},
                 {doc["document"]},
                 {doc["array"]},
                 {Value::Binary("", 0)},
                 {Value(ObjectId{})},
                 {Value(false)},
                 {Value(true)},
                 {Value(Date{5})},
                 {Value(Timestamp{0, 1})},
                 {doc["regex"]},
                 {doc["pointer"]},
                 {Value::Code("c")},
                 {doc["scope"]},
                 {Value::MaxKey()}});
}

TEST(Compare, OrdersNumbersByExactValue) {
  ExpectOrdered({
      {Value(kNan), Value(-kNan), Dec("NaN")},
      {Value(-kInf), Dec("-Infinity")},
      {Dec("-1E+6000")},
      {Value(std::numeric_limits<double>::lowest())},
      {Value(kMinLong), Value(-9223372036854775808.0), Dec("-9223372036854775808")},
      {Value(kMinLong + 1), Dec("-9223372036854775807")},
      {Value(-1), Value(-1.0)},
      {Dec("-1E-6176")},
      {Value(0), Value(int64_t{0}), Value(0.0), Value(-0.0), Dec("0"), Dec("-0"), Dec("0E+100")},
      {Dec("1E-6176")},
      {Value(std::numeric_limits<double>::denorm_min())},
      {Dec("0.1")},
      {Value(0.1)},  // 0.1000000000000000055...
      {Dec("0.1000000000000000055511151231257828")},
      {Value(0.5), Dec("0.5"), Dec("0.50")},
      {Value(kTwo53), Value(9007199254740992.0), Dec("9007199254740992")},
      {Dec("9007199254740992.5")},
      {Value(kTwo53 + 1), Dec("9007199254740993")},
      {Value(kTwo53 + 2), Value(9007199254740994.0)},
      {Value(kMaxLong), Dec("9223372036854775807")},
      {Value(9223372036854775808.0), Dec("9223372036854775808")},
      {Value(1e300)},
      {Dec("1E+6000")},
      {Value(kInf), Dec("Infinity")},
  });
}

TEST(Compare, OrdersDatesSignedAndTimestampsUnsigned) {
  ExpectOrdered({{Value(Date{-1})}, {Value(Date{0})}, {Value(Date{1})}});
  ExpectOrdered(
      {{Value(Timestamp{1, 5})}, {Value(Timestamp{2, 0})}, {Value(Timestamp{1u << 31, 0})}});
}

TEST(Compare, OrdersBinaryByLengthSubtypeBytes) {
  ExpectOrdered({{Value::Binary("z", 5)},
                 {Value::Binary("ab", 0)},
                 {Value::Binary("ac", 0)},
                 {Value::Binary("aa", 4)},
                 {Value::Binary("\xff\xff", 4)}});
}

TEST(Compare, OrdersStringsByBytesWithLength) {
  ExpectOrdered({{Value("")},
                 {Value(std::string_view("\0", 1))},
                 {Value("a")},
                 {Value(std::string_view("a\0b", 3))},
                 {Value("ab")},
                 {Value("\xc3\xa9")}});
}

Document One(const char* name, const Value& value) {
  Builder b;
  b.Append(name, value);
  return b.Finish();
}

TEST(Compare, ComparesDocumentsByTypeThenNameThenValue) {
  Document string_a = One("a", Value("x"));
  Document number_b = One("b", Value(1));
  Document number_a = One("a", Value(2));
  Document empty;
  EXPECT_EQ(CompareDocuments(number_b, string_a), -1);  // the type decides before the name
  EXPECT_EQ(CompareDocuments(number_a, number_b), -1);
  EXPECT_EQ(CompareDocuments(empty, number_a), -1);
  Document same = One("a", Value(2.0));
  EXPECT_EQ(CompareDocuments(same, number_a), 0);
  Builder longer;
  longer.Append("a", 2).Append("b", 1);
  Document two = longer.Finish();
  EXPECT_EQ(CompareDocuments(number_a, two), -1);
  EXPECT_EQ(CompareDocuments(two, number_a), 1);
}

Document Nested(int levels, int leaf) {
  Document doc = One("a", Value(leaf));
  for (int i = 0; i < levels; ++i) {
    doc = One("a", Value(doc.view()));
  }
  return doc;
}

TEST(Compare, SurvivesDeepNesting) {
  Document a = Nested(5000, 1);
  Document b = Nested(5000, 2);
  EXPECT_EQ(CompareDocuments(a, b), -1);
  EXPECT_EQ(CompareDocuments(a, a), 0);
  EXPECT_EQ(Hash(Value(a.view())), Hash(Value(a.view())));
}

TEST(Compare, DocumentsThatDifferHashApart) {
  std::set<uint64_t> hashes;
  for (int i = 0; i < 1000; ++i) {
    Document flat = One("a", Value(i));
    Document nested = Nested(2, i);
    hashes.insert(Hash(Value(flat.view())));
    hashes.insert(Hash(Value(nested.view())));
  }
  EXPECT_EQ(hashes.size(), 2000u);
}

class IgnoreCase : public StringCompare {
 public:
  int Compare(std::string_view a, std::string_view b) const override {
    return SortKey(a).compare(SortKey(b));
  }
  std::string SortKey(std::string_view s) const override {
    std::string key(s);
    for (char& c : key) {
      c = static_cast<char>(tolower(c));
    }
    return key;
  }
};

TEST(Compare, UsesTheCollationForStringsAtAnyDepth) {
  IgnoreCase strings;
  EXPECT_EQ(Compare(Value("A"), Value("a"), &strings), 0);
  EXPECT_EQ(Compare(Value("A"), Value::Symbol("a"), &strings), 0);
  Document upper = One("x", Value("ABC"));
  Document lower = One("x", Value("abc"));
  Document name = One("X", Value("abc"));
  EXPECT_EQ(CompareDocuments(upper, lower, &strings), 0);
  EXPECT_NE(CompareDocuments(lower, name, &strings), 0);
  EXPECT_EQ(Hash(Value(upper.view()), &strings), Hash(Value(lower.view()), &strings));
  EXPECT_NE(Compare(Value::Code("A"), Value::Code("a"), &strings), 0);
}

TEST(Compare, Brackets) {
  EXPECT_TRUE(SameBracket(Type::kInt32, Type::kDecimal128));
  EXPECT_TRUE(SameBracket(Type::kMissing, Type::kNull));
  EXPECT_TRUE(SameBracket(Type::kUndefined, Type::kNull));
  EXPECT_TRUE(SameBracket(Type::kSymbol, Type::kString));
  EXPECT_FALSE(SameBracket(Type::kMinKey, Type::kNull));
  EXPECT_FALSE(SameBracket(Type::kDate, Type::kTimestamp));
  EXPECT_FALSE(SameBracket(Type::kBool, Type::kInt32));
}

}  // namespace
}  // namespace quire::bson
