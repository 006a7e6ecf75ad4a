// SPDX-License-Identifier: Apache-2.0
#include "engine/stream/resume_token.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"

namespace quire::engine {
namespace {

const std::string kUuid(16, '\x07');

std::string Data(const ResumePoint& point) {
  bson::Document id = bson::TestDocument("{_id: 'x'}");
  bson::Document token = MakeResumeToken(point, kUuid, id);
  return std::string(token["_data"].AsString());
}

int CodeOf(const std::string& data) {
  bson::Builder token;
  token.Append("_data", data);
  bson::Document document = token.Finish();
  return ReadResumeToken(document).status().code();
}

TEST(ResumeToken, ReadsWhatItWrote) {
  const ResumePoint kPoints[] = {
      {{100, 1}},
      {{100, 1}, true},
      {{100, 1}, true, 3},
      {{100, 1}, true, 100000, true},
      {{UINT32_MAX, UINT32_MAX}, true, UINT32_MAX},
  };
  std::string previous;
  for (const ResumePoint& point : kPoints) {
    bson::Document id = bson::TestDocument("{_id: {a: [1, null]}}");
    bson::Document token = MakeResumeToken(point, kUuid, id);
    auto read = ReadResumeToken(token);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_TRUE(read->CompareInLog(point) == 0);
    EXPECT_FALSE(read->split);
    EXPECT_LT(previous, token["_data"].AsString());  // tokens sort as the events do
    previous = token["_data"].AsString();
    bson::Document fragment = FragmentToken(token, 2);
    if (point.event) {
      auto part = ReadResumeToken(fragment);
      ASSERT_TRUE(part.ok());
      EXPECT_TRUE(part->split);
      EXPECT_EQ(part->fragment, 2U);
    }
  }
}

// Events of several shards may have one time and index: the whole token orders them.
TEST(ResumeToken, OrdersByTheWholeToken) {
  const ResumePoint place{{100, 1}, true, 3};
  const std::string uuids[] = {std::string(16, '\x01'), std::string(16, '\x02')};
  const char* const keys[] = {"{_id: 1}", "{_id: 2}", "{_id: 'x'}", "{_id: 'x', k: 1}"};
  std::string previous_data;
  ResumePoint previous{{100, 1}};
  for (const std::string& uuid : uuids) {
    for (const char* key : keys) {
      const bson::Document id = bson::TestDocument(key);
      const bson::Document token = MakeResumeToken(place, uuid, id);
      const auto point = ReadResumeToken(token);
      ASSERT_TRUE(point.ok());
      EXPECT_TRUE(previous < *point) << key;
      EXPECT_LT(previous_data, token["_data"].AsString());
      EXPECT_TRUE(point->CompareInLog(place) == 0);
      const bson::Document fragment = FragmentToken(token, 2);
      EXPECT_TRUE(*ReadResumeToken(fragment) == *point) << "fragments of one event are equal";
      previous = *point;
      previous_data = token["_data"].AsString();
    }
  }
}

TEST(ResumeToken, RefusesWhatItCannotRead) {
  std::string data = Data({{5, 6}, true});
  struct Case {
    std::string data;
    int code;
  };
  const Case kCases[] = {
      {data, 0},
      {data.substr(0, data.size() - 2), 0},  // its end may be missing
      {data + "FF", 0},
      {data.substr(0, data.size() - 4), 15},
      {data.substr(0, 10), 15},
      {"", 40649},
      {"abc", 9},
      {"zz", 9},
      {"00", 50811},
      {"8200000001000000012B7E", 9},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(CodeOf(c.data), c.code) << c.data;
  }
  bson::Document number = bson::TestDocument("{_data: 1}");
  EXPECT_EQ(ReadResumeToken(number).status().code(), 40647);
  for (size_t size = 2; size < data.size(); size += 2) {
    CodeOf(data.substr(0, size));  // any prefix is read without harm
  }
}

}  // namespace
}  // namespace quire::engine
