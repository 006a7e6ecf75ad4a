// SPDX-License-Identifier: Apache-2.0
//
// Documents of tables of cases.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string_view>
#include <utility>

#include "quire/bson.h"

namespace quire::bson {

// The document of a JSON text, kept until the program ends.
inline View KeptJson(std::string_view text) {
  static std::deque<Document> kept;
  auto document = Document::FromJson(text);
  EXPECT_TRUE(document.ok()) << text << ": " << document.status().ToString();
  return document.ok() ? kept.emplace_back(*std::move(document)).view() : View();
}

}  // namespace quire::bson
