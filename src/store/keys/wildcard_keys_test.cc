// SPDX-License-Identifier: Apache-2.0
#include "store/keys/wildcard_keys.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "store/keys/index_keys.h"
#include "store/keys/wildcard.h"

namespace quire::store {
namespace {

struct KeyCase {
  const char* pattern;
  const char* projection;
  const char* document;
  std::vector<const char*> keys;
  std::vector<std::string> arrays;
};

const KeyCase kCases[] = {
    {"{'$**': 1}",
     "{}",
     "{_id: 1, a: 5, b: {c: 'x', d: {}}}",
     {"{'$_path': 'a', '$**': 5}", "{'$_path': 'b.c', '$**': 'x'}", "{'$_path': 'b.d', '$**': {}}"},
     {}},
    {"{'$**': 1}",
     "{}",
     "{a: [1, [2], {b: [3]}]}",
     {"{'$_path': 'a', '$**': 1}", "{'$_path': 'a', '$**': [2]}", "{'$_path': 'a.b', '$**': 3}"},
     {"a", NestedArrayMark("a"), "a.b"}},
    {"{'$**': 1}", "{}", "{a: []}", {"{'$_path': 'a', '$**': {$undefined: true}}"}, {"a"}},
    {"{'a.$**': 1}", "{}", "{a: {b: 1}, c: 2}", {"{'$_path': 'a.b', 'a.$**': 1}"}, {}},
    {"{'$**': 1}",
     "{a: 1, 'b.c': 1}",
     "{_id: 1, a: 1, b: {c: 2, d: 3}, e: 4}",
     {"{'$_path': 'a', '$**': 1}", "{'$_path': 'b.c', '$**': 2}"},
     {}},
    {"{'$**': 1}", "{a: 0}", "{_id: 1, a: 1, b: 2}", {"{'$_path': 'b', '$**': 2}"}, {}},
    {"{'$**': 1}", "{_id: 1, a: 0}", "{_id: 1, a: 1}", {"{'$_path': '_id', '$**': 1}"}, {}},
    {"{'$**': 1}", "{'a.b': 0}", "{a: {b: 1}}", {"{'$_path': 'a', '$**': {}}"}, {}},
    {"{c: 1, '$**': 1}", "{c: 0}", "{c: 7, a: 1}", {"{c: 7, '$_path': 'a', '$**': 1}"}, {}},
    {"{c: 1, '$**': 1}",
     "{c: 0}",
     "{c: 7}",
     {"{c: 7, '$_path': {$minKey: 1}, '$**': {$minKey: 1}}"},
     {}},
    {"{'$**': 1}", "{}", "{_id: 1}", {}, {}},
};

TEST(WildcardKeys, Cases) {
  for (const KeyCase& c : kCases) {
    bson::Document pattern = bson::TestDocument(c.pattern);
    bson::Document projection = bson::TestDocument(c.projection);
    bson::Document document = bson::TestDocument(c.document);
    IndexKeySpec spec = IndexKeySpec::FromPattern(pattern, projection);
    IndexKeySet set;
    ASSERT_TRUE(IndexKeys(spec, document, &set).ok()) << c.document;
    std::vector<std::string> found;
    for (const IndexKey& key : set.keys) {
      bson::Document values = DecodeKey(spec, key.bytes, key.type_bits);
      found.push_back(bson::ToJson(values));
    }
    std::vector<std::string> wanted;
    for (const char* key : c.keys) {
      bson::Document values = bson::TestDocument(key);
      wanted.push_back(bson::ToJson(values));
    }
    EXPECT_EQ(found, wanted) << c.document;
    EXPECT_EQ(set.array_paths, c.arrays) << c.document;
  }
}

TEST(WildcardKeys, NoArraysBesideTheWildcard) {
  bson::Document pattern = bson::TestDocument("{c: 1, 'a.$**': 1}");
  bson::Document document = bson::TestDocument("{c: [1], a: 1}");
  IndexKeySet set;
  EXPECT_EQ(IndexKeys(IndexKeySpec::FromPattern(pattern), document, &set).code(), 7246301);
}

}  // namespace
}  // namespace quire::store
