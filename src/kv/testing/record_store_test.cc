// SPDX-License-Identifier: Apache-2.0
#include "kv/testing/record_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "kv/rocks/rocks_store.h"

namespace quire::kv {
namespace {

TEST(RecordStore, RemembersWhatAThreadTouches) {
  AccessRecord record([](std::string_view key) { return std::string(key.substr(0, 1)); });
  auto store =
      NewRecordStore(*OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 16 << 20}), record);
  auto put = [&](std::string_view key) {
    auto txn = store->Begin({});
    EXPECT_TRUE((*txn)->Put(key, "v").ok());
    EXPECT_TRUE((*txn)->Commit(Durability::kProcess).ok());
  };
  put("a1");
  put("b1");
  record.Start();
  put("c1");
  std::thread([&] { put("d1"); }).join();
  auto txn = store->Begin({.read_only = true});
  ReadValue value;
  EXPECT_TRUE(*(*txn)->Get("a1", &value));
  auto cursor = (*txn)->Scan({"b", ""}, Direction::kForward);
  EXPECT_TRUE(*(*cursor)->Next());
  EXPECT_EQ(record.read(), (std::set<std::string>{"a", "b"}));
  EXPECT_TRUE(*(*cursor)->Next());
  record.Stop();
  EXPECT_TRUE(*(*cursor)->Next());
  EXPECT_EQ(record.read(), (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(record.written(), (std::set<std::string>{"c"}));
  record.Start();
  EXPECT_TRUE(record.read().empty() && record.written().empty());
  record.Stop();
}

}  // namespace
}  // namespace quire::kv
