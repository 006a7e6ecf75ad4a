// SPDX-License-Identifier: Apache-2.0
#include "auth/restriction.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::auth {
namespace {

TEST(AddressRange, Contains) {
  struct Case {
    const char* range;
    const char* address;
    bool contains;
  };
  const Case cases[] = {
      {"192.0.2.1", "192.0.2.1", true},
      {"192.0.2.1", "192.0.2.2", false},
      {"192.0.2.0/24", "192.0.2.255", true},
      {"192.0.2.0/24", "192.0.3.0", false},
      {"192.0.2.7/24", "192.0.2.8", true},
      {"192.0.2.128/25", "192.0.2.127", false},
      {"192.0.2.128/25", "192.0.2.129", true},
      {"0.0.0.0/0", "255.255.255.255", true},
      {"0.0.0.0/0", "::1", false},
      {"::/0", "1.2.3.4", false},
      {"::1", "::1", true},
      {"2001:db8::/33", "2001:db8:7fff::1", true},
      {"2001:db8::/33", "2001:db8:8000::1", false},
      {"192.0.2.1", "::ffff:192.0.2.1", true},
      {"::ffff:192.0.2.0/120", "192.0.2.9", true},
      {"::ffff:192.0.2.0/120", "192.0.3.9", false},
      {"::ffff:192.0.2.1", "192.0.2.1", true},
  };
  for (const Case& c : cases) {
    auto range = AddressRange::Parse(c.range);
    ASSERT_TRUE(range.ok()) << c.range;
    EXPECT_EQ(range->Contains(*Address::Parse(c.address)), c.contains) << c.range << c.address;
  }
}

TEST(AddressRange, Refused) {
  for (std::string_view text :
       {"", "/", "/8", "localhost", "192.0.2", "192.0.2.1.1", "192.0.2.256", "192.0.2.1/",
        "192.0.2.1/33", "192.0.2.1/-1", "192.0.2.1/+8", "192.0.2.1/8 ", "192.0.2.1/8/8",
        "192.0.2.1/0x8", "192.0.2.1/99999999999999", "::1/129", "::ffff:192.0.2.1/24", "[::1]",
        "192.0.2.1:80"}) {
    auto range = AddressRange::Parse(text);
    EXPECT_EQ(range.status().code(), kUnsupportedFormat) << text;
  }
  EXPECT_FALSE(AddressRange::Parse(std::string_view("127.0.0.1\0x", 11)).ok());
}

TEST(Address, OfEndpoints) {
  EXPECT_TRUE(Address::OfEndpoint("127.0.0.1:27017"));
  EXPECT_TRUE(Address::OfEndpoint("[::1]:27017"));
  EXPECT_FALSE(Address::OfEndpoint(""));
  EXPECT_FALSE(Address::OfEndpoint("/tmp/mongodb-27017.sock"));
  EXPECT_FALSE(Address::OfEndpoint("anonymous unix socket"));
}

bool Met(const char* list, const char* client, const char* server) {
  auto document = bson::Document::FromJson(list);
  auto restrictions = Restrictions::Stored(document->view());
  EXPECT_TRUE(restrictions.ok()) << restrictions.status().message();
  return restrictions->Met(client, server);
}

TEST(Restrictions, OneOfTheListInAllItsParts) {
  const char* one = R"({"authenticationRestrictions": [
      {"clientSource": ["192.0.2.0/24", "::1"], "serverAddress": ["198.51.100.1"]},
      {"clientSource": ["203.0.113.5"]}]})";
  EXPECT_TRUE(Met(one, "192.0.2.9:1", "198.51.100.1:27017"));
  EXPECT_TRUE(Met(one, "[::1]:1", "198.51.100.1:27017"));
  EXPECT_FALSE(Met(one, "192.0.2.9:1", "198.51.100.2:27017"));
  EXPECT_TRUE(Met(one, "203.0.113.5:1", "198.51.100.2:27017"));
  EXPECT_FALSE(Met(one, "203.0.113.6:1", "198.51.100.1:27017"));
  EXPECT_FALSE(Met(one, "anonymous unix socket", "/tmp/mongodb.sock")) << "no address at all";
  EXPECT_TRUE(Met(R"({"authenticationRestrictions": []})", "", ""));
  EXPECT_TRUE(Met("{}", "", ""));
}

TEST(Restrictions, Refused) {
  const std::pair<const char*, int> cases[] = {
      {R"({"a": ["127.0.0.1"]})", kTypeMismatch},
      {R"({"a": [{}]})", kCollectionIsEmpty},
      {R"({"a": [{"clientSource": []}]})", kCollectionIsEmpty},
      {R"({"a": [{"clientSource": "127.0.0.1"}]})", kTypeMismatch},
      {R"({"a": [{"clientSource": [1]}]})", kTypeMismatch},
      {R"({"a": [{"clientSource": ["x"]}]})", kUnsupportedFormat},
      {R"({"a": [{"client": ["127.0.0.1"]}]})", 40415},
      {R"({"a": [{"clientSource": ["127.0.0.1"], "clientSource": ["::1"]}]})", 40413},
      {R"({"a": [{"clientSource": ["127.0.0.1"]}, {"serverAddress": null}]})", kTypeMismatch},
  };
  for (const auto& [text, code] : cases) {
    auto document = bson::Document::FromJson(text);
    ASSERT_TRUE(document.ok()) << text;
    EXPECT_EQ(Restrictions::Parse((*document)["a"].AsArray()).status().code(), code) << text;
  }
  auto stored = bson::Document::FromJson(R"({"authenticationRestrictions": 7})");
  EXPECT_FALSE(Restrictions::Stored(stored->view()).ok()) << "what is not understood is not met";
}

TEST(Restrictions, AreShownAsGiven) {
  const char* text =
      R"({"a":[{"clientSource":["127.0.0.1","10.0.0.0/8"]},{"serverAddress":["::1"]}]})";
  auto document = bson::Document::FromJson(text);
  auto restrictions = Restrictions::Parse((*document)["a"].AsArray());
  ASSERT_TRUE(restrictions.ok());
  bson::Builder out;
  out.BeginArray("a");
  restrictions->AppendTo(&out);
  out.End();
  bson::Document shown = out.Finish();
  EXPECT_EQ(bson::ToJson(shown.view()), text);
}

}  // namespace
}  // namespace quire::auth
