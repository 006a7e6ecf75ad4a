// SPDX-License-Identifier: Apache-2.0
#include "bson/hash/index_hash.h"

#include <gtest/gtest.h>

#include "bson/decimal.h"
#include "bson/hash/md5.h"

namespace quire::bson {
namespace {

std::string Digest(std::string_view text, size_t piece) {
  Md5 md5;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    md5.Add(text.substr(0, piece));
    md5.Add({});
  }
  std::string hex;
  for (uint8_t byte : md5.Finish()) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  return hex;
}

// The RFC's test suite.
TEST(Md5, GivesTheKnownDigests) {
  struct Row {
    std::string text;
    const char* digest;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"", "d41d8cd98f00b204e9800998ecf8427e"},
           {"a", "0cc175b9c0f1b6a831c399e269772661"},
           {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
           {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a"},
       }) {
    for (size_t piece : {1, 7, 64, 100}) {
      EXPECT_EQ(Digest(row.text, piece), row.digest);
    }
  }
  for (size_t size : {55, 56, 57, 63, 64, 65, 119, 120, 128}) {
    EXPECT_EQ(Digest(std::string(size, 'x'), 1), Digest(std::string(size, 'x'), 1000)) << size;
  }
}

TEST(IndexHash, IsMongoDbs) { EXPECT_EQ(IndexHash(Value("hello")), 5347277839332858538); }

TEST(IndexHash, EqualValuesHashEqually) {
  Value one(1);
  EXPECT_EQ(IndexHash(one), IndexHash(Value(int64_t{1})));
  EXPECT_EQ(IndexHash(one), IndexHash(Value(1.0)));
  EXPECT_EQ(IndexHash(one), IndexHash(Value(*decimal::FromString("1.00"))));
  EXPECT_EQ(IndexHash(Value("x")), IndexHash(Value::Symbol("x")));
  EXPECT_EQ(IndexHash(Value()), IndexHash(Value::Null()));
  EXPECT_NE(IndexHash(one), IndexHash(Value("1")));
  auto document = [](const char* json) {
    Result<Document> parsed = Document::FromJson(json);
    return IndexHash(Value(parsed->view()));
  };
  EXPECT_EQ(document(R"({"a":1,"b":[1,{}]})"), document(R"({"a":1.0,"b":[1.0,{}]})"));
  EXPECT_NE(document(R"({"a":1})"), document(R"({"b":1})"));
  EXPECT_NE(document(R"({"a":{"b":1}})"), document(R"({"a":{},"b":1})"));
}

}  // namespace
}  // namespace quire::bson
