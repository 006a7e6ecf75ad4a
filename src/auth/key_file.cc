// SPDX-License-Identifier: Apache-2.0
#include "auth/key_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include "base/error_codes.h"

namespace quire::auth {

namespace {

constexpr size_t kLeast = 6;
constexpr size_t kMost = 1024;

bool IsKeyCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
}

}  // namespace

Result<std::string> ReadKeyFile(const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) {
    return Status(kFileNotOpen, "the key file '" + path + "' cannot be read");
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status(kInvalidPath, "permissions on '" + path + "' are too open");
  }
  std::ifstream file(path);
  std::string key;
  std::copy_if(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(),
               std::back_inserter(key),
               [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
  if (file.bad()) {
    return Status(kFileNotOpen, "the key file '" + path + "' cannot be read");
  }
  if (!std::all_of(key.begin(), key.end(), IsKeyCharacter)) {
    return Status(kBadValue, "the key file '" + path + "' holds a character that is not of base64");
  }
  if (key.size() < kLeast || key.size() > kMost) {
    return Status(kBadValue, "the key in '" + path + "' has " + std::to_string(key.size()) +
                                 " characters, and needs 6 to 1024");
  }
  return key;
}

}  // namespace quire::auth
