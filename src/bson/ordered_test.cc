// SPDX-License-Identifier: Apache-2.0
#include "bson/ordered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "bson/decimal.h"

namespace quire::bson {
namespace {

// Random values of every type, with the close calls of numbers made likely.
class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : random_(seed) {}

  void Append(std::string_view name, Builder* out, int depth = 0) {
    std::string text = Text();
    switch (Below(depth > 2 ? 20 : 24)) {
      case 0:
        out->Append(name, Value::MinKey());
        return;
      case 1:
        out->Append(name, Value::MaxKey());
        return;
      case 2:
        out->AppendNull(name);
        return;
      case 3:
        out->Append(name, Value::Undefined());
        return;
      case 4:
        out->Append(name, Below(2) == 0);
        return;
      case 5:
        out->Append(name, Date{Integer()});
        return;
      case 6:
        out->Append(name,
                    Timestamp{static_cast<uint32_t>(Integer()), static_cast<uint32_t>(Below(3))});
        return;
      case 7: {
        ObjectId id;
        id.bytes[0] = static_cast<uint8_t>(Below(256));
        id.bytes[11] = static_cast<uint8_t>(Below(3));
        out->Append(name, id);
        return;
      }
      case 8:
        out->Append(name, Value::Binary(text, static_cast<uint8_t>(Below(3))));
        return;
      case 9: {
        std::replace(text.begin(), text.end(), '\0', 'z');
        out->AppendRegex(name, text, Below(2) == 0 ? "" : "i");
        return;
      }
      case 10:
        out->AppendDbPointer(name, text, ObjectId{});
        return;
      case 11:
        out->Append(name, Value::Code(text));
        return;
      case 12:
        out->Append(name, Value::Symbol(text));
        return;
      case 13:
      case 14:
        out->Append(name, text);
        return;
      case 20:
      case 21:
        return Container(name, false, out, depth);
      case 22:
        return Container(name, true, out, depth);
      case 23: {
        Builder scope;
        Append("s", &scope, depth + 1);
        Document document = scope.Finish();
        out->AppendCodeWithScope(name, text, document);
        return;
      }
      default:
        out->Append(name, Number());
    }
  }

  Value Number() {
    switch (Below(4)) {
      case 0:
        return Value(static_cast<int32_t>(Integer()));
      case 1:
        return Value(Integer());
      case 2:
        return Value(Double());
      default:
        return Value(Decimal());
    }
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }

  int64_t Integer() {
    constexpr int64_t kEdges[] = {0,
                                  1,
                                  127,
                                  128,
                                  255,
                                  256,
                                  int64_t{1} << 31,
                                  int64_t{1} << 53,
                                  (int64_t{1} << 62),
                                  INT64_MAX,
                                  INT64_MIN};
    int64_t edge = kEdges[Below(std::size(kEdges))];
    auto i = static_cast<uint64_t>(edge) + Below(5) - 2;
    return static_cast<int64_t>(Below(2) == 0 ? i : uint64_t{0} - i);
  }

  double Double() {
    switch (Below(8)) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return Below(2) == 0 ? HUGE_VAL : -HUGE_VAL;
      case 2:
        return Below(2) == 0 ? 0.0 : -0.0;
      case 3:
        return static_cast<double>(Integer());
      case 4:
        return std::nextafter(static_cast<double>(Integer()), 0);
      case 5:
        return static_cast<double>(Integer() % 8) / 4;
      case 6:
        return std::bit_cast<double>(random_() & ~(uint64_t{0x400} << 52));
      default:
        return static_cast<double>(Integer() % 100) / 10;
    }
  }

  Decimal128 Decimal() {
    switch (Below(8)) {
      case 0:
        return Below(2) == 0 ? decimal::kNan : decimal::kInfinity;
      case 1:
        return decimal::Join({Below(2) == 0, 0, static_cast<int>(Below(12288)) - 6176});
      case 2:
        return decimal::FromInt64(Integer());
      case 3:
        return decimal::FromDoubleExact(Double());
      case 4: {
        unsigned __int128 c = random_();
        return decimal::Join(
            {Below(2) == 0, c * Below(1 << 20), static_cast<int>(Below(12288)) - 6176});
      }
      case 5: {
        Decimal128 d = decimal::FromDoubleExact(static_cast<double>(Integer() % 100) / 4);
        return decimal::Add(d, decimal::Join({false, Below(3), -static_cast<int>(Below(30))}));
      }
      case 6:
        return decimal::FromDouble(Double());
      default:
        return decimal::Join({Below(2) == 0, Below(1000), static_cast<int>(Below(8)) - 4});
    }
  }

  std::string Text() {
    std::string text;
    for (uint64_t n = Below(4); n > 0; --n) {
      constexpr char kChars[] = {'\0', '\1', '\2', 'a', 'b', '\xff'};
      text += kChars[Below(std::size(kChars))];
    }
    return text;
  }

  void Container(std::string_view name, bool array, Builder* out, int depth) {
    array ? out->BeginArray(name) : out->BeginDocument(name);
    constexpr const char* kNames[] = {"", "a", "b", "ab"};
    uint64_t count = Below(3);
    for (uint64_t i = 0; i < count; ++i) {
      Append(array ? std::to_string(i) : std::string(kNames[Below(4)]), out, depth + 1);
    }
    out->End();
  }

  std::mt19937_64 random_;
};

std::string Encoded(const Value& value, Direction direction, std::string* tags = nullptr) {
  std::string out;
  AppendOrdered(value, direction, nullptr, &out, tags);
  return out;
}

int Sign(int i) { return (i > 0) - (i < 0); }

void ExpectSameOrder(const Value& a, const Value& b) {
  int expected = Compare(a, b);
  std::string x = Encoded(a, Direction::kAscending);
  std::string y = Encoded(b, Direction::kAscending);
  ASSERT_EQ(Sign(x.compare(y)), expected) << ToJson(a) << " and " << ToJson(b);
  x = Encoded(a, Direction::kDescending);
  y = Encoded(b, Direction::kDescending);
  ASSERT_EQ(Sign(x.compare(y)), -expected) << ToJson(a) << " and " << ToJson(b) << " descending";
}

bool NanLike(const Value& v) {
  return (v.type() == Type::kDouble && std::isnan(v.AsDouble())) ||
         (v.type() == Type::kDecimal128 && decimal::IsNan(v.AsDecimal()));
}

void ExpectReadsBack(const Value& value, Direction direction) {
  std::string tags;
  std::string bytes = Encoded(value, direction, &tags);
  TrimTypeBits(&tags);
  bytes += "rest";
  OrderedReader reader(bytes, tags);
  Builder out;
  ASSERT_TRUE(reader.Read(direction, "v", &out)) << ToJson(value);
  ASSERT_EQ(reader.rest(), "rest");
  Document document = out.Finish();
  Value read = document["v"];
  ASSERT_EQ(ToCanonicalJson(View(document)), [&] {
    Builder b;
    b.Append("v", value);
    Document d = b.Finish();
    return ToCanonicalJson(d.view());
  }());
  ASSERT_TRUE(NanLike(value) || read.is_document() || read.is_array() ||
              value.type() == Type::kCodeWithScope || read.BinaryEquals(value))
      << ToJson(value);
}

TEST(Ordered, OrdersAndReadsBackRandomValues) {
  RandomValues values(20240607);
  std::vector<Document> documents;
  for (int i = 0; i < 600; ++i) {
    Builder b;
    values.Append("v", &b);
    documents.push_back(b.Finish());
  }
  for (const Document& a : documents) {
    ExpectReadsBack(a["v"], Direction::kAscending);
    ExpectReadsBack(a["v"], Direction::kDescending);
    for (const Document& b : documents) {
      ExpectSameOrder(a["v"], b["v"]);
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST(Ordered, OrdersAndReadsBackRandomNumbers) {
  RandomValues values(7);
  std::vector<Value> numbers;
  for (int i = 0; i < 1200; ++i) {
    numbers.push_back(values.Number());
  }
  for (const Value& a : numbers) {
    ExpectReadsBack(a, Direction::kAscending);
    for (const Value& b : numbers) {
      ExpectSameOrder(a, b);
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST(Ordered, OrdersNumbersThatAreHardToTellApart) {
  std::vector<Value> numbers;
  for (const char* text : {"NaN",
                           "-Infinity",
                           "-1E+6144",
                           "-9223372036854775809",
                           "-9223372036854775808",
                           "-1.5",
                           "-0.1",
                           "-1E-6176",
                           "0",
                           "1E-6176",
                           "1E-400",
                           "0.1",
                           "0.25",
                           "0.99999999999999999999",
                           "1",
                           "1.0",
                           "1.00",
                           "1.000000000000000000000000000000001",
                           "2.5",
                           "9007199254740992",
                           "9007199254740992.5",
                           "9007199254740993",
                           "9223372036854775807",
                           "9223372036854775807.5",
                           "9223372036854775808",
                           "9223372036854775809",
                           "1E+19",
                           "1E+400",
                           "Infinity"}) {
    numbers.push_back(Value(*decimal::FromString(text)));
  }
  for (double d : {0.1, 0.25, 1.0, 2.5, -2.5, 9007199254740992.0, 9223372036854775808.0,
                   -9223372036854775808.0, 1e19, 1e308, 5e-324, 0.0, -0.0}) {
    numbers.push_back(Value(d));
  }
  for (const Value& a : numbers) {
    ExpectReadsBack(a, Direction::kAscending);
    ExpectReadsBack(a, Direction::kDescending);
    for (const Value& b : numbers) {
      ExpectSameOrder(a, b);
    }
  }
}

TEST(Ordered, IsCompactForCommonValues) {
  EXPECT_EQ(Encoded(Value(0), Direction::kAscending).size(), 1u);
  EXPECT_EQ(Encoded(Value(100), Direction::kAscending).size(), 2u);
  EXPECT_EQ(Encoded(Value(-100), Direction::kAscending).size(), 2u);
  EXPECT_EQ(Encoded(Value("abc"), Direction::kAscending).size(), 5u);
  EXPECT_EQ(Encoded(Value(ObjectId{}), Direction::kAscending).size(), 13u);
  std::string tags;
  Encoded(Value(5), Direction::kAscending, &tags);
  Encoded(Value("x"), Direction::kAscending, &tags);
  TrimTypeBits(&tags);
  EXPECT_EQ(tags, "");
}

TEST(Ordered, ComparesTuples) {
  auto tuple = [](const Value& a, const Value& b) {
    return Encoded(a, Direction::kAscending) + Encoded(b, Direction::kDescending);
  };
  EXPECT_LT(tuple(Value("a"), Value(1)), tuple(Value(std::string_view("a\0", 2)), Value(9)));
  EXPECT_LT(tuple(Value("a"), Value(2)), tuple(Value("a"), Value(1)));
  EXPECT_LT(tuple(Value("a"), Value(2)) + "zzz", tuple(Value("a"), Value(2)) + "\xff");
}

TEST(Ordered, DamagedBytesNeverReadOutside) {
  RandomValues values(99);
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    Builder b;
    values.Append("v", &b);
    Document document = b.Finish();
    std::string tags;
    std::string bytes = Encoded(document["v"], Direction::kAscending, &tags);
    if (i % 2 == 0) {
      bytes.resize(random() % (bytes.size() + 1));
    } else {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.shrink_to_fit();
    Builder out;
    OrderedReader reader(bytes, tags);
    reader.Read(Direction::kAscending, "v", &out);
    OrderedReader(bytes, "").Skip(Direction::kDescending);
  }
}

}  // namespace
}  // namespace quire::bson
