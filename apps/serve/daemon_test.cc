// SPDX-License-Identifier: Apache-2.0
#include "serve/daemon.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace quire::apps {
namespace {

TEST(OpenFiles, StorageHasItsPartBeforeConnections) {
  for (int64_t all : {64, 100, 128, 256, 1024, 20'000, 1'048'576, 1 << 30}) {
    for (int64_t wanted : {5, 100, 65'536, 1'000'000}) {
      OpenFiles files = ShareOf(all, wanted);
      EXPECT_LE(files.connections, wanted);
      EXPECT_LE(files.connections + files.storage, all);
      EXPECT_TRUE(files.connections == 0 || files.storage >= 64) << all;
      EXPECT_TRUE(files.connections == wanted ||
                  files.storage <= std::max<int64_t>(all / 4, 64) + 1)
          << all << " " << wanted;
    }
  }
  EXPECT_EQ(ShareOf(1'048'576, 65'536).connections, 65'536);
  EXPECT_GE(ShareOf(1024, 65'536).connections, 600);
}

TEST(OpenFiles, AreEnoughHere) {
  auto files = ShareOpenFiles(65'536);
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  EXPECT_GE(files->storage, 64);
}

}  // namespace
}  // namespace quire::apps
