// SPDX-License-Identifier: Apache-2.0
#include "import/record_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

namespace quire::apps {
namespace {

// A file that is gone with its descriptor, at its beginning.
class TextFile {
 public:
  explicit TextFile(std::string_view text) : file_(tmpfile()) {
    fwrite(text.data(), 1, text.size(), file_);
    rewind(file_);
  }
  ~TextFile() { fclose(file_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  int fd() const { return fileno(file_); }

 private:
  FILE* file_;
};

struct Read {
  std::string text;
  int64_t offset;
  int64_t end;
  int64_t line;
  bool whole;

  bool operator==(const Read&) const = default;
};

std::vector<Read> ReadAll(RecordReader* reader) {
  std::vector<Read> all;
  Record record;
  while (*reader->Next(&record)) {
    all.push_back(
        {std::string(record.text), record.offset, record.end, record.line, record.whole_line});
  }
  return all;
}

std::vector<Read> ReadAll(std::string_view text, char separator) {
  TextFile file(text);
  RecordReader reader(file.fd(), separator);
  return ReadAll(&reader);
}

TEST(RecordReader, Lines) {
  EXPECT_EQ(ReadAll("", '\0'), std::vector<Read>{});
  EXPECT_EQ(ReadAll("a\n\nb\r\nc\"d\n", '\0'), (std::vector<Read>{{"a", 0, 2, 1, true},
                                                                  {"", 2, 3, 2, true},
                                                                  {"b", 3, 6, 3, true},
                                                                  {"c\"d", 6, 10, 4, true}}));
  EXPECT_EQ(ReadAll("a\nb", '\0'),
            (std::vector<Read>{{"a", 0, 2, 1, true}, {"b", 2, 3, 2, false}}));
}

TEST(RecordReader, QuotedFieldsHoldNewlines) {
  EXPECT_EQ(ReadAll("\"a\nb\",c\nd\n", ','),
            (std::vector<Read>{{"\"a\nb\",c", 0, 8, 1, true}, {"d", 8, 10, 3, true}}));
  EXPECT_EQ(ReadAll("x,\"a\"\"\n\"\"b\"\ny\n", ',').size(), 2u);
  EXPECT_EQ(ReadAll("x\"y\nz\n", ',').size(), 2u);  // a quote within a field is just one
  EXPECT_EQ(ReadAll("a;\"b\nc\"\n", ';').size(), 1u);
}

TEST(RecordReader, AQuoteWithoutItsEndCostsOneLine) {
  EXPECT_EQ(ReadAll("\"open,1\nb,2\nc,3\n", ','),
            (std::vector<Read>{
                {"\"open,1", 0, 8, 1, true}, {"b,2", 8, 12, 2, true}, {"c,3", 12, 16, 3, true}}));
}

// Longer than what is read at once.
TEST(RecordReader, BuffersAreJoined) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) {
    text += "line " + std::to_string(i) + "\n";
  }
  const std::vector<Read> all = ReadAll(text, '\0');
  ASSERT_EQ(all.size(), 50'000u);
  EXPECT_EQ(all.back().text, "line 49999");
  EXPECT_EQ(all.back().line, 50'000);
  EXPECT_EQ(all.back().end, static_cast<int64_t>(text.size()));
}

TEST(RecordReader, ARecordThatIsTooLongIsSkipped) {
  const std::string text = "a\n" + std::string(RecordReader::kMaxRecord + (1 << 20), 'x') + "\nb\n";
  TextFile file(text);
  RecordReader reader(file.fd(), '\0');
  Record record;
  ASSERT_TRUE(*reader.Next(&record));
  ASSERT_TRUE(*reader.Next(&record));
  EXPECT_TRUE(record.too_long);
  EXPECT_TRUE(record.text == std::string(200, 'x'));
  EXPECT_EQ(record.offset, 2);
  ASSERT_TRUE(*reader.Next(&record));
  EXPECT_FALSE(record.too_long);
  EXPECT_EQ(record.text, "b");
  EXPECT_EQ(record.line, 3);
  EXPECT_EQ(record.end, static_cast<int64_t>(text.size()));
}

TEST(RecordReader, GoesOnWhereItStopped) {
  const std::string text = "a\nbb\nccc\n";
  TextFile file(text);
  RecordReader reader(file.fd(), '\0');
  ASSERT_TRUE(reader.Skip(5, 3).ok());
  EXPECT_EQ(ReadAll(&reader), (std::vector<Read>{{"ccc", 5, 9, 3, true}}));

  TextFile same(text);
  RecordReader after_one(same.fd(), '\0');
  Record record;
  ASSERT_TRUE(*after_one.Next(&record));
  ASSERT_TRUE(after_one.Skip(2, 2).ok());
  EXPECT_EQ(ReadAll(&after_one).size(), 2u);
}

// What cannot be sought is read up to there.
TEST(RecordReader, SkipsInAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string_view text = "a\nbb\nccc\n";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  RecordReader reader(ends[0], '\0');
  ASSERT_TRUE(reader.Skip(2, 2).ok());
  EXPECT_EQ(ReadAll(&reader).front().text, "bb");
  EXPECT_FALSE(reader.Skip(100, 9).ok());
  close(ends[0]);
}

}  // namespace
}  // namespace quire::apps
