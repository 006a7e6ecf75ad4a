// SPDX-License-Identifier: Apache-2.0
#include "patterns/testing/query_paths.h"

#include <gtest/gtest-spi.h>

namespace quire::patterns {

namespace {

using bson::Document;

std::string FieldsOf(bson::View filter) {
  std::string names;
  for (const bson::Element& field : filter) {
    names += (names.empty() ? "" : ",") + std::string(field.name());
  }
  return names;
}

std::string PathOf(const Document& query) {
  if (query.view().Has("find")) {
    std::string path =
        "find " + std::string(TextAt(query, "find")) + " " + FieldsOf(query["filter"].AsDocument());
    const std::string sort = FieldsOf(query["sort"].AsDocument());
    return sort.empty() ? path : path + " by " + sort;
  }
  std::string path = "aggregate " + std::string(TextAt(query, "aggregate"));
  for (const bson::Element& stage : query["pipeline"].AsArray()) {
    path += " " + FieldsOf(stage.value().AsDocument());
  }
  return path;
}

// The intervals of all index scans of a plan: of each the product of those of its fields.
int64_t IntervalsOf(const bson::Value& plan) {
  if (plan.is_array()) {
    int64_t sum = 0;
    for (const bson::Element& one : plan.AsArray()) {
      sum += IntervalsOf(one.value());
    }
    return sum;
  }
  if (!plan.is_document()) {
    return 0;
  }
  int64_t sum = 0;
  for (const bson::Element& field : plan.AsDocument()) {
    if (field.name() == "indexBounds") {
      int64_t product = 1;
      for (const bson::Element& bounds : field.value().AsDocument()) {
        product *= static_cast<int64_t>(bounds.value().AsArray().Count());
      }
      sum += product;
    } else {
      sum += IntervalsOf(field.value());
    }
  }
  return sum;
}

// The plans that explain says are run, wherever in the reply they stand.
std::string WinningPlans(const bson::Value& value) {
  std::string plans;
  if (value.is_document() || value.is_array()) {
    for (const bson::Element& field : value.is_array() ? value.AsArray() : value.AsDocument()) {
      plans += field.name() == "winningPlan" ? bson::ToJson(field.value()) + "\n"
                                             : WinningPlans(field.value());
    }
  }
  return plans;
}

void ExpectIndexedQuery(const Store& store, const Document& query) {
  auto reply = store.Run(Doc("explain", query, "verbosity", "executionStats"));
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  const std::string text = WinningPlans(bson::Value(reply->view()));
  EXPECT_FALSE(text.empty()) << bson::ToJson(reply->view());
  EXPECT_EQ(text.find("COLLSCAN"), std::string::npos) << text;
  EXPECT_EQ(text.find("\"SORT\""), std::string::npos) << text;
  const bson::Value plan = At(*reply, "queryPlanner.winningPlan");
  if (plan.missing()) {
    return;  // a pipeline of several stages has no keys of its own
  }
  const int64_t skipped = IntegerAt(query, "skip");
  EXPECT_LE(IntegerAt(*reply, "executionStats.totalKeysExamined"),
            IntegerAt(*reply, "executionStats.nReturned") + skipped +
                std::max<int64_t>(IntervalsOf(plan), 1))
      << text;
}

}  // namespace

void QueryPaths::Asks(const Document& query) {
  std::lock_guard lock(mutex_);
  std::set<std::string>& seen = queries_[PathOf(query)];
  if (seen.size() < kPerPath) {
    seen.insert(std::string(query.bytes()));
  }
}

void QueryPaths::ExpectIndexed(const Store& store, const std::set<std::string>& exceptions) const {
  std::lock_guard lock(mutex_);
  EXPECT_FALSE(queries_.empty());
  for (const std::string& path : exceptions) {
    EXPECT_TRUE(queries_.contains(path)) << path << " was not asked";
  }
  for (const auto& [path, queries] : queries_) {
    if (exceptions.contains(path)) {
      continue;
    }
    SCOPED_TRACE(path);
    for (const std::string& query : queries) {
      ExpectIndexedQuery(store, Document(bson::View(query.data())));
    }
  }
}

namespace {

// That it notices what it is there to notice.
TEST(QueryPathsTest, NoticesScansAndSkippedKeys) {
  World world(Place::kEmbedded);
  QueryPaths paths;
  Seams seams = world.seams();
  seams.queries = &paths;
  const Store store(world.client, world.database, seams);
  ASSERT_TRUE(store.CreateIndexes({{"c", R"({"a": 1})"}}).ok());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(store.Insert("c", Doc("_id", i, "a", i % 2, "b", i)).ok());
  }
  ASSERT_TRUE(store.Find("c", Doc("a", 1)).ok());
  ASSERT_TRUE(store.Find("c", Doc("_id", Doc("$in", List(1, 5)))).ok());
  paths.ExpectIndexed(world.store);
  ASSERT_TRUE(store.Find("c", Doc("b", 1)).ok());
  ASSERT_TRUE(store.Find("c", Doc("a", 1, "b", 1)).ok());
  ASSERT_TRUE(store.FindOne("c", Doc("a", 1), {.sort = Doc("b", 1)}).ok());
  const std::set<std::string> kBad = {"find c b", "find c a,b", "find c a by b"};
  paths.ExpectIndexed(world.store, kBad);
  for (const std::string& bad : kBad) {
    std::set<std::string> others = kBad;
    others.erase(bad);
    ::testing::TestPartResultArray failures;
    {
      ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
      paths.ExpectIndexed(world.store, others);
    }
    EXPECT_GT(failures.size(), 0) << bad;
  }
}

}  // namespace
}  // namespace quire::patterns
