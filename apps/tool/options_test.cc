// SPDX-License-Identifier: Apache-2.0
#include "tool/options.h"

#include <gtest/gtest.h>

#include "tool/text.h"

namespace quire::apps {
namespace {

struct Line {
  std::string name;
  int64_t count = 7;
  bool quiet = false;
  double share = 0.5;
  std::vector<std::string> parts;
  std::vector<std::string> words;

  std::vector<ToolOption> Options() {
    return {{"name", 'n', "NAME", &name, "A name."},
            {"count", 0, "N", &count, "How many.", 1, 100},
            {"quiet", 'q', "", &quiet, "Nothing is said."}};
  }
};

TEST(ToolOptions, EveryFormIsTaken) {
  Line line;
  const std::vector<ToolOption> rows = line.Options();
  ASSERT_TRUE(
      ParseOptions(rows, {"a", "--name=x=y", "--count", "5", "-q", "-", "--", "--b"}, &line.words)
          .ok());
  EXPECT_EQ(line.name, "x=y");
  EXPECT_EQ(line.count, 5);
  EXPECT_TRUE(line.quiet);
  EXPECT_EQ(line.words, (std::vector<std::string>{"a", "-", "--b"}));
  ASSERT_TRUE(ParseOptions(rows, {"-n", "z", "--quiet=false"}, &line.words).ok());
  EXPECT_EQ(line.name, "z");
  EXPECT_FALSE(line.quiet);
}

TEST(ToolOptions, FractionsAndLists) {
  Line line;
  const std::vector<ToolOption> rows = {{"share", 0, "N", &line.share, "How much.", 0, 1},
                                        {"part", 'p', "NAME", &line.parts, "A part."}};
  ASSERT_TRUE(ParseOptions(rows, {"--share", "0.25", "-p", "a", "--part=b"}, &line.words).ok());
  EXPECT_EQ(line.share, 0.25);
  EXPECT_EQ(line.parts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ParseOptions(rows, {"--share", "x"}, &line.words).message(),
            "--share: 'x' is not a number");
  EXPECT_EQ(ParseOptions(rows, {"--share", "nan"}, &line.words).message(),
            "--share: 'nan' is not between 0 and 1");
}

TEST(ToolOptions, WhatIsWrongIsSaid) {
  const struct {
    std::vector<std::string> arguments;
    const char* message;
  } kRows[] = {
      {{"--nosuch"}, "unknown option '--nosuch'"},
      {{"-x"}, "unknown option '-x'"},
      {{"--name"}, "option '--name' needs a value"},
      {{"--count", "many"}, "--count: 'many' is not a whole number"},
      {{"--count=0"}, "--count: '0' is not between 1 and 100"},
      {{"--count=101"}, "--count: '101' is not between 1 and 100"},
      {{"--quiet=maybe"}, "--quiet: 'maybe' is not true or false"},
  };
  for (const auto& row : kRows) {
    Line line;
    const std::vector<ToolOption> rows = line.Options();
    EXPECT_EQ(ParseOptions(rows, row.arguments, &line.words).message(), row.message);
  }
}

TEST(ToolOptions, HelpHasAParagraphPerRow) {
  Line line;
  const std::string help = OptionHelp(line.Options());
  EXPECT_EQ(help,
            "  -n, --name NAME         A name.\n"
            "      --count N           How many.\n"
            "  -q, --quiet             Nothing is said.\n");
  const std::string words = "word " + std::string(60, 'x') + " " + std::string(30, 'y');
  EXPECT_EQ(OptionHelp({{"o", 0, "", &line.quiet, words}}),
            "      --o                 word " + std::string(60, 'x') + "\n" + std::string(26, ' ') +
                std::string(30, 'y') + "\n");
}

TEST(ToolOptions, ACommandStartsOrEndsHere) {
  const struct {
    std::vector<std::string> arguments;
    std::optional<int> code;
  } kRows[] = {{{"-n", "x"}, std::nullopt},
               {{"--nosuch"}, kExitBadUsage},
               {{}, kExitBadUsage},            // the check wants a name
               {{"-q", "--nosuch"}, kExitOk},  // an answer whatever else there is
               {{"-q"}, kExitOk}};
  for (const auto& row : kRows) {
    Line line;
    const std::vector<ToolOption> rows = line.Options();
    auto check = [&] { return line.name.empty() ? Status(2, "which name?") : Status::Ok(); };
    EXPECT_EQ(StartCommand({"test", rows, &line.words, [&](bool) { return line.quiet; }, check},
                           row.arguments),
              row.code);
  }
}

TEST(ToolText, NumbersAsPeopleReadThem) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(-1234567), "-1,234,567");
  EXPECT_EQ(Fixed(1.005, 1), "1.0");
  EXPECT_EQ(ClockText(7.9), "0:07");
  EXPECT_EQ(ClockText(754), "12:34");
  EXPECT_EQ(ClockText(3723), "1:02:03");
}

}  // namespace
}  // namespace quire::apps
