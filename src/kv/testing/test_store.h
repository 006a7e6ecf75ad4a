// SPDX-License-Identifier: Apache-2.0
//
// For tests of the folders above: a new, empty store. Which backend it is says the environment
// variable QUIRE_TEST_STORAGE, an address as open.h knows them that needs no folder; RocksDB in
// memory when it says nothing. tools/unit_tests.py runs such tests with several.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "kv/open.h"

namespace quire::kv {

inline std::unique_ptr<Store> TestStore(std::vector<Section> sections) {
  const char* uri = std::getenv("QUIRE_TEST_STORAGE");
  auto store = Open(uri != nullptr ? uri : "rocks:", {.sections = std::move(sections)});
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return std::move(*store);
}

}  // namespace quire::kv
