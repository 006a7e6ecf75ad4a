// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <syslog.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "audit/event.h"
#include "audit/log.h"
#include "base/error_codes.h"

namespace quire::audit {
namespace {

class AuditLog : public testing::Test {
 protected:
  AuditLog() {
    char name[] = "/tmp/quire-audit-XXXXXX";
    folder_ = mkdtemp(name);
    options_.path = folder_ + "/audit.json";
  }
  ~AuditLog() override { std::filesystem::remove_all(folder_); }

  static bson::Document About(std::string_view type) {
    return Event(type, {7, "127.0.0.1:27017", "[::1]:4000", {{"ann", "shop"}}, {{"read", "shop"}}},
                 bson::View(), 0);
  }
  static std::vector<bson::Document> Read(const std::string& path) {
    std::ifstream file(path);
    std::vector<bson::Document> out;
    for (std::string line; std::getline(file, line);) {
      auto parsed = bson::Document::FromJson(line);
      EXPECT_TRUE(parsed.ok()) << line;
      out.push_back(*std::move(parsed));
    }
    return out;
  }

  std::string folder_;
  Options options_;
};

TEST_F(AuditLog, WritesMongoDBsShape) {
  auto log = Log::Open(std::move(options_));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  bson::Document event = About("authenticate");
  (*log)->Write(event.view());
  std::vector<bson::Document> lines = Read(folder_ + "/audit.json");
  ASSERT_EQ(lines.size(), 1u);
  std::string names;
  for (const bson::Element& e : lines[0].view()) {
    names += std::string(e.name()) + " ";
  }
  EXPECT_EQ(names, "atype ts uuid local remote users roles param result ");
  EXPECT_EQ(bson::ToJson(lines[0]["local"]), R"({"ip":"127.0.0.1","port":27017})");
  EXPECT_EQ(bson::ToJson(lines[0]["remote"]), R"({"ip":"::1","port":4000})");
  EXPECT_EQ(bson::ToJson(lines[0]["users"]), R"([{"user":"ann","db":"shop"}])");
  EXPECT_EQ(lines[0]["ts"].type(), bson::Type::kDate);
  struct stat about {};
  ASSERT_EQ(stat((folder_ + "/audit.json").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(AuditLog, ToldOfTheServerItselfAndOfSockets) {
  bson::Document own = Event("startup", {}, bson::View(), 0);
  EXPECT_EQ(bson::ToJson(own["local"]), R"({"isSystemUser":true})");
  bson::Document socket = Event("x", {1, "/tmp/mongodb-27017.sock", "anonymous", {}, {}}, {}, 0);
  EXPECT_EQ(bson::ToJson(socket["local"]), R"({"unix":"/tmp/mongodb-27017.sock"})");
}

TEST_F(AuditLog, ConnectionsHaveIdsOfTheirOwn) {
  auto id = [](int64_t connection) {
    Who who;
    who.connection = connection;
    bson::Document event = Event("x", who, {}, 0);
    return bson::ToJson(event["uuid"]);
  };
  EXPECT_EQ(id(1), id(1));
  EXPECT_NE(id(1), id(2));
}

TEST_F(AuditLog, LeavesOutWhatTheFilterDoes) {
  auto filter = ParseFilter("{ atype: { $in: [ 'drop', \"create\" ] }, 'users.user': 'ann' }");
  ASSERT_TRUE(filter.ok()) << filter.status().ToString();
  options_.filter = *std::move(filter);
  auto log = Log::Open(std::move(options_));
  ASSERT_TRUE(log.ok());
  for (const char* type : {"drop", "other", "create"}) {
    bson::Document event = About(type);
    (*log)->Write(event.view());
  }
  bson::Document own = Event("drop", {}, bson::View(), 0);
  (*log)->Write(own.view());
  std::vector<bson::Document> lines = Read(folder_ + "/audit.json");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["atype"].AsString(), "drop");
  EXPECT_EQ(lines[1]["atype"].AsString(), "create");
}

TEST_F(AuditLog, FiltersAreReadAsPeopleWriteThem) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "{}"},
      {"{}", "{}"},
      {"{a: 1}", R"({"a":1})"},
      {"{ \"param.db\": \"it's\", b: true, c: null }", R"({"param.db":"it's","b":true,"c":null})"},
      {R"({a: 'say "hi"'})", R"({"a":"say \"hi\""})"},
      {R"({a: 'it\'s'})", R"({"a":"it's"})"},
      {R"({a: "\\d+"})", R"({"a":"\\d+"})"},
      {"{$or: [{a: 1}, {b.c: -2.5}]}", R"({"$or":[{"a":1},{"b.c":-2.5}]})"},
  };
  for (const auto& [text, json] : kCases) {
    auto parsed = ParseFilter(text);
    ASSERT_TRUE(parsed.ok()) << text << " " << parsed.status().ToString();
    EXPECT_EQ(bson::ToJson(parsed->view()), json) << text;
  }
  for (const char* bad : {"{", "{a}", "a: 1", "{a: 'x}", "{a: 1} {b: 1}"}) {
    EXPECT_EQ(ParseFilter(bad).status().code(), kFailedToParse) << bad;
  }
  options_.filter = *bson::Document::FromJson(R"({"a": {"$nonsense": 1}})");
  EXPECT_EQ(Log::Open(std::move(options_)).status().code(), kBadValue);
}

TEST_F(AuditLog, RotatesItsFile) {
  auto log = Log::Open(std::move(options_));
  ASSERT_TRUE(log.ok());
  bson::Document first = About("first");
  bson::Document second = About("second");
  (*log)->Write(first.view());
  std::string old;
  ASSERT_TRUE((*log)->Rotate(&old).ok());
  (*log)->Write(second.view());
  EXPECT_EQ(Read(old).at(0)["atype"].AsString(), "first");
  EXPECT_EQ(Read(folder_ + "/audit.json").at(0)["atype"].AsString(), "second");
}

// /dev/full takes nothing: every write fails as on a full disk.
TEST_F(AuditLog, SaysWhenItCannotBeWritten) {
  options_.path = "/dev/full";
  auto log = Log::Open(std::move(options_));
  ASSERT_TRUE(log.ok());
  EXPECT_TRUE((*log)->Check().ok());
  bson::Document event = About("lost");
  (*log)->Write(event.view());
  EXPECT_EQ((*log)->Check().code(), kFileStreamFailed);
}

TEST_F(AuditLog, WhatCouldNotBeWrittenIsWrittenLater) {
  std::filesystem::create_symlink("/dev/full", options_.path);
  std::string path = options_.path;
  auto log = Log::Open(std::move(options_));
  ASSERT_TRUE(log.ok());
  bson::Document early = About("early");
  (*log)->Write(early.view());
  EXPECT_FALSE((*log)->Check().ok());
  std::string old;
  ASSERT_TRUE((*log)->Rotate(&old).ok());  // the link is set aside, a file takes its place
  EXPECT_TRUE((*log)->Check().ok());
  bson::Document late = About("late");
  (*log)->Write(late.view());
  std::vector<bson::Document> lines = Read(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["atype"].AsString(), "early");
  EXPECT_EQ(lines[1]["atype"].AsString(), "late");
}

TEST_F(AuditLog, BoundsWhatWaitsAndTellsHowMuchWasLost) {
  std::filesystem::create_symlink("/dev/full", options_.path);
  std::string path = options_.path;
  auto log = Log::Open(std::move(options_));
  ASSERT_TRUE(log.ok());
  bson::Document much = bson::Builder().Append("x", std::string(100'000, 'x')).Finish();
  bson::Document large = Event("large", {}, much.view(), 0);
  for (int i = 0; i < 30; ++i) {
    (*log)->Write(large.view());
  }
  std::string old;
  ASSERT_TRUE((*log)->Rotate(&old).ok());
  bson::Document late = About("late");
  (*log)->Write(late.view());
  std::vector<bson::Document> lines = Read(path);
  ASSERT_GT(lines.size(), 5u);
  EXPECT_LT(lines.size(), 15u);
  const bson::Document& last = lines.back();
  EXPECT_EQ(last["atype"].AsString(), "auditLost");
  EXPECT_EQ(last["param"].AsDocument()["events"].AsInt64(),
            31 - static_cast<int64_t>(lines.size() - 1));
}

TEST_F(AuditLog, GoesToTheConsole) {
  options_.destination = Options::Destination::kConsole;
  auto log = Log::Open(std::move(options_));
  ASSERT_TRUE(log.ok());
  testing::internal::CaptureStdout();
  EXPECT_TRUE((*log)->Check(100).ok());
  bson::Document event = About("authenticate");
  (*log)->Write(event.view());
  std::string line = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(line.ends_with("\n"));
  auto parsed = bson::Document::FromJson(line);
  ASSERT_TRUE(parsed.ok()) << line;
  EXPECT_EQ((*parsed).view()["atype"].AsString(), "authenticate");
  std::string old;
  EXPECT_TRUE((*log)->Rotate(&old).ok());
  EXPECT_EQ(old, "");
}

TEST_F(AuditLog, GoesToTheSystemsLog) {
  options_.destination = Options::Destination::kSyslog;
  auto log = Log::Open(std::move(options_));
  ASSERT_TRUE(log.ok());
  openlog("quire", LOG_PERROR, LOG_USER);  // here, too: where a test can read it
  testing::internal::CaptureStderr();
  EXPECT_TRUE((*log)->Check(100).ok());
  bson::Document event = Event("percent %s %n", {}, bson::View(), 0);
  (*log)->Write(event.view());
  std::string line = testing::internal::GetCapturedStderr();
  closelog();
  ASSERT_TRUE(line.starts_with("quire: {")) << line;
  auto parsed = bson::Document::FromJson(line.substr(7));
  ASSERT_TRUE(parsed.ok()) << line;
  EXPECT_EQ((*parsed).view()["atype"].AsString(), "percent %s %n");
}

TEST_F(AuditLog, SeesToRoomBeforeAnythingIsDone) {
  auto small = Log::Open(Options{{}, folder_ + "/small.json", {}});
  EXPECT_EQ((*small)->Check(size_t{1} << 62).code(), kFileStreamFailed);  // no disk has that
  EXPECT_TRUE((*small)->Check(1000).ok());
  // What was not used is given back.
  struct stat about {};
  auto log = Log::Open(Options{{}, folder_ + "/room.json", {}});
  EXPECT_TRUE((*log)->Check(1000).ok());
  bson::Document event = About("x");
  (*log)->Write(event.view());
  log->reset();
  ASSERT_EQ(stat((folder_ + "/room.json").c_str(), &about), 0);
  EXPECT_LT(about.st_blocks * 512, 64 << 10);
}

TEST_F(AuditLog, NeedsAFileItCanOpen) {
  options_.path = folder_ + "/none/audit.json";
  EXPECT_EQ(Log::Open(std::move(options_)).status().code(), kFileNotOpen);
}

}  // namespace
}  // namespace quire::audit
