// SPDX-License-Identifier: Apache-2.0
#include "run/redact.h"

#include <map>
#include <string>

#include "base/log.h"
#include "command/testing/guarded.h"

namespace quire::command {
namespace {

constexpr std::string_view kSecret = "s3cr3t";

std::string Shown(const char* json) {
  bson::Document command = GuardedNode::Parse(json);
  return bson::ToJson(run::ShownCommand(command.view()).view());
}

TEST(Redact, HidesPasswordsAndLogins) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"createUser":"a","pwd":"s3cr3t","roles":[]})",
       R"({"createUser":"a","pwd":"xxx","roles":[]})"},
      {R"({"updateUser":"a","pwd":"s3cr3t"})", R"({"updateUser":"a","pwd":"xxx"})"},
      {R"({"updateUser":"a","pwd":null,"pwd":"s3cr3t"})",
       R"({"updateUser":"a","pwd":"xxx","pwd":"xxx"})"},
      {R"({"saslStart":1,"mechanism":"SCRAM-SHA-256","payload":"s3cr3t"})",
       R"({"saslStart":1,"mechanism":"SCRAM-SHA-256","payload":"xxx"})"},
      {R"({"saslContinue":1,"conversationId":1,"payload":"s3cr3t"})",
       R"({"saslContinue":1,"conversationId":1,"payload":"xxx"})"},
      {R"({"authenticate":1,"user":"a","nonce":"s3cr3t","key":"s3cr3t"})",
       R"({"authenticate":1,"user":"a","nonce":"xxx","key":"xxx"})"},
      {R"({"hello":1,"speculativeAuthenticate":{"saslStart":1,"payload":"s3cr3t"}})",
       R"({"hello":1,"speculativeAuthenticate":"xxx"})"},
      {R"({"ismaster":1,"speculativeAuthenticate":{"saslStart":1,"payload":"s3cr3t"}})",
       R"({"ismaster":1,"speculativeAuthenticate":"xxx"})"},
      {R"({"createuser":"a","pwd":"s3cr3t"})", R"({"createuser":"a","pwd":"xxx"})"},
      {R"({"explain":{"updateUser":"a","pwd":"s3cr3t"},"verbosity":"x"})",
       R"({"explain":{"updateUser":"a","pwd":"xxx"},"verbosity":"x"})"},
      {R"({"explain":{"explain":{"createUser":"a","pwd":"s3cr3t"}}})",
       R"({"explain":{"explain":{"createUser":"a","pwd":"xxx"}}})"},
      {R"({"createUser":{"pwd":"s3cr3t"}})", R"({"createUser":{"pwd":"xxx"}})"},
      {R"({"createUser":[{"a":[{"pwd":"s3cr3t"}]}],"b":{"pwd":"s3cr3t"}})",
       R"({"createUser":[{"a":[{"pwd":"xxx"}]}],"b":{"pwd":"xxx"}})"},
      {R"({"saslStart":{"payload":"s3cr3t"}})", R"({"saslStart":{"payload":"xxx"}})"},
      {R"({"createuser":{"pwd":"s3cr3t"}})", R"({"createuser":{"pwd":"xxx"}})"},
      {R"({"applyOps":[{"op":"c","ns":"a.$cmd","o":{"createUser":"a","pwd":"s3cr3t"}}]})",
       R"({"applyOps":[{"op":"c","ns":"a.$cmd","o":{"createUser":"a","pwd":"xxx"}}]})"},
      {R"({"applyOps":[{"op":"c","o":{"applyOps":[{"op":"c","o":{"updateUser":"a","pwd":"s3cr3t"}}]}}]})",
       R"({"applyOps":[{"op":"c","o":{"applyOps":[{"op":"c","o":{"updateUser":"a","pwd":"xxx"}}]}}]})"},
      {R"({"setParameter":1,"tlsCertificateKeyFilePassword":"s3cr3t","quiet":true})",
       R"({"setParameter":1,"tlsCertificateKeyFilePassword":"xxx","quiet":true})"},
      {R"({"setQuerySettings":{"createUser":"a","pwd":"s3cr3t"},"settings":{}})",
       R"({"setQuerySettings":{"createUser":"a","pwd":"xxx"},"settings":{}})"},
  };
  for (const auto& [command, shown] : kCases) {
    EXPECT_EQ(Shown(command), shown);
  }
}

TEST(Redact, EndsWhereNothingIsToBeHiddenAnyMore) {
  std::string inner = R"({"a":1})";
  std::string shown = R"("xxx")";
  for (int i = 0; i < 10; ++i) {
    shown = R"({"a":)" + shown + "}";
  }
  for (int i = 0; i < 100; ++i) {
    inner = R"({"a":)" + inner + "}";
  }
  for (const char* before : {R"({"createUser":)", R"({"explain":)"}) {
    EXPECT_EQ(Shown((before + inner + "}").c_str()), before + shown + "}");
  }
}

TEST(Redact, LeavesTheRest) {
  for (const char* command :
       {R"({"find":"a","filter":{"pwd":"x"}})", R"({"insert":"a","documents":[{"pwd":"x"}]})",
        R"({"explain":{"find":"a","filter":{"pwd":"x"}}})",
        R"({"setQuerySettings":{"find":"a","filter":{"pwd":"x"}}})",
        R"({"applyOps":[{"op":"u","o2":{"_id":1},"o":{"$v":2,"diff":{"u":{"pwd":"x"}}}},["pwd"]]})",
        R"({"ping":1})", R"({"explain":1})", R"({"aggregate":"a","payload":1})", R"({})"}) {
    EXPECT_EQ(Shown(command), command);
  }
}

const char* const kCommands[] = {
    R"({"createUser":"a","pwd":"s3cr3t","roles":[]})",
    R"({"createUser":"a","pwd":"s3cr3t","roles":["no such role"]})",
    R"({"createUser":"a","pwd":{"s3cr3t":1},"roles":[]})",
    R"({"createUser":"a","pwd":"s3cr3t","roles":[],"unknown":1})",
    R"({"createUser":"a","pwd":"s3cr3t","pwd":"s3cr3t2","roles":[]})",
    R"({"updateUser":"a","pwd":"s3cr3t"})",
    R"({"updateUser":"nobody","pwd":"s3cr3t"})",
    R"({"createuser":"a","pwd":"s3cr3t"})",
    R"({"saslStart":1,"mechanism":"SCRAM-SHA-1","payload":"s3cr3t"})",
    R"({"saslStart":1,"mechanism":"PLAIN","payload":"s3cr3t"})",
    R"({"saslStart":1,"mechanism":"SCRAM-SHA-256","payload":{"s3cr3t":1}})",
    R"({"saslContinue":1,"conversationId":1,"payload":"s3cr3t"})",
    R"({"authenticate":1,"mechanism":"MONGODB-CR","user":"a","nonce":"s3cr3t","key":"s3cr3t"})",
    R"({"hello":1,"speculativeAuthenticate":{"saslStart":1,"mechanism":"x","payload":"s3cr3t"}})",
    R"({"explain":{"createUser":"a","pwd":"s3cr3t","roles":[]}})",
    R"({"ping":1,"pwd":"s3cr3t"})",
    R"({"planCacheClear":"c","pwd":"s3cr3t"})",
    R"({"createUser":{"pwd":"s3cr3t"}})",
    R"({"applyOps":[{"op":"c","ns":"test.$cmd","o":{"createUser":"a","pwd":"s3cr3t"}}]})",
    R"({"setParameter":1,"tlsCertificateKeyFilePassword":"s3cr3t"})",
    R"({"setQuerySettings":{"find":"c","$db":"test","pwd":"s3cr3t"},"settings":{}})",
};

// Whether any of the log's lines, or of what the profiler kept, holds the secret. What was kept of
// these commands is counted in *profiled.
void ExpectNothingTold(GuardedNode& node, const char* command,
                       std::map<std::string, int>* profiled) {
  for (const std::string& line : log::RecentLines().lines) {
    EXPECT_EQ(line.find(kSecret), std::string::npos) << command << "\n" << line;
  }
  for (const char* database : {"test", "admin"}) {
    bson::Document kept = node.Run(R"({"find": "system.profile", "batchSize": 9000})", database);
    EXPECT_EQ(kept.bytes().find(kSecret), std::string::npos) << command << "\n"
                                                             << bson::ToJson(kept.view());
    const bson::View cursor = kept["cursor"].AsDocument();
    EXPECT_EQ(cursor["id"].AsInt64(), 0);
    for (const bson::Element& entry : cursor["firstBatch"].AsArray()) {
      if (bson::Value run = entry.value().AsDocument()["command"]; run.is_document()) {
        ++(*profiled)[std::string(run.AsDocument().front().name())];
      }
    }
  }
}

TEST(Redact, LogProfilerAndErrorsTellNoSecrets) {
  GuardedNode node;
  node.AddUser("root", {{"root", "admin"}});
  node.AddUser("reader", {{"read", "test"}});
  for (const char* database : {"test", "admin"}) {
    request::Client root;
    node.LogIn(root, "root");
    EXPECT_EQ(node.CodeAs(root, R"({"profile": 2, "slowms": 0})", database), 0);
  }
  std::map<std::string, int> profiled;
  for (const char* user : {"root", "reader", ""}) {
    for (const char* database : {"test", "admin"}) {
      for (const char* command : kCommands) {
        request::Client client("192.0.2.1:40000");
        if (*user != '\0') {
          node.LogIn(client, user);
        }
        bson::Document answer = node.RunAs(client, command, database);
        std::string reply = bson::ToJson(answer.view());
        EXPECT_EQ(reply.find(kSecret), std::string::npos) << user << " " << command << "\n"
                                                          << reply;
        ExpectNothingTold(node, command, &profiled);
      }
    }
  }
  // What has a namespace is kept, with its secrets where it is not strict.
  EXPECT_GT(profiled["planCacheClear"], 0);
  for (const char* database : {"test", "admin"}) {
    node.Run(R"({"profile": 0, "slowms": 100})", database);
  }
}

TEST(Redact, CurrentOpTellsNoSecrets) {
  GuardedNode node;
  bson::Document reply = node.Run(R"({"currentOp": 1, "password": {"$exists": false}})", "admin");
  std::string seen = bson::ToJson(reply.view());
  EXPECT_NE(seen.find(R"("password":"xxx")"), std::string::npos) << seen;
}

}  // namespace
}  // namespace quire::command
