// SPDX-License-Identifier: Apache-2.0
#include "auth/key_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error_codes.h"

namespace quire::auth {
namespace {

class KeyFileTest : public testing::Test {
 protected:
  KeyFileTest() : path_(testing::TempDir() + "quire_key_file_test") {}
  ~KeyFileTest() override { std::filesystem::remove(path_); }

  Result<std::string> Read(const std::string& content, std::filesystem::perms permissions =
                                                           std::filesystem::perms::owner_read |
                                                           std::filesystem::perms::owner_write) {
    std::ofstream(path_) << content;
    std::filesystem::permissions(path_, permissions);
    return ReadKeyFile(path_);
  }

  const std::string path_;
};

TEST_F(KeyFileTest, WhiteSpaceDoesNotCount) {
  const auto key = Read(" abc+/\n d0=\t\n");
  ASSERT_TRUE(key.ok()) << key.status().message();
  EXPECT_EQ(*key, "abc+/d0=");
}

TEST_F(KeyFileTest, LengthHasBounds) {
  EXPECT_EQ(Read("abcde").status().code(), kBadValue);
  EXPECT_TRUE(Read("abcdef").ok());
  EXPECT_TRUE(Read(std::string(1024, 'a')).ok());
  EXPECT_EQ(Read(std::string(1025, 'a')).status().code(), kBadValue);
}

TEST_F(KeyFileTest, OnlyBase64) { EXPECT_EQ(Read("abc-def").status().code(), kBadValue); }

TEST_F(KeyFileTest, OnlyItsOwnerReadsIt) {
  using std::filesystem::perms;
  EXPECT_EQ(Read("abcdef", perms::owner_read | perms::group_read).status().code(), kInvalidPath);
  EXPECT_EQ(Read("abcdef", perms::owner_read | perms::others_read).status().code(), kInvalidPath);
  EXPECT_TRUE(Read("abcdef", perms::owner_read).ok());
}

TEST_F(KeyFileTest, MustBeThere) {
  EXPECT_EQ(ReadKeyFile(path_ + "_missing").status().code(), kFileNotOpen);
}

}  // namespace
}  // namespace quire::auth
