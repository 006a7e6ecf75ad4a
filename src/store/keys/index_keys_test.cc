// SPDX-License-Identifier: Apache-2.0
#include "store/keys/index_keys.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "store/keys/multikey.h"

namespace quire::store {
namespace {

bson::Document Json(std::string_view text) {
  Result<bson::Document> document = bson::Document::FromJson(text);
  EXPECT_TRUE(document.ok()) << text;
  return *std::move(document);
}

// The keys as text, each as the array of its values, in key order.
std::string KeysText(const IndexKeySpec& spec, const IndexKeySet& set) {
  std::string out;
  for (const IndexKey& key : set.keys) {
    bson::Document values = DecodeKey(spec, key.bytes, key.type_bits);
    out += out.empty() ? "(" : " (";
    std::string separator;
    for (const bson::Element& e : values.view()) {
      out += separator + bson::ToJson(e.value());
      separator = ",";
    }
    out += ")";
  }
  return out;
}

struct Row {
  const char* pattern;
  const char* document;
  const char* keys;
  uint64_t multikey = 0;  // bit i: part i
  bool sparse = false;
};

constexpr const char* kUndefined = R"(({"$undefined":true}))";

TEST(IndexKeys, FollowTheMultikeyRules) {
  for (const Row& row : std::initializer_list<Row>{
           {R"({"a":1})", R"({"a":5})", "(5)"},
           {R"({"a":1})", R"({"b":5})", "(null)"},
           {R"({"a":1})", R"({"a":null})", "(null)"},
           {R"({"a":1})", R"({"a":[3,1,2,1]})", "(1) (2) (3)", 1},
           {R"({"a":-1})", R"({"a":[3,1,2]})", "(3) (2) (1)", 1},
           {R"({"a":1})", R"({"a":[]})", kUndefined, 1},
           {R"({"a":1})", R"({"a":[[1,2],[]]})", "([]) ([1,2])", 1},
           {R"({"a":1})", R"({"a":[1,1.0]})", "(1)", 1},
           {R"({"a.b":1})", R"({"a":{"b":1}})", "(1)"},
           {R"({"a.b":1})", R"({"a":[{"b":1},{"b":[2,3]},{"c":4},5]})", "(null) (1) (2) (3)", 1},
           {R"({"a.b":1})", R"({"a":[]})", "(null)", 1},
           {R"({"a.b":1})", R"({"a":[{"b":[]}]})", kUndefined, 1},
           {R"({"a.b":1})", R"({"a":[[{"b":1}]]})", "(null)", 1},
           {R"({"a.b":1})", R"({"a":5})", "(null)"},
           {R"({"a.b.c":1})", R"({"a":[{"b":[{"c":1},{"c":2}]},{"b":{"c":3}}]})", "(1) (2) (3)", 1},
           {R"({"a":1,"b":1})", R"({"a":[1,2],"b":3})", "(1,3) (2,3)", 1},
           {R"({"a":1,"b":1})", R"({"a":1,"b":[3,4]})", "(1,3) (1,4)", 2},
           {R"({"a":1,"b":-1})", R"({"b":[3,4]})", "(null,4) (null,3)", 2},
           {R"({"a.b":1,"a.c":1})", R"({"a":[{"b":1,"c":2},{"b":3,"c":4},{"b":5}]})",
            "(1,2) (3,4) (5,null)", 3},
           {R"({"a.b":1,"a.c":1})", R"({"a":[{"b":[1,2],"c":3}]})", "(1,3) (2,3)", 3},
           {R"({"a":1,"a.b":1})", R"({"a":[{"b":1},{"b":2}]})", R"(({"b":1},1) ({"b":2},2))", 3},
           {R"({"a.0":1})", R"({"a":[5,6]})", "(5)"},
           {R"({"a.0.b":1})", R"({"a":[{"b":1},{"b":2}]})", "(1)"},
           {R"({"a.1.b":1})", R"({"a":[{"b":1},{"b":2}]})", "(2)"},
           {R"({"a.5":1})", R"({"a":[1,2]})", "(null)", 1},
           {R"({"a.0":1})", R"({"a":[[1,2],3]})", "([1,2])", 1},
           {R"({"a.0":1})", R"({"a":[{"b":1}]})", R"(({"b":1}))"},
           {R"({"a.b":1})", R"({"a":{"b":[1,{"x":2}]}})", R"((1) ({"x":2}))", 1},
           {R"({"a":1})", R"({"b":1})", "", 0, true},
           {R"({"a":1})", R"({"a":null})", "(null)", 0, true},
           {R"({"a":1})", R"({"a":[]})", kUndefined, 1, true},
           {R"({"a.b":1})", R"({"a":[]})", "", 1, true},
           {R"({"a.b":1})", R"({"a":[{"b":1},{}]})", "(1)", 1, true},
           {R"({"a":1,"b":1})", R"({"b":1})", "(null,1)", 0, true},
           {R"({"a":1,"b":1})", R"({"c":1})", "", 0, true},
       }) {
    bson::Document pattern = Json(row.pattern);
    bson::Document document = Json(row.document);
    IndexKeySpec spec = IndexKeySpec::FromPattern(pattern);
    spec.sparse = row.sparse;
    IndexKeySet set;
    Status status = IndexKeys(spec, document, &set);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(KeysText(spec, set), row.keys) << row.pattern << " of " << row.document;
    for (size_t i = 0; i < spec.parts.size(); ++i) {
      EXPECT_EQ(IsMultikey(spec, set.multikey_steps, i), (row.multikey >> i & 1) != 0)
          << row.pattern << " of " << row.document << " part " << i;
    }
    std::string key = "before";
    std::string type_bits = "others";
    bool nothing = false;
    bson::FieldIndex fields;
    fields.Start(document);
    if (AppendOnlyKey(spec, fields, &key, &type_bits, &nothing)) {
      ASSERT_LE(set.keys.size(), 1u) << row.document;
      EXPECT_EQ(set.keys.empty(), row.sparse && nothing) << row.document;
      EXPECT_EQ(set.multikey_steps, 0u);
      if (!set.keys.empty()) {
        EXPECT_EQ(key, "before" + set.keys[0].bytes) << row.document;
        EXPECT_EQ(type_bits, set.keys[0].type_bits) << row.document;
      }
    } else {
      EXPECT_EQ(key, "before");
      EXPECT_NE(std::string_view(row.document).find('['), std::string_view::npos);
    }
  }
}

TEST(IndexKeys, RefusesWhatMongoDbRefuses) {
  struct Refused {
    const char* pattern;
    const char* document;
    int code;
    const char* message;
  };
  for (const Refused& row : std::initializer_list<Refused>{
           {R"({"a":1,"b":1})", R"({"a":[1],"b":[2]})", kCannotIndexParallelArrays,
            "cannot index parallel arrays [b] [a]"},
           {R"({"a.b":1,"a.c":1})", R"({"a":[{"b":[1],"c":[2]}]})", kCannotIndexParallelArrays,
            "cannot index parallel arrays [c] [b]"},
           {R"({"a.0":1})", R"({"a":[{"0":1}]})", 16746, nullptr},
           {R"({"a":"hashed"})", R"({"a":[1]})", 16766, nullptr},
       }) {
    bson::Document pattern = Json(row.pattern);
    bson::Document document = Json(row.document);
    IndexKeySet set;
    Status status = IndexKeys(IndexKeySpec::FromPattern(pattern), document, &set);
    EXPECT_EQ(status.code(), row.code) << row.document;
    if (row.message != nullptr) {
      EXPECT_EQ(status.message(), row.message);
    }
  }
}

TEST(IndexKeys, KeepsExactTypes) {
  bson::Document pattern = Json(R"({"a":1,"b":-1,"c":1})");
  IndexKeySpec spec = IndexKeySpec::FromPattern(pattern);
  bson::Document document =
      Json(R"({"a":{"$numberLong":"1"},"b":{"$numberDecimal":"1.00"},"c":{"$symbol":"x"}})");
  IndexKeySet set;
  ASSERT_TRUE(IndexKeys(spec, document, &set).ok());
  ASSERT_EQ(set.keys.size(), 1u);
  bson::Document back = DecodeKey(spec, set.keys[0].bytes, set.keys[0].type_bits);
  EXPECT_EQ(bson::ToCanonicalJson(back.view()), bson::ToCanonicalJson(document.view()));
  EXPECT_TRUE(DecodeKey(spec, "\x01", "").empty());
}

TEST(IndexKeys, EncodeKeyGivesPrefixes) {
  bson::Document pattern = Json(R"({"a":1,"b":-1})");
  IndexKeySpec spec = IndexKeySpec::FromPattern(pattern);
  bson::Document whole = Json(R"({"x":"k","y":7})");
  bson::Document first = Json(R"({"x":"k"})");
  IndexKeySet set;
  bson::Document document = Json(R"({"a":"k","b":7})");
  ASSERT_TRUE(IndexKeys(spec, document, &set).ok());
  IndexKey key = EncodeKey(spec, whole);
  EXPECT_EQ(key.bytes, set.keys[0].bytes);
  EXPECT_TRUE(key.bytes.starts_with(EncodeKey(spec, first).bytes));
  std::string parts;
  AppendKeyPart(spec, 0, bson::Value("k"), &parts);
  AppendKeyPart(spec, 1, bson::Value(7), &parts);
  EXPECT_EQ(parts, key.bytes);
}

TEST(IndexKeys, HashedKeysOfEqualValuesAreEqual) {
  bson::Document pattern = Json(R"({"a":"hashed"})");
  IndexKeySpec spec = IndexKeySpec::FromPattern(pattern);
  auto key = [&](const char* json) {
    bson::Document document = Json(json);
    IndexKeySet set;
    EXPECT_TRUE(IndexKeys(spec, document, &set).ok());
    return set.keys.at(0).bytes;
  };
  EXPECT_EQ(key(R"({"a":1})"), key(R"({"a":1.0})"));
  EXPECT_EQ(key(R"({"a":null})"), key("{}"));
  EXPECT_NE(key(R"({"a":1})"), key(R"({"a":"1"})"));
  std::string part;
  AppendKeyPart(spec, 0, bson::Value(1), &part);
  EXPECT_EQ(part, key(R"({"a":1})"));
}

class LowerCase : public expr::Collator {
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
  const bson::Document& spec() const override { return spec_; }

 private:
  bson::Document spec_;
};

TEST(IndexKeys, CollationAppliesToNestedStrings) {
  LowerCase collator;
  bson::Document pattern = Json(R"({"a":1})");
  IndexKeySpec spec = IndexKeySpec::FromPattern(pattern);
  spec.collator = &collator;
  bson::Document document = Json(R"({"a":["X","x",{"n":["Y"]},{"n":["y"]}]})");
  IndexKeySet set;
  ASSERT_TRUE(IndexKeys(spec, document, &set).ok());
  EXPECT_EQ(KeysText(spec, set), R"(("x") ({"n":["y"]}))");
}

}  // namespace
}  // namespace quire::store
