// SPDX-License-Identifier: Apache-2.0
#include "export/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace quire::apps {
namespace {

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() { std::filesystem::create_directories(folder_); }
  ~OutputFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const std::string folder_ = ::testing::TempDir() + "output_file_test." + std::to_string(getpid());
  const std::string path_ = folder_ + "/out";
};

TEST_F(OutputFileTest, AppearsWhenItIsWhole) {
  OutputFile file;
  ASSERT_TRUE(file.Open(path_).ok());
  ASSERT_TRUE(file.Write("one\n").ok());
  ASSERT_TRUE(file.Write("two\n").ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(file.Finish().ok());
  EXPECT_EQ(Content(), "one\ntwo\n");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, LeavesTheOldOneWhenItIsNotFinished) {
  std::ofstream(path_) << "before";
  {
    OutputFile file;
    ASSERT_TRUE(file.Open(path_).ok());
    ASSERT_TRUE(file.Write("half").ok());
  }
  EXPECT_EQ(Content(), "before");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, SaysWhatFailed) {
  OutputFile file;
  Status status = file.Open(folder_ + "/none/out");
  EXPECT_EQ(status.code_name(), "FileStreamFailed");
  EXPECT_NE(status.message().find("none/out"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace quire::apps
