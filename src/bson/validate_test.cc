// SPDX-License-Identifier: Apache-2.0
#include "bson/validate.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::bson {
namespace {

Document EveryType() {
  Builder b;
  b.Append("double", 1.5).Append("string", "text").Append("document", View());
  b.BeginArray("array").Push(1).Push("x").End();
  b.Append("binary", Value::Binary("abc", 0)).Append("undefined", Value::Undefined());
  b.Append("oid", ObjectId{}).Append("false", false).Append("true", true);
  b.Append("date", Date{-5}).AppendNull("null").AppendRegex("regex", "a+", "i");
  b.AppendDbPointer("pointer", "db.c", ObjectId{}).Append("code", Value::Code("f()"));
  b.Append("symbol", Value::Symbol("s"));
  Builder scope;
  scope.Append("x", 1);
  Document scope_doc = scope.Finish();
  b.AppendCodeWithScope("scope", "g()", scope_doc.view());
  b.Append("int", 1).Append("timestamp", Timestamp{1, 2}).Append("long", int64_t{3});
  b.Append("decimal", Decimal128{1, 2}).Append("max", Value::MaxKey());
  b.Append("min", Value::MinKey());
  return b.Finish();
}

std::string Wrap(std::string_view elements) {
  std::string bytes(4, '\0');
  bytes += elements;
  bytes += '\0';
  auto size = static_cast<uint32_t>(bytes.size());
  memcpy(bytes.data(), &size, 4);
  return bytes;
}

std::string Nested(int levels) {
  std::string bytes = Wrap("");
  for (int i = 1; i < levels; ++i) {
    bytes = Wrap(std::string("\x03"
                             "a\0",
                             3) +
                 bytes);
  }
  return bytes;
}

TEST(Validate, AcceptsEveryType) {
  EXPECT_TRUE(Validate(EveryType().bytes()).ok());
  EXPECT_TRUE(Validate(Document().bytes()).ok());
}

TEST(Validate, RefusesWhatNestsTooDeep) {
  auto nested = [](int levels) {
    Builder out;
    for (int i = 1; i < levels; ++i) {
      out.BeginDocument("a");
    }
    for (int i = 1; i < levels; ++i) {
      out.End();
    }
    return out.Finish().bytes();
  };
  EXPECT_TRUE(Validate(nested(201)).ok());
  EXPECT_EQ(Validate(nested(202)).code(), kOverflow);
}

TEST(Validate, RefusesEveryTruncation) {
  std::string bytes = EveryType().bytes();
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(Validate(std::string_view(bytes).substr(0, n)).ok()) << n;
    // The same with a length that claims to be right.
    if (n >= 5) {
      std::string cut = bytes.substr(0, n);
      auto size = static_cast<uint32_t>(n);
      memcpy(cut.data(), &size, 4);
      Status status = Validate(cut);
      if (!status.ok()) {
        EXPECT_EQ(status.code(), kInvalidBSON);
      }
    }
  }
}

TEST(Validate, ChangedBytesNeverReadOutside) {
  std::string bytes = EveryType().bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int value : {0x00, 0x01, 0x02, 0x03, 0x05, 0x0b, 0x0f, 0x7f, 0x80, 0xff}) {
      auto changed = std::make_unique<char[]>(bytes.size());  // exact size, for the sanitizer
      memcpy(changed.get(), bytes.data(), bytes.size());
      changed[i] = static_cast<char>(value);
      if (Validate({changed.get(), bytes.size()}).ok()) {
        View view(changed.get());
        size_t total = 0;
        for (const Element& e : view) {
          total += e.raw().size();
        }
        EXPECT_EQ(total + 5, bytes.size());
      }
    }
  }
}

TEST(Validate, RefusesMalformedElements) {
  struct Row {
    const char* what;
    std::string elements;
  };
  using std::string;
  for (const Row& row : std::initializer_list<Row>{
           {"unknown type", string("\x14"
                                   "a\0",
                                   3)},
           {"type 0 inside", string("\0a\0", 3)},
           {"name not terminated",
            "\x0a"
            "abc"},
           {"boolean 2", string("\x08"
                                "a\0\x02",
                                4)},
           {"boolean without byte", string("\x08"
                                           "a\0",
                                           3)},
           {"string of length 0", string("\x02"
                                         "a\0\0\0\0\0",
                                         7)},
           {"string of negative length", string("\x02"
                                                "a\0\xff\xff\xff\xff\0",
                                                8)},
           {"string not terminated", string("\x02"
                                            "a\0\2\0\0\0xy",
                                            9)},
           {"string past the end", string("\x02"
                                          "a\0\3\0\0\0x\0",
                                          9)},
           {"binary of negative length", string("\x05"
                                                "a\0\xff\xff\xff\xff\0",
                                                8)},
           {"binary past the end", string("\x05"
                                          "a\0\2\0\0\0\0x",
                                          9)},
           {"document past the end", string("\x03"
                                            "a\0\x06\0\0\0\0",
                                            8)},
           {"document of length 4", string("\x03"
                                           "a\0\4\0\0\0\0",
                                           8)},
           {"regex with one string", string("\x0b"
                                            "a\0x\0",
                                            5)},
           {"int cut", string("\x10"
                              "a\0\1\0\0",
                              6)},
           {"object id cut", string("\x07"
                                    "a\0"
                                    "123456789ab",
                                    14)
                                 .substr(0, 12)},
           {"code with scope too long", string("\x0f"
                                               "a\0\x10\0\0\0\2\0\0\0x\0\5\0\0\0\0\0",
                                               20)},
           {"code with scope too short", string("\x0f"
                                                "a\0\x0e\0\0\0\2\0\0\0x\0\5\0\0\0\0",
                                                18)},
       }) {
    Status status = Validate(Wrap(row.elements));
    EXPECT_EQ(status.code(), kInvalidBSON) << row.what;
  }
  EXPECT_FALSE(Validate(Wrap("") + "x").ok());
  EXPECT_TRUE(ValidatePrefix(Wrap("") + "x").ok());
}

TEST(Validate, LimitsNesting) {
  EXPECT_TRUE(Validate(Nested(kMaxMessageDepth)).ok());
  EXPECT_FALSE(Validate(Nested(kMaxMessageDepth + 1)).ok());
  EXPECT_FALSE(Validate(Nested(3000)).ok());
  ValidateOptions stored{kMaxStoredDepth, kMaxDocumentSize};
  EXPECT_TRUE(Validate(Nested(kMaxStoredDepth), stored).ok());
  EXPECT_FALSE(Validate(Nested(kMaxStoredDepth + 1), stored).ok());
  std::string deep = Nested(181);
  EXPECT_TRUE(NestsWithin(View(deep.data()), 181));
  EXPECT_FALSE(NestsWithin(View(deep.data()), 180));
}

TEST(Validate, LimitsSize) {
  Builder b;
  b.Append("a", std::string(100, 'x'));
  Document doc = b.Finish();
  auto size = static_cast<uint32_t>(doc.bytes().size());
  EXPECT_TRUE(Validate(doc.bytes(), {kMaxMessageDepth, size}).ok());
  EXPECT_FALSE(Validate(doc.bytes(), {kMaxMessageDepth, size - 1}).ok());
}

TEST(Validate, TakesAnyStringBytesAndArrayNames) {
  Builder b;
  b.Append("a", std::string_view("\xff\xfe\0x", 4));
  Document odd;
  {
    Builder names;
    names.Append("7", 1).Append("x", 2);
    odd = names.Finish();
  }
  b.Append("b", Value::Array(odd.view()));
  EXPECT_TRUE(Validate(b.Finish().bytes()).ok());
}

TEST(Validate, ParseKeepsTheBytes) {
  std::string bytes = EveryType().bytes();
  Result<Document> doc = Document::Parse(bytes);
  ASSERT_TRUE(doc.ok());
  EXPECT_EQ(doc->bytes(), bytes);
  EXPECT_EQ(Document::Parse("").status().code(), kInvalidBSON);
}

}  // namespace
}  // namespace quire::bson
