// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/log_lines.h"

#include <gtest/gtest.h>

#include "patterns/doc.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/page.h"

namespace quire::patterns {
namespace {

using bson::Document;

constexpr char kLine[] =
    R"(127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 )"
    R"x("http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)")x";

TEST(ApacheLineTest, CombinedFormat) {
  auto event = ParseApacheLine(kLine);
  ASSERT_TRUE(event.ok()) << event.status().ToString();
  EXPECT_EQ(bson::ToJson(event->view()),
            R"({"host":"127.0.0.1","logname":null,"user":"frank",)"
            R"("time":{"$date":"2000-10-10T20:55:36Z"},"request":"GET /apache_pb.gif HTTP/1.0",)"
            R"("method":"GET","path":"/apache_pb.gif","protocol":"HTTP/1.0","status":200,)"
            R"("response_size":2326,"referrer":"http://www.example.com/start.html",)"
            R"x("user_agent":"Mozilla/4.08 [en] (Win98; I ;Nav)"})x");
}

TEST(ApacheLineTest, VariantsAndErrors) {
  const std::string front = "h - - [01/Jan/2024:00:00:00 +0130] ";
  struct {
    std::string line;
    const char* path;   // of the document
    const char* value;  // as JSON; or the error's name
  } const kRows[] = {
      {front + R"("GET / HTTP/1.1" 200 -)", "response_size", "null"},
      {front + R"("GET / HTTP/1.1" 200 -)", "referrer", "null"},
      {front + R"("GET / HTTP/1.1" 200 5 "-" "-")", "user_agent", "null"},
      {front + R"("GET / HTTP/1.1" 200 5 "-" "-")", "time", R"({"$date":"2023-12-31T22:30:00Z"})"},
      {front + R"("a \"b\" \\ \x41 \q" 404 5)", "request", R"("a \"b\" \\ A \\q")"},
      {front + R"("a \"b\" \\ \x41 \q" 404 5)", "method", "null"},
      {front + R"("HELLO" 400 0)", "request", R"("HELLO")"},
      {front + R"("HELLO" 400 0)", "path", "null"},
      {front + R"("-" 408 0)", "request", "null"},
      {front + "\"GET /\\xff HTTP/1.0\" 200 1", "path", "\"/\xef\xbf\xbd\""},
      {"", "", "TooFewFields"},
      {"h - -", "", "TooFewFields"},
      {front, "", "TooFewFields"},
      {front + R"("GET / HTTP/1.1")", "", "TooFewFields"},
      {front + R"("GET / HTTP/1.1" 200)", "", "TooFewFields"},
      {front + R"("GET / HTTP/1.1" 200 1 "x")", "", "TooFewFields"},
      {front + R"("GET / HTTP/1.1 200 1)", "", "BadQuote"},
      {front + R"(GET / HTTP/1.1 200 1)", "", "BadQuote"},
      {front + R"("GET / HTTP/1.1" abc 1)", "", "BadStatus"},
      {front + R"("GET / HTTP/1.1" 20 1)", "", "BadStatus"},
      {front + R"("GET / HTTP/1.1" 200 x)", "", "BadStatus"},
      {R"(h - - 01/Jan/2024 "x" 200 1)", "", "BadTime"},
      {R"(h - - [30/Feb/2024:00:00:00 +0000] "x" 200 1)", "", "BadTime"},
      {R"(h - - [01/Jam/2024:00:00:00 +0000] "x" 200 1)", "", "BadTime"},
      {R"(h - - [01/Jan/2024:24:00:00 +0000] "x" 200 1)", "", "BadTime"},
      {R"(h - - [01/Jan/2024:00:00:00 0000] "x" 200 1)", "", "BadTime"},
      {R"(h - - [01/Jan/2024:-1:00:00 +0000] "x" 200 1)", "", "BadTime"},
      {R"(h - - [01/Jan/2024:00:00:00 +2400] "x" 200 1)", "", "BadTime"},
      {R"(h - - [01/Jan/2024:00:00:00 +0060] "x" 200 1)", "", "BadTime"},
      {front + R"("GET / HTTP/1.1" 200 -5)", "", "BadStatus"},
  };
  for (const auto& row : kRows) {
    auto event = ParseApacheLine(row.line);
    std::string answer =
        event.ok() ? bson::ToJson(At(*event, row.path)) : ErrorName(event.status());
    EXPECT_EQ(answer, row.value) << row.line << " " << row.path;
  }
}

TEST(ApacheLineTest, ErrorsHaveTheColumn) {
  const std::string front = "h - - [01/Jan/2024:00:00:00 +0130] ";
  const std::pair<std::string, const char*> kRows[] = {
      {front + R"("x" abc 1)", "BadStatus: column 40"},
      {front + R"("x" 200 z)", "BadStatus: column 44"},
      {front + R"("x)", "BadQuote: column 36"},
      {front + R"("x" 200 1 z)", "BadQuote: column 46"},
      {"h - - x", "BadTime: column 7"},
      {"h - - [x]", "BadTime: column 7"},
      {"h - ", "TooFewFields: column 5"},
  };
  for (const auto& [line, message] : kRows) {
    EXPECT_EQ(ParseApacheLine(line).status().message(), message) << line;
  }
}

TEST(MonitorCsvTest, ColumnsAndErrors) {
  struct {
    const char* line;
    const char* answer;
  } const kRows[] = {
      {"u-1,10.0.0.1,node,cpu.load,1369221223384,0.5",
       R"({"Host":"node","Ip":"10.0.0.1","Node":"u-1","ParameterName":"cpu.load",)"
       R"("GeneratedOn":{"$date":"2013-05-22T11:13:43.384Z"},"Value":0.5})"},
      {R"("u,1",ip,"a ""b""",p,0,1e3)",
       R"({"Host":"a \"b\"","Ip":"ip","Node":"u,1","ParameterName":"p",)"
       R"("GeneratedOn":{"$date":"1970-01-01T00:00:00Z"},"Value":1000.0})"},
      {"a,b,c,d,1", "BadColumnCount"},
      {"", "BadColumnCount"},
      {"a,b,c,d,1,2,3", "BadColumnCount"},
      {"a,b,c,d,x,2", "BadTimestamp"},
      {"a,b,c,d,1,x", "BadNumber"},
      {"a,b,c,d,1,\"2", "BadQuote"},
  };
  for (const auto& row : kRows) {
    auto event = ParseMonitorCsvLine(row.line);
    EXPECT_EQ(event.ok() ? bson::ToJson(event->view()) : ErrorName(event.status()), row.answer)
        << row.line;
  }
}

TEST(BucketsTest, StartsAndEnds) {
  const bson::Date at = ToDate({2010, 10, 10, 14, 17, 22});  // a Sunday
  struct {
    Level level;
    WeekStart week;
    CivilTime start;
    CivilTime next;
  } const kRows[] = {
      {Level::kMinute, WeekStart::kSunday, {2010, 10, 10, 14, 17, 0}, {2010, 10, 10, 14, 18, 0}},
      {Level::kHour, WeekStart::kSunday, {2010, 10, 10, 14, 0, 0}, {2010, 10, 10, 15, 0, 0}},
      {Level::kDay, WeekStart::kSunday, {2010, 10, 10, 0, 0, 0}, {2010, 10, 11, 0, 0, 0}},
      {Level::kWeek, WeekStart::kSunday, {2010, 10, 10, 0, 0, 0}, {2010, 10, 17, 0, 0, 0}},
      {Level::kWeek, WeekStart::kMonday, {2010, 10, 4, 0, 0, 0}, {2010, 10, 11, 0, 0, 0}},
      {Level::kMonth, WeekStart::kSunday, {2010, 10, 1, 0, 0, 0}, {2010, 11, 1, 0, 0, 0}},
      {Level::kYear, WeekStart::kSunday, {2010, 1, 1, 0, 0, 0}, {2011, 1, 1, 0, 0, 0}},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(BucketStart(at, row.level, row.week).millis, ToDate(row.start).millis);
    EXPECT_EQ(NextBucket(at, row.level, row.week).millis, ToDate(row.next).millis);
  }
  EXPECT_EQ(DayKey(at), "20101010");
  EXPECT_EQ(MonthKey(ToDate({2024, 2, 29, 23, 59, 59})), "202402");
  EXPECT_EQ(BucketStart(bson::Date{-1}, Level::kDay).millis, -86'400'000);
}

TEST(PageTest, CursorsComeBackOrAreRefused) {
  Document key = Doc("time", bson::Date{5}, "_id", "x");
  const std::string text = EncodePageEnd(key);
  EXPECT_EQ(DecodePageEnd(text, {"time", "_id"})->bytes(), key.bytes());
  EXPECT_TRUE(Is(DecodePageEnd(text, {"_id", "time"}).status(), Error::kBadCursor));
  EXPECT_TRUE(Is(DecodePageEnd(text, {"time"}).status(), Error::kBadCursor));
  EXPECT_TRUE(Is(DecodePageEnd(text, {"time", "_id", "x"}).status(), Error::kBadCursor));
  for (const std::string& bad : {std::string(""), std::string("x"), std::string("!!!!!!!!!!!!"),
                                 text.substr(1), text.substr(0, text.size() - 3), text + text}) {
    EXPECT_TRUE(Is(DecodePageEnd(bad, {"time", "_id"}).status(), Error::kBadCursor)) << bad;
  }
}

}  // namespace
}  // namespace quire::patterns
