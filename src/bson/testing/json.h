// SPDX-License-Identifier: Apache-2.0
//
// Documents written the short way, for tests: {a: 'x', $set: {"b.c": 1}}.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <string_view>

#include "quire/bson.h"

namespace quire::bson {

// Extended JSON from a text whose names need no quotes and whose strings may have single ones.
inline std::string StrictJson(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    if (c == '\'' || c == '"') {
      size_t end = text.find(c, at + 1);
      out += '"' + std::string(text.substr(at + 1, end - at - 1)) + '"';
      at = end + 1;
    } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$') {
      size_t end = at;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) ||
                                   text[end] == '_' || text[end] == '$')) {
        ++end;
      }
      size_t colon = text.find_first_not_of(' ', end);
      bool key = colon != std::string_view::npos && text[colon] == ':';
      std::string word(text.substr(at, end - at));
      out += key ? '"' + word + '"' : word;
      at = end;
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

inline Document TestDocument(std::string_view text) {
  auto parsed = Document::FromJson(StrictJson(text));
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.status().ToString();
  return parsed.ok() ? *parsed : Document();
}

}  // namespace quire::bson
