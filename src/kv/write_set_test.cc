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
  Model last;
  std::string before;
  for (const auto& entry : set.Ordered()) {
    ASSERT_LT(before, entry.first);
    before = entry.first;
    if (const WriteSet::Write* write = set.At(entry)) {
      last[before] = write->kind == WriteSet::Kind::kPut ? std::optional(std::string(write->value))
                                                         : std::nullopt;
    }
  }
  ASSERT_EQ(last, model);
  last.clear();
  for (const WriteSet::Write& write : set.writes()) {
    if (set.IsLast(write)) {
      const bool put = write.kind == WriteSet::Kind::kPut;
      auto value = put ? std::optional(std::string(write.value)) : std::nullopt;
      ASSERT_TRUE(last.emplace(write.key, std::move(value)).second) << write.key;
    }
  }
  ASSERT_EQ(last, model);
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
        set.Put(key, value, {});
        model[key] = value;
      }
      if (step % 25 == 0) {
        ExpectHolds(set, model, kKeys);
      }
    }
    ExpectHolds(set, model, kKeys);
  }
}

TEST(WriteSet, KeepsItsOwnBytesUnlessToldThatTheyStay) {
  WriteSet set;
  std::string key = "key";
  std::string value = "value";
  const std::string stays = "stays";
  set.Put(key, value, {});
  set.Put("other", stays, {.outlives = true});
  key = "xxx";
  value = "yyyyy";
  ASSERT_NE(set.Find("key"), nullptr);
  EXPECT_EQ(set.Find("key")->value, "value");
  EXPECT_EQ(set.Find("other")->value.data(), stays.data());
  EXPECT_GE(set.bytes(), std::string("keyvalueotherstays").size());
}

}  // namespace
}  // namespace quire::kv
