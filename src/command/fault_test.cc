// SPDX-License-Identifier: Apache-2.0
//
// Commands on a store that fails at random: what was refused must leave no trace, what was
// acknowledged must be there, and every index must agree with its documents.
#include <map>
#include <random>
#include <set>

#include "base/error_codes.h"
#include "command/testing/harness.h"
#include "kv/testing/fault_store.h"

namespace quire::command {
namespace {

// Whether a write command did what it was asked.
bool Done(const bson::Document& reply) {
  return reply["ok"].AsDouble() == 1 && reply["writeErrors"].missing();
}

class Writer {
 public:
  Writer(Node& node, unsigned seed) : node_(node), random_(seed) {}

  void Step() {
    const std::string id = std::to_string(random_() % 40);
    const std::string value = std::to_string(random_() % 1000);
    const std::string by_id = R"("q": {"_id": )" + id + "}";
    switch (random_() % 5) {
      case 0:
      case 1:
        if (Run(R"({"insert": "c", "documents": [{"_id": )" + id + R"(, "a": )" + value +
                R"(, "tags": [1, )" + value + "]}]}")) {
          model_[id] = value;
        }
        break;
      case 2:
        if (Run(R"({"update": "c", "updates": [{)" + by_id + R"(, "u": {"$set": {"a": )" + value +
                R"(, "tags": [2, )" + value + "]}}}]}") &&
            model_.contains(id)) {
          model_[id] = value;
        }
        break;
      case 3:
        if (Run(R"({"delete": "c", "deletes": [{)" + by_id + R"(, "limit": 1}]})")) {
          model_.erase(id);
        }
        break;
      case 4:
        ChangeIndex();
        break;
    }
  }

  void Check() {
    bson::Document count = node_.Run(R"({"count": "c"})");
    EXPECT_EQ(count["n"].AsInt32(), static_cast<int>(model_.size()));
    std::string expected;
    std::map<int, std::string> by_number;
    for (const auto& [id, value] : model_) {
      by_number[std::stoi(id)] = value;
    }
    for (const auto& [id, value] : by_number) {
      expected += (expected.empty() ? "" : ",") + std::string(R"({"_id":)") + std::to_string(id) +
                  R"(,"a":)" + value + "}";
    }
    const std::string projected =
        R"("projection": {"a": 1}, "sort": {"_id": 1}, "batchSize": 1000})";
    EXPECT_EQ(node_.Batch(R"({"find": "c", )" + projected), "[" + expected + "]");
    for (const char* index : {"a_1", "tags_1"}) {
      std::string found =
          node_.Batch(R"({"find": "c", "hint": ")" + std::string(index) + R"(", )" + projected);
      if (indexes_.contains(index)) {
        EXPECT_EQ(found, "[" + expected + "]") << index;
      }
    }
    if (!model_.empty()) {
      bson::Document valid = node_.Run(R"({"validate": "c", "full": true})");
      EXPECT_TRUE(valid["valid"].AsBool()) << bson::ToJson(valid);
    }
  }

 private:
  bool Run(const std::string& json) { return Done(node_.Run(json)); }

  void ChangeIndex() {
    const std::string field = random_() % 2 ? "a" : "tags";
    const std::string name = field + "_1";
    if (!indexes_.contains(name)) {
      if (Run(R"({"createIndexes": "c", "indexes": [{"key": {")" + field + R"(": 1}, "name": ")" +
              name + "\"}]}")) {
        indexes_.insert(name);
      }
    } else if (Run(R"({"dropIndexes": "c", "index": ")" + name + "\"}")) {
      indexes_.erase(name);
    }
  }

  Node& node_;
  std::mt19937 random_;
  std::map<std::string, std::string> model_;
  std::set<std::string> indexes_;
};

TEST(Fault, RefusedWritesLeaveNoTrace) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    kv::FaultPlan plan;
    Node node(kv::NewFaultStore(Node::MemoryStore(), plan));
    Writer writer(node, seed);
    const Status error(kInternalError, "planned");
    for (int round = 0; round < 5; ++round) {
      plan.FailRandomly(kv::FaultPoint::kCommit, 0.1, seed, error);
      plan.FailRandomly(kv::FaultPoint::kRead, 0.01, seed, error);
      plan.FailRandomly(kv::FaultPoint::kWrite, 0.02, seed, error);
      plan.FailRandomly(kv::FaultPoint::kClaim, 0.02, seed, error);
      plan.FailRandomly(kv::FaultPoint::kLoad, 0.05, seed, error);
      for (int i = 0; i < 100; ++i) {
        writer.Step();
      }
      plan.Clear();
      writer.Check();
    }
  }
}

TEST(Fault, AFullDiskRefusesWritesAndServesReads) {
  kv::FaultPlan plan;
  Node node(kv::NewFaultStore(Node::MemoryStore(), plan));
  ASSERT_EQ(node.Code(R"({"insert": "c", "documents": [{"_id": 1}]})"), 0);
  plan.SetDiskFull(true);
  EXPECT_FALSE(Done(node.Run(R"({"insert": "c", "documents": [{"_id": 2}]})")));
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1}])");
  plan.SetDiskFull(false);
  EXPECT_TRUE(Done(node.Run(R"({"insert": "c", "documents": [{"_id": 2}]})")));
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":1},{"_id":2}])");
}

}  // namespace
}  // namespace quire::command
