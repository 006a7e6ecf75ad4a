// SPDX-License-Identifier: Apache-2.0
#include "repl/config/set_config.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "quire/doc.h"

namespace quire::repl {
namespace {

bson::Document Json(const std::string& text) {
  auto made = bson::Document::FromJson(text);
  EXPECT_TRUE(made.ok()) << text;
  return made.ok() ? *made : bson::Document();
}

SetConfig Parsed(const std::string& text) {
  auto config = ParseConfig(Json(text));
  EXPECT_TRUE(config.ok()) << config.status().ToString();
  return config.ok() ? *config : SetConfig();
}

constexpr const char* kThree =
    R"({"_id": "s", "version": 3, "members": [{"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1",
        "priority": 0, "hidden": true, "secondaryDelaySecs": 5, "tags": {"dc": "x"}},
        {"_id": 5, "host": "c", "votes": 0, "priority": 0, "tags": {"dc": "y"}}],
        "settings": {"getLastErrorModes": {"two": {"dc": 2}}, "electionTimeoutMillis": 500}})";

TEST(SetConfig, FillsInDefaultsAndKnowsItsMembers) {
  const SetConfig config = Parsed(kThree);
  EXPECT_EQ(config.version, 3U);
  ASSERT_EQ(config.members.size(), 3U);
  EXPECT_TRUE(config.Electable(0));
  EXPECT_EQ(config.members[1].delay, 5000);
  EXPECT_FALSE(config.Votes(5));
  ASSERT_EQ(config.modes.size(), 1U);
  EXPECT_EQ(config.modes[0].tags[0].second, 2);
  EXPECT_EQ(HostsOf(config).at(5), "c:27017");
  EXPECT_EQ(SetNameOf(config), "s");
  EXPECT_EQ(ElectionTimeoutOf(config), 500);
  EXPECT_TRUE(CheckConfig(config, kInvalidReplicaSetConfig).ok());
  const bson::Document shown = ConfigDocument(config, 7, true);
  EXPECT_EQ(bson::ToJson(shown["members"].AsArray()["2"]),
            R"({"_id":5,"host":"c:27017","arbiterOnly":false,"buildIndexes":true,"hidden":false,)"
            R"("priority":0.0,"tags":{"dc":"y"},"secondaryDelaySecs":0,"votes":0})");
  EXPECT_EQ(shown["term"].type(), bson::Type::kInt32);
  EXPECT_EQ(shown["term"].AsInt64(), 7);
  EXPECT_EQ(Parsed(bson::ToCanonicalJson(shown)).document, config.document);
}

TEST(SetConfig, KeepsWhoIsNew) {
  SetConfig config = Parsed(kThree);
  config.members[1].newly_added = true;
  config.version = 9;
  const bson::Document stored = ConfigDocument(config, 1, false);
  const SetConfig read = Parsed(bson::ToCanonicalJson(stored));
  EXPECT_TRUE(read.members[1].newly_added);
  EXPECT_FALSE(read.members[0].newly_added);
  EXPECT_EQ(read.version, 9U);
  const bson::Document shown = ConfigDocument(read, 1, true);
  EXPECT_EQ(shown["members"].AsArray()["1"].AsDocument().Has("newlyAdded"), false);
}

TEST(SetConfig, RefusesWhatHasNotItsForm) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"version": 1, "members": []})", "Missing expected field \"_id\""},
      {R"({"_id": "s", "members": []})", "Missing expected field \"version\""},
      {R"({"_id": "s", "version": "x", "members": []})",
       "Expected field \"version\" to have numeric type, but found string"},
      {R"({"_id": "s", "version": 0, "members": []})", "version field value of 0 is out of range"},
      {R"({"_id": "s", "version": 1})", "Missing expected field \"members\""},
      {R"({"_id": "s", "version": 1, "members": 5})",
       "\"members\" had the wrong type. Expected array, found int"},
      {R"({"_id": "s", "version": 1, "members": ["x"]})",
       "Expected type of members.0 to be Object, but found string"},
      {R"({"_id": "s", "version": 1, "members": [], "bogus": 1})", "unknown field"},
  };
  for (const auto& [text, message] : kCases) {
    auto config = ParseConfig(Json(text));
    EXPECT_EQ(config.status().code(), kInvalidReplicaSetConfig) << text;
    EXPECT_NE(config.status().message().find(message), std::string::npos)
        << config.status().message();
  }
}

TEST(SetConfig, RefusesMembersThatCannotBe) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"host": "a"})", "NoSuchKey: _id field is missing for member:"},
      {R"({"_id": -1, "host": "a"})", "BadValue: _id field value of -1 can't be a negative number"},
      {R"({"_id": "x", "host": "a"})", "TypeMismatch: _id field has non-numeric type string"},
      {R"({"_id": 0})", "NoSuchKey: Missing expected field \"host\""},
      {R"({"_id": 0, "host": 5})", "TypeMismatch: \"host\" had the wrong type."},
      {R"({"_id": 0, "host": ""})", "FailedToParse: Empty host component"},
      {R"({"_id": 0, "host": "a:x"})", "FailedToParse: Port number"},
      {R"({"_id": 0, "host": "a", "bogus": 1})",
       "BadValue: Unexpected field bogus in replica set member configuration"},
      {R"({"_id": 0, "host": "a", "priority": -1})", "priority field value of -1 is out of range"},
      {R"({"_id": 0, "host": "a", "priority": 1001})",
       "priority field value of 1001 is out of range"},
      {R"({"_id": 0, "host": "a", "votes": 2})", "votes field value is 2 but must be 0 or 1"},
      {R"({"_id": 0, "host": "a", "votes": "x"})", "votes field value has non-numeric type string"},
      {R"({"_id": 0, "host": "a", "votes": 0})", "priority must be 0 when non-voting (votes:0)"},
      {R"({"_id": 0, "host": "a", "hidden": true})", "priority must be 0 when hidden=true"},
      {R"({"_id": 0, "host": "a", "buildIndexes": false})",
       "priority must be 0 when buildIndexes=false"},
      {R"({"_id": 0, "host": "a", "arbiterOnly": true})", "arbiters are not supported"},
      {R"({"_id": 0, "host": "a", "tags": 5})", "\"tags\" had the wrong type."},
      {R"({"_id": 0, "host": "a", "tags": {"a": 5}})", "tags.a field has non-string value"},
  };
  for (const auto& [text, message] : kCases) {
    auto config =
        ParseConfig(Json(R"({"_id": "s", "version": 1, "members": [)" + std::string(text) + "]}"));
    EXPECT_EQ(config.status().code(), kInvalidReplicaSetConfig) << text;
    EXPECT_NE(config.status().message().find(message), std::string::npos)
        << config.status().message();
  }
}

TEST(SetConfig, ChecksTheWhole) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "contains 0 members, but must have at least 1 and no more than  50"},
      {R"({"_id": 0, "host": "a"}, {"_id": 0, "host": "b"})",
       "Found two member configurations with same _id field, members.0._id == members.1._id == "
       "MemberId(0)"},
      {R"({"_id": 0, "host": "a"}, {"_id": 1, "host": "a:27017"})",
       "members.0.host == members.1.host == a:27017"},
      {R"({"_id": 0, "host": "a", "priority": 0})", "at least one non-arbiter member"},
      {R"({"_id": 0, "host": "a"}, {"_id": 1, "host": "localhost"})", "found 1 out of 2"},
  };
  for (const auto& [members, message] : kCases) {
    const SetConfig config =
        Parsed(R"({"_id": "s", "version": 1, "members": [)" + std::string(members) + "]}");
    const Status status = CheckConfig(config, kNewReplicaSetConfigurationIncompatible);
    EXPECT_EQ(status.code(), kNewReplicaSetConfigurationIncompatible);
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
  }
  std::string eight;
  for (int i = 0; i < 8; ++i) {
    eight += (i == 0 ? "" : ",") + bson::ToJson(Doc("_id", i, "host", "h" + std::to_string(i)));
  }
  EXPECT_FALSE(
      CheckConfig(Parsed(R"({"_id": "s", "version": 1, "members": [)" + eight + "]}"), 93).ok());
}

TEST(SetConfig, ChecksWhatChanges) {
  const SetConfig now = Parsed(
      R"({"_id": "s", "version": 1, "members": [{"_id": 0, "host": "a"}, {"_id": 1, "host": "b"},
          {"_id": 2, "host": "c"}]})");
  auto check = [&](const std::string& name, int version, const std::string& members,
                   bool force = false) {
    return CheckReconfig(now,
                         Parsed(R"({"_id": ")" + name + R"(", "version": )" +
                                std::to_string(version) + R"(, "members": [)" + members + "]}"),
                         1, force);
  };
  const std::string two = R"({"_id": 0, "host": "a"}, {"_id": 1, "host": "b"})";
  EXPECT_TRUE(check("s", 2, two).ok());
  EXPECT_EQ(
      check("s", 1, two).message(),
      "New replica set configuration version and term must be greater than old, but {version: "
      "1, term: 1} is not greater than {version: 1, term: 1} for replica set s");
  EXPECT_EQ(check("t", 2, two).code(), kNewReplicaSetConfigurationIncompatible);
  EXPECT_EQ(check("s", 2, R"({"_id": 0, "host": "a"})").message(),
            "Non force replica set reconfig can only add or remove at most 1 voting member.");
  EXPECT_TRUE(check("s", 1, R"({"_id": 0, "host": "a"})", true).ok());
}

TEST(SetConfig, TakesAnIdOfTheSet) {
  const bson::ObjectId id = bson::ObjectId::Generate();
  const bson::Document with = WithSetId(Doc("_id", "s", "version", 1, "members", List()), id);
  EXPECT_EQ(with["settings"].AsDocument()["replicaSetId"].AsObjectId(), id);
}

}  // namespace
}  // namespace quire::repl
