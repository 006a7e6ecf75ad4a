// SPDX-License-Identifier: Apache-2.0
//
// What no database is called: commands are refused there, and what is there all the same goes.
#include "base/error_codes.h"
#include "command/testing/harness.h"
#include "engine/schema/schema.h"

namespace quire::command {
namespace {

using namespace std::string_view_literals;

const std::string kLong(64, 'd');
const std::string_view kNoNames[] = {"",       "a.b",  "admin.system", "local.evil",
                                     "a\0b"sv, "x$",   "a/b",          "a\\b",
                                     "a b",    "a\"b", "$externals",   kLong};

TEST(DatabaseNameTest, EveryCommandIsRefused) {
  Node node;
  for (const Row* row : node.commands().rows()) {
    const std::string command = R"({")" + std::string(row->info.name) + R"(": 1})";
    for (std::string_view name : kNoNames) {
      EXPECT_EQ(node.Code(command, name), kInvalidNamespace) << command << " on " << name;
    }
  }
}

TEST(DatabaseNameTest, ErrorsTellWhatIsWrong) {
  Node node;
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"a.b", "'.' is an invalid character in a db name: a.b"},
      {"a\0b"sv, "database names cannot have embedded null characters"},
      {kLong, "db name must be at most 63 characters, found: 64"},
      {"a b", "Invalid database name: 'a b'"},
      {"", "Invalid database name: ''"},
  };
  for (const auto& [name, message] : kCases) {
    const bson::Document reply = node.Run(R"({"ping": 1})", name);
    EXPECT_EQ(reply["errmsg"].AsString(), message);
  }
  EXPECT_EQ(node.Code(R"({"ping": 1})", std::string(63, 'd')), 0);
  EXPECT_EQ(node.Code(R"({"ping": 1})", "$external"), 0);
}

// Nothing is in the database of users who are known elsewhere.
TEST(DatabaseNameTest, NoCommandMakesCollectionsInExternal) {
  Node node;
  for (const Row* row : node.commands().rows()) {
    const std::string name(row->info.name);
    node.Run("{\"" + name + "\": " + (name == "profile" ? "2" : "\"c\"") + "}", "$external");
  }
  EXPECT_EQ(node.Code(R"({"insert": "c", "documents": [{}]})", "$external"), kInvalidNamespace);
  EXPECT_EQ(node.Code(R"({"profile": 2})", "$external"), kInvalidNamespace);
  EXPECT_TRUE(node.engine().catalog().snapshot()->InDatabase("$external").empty());
}

// Those that a command names beside its own.
TEST(DatabaseNameTest, NoCommandMakesOne) {
  Node node;
  ASSERT_EQ(node.Code(R"({"insert": "c", "documents": [{"a": 1}]})"), 0);
  const auto before = node.engine().catalog().snapshot()->Databases();
  for (std::string_view database : kNoNames) {
    if (database.find('.') != std::string_view::npos) {
      continue;  // in a namespace: of the database before it
    }
    const bson::Document named = bson::Builder().Append("db", database).Finish();
    const std::string text = bson::ToJson(named["db"]);
    const std::string begun = text.substr(0, text.size() - 1);  // without the last quote
    const std::string ns = begun + ".c\"";
    for (
        const std::string& command :
        {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": {"db": )" + text +
             R"(, "coll": "c"}}]})",
         R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$merge": {"into": {"db": )" + text +
             R"(, "coll": "c"}}}]})",
         R"({"mapReduce": "c", "map": "function() { emit(1, 1); }", "out": {"replace": "c", "db": )" +
             text + R"(}, "reduce": "function() { return 1; }"})"}) {
      node.Run(command);
    }
    for (const std::string& command :
         {R"({"renameCollection": "test.c", "to": )" + ns + "}",
          R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": )" + ns +
              "}]}",
          R"({"applyOps": [{"op": "i", "ns": )" + ns + R"(, "o": {"_id": 1}}]})",
          R"({"applyOps": [{"op": "c", "ns": )" + begun + R"(.$cmd", "o": {"create": "c"}}]})"}) {
      EXPECT_NE(node.Code(command, "admin"), 0) << command;
    }
  }
  EXPECT_EQ(node.engine().catalog().snapshot()->Databases(), before);
}

TEST(DatabaseNameTest, OneThatIsThereIsDropped) {
  Node node;
  OpContext op;
  engine::Operation operation{node.engine(), op};
  const std::string_view kThere[] = {"", "a\0b"sv, "we$ird/", kLong};
  for (std::string_view name : kThere) {
    EXPECT_TRUE(
        engine::CreateCollection(operation, std::string(name) + ".system.profile", bson::View())
            .ok());
  }
  EXPECT_TRUE(engine::CreateCollection(operation, "local.evil.system.profile", bson::View()).ok());
  EXPECT_EQ(node.Code(R"({"dropDatabase": 1})", "local.evil"), kInvalidNamespace);
  EXPECT_EQ(node.Code(R"({"drop": "evil.system.profile"})", "local"), 0);
  for (std::string_view name : kThere) {
    EXPECT_EQ(node.Code(R"({"dropDatabase": 1})", name), 0) << name;
    EXPECT_TRUE(node.engine().catalog().snapshot()->InDatabase(name).empty()) << name;
    EXPECT_EQ(node.Code(R"({"dropDatabase": 1})", name), kInvalidNamespace) << name;
  }
  for (const auto& info : node.engine().catalog().snapshot()->All()) {
    EXPECT_EQ(info->name.find("system.profile"), std::string::npos) << info->ns();
  }
}

}  // namespace
}  // namespace quire::command
