// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/names.h"

#include <utility>

#include "quire/patterns/error.h"

namespace quire::patterns {

namespace {

constexpr std::pair<char, std::string_view> kCodes[] = {
    {'%', "%25"}, {'.', "%2E"}, {'$', "%24"}, {'\0', "%00"}};

}  // namespace

Result<std::string> EncodeName(std::string_view name) {
  if (name.empty()) {
    return MakeError(Error::kInvalidName, "a name is not empty");
  }
  std::string out;
  for (char c : name) {
    std::string_view code;
    for (const auto& [plain, encoded] : kCodes) {
      code = plain == c ? encoded : code;
    }
    code.empty() ? out += c : out += code;
  }
  return out;
}

std::string DecodeName(std::string_view encoded) {
  std::string out;
  for (size_t i = 0; i < encoded.size();) {
    size_t taken = 1;
    char c = encoded[i];
    for (const auto& [plain, code] : kCodes) {
      if (encoded.substr(i, code.size()) == code) {
        c = plain;
        taken = code.size();
      }
    }
    out += c;
    i += taken;
  }
  return out;
}

}  // namespace quire::patterns
