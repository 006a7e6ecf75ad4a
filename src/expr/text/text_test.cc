// SPDX-License-Identifier: Apache-2.0
#include "expr/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "expr/text/tokenizer.h"

namespace quire::expr::text {
namespace {

using testing::ElementsAre;

IndexSpec OnT(std::string language = "english") {
  IndexSpec spec;
  spec.weights["t"] = 1;
  spec.default_language = std::move(language);
  return spec;
}

bson::Document Doc(std::string_view json) { return *bson::Document::FromJson(json); }

TEST(Tokenize, SplitsFoldsAndStems) {
  const Language& none = **FindLanguage("none");
  const Language& english = **FindLanguage("EN");
  EXPECT_THAT(Tokenize("a pre-owned Car", none), ElementsAre("a", "pre", "owned", "car"));
  EXPECT_THAT(Tokenize("me@example.com c++ user_name", none),
              ElementsAre("me", "example", "com", "c", "user_name"));
  EXPECT_THAT(Tokenize("na\xC3\xAFve O'Neill", none), ElementsAre("naive", "o", "neill"));
  EXPECT_THAT(Tokenize("The dogs are running, don't they?", english), ElementsAre("dog", "run"));
  TokenOptions exact{true, true};
  EXPECT_THAT(Tokenize("Caf\xC3\xA9", none, exact), ElementsAre("Caf\xC3\xA9"));
  EXPECT_FALSE(FindLanguage("klingon").ok());
}

TEST(ScoreDocument, WeighsTerms) {
  const std::tuple<const char*, const char*, double> cases[] = {
      {R"({"t": "apple banana cherry"})", "appl", 0.6667},
      {R"({"t": "apple"})", "appl", 1.0},
      {R"({"t": "apple apple pie"})", "appl", 1.25},
      {R"({"t": "the apple of the pies"})", "appl", 0.75},
      {R"({"t": "pie"})", "pie", 1.1},
      {R"({"t": ["apple", "pie apple"]})", "appl", 1.75},
      {R"({"t": "los perros", "language": "spanish"})", "perr", 1.0},
  };
  for (const auto& [json, term, score] : cases) {
    bson::Document document = Doc(json);
    auto scores = ScoreDocument(OnT(), document);
    ASSERT_TRUE(scores.ok());
    EXPECT_NEAR((*scores)[term], score, 0.0001) << json;
  }
  bson::Document unknown = Doc(R"({"t": "x", "language": "klingon"})");
  EXPECT_EQ(ScoreDocument(OnT(), unknown).status().code(), 17262);
  bson::Document wrong = Doc(R"({"t": "x", "language": 5})");
  EXPECT_EQ(ScoreDocument(OnT(), wrong).status().code(), 17261);
}

TEST(ScoreDocument, WildcardCoversEveryString) {
  IndexSpec spec;
  spec.wildcard_weight = 1;
  bson::Document document =
      Doc(R"({"_id": "id1", "y": {"z": "alpha"}, "l": ["gamma", {"m": "beta"}],
                                    "n": 7})");
  auto scores = ScoreDocument(spec, document);
  ASSERT_TRUE(scores.ok());
  EXPECT_EQ(scores->size(), 4u);
}

TEST(Query, TermsPhrasesAndNegations) {
  const std::tuple<QueryOptions, const char*, bool> cases[] = {
      {{"coffee -cake"}, R"({"t": "coffee cake"})", false},
      {{"coffee -cake"}, R"({"t": "coffee"})", true},
      {{"coffee - cake"}, R"({"t": "coffee cake"})", true},
      {{"coffee-cake"}, R"({"t": "coffee cake"})", true},
      {{"coffee -\"lazy afternoon\""}, R"({"t": "A lazy afternoon with coffee"})", false},
      {{"\"cafe au\""}, "{\"t\": \"Caf\xC3\xA9 au lait\"}", true},
      {{"\"apple pie\""}, R"({"t": "apple the pie"})", false},
      {{"cafe", "", false, true}, "{\"t\": \"Caf\xC3\xA9\"}", false},
      {{"caf\xC3\xA9", "", false, true}, "{\"t\": \"Caf\xC3\xA9\"}", true},
      {{"Coffee", "", true}, R"({"t": "coffee"})", false},
  };
  for (const auto& [options, json, matches] : cases) {
    auto query = Query::Parse(options, "english");
    ASSERT_TRUE(query.ok());
    bson::Document document = Doc(json);
    EXPECT_EQ(*query->Matches(OnT(), document), matches) << options.search << " on " << json;
  }
  auto query = Query::Parse({"\"apple pies\" -x running"}, "english");
  EXPECT_THAT(query->terms(), ElementsAre("appl", "pie", "run"));
  EXPECT_TRUE(Query::Parse({"-coffee"}, "english")->terms().empty());
}

TEST(Query, EndsWithItsOperation) {
  QueryOptions options;
  options.search = R"("apple pie" -"cherry pie" banana)";
  auto query = Query::Parse(options, "english");
  ASSERT_TRUE(query.ok());
  OpContext op;
  const CurrentOpScope scope(&op);
  op.Kill();
  EXPECT_EQ(Query::Parse(options, "english").status().code(), kInterrupted);
  const bson::Document document = Doc(R"({"t": "an apple pie"})");
  EXPECT_EQ(query->Matches(OnT(), document).status().code(), kInterrupted);
}

}  // namespace
}  // namespace quire::expr::text
