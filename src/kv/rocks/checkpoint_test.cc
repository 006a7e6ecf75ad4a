// SPDX-License-Identifier: Apache-2.0
//
// Copies of a store that is written meanwhile: each is whole, and the store does not notice.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "kv/rocks/rocks_store.h"
#include "kv/testing/conformance.h"

namespace quire::kv {
namespace {

Result<std::unique_ptr<Store>> OpenIn(const std::string& path) {
  RocksOptions options;
  options.path = path;
  return OpenRocks(options);
}

Status PutNumber(Store& store, int number) {
  auto txn = store.Begin({});
  if (!txn.ok()) {
    return txn.status();
  }
  Status put = (*txn)->Put(std::to_string(number), std::string(200, 'x'));
  return put.ok() ? (*txn)->Commit(Durability::kDisk) : put;
}

// How many of the numbers from 0 on are there.
int CountNumbers(Store& store) {
  auto txn = store.Begin({.read_only = true});
  EXPECT_TRUE(txn.ok()) << txn.status().ToString();
  ReadValue value;
  int number = 0;
  while (true) {
    auto found = (*txn)->Get(std::to_string(number), &value);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    if (!found.ok() || !*found) {
      return number;
    }
    ++number;
  }
}

TEST(CheckpointTest, CopiesOfAStoreThatIsWrittenAreWhole) {
  TempFolder source;
  TempFolder copies;
  auto store = OpenIn(source.path());
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  std::atomic<bool> ended = false;
  std::atomic<int> written = 0;
  std::thread writer([&] {
    while (!ended) {
      const Status put = PutNumber(**store, written);
      ASSERT_TRUE(put.ok()) << put.ToString();
      ++written;
    }
  });
  for (int i = 0; i < 10; ++i) {
    while (written < 50 * i) {
      std::this_thread::yield();
    }
    const int before = written;
    const std::string folder = copies.path() + "/" + std::to_string(i);
    const Status made = (*store)->Checkpoint(folder);
    ASSERT_TRUE(made.ok()) << made.ToString();
    EXPECT_TRUE((*store)->Health().ok());
    auto copy = OpenIn(folder);
    ASSERT_TRUE(copy.ok()) << copy.status().ToString();
    EXPECT_GE(CountNumbers(**copy), before);
  }
  ended = true;
  writer.join();
  store->reset();
  store = OpenIn(source.path());
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_EQ(CountNumbers(**store), written);
}

}  // namespace
}  // namespace quire::kv
