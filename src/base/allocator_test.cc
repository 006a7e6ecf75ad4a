// SPDX-License-Identifier: Apache-2.0
#include "base/allocator.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace quire {
namespace {

// Whether a library of that name is loaded into this process.
bool Loaded(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST(AllocatorTest, IsTheOneLinked) {
  EXPECT_EQ(AllocatorName(), Loaded("libjemalloc") ? "jemalloc" : "system");
}

}  // namespace
}  // namespace quire
