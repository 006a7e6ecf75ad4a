// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace quire::log {
namespace {

using ::testing::HasSubstr;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class LogTest : public ::testing::Test {
 protected:
  LogTest()
      : dir_(std::filesystem::temp_directory_path() / ("log_test." + std::to_string(getpid()))) {
    std::filesystem::create_directories(dir_);
  }
  ~LogTest() override {
    EXPECT_TRUE(Open({}).ok());
    std::filesystem::remove_all(dir_);
  }
  std::string Path() const { return (dir_ / "quire.log").string(); }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(dir_), {}));
  }
  std::filesystem::path dir_;
};

TEST_F(LogTest, WritesJsonWithEscapes) {
  ASSERT_TRUE(Open({.path = Path(), .format = Format::kJson}).ok());
  Info("NETWORK", "said \"hi\"\n", {{"n", 3}, {"text", "a\\b\x01"}, {"plan", Json{"{\"a\":1}"}}});
  std::string text = ReadAll(Path());
  EXPECT_THAT(text, HasSubstr("\"s\":\"I\",\"c\":\"NETWORK\""));
  EXPECT_THAT(text, HasSubstr(R"("msg":"said \"hi\"\n")"));
  EXPECT_THAT(text, HasSubstr(R"("attr":{"n":3,"text":"a\\b\u0001","plan":{"a":1}})"));
}

TEST_F(LogTest, CutsLongTextsAtACharacter) {
  ASSERT_TRUE(Open({.path = Path(), .format = Format::kJson}).ok());
  const std::string fits(10 << 10, 'a');
  std::string long_text = fits.substr(1);
  for (int i = 0; i < 100'000; ++i) {
    long_text += "\u00e9";  // two bytes, the first of them the last that would fit
  }
  Info("ACCESS", "said", {{"fits", fits}, {"user", long_text}, {"n", 1}});
  const std::string text = ReadAll(Path());
  EXPECT_THAT(text, HasSubstr("\"fits\":\"" + fits + "\""));
  EXPECT_THAT(text, HasSubstr("\"user\":\"" + fits.substr(1) + "\",\"n\":1}"));
  EXPECT_THAT(text, HasSubstr(R"("truncated":{"user":{"type":"string","size":210239}}})"));
  EXPECT_LT(RecentLines().lines.back().size(), 3 * fits.size());
}

TEST_F(LogTest, CutJsonIsAString) {
  ASSERT_TRUE(Open({.path = Path(), .format = Format::kJson}).ok());
  const std::string json = "{\"a\":\"" + std::string(10 << 10, 'a') + "\"}";
  Info("COMMAND", "said", {{"command", Json{json}}, {"n", 1}});
  const std::string text = ReadAll(Path());
  EXPECT_THAT(text, HasSubstr(R"("command":"{\"a\":\"aaa)"));
  EXPECT_THAT(text, HasSubstr(R"(aaa","n":1},"truncated":{"command":{"type":"string","size":)" +
                              std::to_string(json.size()) + "}}}"));
}

TEST_F(LogTest, RotatesIntoANewFile) {
  ASSERT_TRUE(Open({.path = Path()}).ok());
  Info("CONTROL", "first");
  ASSERT_TRUE(Rotate().ok());
  Info("CONTROL", "second");
  EXPECT_EQ(Files(), 2U);
  EXPECT_THAT(ReadAll(Path()), HasSubstr("second"));
  EXPECT_THAT(ReadAll(Path()), ::testing::Not(HasSubstr("first")));
}

TEST_F(LogTest, AppendsWhenAsked) {
  ASSERT_TRUE(Open({.path = Path(), .append = true}).ok());
  Info("CONTROL", "first");
  ASSERT_TRUE(Open({.path = Path(), .append = true}).ok());
  Info("CONTROL", "second");
  EXPECT_EQ(Files(), 1U);
  EXPECT_THAT(ReadAll(Path()), HasSubstr("first"));
  EXPECT_THAT(ReadAll(Path()), HasSubstr("second"));
}

TEST_F(LogTest, LevelsAndQuiet) {
  ASSERT_TRUE(Open({.path = Path(), .verbosity = 1, .quiet = true}).ok());
  Debug(1, "COMMAND", "shown");
  Debug(2, "COMMAND", "hidden");
  Info("COMMAND", "kept only for getLog");
  EXPECT_THAT(ReadAll(Path()), HasSubstr("shown"));
  EXPECT_THAT(ReadAll(Path()), ::testing::Not(HasSubstr("hidden")));
  EXPECT_THAT(ReadAll(Path()), ::testing::Not(HasSubstr("getLog")));
  EXPECT_THAT(RecentLines().lines.back(), HasSubstr("getLog"));
}

TEST_F(LogTest, KeepsTheRecentLines) {
  ASSERT_TRUE(Open({.path = Path(), .quiet = true}).ok());
  int64_t before = RecentLines().total;
  for (int i = 0; i < 1100; ++i) {
    Info("COMMAND", "line", {{"i", i}});
  }
  Recent recent = RecentLines();
  EXPECT_EQ(recent.lines.size(), 1024U);
  EXPECT_EQ(recent.total - before, 1100);
  EXPECT_THAT(recent.lines.back(), HasSubstr("\"i\":1099"));
}

TEST_F(LogTest, UnwritablePathIsAnError) { EXPECT_FALSE(Open({.path = "/dev/null/x.log"}).ok()); }

}  // namespace
}  // namespace quire::log
