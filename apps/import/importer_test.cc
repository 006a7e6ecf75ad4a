// SPDX-License-Identifier: Apache-2.0
#include "import/importer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "patterns/doc.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::IntegerAt;

class ImporterTest : public ::testing::Test {
 protected:
  ImporterTest() : client_(*OpenInMemory()), database_(client_.GetDatabase("d")) {
    std::filesystem::create_directories(folder_);
    settings_.path = folder_ + "/in";
    settings_.collection = "t";
    settings_.source = "in";
    settings_.rejected_path = folder_ + "/in.rejected";
    settings_.format = FindFormat("json");
    settings_.quiet = true;
    settings_.batch = 2;
  }
  ~ImporterTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& text) { std::ofstream(settings_.path) << text; }

  std::string Rejected() const {
    std::ifstream file(settings_.rejected_path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  // "records inserted duplicates rejected", or the error.
  std::string Import(bool resume = false) {
    settings_.resume = resume;
    ImportSummary summary;
    Status status = RunImport(database_, settings_, &summary);
    const ImportCounts& counts = summary.counts;
    EXPECT_EQ(counts.records, counts.inserted + counts.duplicates + counts.rejected);
    resumed_at_ = summary.resumed_at;
    return status.ok()
               ? std::to_string(counts.records) + " " + std::to_string(counts.inserted) + " " +
                     std::to_string(counts.duplicates) + " " + std::to_string(counts.rejected)
               : status.message();
  }

  // The field n of every document, in order.
  std::vector<int64_t> Numbers() {
    std::vector<int64_t> numbers;
    const bson::Document all;
    auto cursor = database_.GetCollection("t").Find(all, {.sort = Doc("n", 1)});
    while (cursor.ok() && cursor->Next()) {
      numbers.push_back(IntegerAt(cursor->current(), "n"));
    }
    return numbers;
  }

  // As if the import had been killed between storing a batch and noting it.
  void SetBack(int64_t offset, int64_t line, int64_t rejected_bytes) {
    const bson::Document all;
    const bson::Document place =
        Doc("$set", Doc("offset", offset, "line", line, "rejected_bytes", rejected_bytes));
    auto set = database_.GetCollection("quire_imports").UpdateOne(all, place.view());
    ASSERT_TRUE(set.ok() && set->matched == 1) << set.status().ToString();
  }

  const std::string folder_ = ::testing::TempDir() + "importer_test." + std::to_string(getpid());
  Client client_;
  Database database_;
  ImportSettings settings_;
  int64_t resumed_at_ = 0;
};

TEST_F(ImporterTest, BadRecordsAreKeptAside) {
  Write("{\"n\":1}\nnonsense\n\n{\"n\":2}\n[3]\n{\"n\":4}");
  EXPECT_EQ(Import(), "5 3 0 2");
  EXPECT_EQ(Numbers(), (std::vector<int64_t>{1, 2, 4}));
  const std::string rejected = Rejected();
  EXPECT_EQ(rejected.substr(0, 2), "2\t");
  EXPECT_NE(rejected.find("\tnonsense\n5\t"), std::string::npos) << rejected;
  EXPECT_TRUE(rejected.ends_with("\t[3]\n")) << rejected;
}

TEST_F(ImporterTest, ImportingAgainAddsNothing) {
  Write("{\"n\":1}\n{\"n\":1}\n{\"_id\":7,\"n\":2}\nbad\n");
  EXPECT_EQ(Import(), "4 3 0 1");
  const std::string rejected = Rejected();
  EXPECT_EQ(Import(), "4 0 3 1");
  EXPECT_EQ(Rejected(), rejected);  // not twice in the file either
  Write("{\"n\":1}\n{\"n\":1}\n{\"_id\":7,\"n\":3}\n");
  EXPECT_EQ(Import(), "3 0 2 1");
  EXPECT_NE(Rejected().find("DuplicateKey"), std::string::npos);
  EXPECT_EQ(Numbers(), (std::vector<int64_t>{1, 1, 2}));
}

TEST_F(ImporterTest, WhatTheDatabaseRefusesIsKeptAside) {
  ASSERT_TRUE(database_.GetCollection("t").CreateIndex(Doc("n", 1), {.unique = true}).ok());
  Write("{\"n\":1}\n{\"n\":1}\n{\"n\":2}\n");
  EXPECT_EQ(Import(), "3 2 0 1");
  EXPECT_EQ(Rejected().substr(0, 2), "2\t");
  EXPECT_TRUE(Rejected().ends_with("\t{\"n\":1}\n")) << Rejected();
}

// From every place at which it may have been killed.
TEST_F(ImporterTest, ResumesExactlyOnce) {
  const std::vector<std::string> lines = {"{\"n\":1}\n",           "bad one\n", "{\"n\":2}\n",
                                          "{\"_id\":9,\"n\":3}\n", "bad two\n", "{\"n\":4}\n"};
  std::string text;
  for (const std::string& line : lines) {
    text += line;
  }
  Write(text);
  ASSERT_EQ(Import(), "6 4 0 2");
  const std::string rejected = Rejected();
  const auto first_rejected = static_cast<int64_t>(rejected.find('\n') + 1);
  int64_t offset = 0;
  for (size_t line = 0; line <= lines.size(); ++line) {
    const int64_t kept_aside = line < 2   ? 0
                               : line < 5 ? first_rejected
                                          : static_cast<int64_t>(rejected.size());
    SetBack(offset, static_cast<int64_t>(line) + 1, kept_aside);
    int good = 0;
    for (size_t i = line; i < lines.size(); ++i) {
      good += lines[i].starts_with('{') ? 1 : 0;
    }
    const auto left = static_cast<int>(lines.size() - line);
    EXPECT_EQ(Import(true), std::to_string(left) + " 0 " + std::to_string(good) + " " +
                                std::to_string(left - good));
    EXPECT_EQ(resumed_at_, offset);
    EXPECT_EQ(Rejected(), rejected) << line;
    EXPECT_EQ(Numbers(), (std::vector<int64_t>{1, 2, 3, 4}));
    offset += line < lines.size() ? static_cast<int64_t>(lines[line].size()) : 0;
  }
}

TEST_F(ImporterTest, AGrowingFileIsTakenUp) {
  settings_.growing = true;
  Write("{\"n\":1}\n{\"n\":");
  EXPECT_EQ(Import(), "1 1 0 0");
  Write("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
  EXPECT_EQ(Import(true), "2 2 0 0");
  EXPECT_EQ(resumed_at_, 8);
  EXPECT_EQ(Import(true), "0 0 0 0");
  EXPECT_EQ(Numbers(), (std::vector<int64_t>{1, 2, 3}));
}

TEST_F(ImporterTest, AnotherFileIsNotGoneOnWith) {
  Write("{\"n\":1}\n{\"n\":2}\n");
  EXPECT_EQ(Import(), "2 2 0 0");
  Write("{\"n\":8}\n{\"n\":9}\n{\"n\":10}\n");
  EXPECT_NE(Import(true).find("not the file"), std::string::npos);
  Write("");
  EXPECT_NE(Import(true), "0 0 0 0");
  EXPECT_EQ(Numbers(), (std::vector<int64_t>{1, 2}));
}

TEST_F(ImporterTest, TablesAreResumedBehindTheirHeader) {
  settings_.format = FindFormat("csv");
  Write("n,s\n1,\"two\nlines\"\n2,x\n3\n");
  EXPECT_EQ(Import(), "3 2 0 1");
  EXPECT_EQ(Rejected(), "5\tBadColumnCount: 1, expected 2\t3\n");
  SetBack(18, 4, 0);
  EXPECT_EQ(Import(true), "2 0 1 1");
  EXPECT_EQ(Rejected(), "5\tBadColumnCount: 1, expected 2\t3\n");
  Write("");
  settings_.source = "other";
  EXPECT_NE(Import().find("no header"), std::string::npos);
  settings_.path = folder_ + "/none";
  EXPECT_NE(Import().find("cannot open"), std::string::npos);
}

}  // namespace
}  // namespace quire::apps
