// SPDX-License-Identifier: Apache-2.0
#include "kv/memory/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace quire::kv {
namespace {

using Model = std::map<std::string, std::string>;

std::string Key(uint32_t number) { return std::to_string(10000 + number); }

// Equal in both directions, and in what the tree says of its sizes.
void ExpectSame(const Tree& tree, const Model& model) {
  Tree::Walk forward(tree);
  forward.ToFirstFrom("");
  uint64_t bytes = 0;
  for (const auto& [key, value] : model) {
    ASSERT_NE(forward.entry(), nullptr) << key;
    ASSERT_EQ(forward.entry()->key(), key);
    ASSERT_EQ(forward.entry()->value(), value);
    forward.Next();
    bytes += key.size() + value.size();
  }
  EXPECT_EQ(forward.entry(), nullptr);
  EXPECT_EQ(tree.bytes(), bytes);
  Tree::Walk backward(tree);
  backward.ToLast();
  for (auto at = model.rbegin(); at != model.rend(); ++at) {
    ASSERT_NE(backward.entry(), nullptr);
    ASSERT_EQ(backward.entry()->key(), at->first);
    backward.Previous();
  }
  EXPECT_EQ(backward.entry(), nullptr);
}

// Random changes; copies made on the way stay what they were.
TEST(Tree, IsAMapWhoseCopiesAreSnapshots) {
  std::mt19937 random(11);
  Tree tree;
  Model model;
  std::vector<std::pair<Tree, Model>> copies;
  for (int step = 0; step < 6000; ++step) {
    const std::string key = Key(random() % 500);
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::string value(random() % 50, 'v');
        tree.Put(SharedEntry(key, value));
        model[key] = value;
        break;
      }
      case 4:
      case 5:
        tree.Delete(key);
        model.erase(key);
        break;
      case 6:
        if (step % 8 == 0) {
          const std::string end = random() % 10 == 0 ? "" : Key(random() % 500);
          tree.DeleteRange({key, end});
          if (end.empty() || key < end) {
            model.erase(model.lower_bound(key), end.empty() ? model.end() : model.lower_bound(end));
          }
        }
        break;
      case 7:
        if (step % 16 == 0) {
          copies.emplace_back(tree, model);
        }
        break;
    }
    const SharedEntry* found = tree.Find(key);
    ASSERT_EQ(found != nullptr, model.contains(key));
  }
  ExpectSame(tree, model);
  ASSERT_GT(copies.size(), 10U);
  for (const auto& [copy, as_it_was] : copies) {
    ExpectSame(copy, as_it_was);
  }
}

TEST(Tree, FindsPlacesAndSizesOfRanges) {
  Tree tree;
  for (const char* key : {"d", "b", "f"}) {
    tree.Put(SharedEntry(key, "12"));
  }
  Tree::Walk walk(tree);
  auto at = [&] { return walk.entry() == nullptr ? "" : std::string(walk.entry()->key()); };
  struct Case {
    const char* key;
    const char* first_from;
    const char* last_before;
    const char* last_up_to;
  };
  for (const Case& c :
       {Case{"a", "b", "", ""}, Case{"b", "b", "", "b"}, Case{"c", "d", "b", "b"},
        Case{"d", "d", "b", "d"}, Case{"f", "f", "d", "f"}, Case{"g", "", "f", "f"}}) {
    walk.ToFirstFrom(c.key);
    EXPECT_EQ(at(), c.first_from) << c.key;
    walk.ToLastBefore(c.key);
    EXPECT_EQ(at(), c.last_before) << c.key;
    walk.ToLastUpTo(c.key);
    EXPECT_EQ(at(), c.last_up_to) << c.key;
  }
  EXPECT_EQ(tree.BytesIn({}), 9U);
  EXPECT_EQ(tree.BytesIn({"b", "d"}), 3U);
  EXPECT_EQ(tree.BytesIn({"c", ""}), 6U);
  EXPECT_EQ(tree.BytesIn({"d", "b"}), 0U);
}

// Ascending keys, the worst order for a tree that is not kept in balance: a walk's path would not
// hold it.
TEST(Tree, StaysInBalance) {
  Tree tree;
  Model model;
  for (uint32_t i = 0; i < 20000; ++i) {
    tree.Put(SharedEntry(Key(i), ""));
    model[Key(i)] = "";
  }
  ExpectSame(tree, model);
  for (uint32_t i = 0; i < 20000; ++i) {
    if (i % 100 != 0) {
      tree.Delete(Key(i));
      model.erase(Key(i));
    }
  }
  ExpectSame(tree, model);
}

// Threads change copies of one tree, whose nodes they share.
TEST(Tree, CopiesAreIndependentInThreads) {
  Tree shared;
  Model model;
  for (uint32_t i = 0; i < 1000; ++i) {
    shared.Put(SharedEntry(Key(i), "s"));
    model[Key(i)] = "s";
  }
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&shared, model, t]() mutable {
      Tree mine = shared;
      for (uint32_t i = 0; i < 1000; i += 2) {
        mine.Put(SharedEntry(Key(i), Key(t)));
        model[Key(i)] = Key(t);
        mine.Delete(Key(i + 1));
        model.erase(Key(i + 1));
      }
      ExpectSame(mine, model);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ExpectSame(shared, model);
}

}  // namespace
}  // namespace quire::kv
