// SPDX-License-Identifier: Apache-2.0
#include "kv/write_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace quire::kv {
namespace {

using Model = std::map<std::string, std::optional<std::string>>;  // no value: deleted

void ExpectHolds(WriteSet& set, const Model& model, int keys) {
  for (int run = 0; run < 6; ++run) {
    for (int i = 0; i < keys; ++i) {
      const std::string key = std::to_string(run) + ":" + std::to_string(1000 + i);
      auto wanted = model.find(key);
      const WriteSet::Write* write = set.Find(key);
      ASSERT_EQ(write != nullptr, wanted != model.end()) << key;
      if (write != nullptr) {
        ASSERT_EQ(write->kind == WriteSet::Kind::kPut, wanted->second.has_value()) << key;
        if (wanted->second.has_value()) {
          ASSERT_EQ(write->value, *wanted->second) << key;
        }
      }
    }
  }
  ASSERT_TRUE(std::is_sorted(set.writes().begin(), set.writes().end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
}

// Ascending runs side by side, more of them than are remembered, steps back and savepoints.
TEST(WriteSet, HoldsWhatAMapWould) {
  constexpr int kKeys = 40;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    WriteSet set;
    Model model;
    std::vector<Model> savepoints;
    std::map<unsigned, unsigned> next;
    for (int step = 0; step < 300; ++step) {
      const unsigned run = random() % (1 + seed % 6);
      const unsigned at = random() % 8 == 0 ? random() % kKeys : next[run]++ % kKeys;
      const std::string key = std::to_string(run) + ":" + std::to_string(1000 + at);
      const unsigned action = random() % 20;
      if (action == 0) {
        set.SetSavepoint();
        savepoints.push_back(model);
      } else if (action == 1 && !savepoints.empty()) {
        set.RollbackToSavepoint();
        model = savepoints.back();
        savepoints.pop_back();
      } else if (action == 2 && !savepoints.empty()) {
        set.ReleaseSavepoint();
        savepoints.pop_back();
      } else if (action < 6) {
        set.Delete(key, Reads::kByRange);
        model[key] = std::nullopt;
      } else {
        const std::string value = std::to_string(step);
        set.Put(key, value, Reads::kByRange);
        model[key] = value;
      }
      if (step % 25 == 0) {
        ExpectHolds(set, model, kKeys);
      }
    }
    ExpectHolds(set, model, kKeys);
  }
}

TEST(WriteSet, KnowsWhichKeysTheStoreHasNoValueOf) {
  WriteSet set;
  auto is_new = [&](std::string_view key) { return set.Find(key)->is_new; };
  set.PutNew("new", "1", Reads::kByKey);
  EXPECT_TRUE(is_new("new"));
  set.Put("new", "2", Reads::kByKey);
  EXPECT_TRUE(is_new("new"));
  set.Put("known", "1", Reads::kByKey);
  EXPECT_FALSE(is_new("known"));
  set.SetSavepoint();
  set.Delete("deleted", Reads::kByKey);
  set.PutNew("deleted", "1", Reads::kByKey);
  EXPECT_FALSE(is_new("deleted"));
  set.Put("deleted", "2", Reads::kByKey);
  EXPECT_FALSE(is_new("deleted"));
  set.RollbackToSavepoint();
  set.PutNew("deleted", "3", Reads::kByKey);
  EXPECT_TRUE(is_new("deleted"));
}

}  // namespace
}  // namespace quire::kv
