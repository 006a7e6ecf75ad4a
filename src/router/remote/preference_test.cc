// SPDX-License-Identifier: Apache-2.0
#include "router/remote/preference.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "quire/doc.h"
#include "router/remote/errors.h"
#include "router/remote/members.h"

namespace quire::router {
namespace {

using std::chrono::milliseconds;

std::vector<MemberState> Set() {
  MemberState primary;
  primary.host = "p";
  primary.primary = true;
  primary.term = 2;
  primary.last_write = bson::Date{200'000};
  MemberState near;
  near.host = "near";
  near.secondary = true;
  near.tags = Doc("dc", "east");
  near.last_write = bson::Date{200'000};
  MemberState far = near;
  far.host = "far";
  far.tags = Doc("dc", "west");
  far.last_write = bson::Date{50'000};
  far.round_trip = milliseconds(80);
  return {primary, near, far};
}

std::string Hosts(const std::vector<MemberState>& members, std::string_view json) {
  auto document = bson::Document::FromJson(json);
  auto preference = ReadPreference::Parse(*document);
  EXPECT_TRUE(preference.ok());
  std::string hosts;
  for (const MemberState* member : Eligible(members, *preference)) {
    hosts += member->host + " ";
  }
  return hosts;
}

TEST(Preference, ModesChooseMembers) {
  const auto set = Set();
  EXPECT_EQ(Hosts(set, "{}"), "p ");
  EXPECT_EQ(Hosts(set, R"({"$readPreference": {"mode": "primaryPreferred"}})"), "p ");
  EXPECT_EQ(Hosts(set, R"({"$readPreference": {"mode": "secondary"}})"), "near ");
  EXPECT_EQ(Hosts(set, R"({"$readPreference": {"mode": "nearest"}})"), "near p ");
}

TEST(Preference, TagsAndStalenessNarrow) {
  const auto set = Set();
  EXPECT_EQ(Hosts(set, R"({"$readPreference": {"mode": "secondary",
                           "tags": [{"dc": "north"}, {"dc": "west"}]}})"),
            "far ");
  EXPECT_EQ(Hosts(set, R"({"$readPreference": {"mode": "secondary", "tags": [{"dc": "west"}],
                           "maxStalenessSeconds": 100}})"),
            "");
  EXPECT_EQ(Hosts(set, R"({"$readPreference": {"mode": "secondaryPreferred",
                           "tags": [{"dc": "north"}]}})"),
            "p ");
}

TEST(Preference, WithoutAPrimaryOthersAnswerWhoPreferIt) {
  auto set = Set();
  set.erase(set.begin());
  EXPECT_EQ(Hosts(set, "{}"), "");
  EXPECT_EQ(Hosts(set, R"({"$readPreference": {"mode": "primaryPreferred"}})"), "near ");
}

TEST(Preference, OfTwoPrimariesTheLaterOneIs) {
  auto set = Set();
  MemberState old = set[0];
  old.host = "old";
  old.term = 1;
  set.insert(set.begin(), old);
  EXPECT_EQ(Hosts(set, "{}"), "p ");
}

TEST(Preference, WhatIsNoneIsRefused) {
  EXPECT_EQ(ReadPreference::Parse(Doc("$readPreference", 1)).status().code(), kTypeMismatch);
  EXPECT_EQ(ReadPreference::Parse(Doc("$readPreference", Doc("mode", "any"))).status().code(),
            kBadValue);
  const bson::Document tagged =
      Doc("$readPreference", Doc("mode", "primary", "tags", List(Doc("a", "b"))));
  EXPECT_EQ(ReadPreference::Parse(tagged).status().code(), kBadValue);
}

TEST(SetAddress, NamesASetAndItsHosts) {
  auto address = ParseSetAddress("rs0/a:1,b");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(address->set, "rs0");
  EXPECT_EQ(address->hosts, (std::vector<std::string>{"a:1", "b:27017"}));
  for (const char* text : {"", "rs0", "/a:1", "rs0/", "rs0/a,,b"}) {
    EXPECT_EQ(ParseSetAddress(text).status().code(), kBadValue) << text;
  }
}

TEST(Errors, StateChangesOfShardsAreNoneOfTheRouter) {
  EXPECT_EQ(ForClients({kNotWritablePrimary, "x"}).code(), kHostUnreachable);
  EXPECT_EQ(ForClients({kShutdownInProgress, "x"}).code(), kHostUnreachable);
  EXPECT_EQ(ForClients({kNetworkTimeout, "x"}).code(), kHostUnreachable);
  EXPECT_EQ(ForClients({kDuplicateKey, "x"}).code(), kDuplicateKey);
  const bson::Document reply =
      Doc("ok", 1.0, "writeConcernError", Doc("code", int{kPrimarySteppedDown}));
  EXPECT_TRUE(MentionsStateChange(reply));
  EXPECT_FALSE(MentionsStateChange(Doc("ok", 1.0)));
  const bson::Document both = bson::TestDocument(
      "{n: 1, writeErrors: [{index: 3, code: 11000, errmsg: 'a'}, {index: 4, code: 11602, errmsg: "
      "'b'}], writeConcernError: {code: 189, codeName: 'PrimarySteppedDown', errmsg: 'c', errInfo: "
      "{writeConcern: {w: 2}}}, ok: 1.0}");
  const bson::Document shown = WithoutStateChange(both);
  EXPECT_FALSE(MentionsStateChange(shown));
  const bson::View errors = shown["writeErrors"].AsArray();
  EXPECT_EQ(bson::ToJson(errors["0"]), R"({"index":3,"code":11000,"errmsg":"a"})");
  EXPECT_EQ(errors["1"].AsDocument()["code"].AsInt32(), kHostUnreachable);
  EXPECT_EQ(errors["1"].AsDocument()["index"].AsInt32(), 4);
  const bson::View concern = shown["writeConcernError"].AsDocument();
  EXPECT_EQ(concern["code"].AsInt32(), kHostUnreachable);
  EXPECT_EQ(concern["codeName"].AsString(), "HostUnreachable");
  EXPECT_NE(concern["errmsg"].AsString(), "c");
}

}  // namespace
}  // namespace quire::router
