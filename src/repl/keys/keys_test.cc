// SPDX-License-Identifier: Apache-2.0
#include "repl/keys/keys.h"

#include <gtest/gtest.h>

#include "coord/testing/memory_store.h"
#include "quire/doc.h"
#include "repl/config/set_config.h"

namespace quire::repl {
namespace {

const KeyNames kNames("quire", "s0");

coord::Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

View Founded() {
  View view;
  auto config = ParseConfig(*bson::Document::FromJson(
      R"({"_id": "s0", "version": 1, "members": [{"_id": 0, "host": "a:1"},
          {"_id": 1, "host": "b:1", "newlyAdded": true}]})"));
  EXPECT_TRUE(config.ok()) << config.status().ToString();
  view.config.config = std::make_shared<const SetConfig>(*config);
  view.leader.leader = {0, 0, 0};
  view.isr.members.Add({0, 0xfedcba9876543210});
  view.isr.floor = 5;
  view.stamp.counter = 1;
  return view;
}

TEST(Keys, AreFoundedOnceAndComeBack) {
  coord::MemoryStore store;
  const coord::Transaction first = EncodeFirst(kNames, Founded(), {7, 1}, "a:1");
  auto answer = store.Transact(first, Soon());
  ASSERT_TRUE(answer.ok() && answer->done);
  auto view = DecodeKeys(kNames, answer->entries);
  ASSERT_TRUE(view.ok() && view->has_value()) << view.status().ToString();
  EXPECT_EQ((*view)->isr.members.begin()->data, 0xfedcba9876543210);
  EXPECT_EQ((*view)->isr.floor, 5U);
  EXPECT_EQ((*view)->stamp, (Stamp{1, {7, 1}}));
  EXPECT_TRUE((*view)->set().Find(1)->newly_added);
  EXPECT_EQ(HostsOf((*view)->set()).at(1), "b:1");
  EXPECT_EQ((*view)->leader.version.revision, answer->position.revision);
  EXPECT_FALSE(store.Transact(first, Soon())->done);
}

TEST(Keys, AWriteComparesAllAndChangesWhatIsMarked) {
  coord::MemoryStore store;
  auto founded = store.Transact(EncodeFirst(kNames, Founded(), {7, 1}, "a:1"), Soon());
  auto before = DecodeKeys(kNames, founded->entries);
  WriteKeys write;
  write.expected = VersionsOf(**before);
  write.wanted = **before;
  write.wanted.leader.leader = {1, 0, 0x8000000000000007};
  write.wanted.stamp.counter = 2;
  write.nonce = {0x8000000000000007, 2};
  write.leader = true;
  const coord::Transaction transaction = EncodeWrite(kNames, write, "a:1");
  EXPECT_EQ(transaction.compares.size(), 3U);
  auto answer = store.Transact(transaction, Soon());
  ASSERT_TRUE(answer.ok() && answer->done);
  auto after = DecodeKeys(kNames, answer->entries);
  EXPECT_EQ((*after)->leader.leader, write.wanted.leader.leader);
  EXPECT_EQ((*after)->stamp, (Stamp{2, write.nonce}));
  EXPECT_EQ((*after)->isr.version, (*before)->isr.version);
  EXPECT_NE((*after)->leader.version, (*before)->leader.version);
  EXPECT_FALSE(store.Transact(transaction, Soon())->done);
}

TEST(Keys, AreAllThereOrNotAtAll) {
  coord::MemoryStore store;
  auto founded = store.Transact(EncodeFirst(kNames, Founded(), {7, 1}, "a:1"), Soon());
  ASSERT_EQ(founded->entries.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    auto entries = founded->entries;
    entries[i].value = "nonsense";
    EXPECT_FALSE(DecodeKeys(kNames, entries).ok());
    entries[i].value = "{}";
    EXPECT_FALSE(DecodeKeys(kNames, entries).ok());
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
    auto view = DecodeKeys(kNames, entries);
    ASSERT_TRUE(view.ok());
    EXPECT_FALSE(view->has_value());
  }
}

}  // namespace
}  // namespace quire::repl
