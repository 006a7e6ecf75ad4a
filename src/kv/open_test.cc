// SPDX-License-Identifier: Apache-2.0
#include "kv/open.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "kv/rocks/versioned/rocks_version.h"
#include "kv/testing/conformance.h"

namespace quire::kv {
namespace {

void PutOne(Store& store) {
  auto txn = *store.Begin({});
  ASSERT_TRUE(txn->Put("a", "1").ok());
  ASSERT_TRUE(txn->Commit(Durability::kProcess).ok());
}

bool HasOne(Store& store) {
  ReadValue value;
  return *(*store.Begin({.read_only = true}))->Get("a", &value) && value.view() == "1";
}

TEST(Open, FindsTheBackendByTheAddress) {
  TempFolder folder;
  const std::string on_disk = "rocks:" + folder.path();
  for (const std::string& uri : {on_disk, std::string("rocks:"), std::string("memory:")}) {
    for (bool again : {false, true}) {
      auto store = Open(uri, {.cache_bytes = 16 << 20});
      ASSERT_TRUE(store.ok()) << uri << store.status().ToString();
      EXPECT_EQ(HasOne(**store), again && uri == on_disk) << uri;
      PutOne(**store);
      EXPECT_TRUE(HasOne(**store)) << uri;
    }
  }
}

TEST(Open, RefusesOtherAddresses) {
  for (const char* uri : {"", "rocks", "/tmp/data", "memory", "memory:/tmp/data", "mongodb://a"}) {
    EXPECT_EQ(Open(uri, {}).status().code(), kBadValue) << uri;
  }
}

TEST(RocksVersion, OwnPartsAreForOneVersion) {
  EXPECT_TRUE(*OwnPartsFit("7.8", "7.8"));
  EXPECT_FALSE(*OwnPartsFit("7.9", "7.9"));
  EXPECT_FALSE(*OwnPartsFit("8.7", "8.7"));
  EXPECT_EQ(OwnPartsFit("7.8", "7.9").status().code(), kInternalError);
  EXPECT_EQ(OwnPartsFit("7.9", "7.8").status().code(), kInternalError);
}

}  // namespace
}  // namespace quire::kv
